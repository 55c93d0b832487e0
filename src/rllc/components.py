"""Components: which coordinates of a model's weights are sampled, named by a short label.

    full         every weight
    1:6          one head
    group:1:0    a key-value head with the query heads that read it (grouped-query attention)
    attn:1       the attention of layer 1
    mlp:1        the MLP of layer 1
    norm:1       the norms of layer 1
    layer:1      everything of layer 1
    embedding    the token embedding
    unembedding  the matrix that gives the logits
    1:6+1:7      several of them together (not ``full``), in ascending order
    weights:mlp  all weights in whose name the regular expression ``mlp`` is found (``re.search``)

Not every model has all of them. The ``masks`` of a model family translate a label into coordinates
(``rllc.models.components``, ``rllc.models.huggingface.components``). This module does not import torch.
"""

import re
from dataclasses import dataclass

# The kinds of parts, in the order that a label of several parts has.
KINDS = ("head", "group", "attn", "mlp", "norm", "layer", "embedding", "unembedding")
WEIGHTS = "weights:"  # what follows is a regular expression, in which + joins no parts
KNOWN = (
    '"full", a head ("1:6"), heads together ("1:6+1:7"), "group:1:0", "attn:1", "mlp:1", "norm:1", '
    '"layer:1", "embedding", "unembedding" or "weights:<regular expression>"'
)
NUMBER = r"(?:0|[1-9]\d*)"
PART = re.compile(
    rf"(?:(?P<pair>group:)?(?P<layer>{NUMBER}):(?P<index>{NUMBER})"
    rf"|(?P<kind>attn|mlp|norm|layer):(?P<whole>{NUMBER})|(?P<end>embedding|unembedding))"
)


@dataclass(frozen=True)
class Part:
    """A part of a label: its kind, its layer and its index in the layer (-1 where it has none).

    pattern  regular expression of the names of its weights, of the kind ``weights`` alone
    """

    kind: str
    layer: int = -1
    index: int = -1
    pattern: str = ""

    @property
    def label(self) -> str:
        if self.kind == "head":
            return f"{self.layer}:{self.index}"
        if self.kind == "weights":
            return f"{WEIGHTS}{self.pattern}"
        numbers = [str(number) for number in (self.layer, self.index) if number >= 0]
        return ":".join([self.kind, *numbers])


@dataclass(frozen=True)
class Component:
    """A parsed label: its parts in ascending order, none for ``full``."""

    label: str
    parts: tuple[Part, ...] = ()

    @property
    def heads(self) -> tuple[tuple[int, int], ...]:
        """The layer and index of each head among the parts."""
        return tuple((part.layer, part.index) for part in self.parts if part.kind == "head")


def parse(component: str) -> Component:
    """Parse a label. Raises ValueError for an unknown component or a non-canonical label."""
    if component == "full":
        return Component(component)
    if component.startswith(WEIGHTS):
        return Component(component, (Part("weights", pattern=_pattern(component)),))
    found = [PART.fullmatch(text) for text in component.split("+")]
    if None in found:
        raise ValueError(f"unknown component {component!r}: expected {KNOWN}")
    parts = [_part(match) for match in found if match is not None]
    ordered = sorted(set(parts), key=lambda part: (KINDS.index(part.kind), part.layer, part.index))
    canonical = "+".join(part.label for part in ordered)
    if component != canonical:
        what = "heads" if {part.kind for part in parts} == {"head"} else "parts"
        raise ValueError(f"component {component!r} has its {what} out of order or twice: write {canonical!r}")
    return Component(component, tuple(parts))


def _pattern(component: str) -> str:
    """Return the regular expression of a label. Raises ValueError where it is none."""
    pattern = component.removeprefix(WEIGHTS)
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(
            f"component {component!r} holds no regular expression ({error}): expected one that is found in "
            'the names of weights, as "weights:mlp"; write \\. for a dot'
        ) from error
    if not pattern:
        raise ValueError(f'component {component!r} names no weights: write "full" for all of them')
    return pattern


def _part(match: re.Match[str]) -> Part:
    if match["end"]:
        return Part(match["end"])
    if match["kind"]:
        return Part(match["kind"], int(match["whole"]))
    return Part("group" if match["pair"] else "head", int(match["layer"]), int(match["index"]))


def kind(component: str) -> str:
    """Return the kind of a component's jobs and datasets: ``"full"``, ``"heads"`` or ``"other"``.

    ``"heads"`` is exactly one head, or one group of heads that share their keys and values.
    """
    parsed = parse(component)
    if parsed.label == "full":
        return "full"
    return "heads" if [part.kind for part in parsed.parts] in (["head"], ["group"]) else "other"


def check(component: str, *, n_layers: int, n_heads: int, norms: bool = True) -> Component:
    """Parse a label of an attention-only transformer. Raises ValueError where the model lacks a part.

    norms  whether the layers have norms
    """
    parsed = parse(component)
    whole = [
        "full",
        "heads",
        *(["norm:<layer>"] if norms else []),
        "layer:<layer>",
        "embedding",
        "unembedding",
        f"{WEIGHTS}<regular expression>",
    ]
    advice = {
        "group": "its heads have keys and values of their own",
        "attn": 'its layers are attention alone (write "layer:<layer>")',
        "mlp": "it has no MLPs",
        "norm": "it has no norms",
    }
    for part in parsed.parts:
        if part.kind in ("group", "attn", "mlp") or (part.kind == "norm" and not norms):
            raise ValueError(
                f"component {component!r} is not in this model, an attention-only transformer: "
                f"{advice[part.kind]}; expected {', '.join(whole[:-1])} or {whole[-1]}"
            )
    if any(
        part.layer >= n_layers or (part.kind == "head" and part.index >= n_heads) for part in parsed.parts
    ):
        raise ValueError(
            f"component {component!r} is not in this model: its layers are {_range(n_layers)}, "
            f"its heads {_range(n_heads)} in each"
        )
    return parsed


def _range(count: int) -> str:
    return f"0 to {count - 1}" if count else "none"

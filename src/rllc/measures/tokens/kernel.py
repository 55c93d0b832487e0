"""Tokens in context: where ablating a head hurts most, and what explains them (arXiv 2410.02984, App. B)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import xarray as xr

from rllc.measures.architecture import with_heads
from rllc.measures.data import Data, Measurement
from rllc.measures.most_affected import Affected, Contexts, most_affected
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.seeds import generator
from rllc.tasks.language.patterns import (
    MULTIGRAMS,
    PATTERNS,
    Found,
    InContext,
    Reader,
    classify,
    counted,
    different,
    uncounted,
)
from rllc.tasks.language.tokenizer import token_bytes
from rllc.vocabulary import head_coords, layer_of, mlp_coords

HALVES = 20  # random halves of the tokens, for how far counts depend on which they are
COMMON = 3  # commonest forms that are named
ABSENT = -1
ATTENTION = ["at_matched", "attended", "attention_max", "attention"]  # variables that an MLP lacks


def tokens(data: Data, *, searched: int, batch_size: int, top: int, shown: int) -> Measurement:
    """``tokens_in_context`` among the first ``searched`` contexts."""
    contexts, pieces = data.contexts(searched), token_bytes(data.encoder)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        own = with_heads(model)
        batches = Contexts(contexts, batch_size, next(iter(weights.values())).device)
        most, chance = most_affected(weights, batches, model=own, top=top, seed=data.stream)
        reader = Reader(contexts, pieces)
        given = {"top": top, "shown": shown, "seed": data.stream}
        return tokens_in_context(most, chance, reader, heads=own.heads, mlps=own.mlps, **given)

    return measure


def tokens_in_context(
    most: Sequence[Affected],
    chance: Sequence[Affected],
    reader: Reader,
    *,
    heads: Sequence[str],
    mlps: Sequence[str] = (),
    top: int,
    shown: int,
    seed: int,
) -> xr.Dataset:
    """What explains the tokens in context of each head and MLP, beside what explains positions at random.

    most, chance  of every head, then of every MLP (``most_affected``)
    heads, mlps   their labels
    top           places of the dim ``rank``
    shown         of each pattern so many tokens have their attention in the dataset, the most affected of
                  each form first
    seed          of the random halves: the stream (seed, "halves")

    Returns (head, ...): ``share``, ``share_chance``, ``unique``, ``at_matched`` (share of the pattern's
    tokens at which the head attends most to what matches), ``letterless`` (share of them whose predicted
    token has no letter), ``common`` and ``common_count`` (pattern); ``tokens``, ``rise_threshold``,
    ``multigrams``, ``multigrams_chance``, ``multigrams_half`` (half); by rank ``context``, ``position``,
    ``target``, ``attended``, ``matched``, ``pattern_index``, ``rise``, ``attention_max``; ``shown_rank``,
    ``shown_token``, ``attention`` (shown, place). The text of tokens is the coordinate ``text`` (token).
    Without tokens everything that they would say is NaN, or -1.

    The variables of MLPs have the dim ``mlp`` instead and end with ``_mlp``. Those of attention are left out:
    an MLP reads only the position at which it writes, and patterns are matched as if it attended to that.
    """
    length, halves = len(reader.tokens(0)), generator(seed, "halves")
    picks = [halves.permutation(top)[: top // 2] for _ in range(HALVES)]
    parts = []
    first = [layer_of(head) == 0 for head in heads] + [False] * len(mlps)
    for affected, anywhere, in_first in zip(most, chance, first, strict=True):
        parts.append(_of_component(affected, anywhere, reader, in_first, top, shown, picks, length))
    joined = xr.concat(parts[: len(heads)], "head").assign_coords(head_coords(heads))
    if mlps:
        of_mlps = xr.concat(parts[len(heads) :], "mlp").drop_vars(ATTENTION).assign_coords(mlp_coords(mlps))
        joined = joined.merge(of_mlps.rename({name: f"{name}_mlp" for name in of_mlps.data_vars}))
    names = np.asarray(PATTERNS, dtype=object)
    text = np.asarray([visible(piece) for piece in reader.pieces], dtype=object)
    joined = joined.assign_coords(pattern=names, text=("token", text))
    for name in ("pattern_index", "pattern_index_mlp"):
        if name in joined:
            joined[name].attrs.update(
                flag_values=np.arange(len(PATTERNS), dtype=np.int8), flag_meanings=" ".join(PATTERNS)
            )
    return joined


def _of_component(
    affected: Affected,
    anywhere: Affected,
    reader: Reader,
    first_layer: bool,
    top: int,
    shown: int,
    picks: Sequence[np.ndarray],
    length: int,
) -> xr.Dataset:
    places, found = _classified(affected, reader, first_layer)
    _, by_chance = _classified(anywhere, reader, first_layer)
    count = len(found)
    targets = [reader.tokens(p.context)[p.position + 1] for p in places]
    letterless = np.asarray([not _has_letter(reader.pieces[t]) for t in targets], bool)
    attended = affected.attended()
    matched = np.asarray([each.matched for each in found], int)
    kinds = np.asarray([PATTERNS.index(each.pattern) for each in found], int)
    of = [kinds == n for n in range(len(PATTERNS))]
    examples = _shown(found, shown)
    ranks = examples[examples >= 0]
    common = [_common(found, pattern, reader.pieces) for pattern in PATTERNS]
    half = []
    for pick in picks if count == top else ():
        chosen = [places[i] for i in pick]
        alone = uncounted([found[i] for i in pick])
        half.append(different(counted(chosen, alone, reader), *MULTIGRAMS))

    def by_rank(values: np.ndarray | list, fill: float, dtype: type) -> tuple[str, np.ndarray]:
        padded = np.full(top, fill, dtype)
        padded[:count] = values
        return "rank", padded

    def by_example(values: np.ndarray, fill: float, dtype: type) -> tuple[tuple[str, str], np.ndarray]:
        padded = np.full((len(examples), length), fill, dtype)
        padded[examples >= 0] = values
        return ("shown", "place"), padded

    return xr.Dataset(
        {
            "share": ("pattern", _shares(found)),
            "share_chance": ("pattern", _shares(by_chance)),
            "unique": ("pattern", _counts(found)),
            "at_matched": ("pattern", [_mean((attended == matched)[here]) for here in of]),
            "letterless": ("pattern", [_mean(letterless[here]) for here in of]),
            "common": (("pattern", "order"), np.asarray([names for names, _ in common], dtype=object)),
            "common_count": (("pattern", "order"), np.asarray([numbers for _, numbers in common])),
            "tokens": ((), float(count)),
            "rise_threshold": ((), float(affected.rise[-1]) if count else np.nan),
            "multigrams": ((), float(different(found, *MULTIGRAMS)) if count else np.nan),
            "multigrams_chance": ((), float(different(by_chance, *MULTIGRAMS))),
            "multigrams_half": ("half", np.asarray(half or [np.nan] * len(picks), float)),
            "context": by_rank(affected.context, ABSENT, np.int32),
            "position": by_rank(affected.position, ABSENT, np.int32),
            "target": by_rank(targets, ABSENT, np.int32),
            "attended": by_rank(attended, ABSENT, np.int32),
            "matched": by_rank(matched, ABSENT, np.int32),
            "pattern_index": by_rank(kinds, ABSENT, np.int8),
            "rise": by_rank(affected.rise, np.nan, np.float32),
            "attention_max": by_rank(affected.attention.max(1, initial=0.0), np.nan, np.float32),
            "shown_rank": ("shown", examples.astype(np.int32)),
            "shown_token": by_example(
                np.asarray([reader.tokens(places[i].context) for i in ranks]).reshape(-1, length),
                ABSENT,
                np.int32,
            ),
            "attention": by_example(affected.attention[ranks], np.nan, np.float32),
        }
    )


def _classified(affected: Affected, reader: Reader, first_layer: bool) -> tuple[list[InContext], list[Found]]:
    where = (affected.context.tolist(), affected.position.tolist(), affected.attended().tolist())
    places = [InContext(*each) for each in zip(*where, strict=True)]
    return places, classify(places, reader, first_layer=first_layer)


def _shares(found: Sequence[Found]) -> list[float]:
    count = Counter(each.pattern for each in found)
    return [count[pattern] / len(found) if found else np.nan for pattern in PATTERNS]


def _counts(found: Sequence[Found]) -> list[float]:
    """How many different forms each pattern has; what is unexplained has none."""
    if not found:
        return [np.nan] * len(PATTERNS)
    return [np.nan if p == "unexplained" else float(different(found, p)) for p in PATTERNS]


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else np.nan


def _shown(found: Sequence[Found], each: int) -> np.ndarray:
    """Ranks of so many tokens of each pattern, one of every form before a second; -1: there is no more."""
    places = np.full(each * len(PATTERNS), ABSENT)
    for n, pattern in enumerate(PATTERNS):
        seen: Counter[tuple] = Counter()
        order = []
        for rank, one in enumerate(found):
            if one.pattern == pattern:
                order.append((seen[one.form] if one.form else 0, rank))
                seen[one.form] += 1
        ranks = sorted(rank for _, rank in sorted(order)[:each])
        places[n * each : n * each + len(ranks)] = ranks
    return places


def _common(
    found: Sequence[Found], pattern: str, pieces: Sequence[bytes | None]
) -> tuple[list[str], list[int]]:
    """The commonest forms of a pattern in words, and how often each is there."""
    forms = Counter(each.form for each in found if each.pattern == pattern and each.form)
    ranked = sorted(forms.items(), key=lambda item: (-item[1], repr(item[0])))[:COMMON]
    named = [in_words(pattern, form, pieces) for form, _ in ranked]
    empty = COMMON - len(ranked)
    return named + [""] * empty, [number for _, number in ranked] + [0] * empty


def in_words(pattern: str, form: tuple, pieces: Sequence[bytes | None]) -> str:
    """A form as text: "( … )", "from … import", "return self"."""
    parts = [part if isinstance(part, str) else visible(pieces[part]) for part in form]
    if pattern in ("ngram", "induction"):
        return "".join(parts)
    return " … ".join(part[1:] if part[:1] == " " and part.strip() else part for part in parts)


def visible(piece: bytes | None) -> str:
    """The text of a token: bytes that are no UTF-8 and control characters as ‹e2›, a special token as ‹›."""
    if piece is None:
        return "‹›"
    text = piece.decode("utf-8", errors="surrogateescape")
    return "".join(
        f"‹{ord(c) & 0xFF:02x}›"
        if "\ud800" <= c <= "\udfff" or (not c.isprintable() and ord(c) < 0xA0 and c not in "\n\t")
        else c
        for c in text
    )


def _has_letter(piece: bytes | None) -> bool:
    return piece is not None and any(c.isalpha() for c in piece.decode("utf-8", errors="ignore"))

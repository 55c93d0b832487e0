"""Path patching on brackets: what multigram heads of layer 0 tell the bracket head.

arXiv 2410.02984, Fig. 6 and App. E.2. The paper says no more of its data than that brackets are unnested or
nested; sentences are ours (``rllc.tasks.language.sentences``), and so are two conditions.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.analysis.tokens import bracket_head
from rllc.measures.architecture import architecture_of
from rllc.measures.data import Data, Measurement
from rllc.measures.roles import indices, label, multigram
from rllc.models.loss import token_losses
from rllc.models.model import Model
from rllc.models.patching import mean_outputs, passed, replaced
from rllc.models.transformer import Architecture, Weights, unembed
from rllc.seeds import generator
from rllc.tasks.batch import next_token_batch
from rllc.tasks.language.sentences import KINDS, closing_depth, common_words, of_list, of_words, packed
from rllc.tasks.language.tokenizer import token_bytes
from rllc.vocabulary import head_coords, head_labels

CONDITIONS = ("clean", "ablated", "patched", "direct", "without")
CLOSERS = ("all", "outer", "inner")
ROLES = ("multigram0", "dyck")
Head = tuple[int, int]


def path_patching(
    data: Data,
    *,
    examples: int,
    batch_size: int,
    words: int,
    sentences: Mapping[str, Sequence[str]] | None,
    thresholds: Mapping[str, float],
) -> Measurement:
    """``patched_paths`` on ``examples`` contexts of each kind, from all multigram heads of layer 0 into
    ``rllc.analysis.tokens.bracket_head``; both are those of the last checkpoint.

    sentences   of each kind; None: they are made of the commonest ``words`` of held-out contexts
    thresholds  of types of heads
    """
    heads = data.part("attention_scores")
    receiver = bracket_head(data.part("tokens")["share"].sortby("step").isel(seed=0, step=-1))
    roles = (indices(multigram(heads, 0, thresholds=thresholds)), indices([receiver] if receiver else []))
    contexts = data.contexts()
    drawn = common_words(contexts, token_bytes(data.encoder), words) if sentences is None else []
    made = {}
    for kind in KINDS:
        sentence = of_words(drawn, kind) if sentences is None else of_list(sentences[kind])
        size = {"bos": data.bos, "length": contexts.shape[1], "count": examples}
        made[kind] = packed(sentence, data.encoder, random=generator(data.stream, kind), **size)
    depths = {kind: closing_depth(each, data.encoder) for kind, each in made.items()}

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        architecture = architecture_of(model, "paths from head to head alone")
        kinds = [
            patched_losses(
                weights,
                made[kind],
                depths[kind],
                architecture=architecture,
                senders=roles[0],
                receivers=roles[1],
                batch_size=batch_size,
            )
            for kind in KINDS
        ]
        joined = xr.concat(kinds, "brackets").assign_coords(brackets=np.asarray(KINDS, dtype=object))
        names = np.asarray([label(each) for each in roles], dtype=object)
        return joined.assign(members=("role", names)).assign_coords(role=np.asarray(ROLES, dtype=object))

    return measure


@torch.no_grad()
def patched_losses(
    weights: Weights,
    contexts: np.ndarray,
    depths: np.ndarray,
    *,
    architecture: Architecture,
    senders: Sequence[Head],
    receivers: Sequence[Head],
    batch_size: int,
) -> xr.Dataset:
    """Loss on brackets that close, with heads' outputs z replaced at every position.

    z~ is what a head has where the senders have their means over all contexts and positions (App. E.2).

    clean     nothing is replaced
    ablated   the receivers by their means
    patched   the receivers by their z~, all else as it is: the path from senders to receivers alone
    direct    ours: the senders by their means, in the final residual stream alone
    without   ours: the senders by their means, with all that follows

    contexts   tokens [total, length]
    depths     brackets open before each token that closes one, else 0 [total, length]; those predicted are
               scored. ``outer``: 1; ``inner``: more; ``all``: both
    receivers  heads of one layer after the senders'

    Returns ``loss`` and ``rise``, the loss less that of ``clean`` (condition, closers), and ``rise_into``,
    ``patched`` with each head of a later layer as the only receiver (head, closers), nats/token; each with
    ``_se``, the standard error of the ratio of sums over contexts; ``closers_scored`` (closers). NaN where
    there are no senders or receivers that a condition needs, or nothing to score.

    Raises ValueError where receivers are not in one layer after all senders.
    """
    layers = {layer for layer, _ in receivers}
    if len(layers) > 1 or (layers and max([layer for layer, _ in senders], default=-1) >= min(layers)):
        raise ValueError(
            f"receivers {label(receivers)} of senders {label(senders)}: expected heads of one later layer"
        )
    depth = depths[:, 1:]
    row, place = np.nonzero(depth)
    later = [head for head in product(range(architecture.n_layers), range(architecture.n_heads)) if head[0]]
    losses: dict[str | Head, list[np.ndarray]] = {name: [] for name in (*CONDITIONS, *later)}
    parts = np.split(contexts, range(batch_size, len(contexts), batch_size))
    where = weights["embed.W_E"].device
    batches = [next_token_batch(part, np.arange(part.shape[1] - 1)) for part in parts]
    batches = [type(batch)(*(part.to(where) for part in batch)) for batch in batches]
    means = mean_outputs(weights, batches, architecture)
    for index, batch in enumerate(batches):
        inside = (row >= index * batch_size) & (row < (index + 1) * batch_size)
        scored = [torch.from_numpy(part[inside]).to(where) for part in (row - index * batch_size, place)]
        targets = batch.targets[scored[0], scored[1]]
        finals = _finals(weights, batch.contexts, means, architecture, senders, receivers, later)
        for name, final in finals:
            logits = unembed(weights, final[scored[0], scored[1]], architecture)
            losses[name].append(token_losses(logits, targets).double().cpu().numpy())
    flat = {name: np.concatenate(found) for name, found in losses.items() if found}
    return _summary(flat, row, depth[row, place], len(contexts), architecture, later)


def _finals(
    weights: Weights,
    contexts: Tensor,
    means: Tensor,
    architecture: Architecture,
    senders: Sequence[Head],
    receivers: Sequence[Head],
    later: Sequence[Head],
) -> Iterator[tuple[str | Head, Tensor]]:
    """The final residual stream under every condition that there is, and patched into every later head."""

    def final(outputs: Mapping[Head, Tensor]) -> Tensor:
        return replaced(weights, clean, outputs, architecture, None).left[-1]

    clean = passed(weights, contexts, architecture, None)
    yield "clean", clean.left[-1]
    if receivers:
        yield "ablated", final({head: means[head] for head in receivers})
    if not senders:
        return
    gone = replaced(weights, clean, {head: means[head] for head in senders}, architecture, None)
    yield "without", gone.left[-1]
    direct = clean.left[-1]
    for layer, head in senders:
        direct = (
            direct
            + (means[layer, head] - clean.z[layer][:, head]) @ weights[f"blocks.{layer}.attn.W_O"][head]
        )
    yield "direct", direct
    if receivers:
        yield "patched", final({(layer, head): gone.z[layer][:, head] for layer, head in receivers})
    for layer, head in later:
        yield (layer, head), final({(layer, head): gone.z[layer][:, head]})


def _summary(
    flat: Mapping[str | Head, np.ndarray],
    row: np.ndarray,
    depth: np.ndarray,
    contexts: int,
    architecture: Architecture,
    later: Sequence[Head],
) -> xr.Dataset:
    unknown = np.full(len(row), np.nan)
    chosen = {"all": depth > 0, "outer": depth == 1, "inner": depth > 1}

    def table(names: Sequence[str | Head], less: np.ndarray | float) -> np.ndarray:
        return np.asarray(
            [
                [_mean(flat.get(name, unknown)[mask] - _at(less, mask), row[mask], contexts)
                 for mask in chosen.values()]
                for name in names
            ]
        )  # fmt: skip

    every = list(product(range(architecture.n_layers), range(architecture.n_heads)))
    tables = {
        "loss": ("condition", table(CONDITIONS, 0.0)),
        "rise": ("condition", table(CONDITIONS, flat["clean"])),
        "rise_into": ("head", table([head if head in later else "" for head in every], flat["clean"])),
    }
    variables = {}
    for name, (dim, values) in tables.items():
        variables |= {
            name: ((dim, "closers"), values[..., 0]),
            f"{name}_se": ((dim, "closers"), values[..., 1]),
        }
    variables["closers_scored"] = ("closers", [float(mask.sum()) for mask in chosen.values()])
    coords = {
        **head_coords(head_labels(architecture.n_layers, architecture.n_heads)),
        "condition": np.asarray(CONDITIONS, dtype=object),
        "closers": np.asarray(CLOSERS, dtype=object),
    }
    return xr.Dataset(variables, coords=coords)


def _at(less: np.ndarray | float, mask: np.ndarray) -> np.ndarray | float:
    return less[mask] if isinstance(less, np.ndarray) else less


def _mean(values: np.ndarray, row: np.ndarray, contexts: int) -> tuple[float, float]:
    """Mean over all values, and its standard error where contexts are independent: the error of sum / count,
    both of which vary between contexts. NaN without values, the error also with one context."""
    if not len(values):
        return np.nan, np.nan
    mean = values.mean()
    sums = np.bincount(row, values, contexts) - mean * np.bincount(row, minlength=contexts)
    error = np.sqrt((sums**2).sum() * contexts / (contexts - 1)) / len(values) if contexts > 1 else np.nan
    return float(mean), float(error)

"""The tokens whose loss rises most where a head or an MLP is mean-ablated (arXiv 2410.02984, App. B)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rllc.models.model import ModelWithHeads
from rllc.models.weights import Weights
from rllc.seeds import generator
from rllc.tasks.batch import Batch, next_token_batch
from rllc.tasks.lazy import LazySequence


class Contexts(LazySequence[Batch]):
    """Contexts in order as minibatches, the last of them smaller; every position is scored."""

    def __init__(self, contexts: np.ndarray, batch_size: int, device: torch.device | str = "cpu"):
        self.contexts, self.batch_size, self.device = contexts, batch_size, device

    def __len__(self) -> int:
        return -(-len(self.contexts) // self.batch_size)

    def item(self, index: int) -> Batch:
        if not 0 <= index < len(self):
            raise IndexError(index)
        rows = self.contexts[index * self.batch_size : (index + 1) * self.batch_size]
        batch = next_token_batch(rows, np.arange(rows.shape[1] - 1))
        return Batch(*(part.to(self.device) for part in batch))


class Affected(NamedTuple):
    """Tokens in context of one head or MLP.

    rise       loss after ablating it minus loss before [tokens], nats
    context, position  where [tokens]
    attention  the head's attention there [tokens, length]; that of an MLP is 1 at the position itself, which
               is all that it reads
    """

    rise: np.ndarray
    context: np.ndarray
    position: np.ndarray
    attention: np.ndarray

    def attended(self) -> np.ndarray:
        """The position attended to most; of equals the latest."""
        backwards = self.attention[:, ::-1]
        return self.attention.shape[1] - 1 - backwards.argmax(1)

    def kept(self, top: int) -> "Affected":
        """The largest rises, the first context and position among equals."""
        order = np.lexsort((self.position, self.context, -self.rise))[:top]
        return Affected(*(part[order] for part in self))

    def first(self, count: int) -> "Affected":
        """The first of them: views."""
        return Affected(*(part[:count] for part in self))

    def write(self, start: int, others: "Affected") -> int:
        """Put others in, from this place on; returns where they end."""
        end = start + len(others.rise)
        for part, other in zip(self, others, strict=True):
            part[start:end] = other
        return end


@torch.no_grad()
def most_affected(
    weights: Weights, batches: Sequence[Batch], *, model: ModelWithHeads, top: int, seed: int
) -> tuple[list[Affected], list[Affected]]:
    """Of every head and MLP the ``top`` tokens whose loss rises most when it is mean-ablated, largest first.

    Its output is replaced by the mean over all contexts and positions of ``batches``
    (``rllc.measures.ablation``); only tokens whose loss rises are kept, never all rises at once.

    Returns them, of ``model.heads`` and then of ``model.mlps``. Returns also, as chance, ``top`` positions
    drawn uniformly from the stream (seed, "chance"), the same for all, with each head's attention; their
    ``rise`` is NaN.

    Raises ValueError where there are fewer positions than ``top``.
    """
    sizes = [batch.targets.numel() for batch in batches]
    if sum(sizes) < top:
        raise ValueError(
            f"{sum(sizes)} positions are searched for the {top} most affected: give more contexts"
        )
    drawn = np.sort(generator(seed, "chance").choice(sum(sizes), top, replace=False))
    means = model.mean_outputs(weights, batches)
    heads, width = len(means), batches[0].contexts.shape[1]
    # All room at once: arrays that stay, made between larger ones that go, would hold the memory of these.
    most, chance = ([_room(top, width) for _ in range(heads)] for _ in range(2))
    counts, drawn_so_far = [0] * heads, 0
    first = contexts = 0
    for index in range(len(batches)):
        batch = batches[index]
        length = batch.targets.shape[1]
        inside = drawn[(drawn >= first) & (drawn < first + sizes[index])] - first
        for head, (rise, pattern) in enumerate(_rises(weights, batch, means, model)):
            so_far = most[head].first(counts[head])
            positive = np.flatnonzero(rise > 0)
            least = so_far.rise[-1] if counts[head] == top else 0.0
            found = _at(positive[rise[positive] >= least], rise, pattern, contexts, length)
            joined = (np.concatenate(parts) for parts in zip(so_far, found.kept(top), strict=True))
            counts[head] = most[head].write(0, Affected(*joined).kept(top))
            anywhere = _at(inside, np.full(rise.size, np.nan), pattern, contexts, length)
            chance[head].write(drawn_so_far, anywhere)
        drawn_so_far += inside.size
        first, contexts = first + sizes[index], contexts + len(batch.contexts)
    return [one.first(count) for one, count in zip(most, counts, strict=True)], chance


def _room(count: int, width: int) -> Affected:
    """Of so many tokens, whose attention is to so many places."""
    context, position = (np.zeros(count, dtype=np.int64) for _ in range(2))
    return Affected(np.zeros(count), context, position, np.zeros((count, width), dtype=np.float32))


def _at(flat: np.ndarray, rise: np.ndarray, pattern: Tensor, contexts: int, length: int) -> Affected:
    """Tokens at these places of a batch's predictions, counted through; ``contexts`` came before."""
    row, position = np.divmod(flat, length)
    return Affected(rise[flat], contexts + row, position, pattern[row, position].cpu().numpy())


def _rises(
    weights: Weights, batch: Batch, means: Mapping[str, Tensor], model: ModelWithHeads
) -> Iterator[tuple[np.ndarray, Tensor]]:
    """Yield, for each head and MLP, rises of the loss [contexts * scored] and attention [contexts, ., .]."""
    clean = model.forward_pass(weights, batch)
    for component in (*model.heads, *model.mlps):
        rise = clean.replaced({component: means[component]}).losses - clean.losses
        own = component in model.mlps
        pattern = _to_itself(batch.contexts) if own else clean.attention(component)
        yield rise.flatten().cpu().numpy(), pattern


def _to_itself(contexts: Tensor) -> Tensor:
    """Return the attention of every position to itself: [contexts, length, length]."""
    count, length = contexts.shape
    return torch.eye(length, device=contexts.device).expand(count, length, length)

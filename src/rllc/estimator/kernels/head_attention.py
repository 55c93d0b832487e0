"""The outputs z of one attention head's chains at given inputs, and the gradients of their weights.

In layer 0 the inputs depend only on token and position. Where few different pairs occur, on a CPU,
projections are computed once per pair and looked up.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from rllc.estimator.kernels.attention import Asked, attend
from rllc.models.transformer import Architecture


class Head(NamedTuple):
    """A head's weights per chain, in the order of the flat state: W_* [chain, ., .], b_* [chain, d_head]."""

    W_K: Tensor
    W_O: Tensor
    W_Q: Tensor
    W_V: Tensor
    b_K: Tensor
    b_Q: Tensor
    b_V: Tensor


@dataclass(frozen=True)
class Lookup:
    """The row of a table that each position uses."""

    index: Tensor  # [row], of the table
    order: Tensor  # [row], rows sorted by index
    starts: Tensor  # [table], start of each table row's positions in ``order``


class Read(NamedTuple):
    """The inputs of a head on a minibatch: rows (batch, position), or a table of the different rows."""

    query: Tensor  # [row or table, model], at the asked positions
    key: Tensor  # [row or table, model]
    value: Tensor  # [row or table, model]
    query_lookup: Lookup | None
    lookup: Lookup | None


def view_head(state: Tensor, architecture: Architecture) -> Head:
    """Return the flat states [chain, n] as a head's weights, without copying."""
    model, width = architecture.d_model, architecture.d_head
    W_K, W_O, W_Q, W_V, *biases = state.split([model * width] * 4 + [width] * 3, dim=1)
    read = (1, (model, width))
    return Head(
        W_K.unflatten(*read), W_O.unflatten(1, (width, model)), W_Q.unflatten(*read), W_V.unflatten(*read),
        *biases,
    )  # fmt: skip


def what_heads_read(
    inputs: tuple[Tensor, Tensor], asked: Asked, tokens: Tensor | None, architecture: Architecture
) -> Read:
    """Return the heads' inputs, given those of queries and keys, and of values: both [batch, context, model].

    tokens  [batch, context] where the inputs depend only on token and position; else None
    """
    query_key, value = inputs
    _, context, model = value.shape
    if tokens is not None and tokens.device.type == "cpu":  # elsewhere the host would wait for the count
        pairs = tokens + torch.arange(context, device=tokens.device) * architecture.d_vocab
        present, index = torch.unique(pairs, return_inverse=True)
        if 2 * len(present) <= index.numel():
            where = index.new_empty(len(present)).scatter_(
                0, index.flatten(), torch.arange(index.numel(), device=index.device)
            )
            table, values = query_key.reshape(-1, model)[where], value.reshape(-1, model)[where]
            lookups = _lookup(index[:, asked.positions], len(present)), _lookup(index, len(present))
            return Read(table, table, values, *lookups)
    at_query = query_key[:, asked.positions].reshape(-1, model)
    return Read(at_query, query_key.reshape(-1, model), value.reshape(-1, model), None, None)


class Projections:
    """Queries, keys and values of a head's chains on a minibatch, and their accumulated gradients.

    b_K shifts all scores of a query equally, so the softmax ignores it and it is left out. b_V could be added
    after the pattern, since its rows sum to 1.
    """

    def __init__(self, head: Head, read: Read, asked: Asked, batch: int, *, gradient: bool) -> None:
        self._read, self._asked = read, asked
        chains, self._width = head.b_Q.shape
        query = _each(read.query, head.W_Q).add_(head.b_Q[:, None]).mul_(self._width**-0.5)
        key, value = _each(read.key, head.W_K), _each(read.value, head.W_V).add_(head.b_V[:, None])
        self._rows = query, key, value
        self._lookups = read.query_lookup, read.lookup, read.lookup
        counts = (len(asked.positions), asked.mask.shape[1], asked.mask.shape[1])
        self._shapes = [(chains, batch, count, self._width) for count in counts]
        self._d = [query.new_empty(shape) for shape in self._shapes] if gradient else None

    def attend(self, chains: slice, contexts: slice) -> tuple[Tensor, Callable[[Tensor], None] | None]:
        """Return the input of W_O, z [chain, (batch, asked), d_head], for some chains and contexts.

        Also returns the function that takes the gradient of z (None without gradients).
        """
        parts = []
        for rows, lookup, shape in zip(self._rows, self._lookups, self._shapes, strict=True):
            if lookup is None:
                part = rows.view(shape)[chains, contexts]
            else:
                index = lookup.index.view(shape[1], -1)[contexts]
                part = rows[chains].index_select(1, index.flatten()).unflatten(1, index.shape)
            parts.append(part.flatten(0, 1)[:, None])  # [(chain, batch), head, position, d_head]
        query, key, value = parts
        z, through = attend(query, key, value, self._asked, gradient=self._d is not None)
        some = z.shape[0] // len(range(*contexts.indices(self._shapes[0][1])))
        handed, gathered = z.reshape(some, -1, self._width), self._d
        if gathered is None or through is None:
            return handed, None

        def backward(d_z: Tensor) -> None:
            for d, gradient in zip(gathered, through(d_z.view(z.shape)), strict=True):
                into = d[chains, contexts]
                into.copy_(gradient.view(into.shape))

        return handed, backward

    def gradients(self, into: Head) -> None:
        """Write the gradients of W_K, W_Q, W_V and the biases, after all contexts have been processed."""
        assert self._d is not None
        d_query, d_key, d_value = (
            d.flatten(1, 2) if lookup is None else _collect(d.flatten(1, 2), lookup)
            for d, lookup in zip(self._d, self._lookups, strict=True)
        )
        d_query *= self._width**-0.5
        into.W_K.copy_(_each(self._read.key.T, d_key))
        into.W_Q.copy_(_each(self._read.query.T, d_query))
        into.W_V.copy_(_each(self._read.value.T, d_value))
        into.b_K.zero_()
        into.b_Q.copy_(d_query.sum(1))
        into.b_V.copy_(d_value.sum(1))


def _each(x: Tensor, W: Tensor) -> Tensor:
    """Return x [., k] times every chain's W [chain, k, .]."""
    return torch.bmm(x.expand(len(W), -1, -1), W)


def _lookup(index: Tensor, size: int) -> Lookup:
    index = index.flatten()
    ordered, order = index.sort(stable=True)
    starts = torch.searchsorted(ordered, torch.arange(size, device=index.device))
    return Lookup(index, order, starts)


def _collect(d: Tensor, lookup: Lookup) -> Tensor:
    """Return the gradient of a table from that of its lookup: [chain, row, .] -> [chain, table, .]."""
    return torch.stack([embedding_bag(lookup.order, rows, lookup.starts, mode="sum") for rows in d])

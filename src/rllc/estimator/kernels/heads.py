"""Explicit losses and gradients of one attention head's chains, for ``fast_heads.estimate_heads``.

Only quantities that depend on the head are computed, with gradients only for the head's tensors. Chains and
contexts are processed in blocks that fit in a core's cache, or fill a GPU. The residual stream is centred
(folded.py). Rows are (batch, position) pairs, in that order.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from rllc.estimator.kernels.attention import Asked
from rllc.estimator.kernels.cross_entropy import Targets, blocks, exponentials, loss_of
from rllc.estimator.kernels.folded import Frozen, Unembedding, centred, scale_of, through_scale
from rllc.estimator.kernels.frozen_layers import first_layer, further_layer
from rllc.estimator.kernels.head_attention import Projections, Read, view_head
from rllc.models.transformer import Architecture


class Layer(NamedTuple):
    """One layer at w* on one minibatch; ``asked`` is context, or scored in the last layer."""

    read: Read  # the heads' inputs
    asked: Asked  # the positions of its queries
    z: Tensor  # [head, (batch, asked), d_head], the input of W_O
    residual: Tensor  # [batch, asked, model], the layer's output, centred
    onward: Tensor  # [batch, asked, .]: the same times W of the unembedding, or W_QKV of the layer above


class Bounds(NamedTuple):
    """Bytes at once (at least one chain and row, or context), and whether a launch takes many chains."""

    logits: int
    activations: int
    together: bool


Pair = tuple[Tensor, Tensor]  # a layer's output without one head, and this output times W


class Above(NamedTuple):
    """The part of the model above a head, on a minibatch."""

    layers: list[tuple[Frozen, Asked]]  # attention layers above the head's layer
    unembedding: Unembedding
    targets: Targets
    architecture: Architecture


def losses_and_gradients(
    state: Tensor, layer: Layer, index: int, W_O: Tensor, above: Above, limits: Bounds, *, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """Return losses [chain] of a minibatch and, with ``gradient``, gradients [chain, n] (else None).

    state       [chain, n]
    index, W_O  the head's index in its layer, and its weights [d_head, model] at w*
    """
    head, batch = view_head(state, above.architecture), len(layer.residual)
    projections = Projections(head, layer.read, layer.asked, batch, gradient=gradient)
    kind = EarlierLayer if above.layers else LastLayer
    onward = above.layers[0][0].W_QKV if above.layers else above.unembedding.W
    base = _without(layer, index, centred(W_O, above.architecture), onward)
    reader = kind(head.W_O, base, above, limits, gradient)
    each = state.new_empty(len(state), batch, len(above.targets.offset) // batch)
    context = layer.asked.mask.shape[1]
    at_once = limits.activations // (context * reader.width * state.element_size())
    for chains, contexts in blocks(len(state), batch, at_once, together=limits.together):
        z, backward = projections.attend(chains, contexts)
        losses, d_z = reader.block(z, chains, contexts)
        each[chains, contexts] = losses.view(each[chains, contexts].shape)
        if gradient:
            assert backward is not None and d_z is not None
            backward(d_z)
    losses = each.flatten(1).double().mean(-1) - above.targets.entropy
    if not gradient:
        return losses, None
    slope = torch.empty_like(state)
    into = view_head(slope, above.architecture)
    projections.gradients(into)
    into.W_O.copy_(reader.gradient_of_own())
    return losses, slope


class LastLayer:
    """The path from z of a head in the last layer to the loss.

    Logits are a low-rank change of logits computed once. With ``base`` the residual without this head and
    x = base + z W_O, logits = scale(x) (base W + z (W_O W)) + c.
    """

    def __init__(self, own: Tensor, base: Pair, above: Above, limits: Bounds, gradient: bool) -> None:
        self._above, self._limits, self._gradient = above, limits, gradient
        W, a = above.unembedding.W, above.architecture
        self._base, self._logits = base
        self._W_O = centred(own, a)
        self._M = self._W_O @ W
        self._d = (torch.zeros_like(self._M), torch.zeros_like(own)) if gradient else None  # in M and W_O
        self._buffer = W.new_empty(0)
        self._rows = len(above.targets.offset)
        self.width = a.d_model

    def block(self, z: Tensor, chains: slice, contexts: slice) -> tuple[Tensor, Tensor | None]:
        """Return row losses [chain, row] of some chains and contexts, and the gradient of their mean in z."""
        asked, vocab = self._base.shape[1], self._M.shape[2]
        first, at_once = contexts.start * asked, self._limits.logits // (vocab * z.element_size())
        losses, d_z = z.new_empty(z.shape[:2]), torch.empty_like(z) if self._gradient else None
        for some, rows in blocks(z.shape[0], z.shape[1], at_once, together=self._limits.together):
            own = slice(chains.start + some.start, chains.start + some.stop)
            placed = slice(first + rows.start, first + rows.stop)
            losses[some, rows], d = self._piece(z[some, rows], own, placed)
            if d_z is not None:
                assert d is not None
                d_z[some, rows] = d
        return losses, d_z

    def _piece(self, z: Tensor, chains: slice, rows: slice) -> tuple[Tensor, Tensor | None]:
        c, target = self._above.unembedding.c, self._above.targets.given[rows]
        base, base_logits = self._base.flatten(0, 1)[rows], self._logits.flatten(0, 1)[rows]
        W_O, M = self._W_O[chains], self._M[chains]
        x = torch.bmm(z, W_O).add_(base)
        scale = scale_of(x, self._above.architecture)
        scaled = z if scale is None else z * scale
        shape = (*z.shape[:2], len(c))
        if self._buffer.numel() < shape[0] * shape[1] * shape[2]:
            self._buffer = z.new_empty(shape[0] * shape[1] * shape[2])
        logits = self._buffer[: shape[0] * shape[1] * shape[2]].view(shape)

        def fill() -> Tensor:
            if scale is None:
                logits.copy_(base_logits).add_(c)
            else:
                torch.addcmul(c, base_logits, scale, out=logits)
            return logits.baddbmm_(scaled, M)

        def hit() -> Tensor:
            if target.ndim == 2:
                return torch.linalg.vecdot(logits, target)
            return logits.gather(-1, target.expand(shape[:2])[..., None]).squeeze(-1)

        log_total, total, hits = exponentials(fill, hit)
        losses = log_total - hits
        if self._d is None:
            return losses, None
        d_M, d_W_O = self._d
        if target.ndim == 2:  # replace logits by their gradient times total times the number of rows
            logits.addcmul_(target, total, value=-1)
        else:
            logits.scatter_add_(-1, target.expand(shape[:2])[..., None], -total)
        weight, z_T = 1 / (total * self._rows), z.mT.contiguous()
        logits.mul_(weight if scale is None else weight * scale)  # the gradient of the scale's factor
        d_z = torch.bmm(logits, M.mT)
        d_M[chains].baddbmm_(z_T, logits)
        if scale is not None:  # without a scale, z acts on the logits only through z (W_O W)
            reach = torch.linalg.vecdot(logits, base_logits).add_(torch.linalg.vecdot(d_z, z))
            x.mul_(through_scale(reach[..., None] / scale, scale, x.shape[-1]))
            d_W_O[chains].baddbmm_(z_T, x)
            d_z.baddbmm_(x, W_O.mT)
        return losses, d_z

    def gradient_of_own(self) -> Tensor:
        """Return the gradient of W_O [chain, d_head, model], after all blocks have been processed."""
        assert self._d is not None
        d_M, d_W_O = self._d
        return d_W_O.add_(d_M @ self._above.unembedding.W_T)


class EarlierLayer:
    """The path from z of an earlier layer's head to the loss, through the layers above. See ``LastLayer``."""

    def __init__(self, own: Tensor, base: Pair, above: Above, limits: Bounds, gradient: bool) -> None:
        self._above, self._limits, self._gradient = above, limits, gradient
        a, (self._first, self._asked) = above.architecture, above.layers[0]
        self._base, self._base_QKV = base
        self._W_O = centred(own, a)
        self._d_W_O = torch.zeros_like(own) if gradient else None
        self.width = self._first.W_QKV.shape[1]

    def block(self, z: Tensor, chains: slice, contexts: slice) -> tuple[Tensor, Tensor | None]:
        a, batch, model = self._above.architecture, len(self._base), self._base.shape[2]
        how = {"gradient": self._gradient}
        x, into_head = first_layer(
            z, self._W_O[chains], self._base[contexts], self._base_QKV[contexts], self._first, self._asked, a,
            **how,
        )  # fmt: skip
        tape: list[Callable[[Tensor], Tensor]] = []
        for frozen, asked in self._above.layers[1:]:
            x, through = further_layer(x, frozen, asked, a, **how)
            if through is not None:
                tape.append(through)
        scale = scale_of(x, a)
        if scale is not None:
            x *= scale
        targets = self._above.targets
        part = Targets(
            targets.mean.view(batch, -1, model)[contexts].flatten(0, 1),
            targets.offset.view(batch, -1)[contexts].flatten(),
            targets.entropy,
            targets.given,
        )
        losses, d = loss_of(
            x.flatten(1, 2), self._above.unembedding, part, limit=self._limits.logits,
            together=self._limits.together, **how,
        )  # fmt: skip
        if d is None or into_head is None:
            return losses, None
        d = d.view(x.shape).mul_(x.shape[1] / batch)
        if scale is not None:  # x is normalised now
            d = torch.addcmul(d, x, torch.linalg.vecdot(d, x)[..., None] / -model).mul_(scale)
        for through in reversed(tape):
            d = through(d)
        d_z, d_W_O = into_head(d)
        assert self._d_W_O is not None
        self._d_W_O[chains] += d_W_O
        return losses, d_z

    def gradient_of_own(self) -> Tensor:
        assert self._d_W_O is not None
        return self._d_W_O


def _without(layer: Layer, index: int, W_O: Tensor, onward: Tensor) -> Pair:
    """Return the layer's output without one head's write, and this output times ``onward``."""
    z = layer.z[index]
    left, onward_left = (
        torch.addmm(whole.flatten(0, 1), z, part, alpha=-1).view(whole.shape)
        for whole, part in ((layer.residual, W_O), (layer.onward, W_O @ onward))
    )
    return left, onward_left

"""Losses of one attention head's chains and their gradients, written out, for ``refined.estimate_heads``.

Only what depends on the head is computed; gradients exist for the head's tensors alone. Rows are
(batch, position) pairs, in that order.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from rllc.measures.folded import (
    Frozen,
    Unembedding,
    attend,
    attend_backward,
    causal_mask,
    frozen_backward,
    frozen_forward,
    normalise,
    normalise_backward,
)
from rllc.models.transformer import Architecture
from rllc.tasks.batch import Batch


class Head(NamedTuple):
    """A head's weights per chain, in the order of the flat state: W_* [chain, ., .], b_* [chain, d_head]."""

    W_K: Tensor
    W_O: Tensor
    W_Q: Tensor
    W_V: Tensor
    b_K: Tensor
    b_Q: Tensor
    b_V: Tensor


class Layer(NamedTuple):
    """One layer at w* on one minibatch; ``asked`` is context, or in the last layer scored."""

    query_key: Tensor  # [batch, context, model], what queries and keys read
    value: Tensor  # [batch, context, model], what values read
    z: Tensor  # [batch, head, asked, d_head], what heads hand to W_O
    residual: Tensor  # [batch, asked, model], what leaves the layer


def view_head(state: Tensor, architecture: Architecture) -> Head:
    """The flat states [chain, n] as a head's weights, without copying."""
    model, width = architecture.d_model, architecture.d_head
    W_K, W_O, W_Q, W_V, *biases = state.split([model * width] * 4 + [width] * 3, dim=1)
    read = (1, (model, width))
    return Head(
        W_K.unflatten(*read), W_O.unflatten(1, (width, model)), W_Q.unflatten(*read), W_V.unflatten(*read),
        *biases,
    )  # fmt: skip


def last_layer_pass(
    state: Tensor,
    layer: Layer,
    W_O: Tensor,
    unembedding: Unembedding,
    base_logits: Tensor,
    batch: Batch,
    architecture: Architecture,
    *,
    index: int,
    limit: int,
    gradient: bool,
) -> tuple[Tensor, Tensor | None]:
    """Losses [chain] and gradients [chain, n] of head ``index`` of the last layer.

    Its logits are a low-rank change of ones computed once: with ``base`` the residual without this head,
    logits = (base W' + z (W_O W')) / sd(base + z W_O) + c.

    W_O          [d_head, model], the head's at w*
    base_logits  [row, vocab], the residual at w* times W', this head included
    limit        bytes of logits at once
    """
    head = view_head(state, architecture)
    z, saved = head_forward(head, layer, batch.positions)
    z_center = layer.z[:, index].flatten(0, 1)
    base = torch.addmm(layer.residual.flatten(0, 1), z_center, W_O, alpha=-1)
    base_logits = torch.addmm(base_logits, z_center, W_O @ unembedding.W, alpha=-1)
    x = torch.baddbmm(base, z, head.W_O)  # [chain, row, model]
    sd = None
    if architecture.layer_norm:
        x -= x.mean(-1, keepdim=True)
        sd = (x.square().mean(-1, keepdim=True) + architecture.layer_norm_eps).sqrt()
    losses, d_z, d_into, d_variance = score(
        z, head.W_O @ unembedding.W, batch.targets, bias=unembedding.c, base=base_logits, sd=sd, limit=limit,
        gradient=gradient,
    )  # fmt: skip
    if not gradient:
        return losses, None
    d_W_O = d_into @ unembedding.W.T
    if sd is not None:
        x *= d_variance * (2 / x.shape[-1])
        d_z.baddbmm_(x, head.W_O.transpose(1, 2))
        d_W_O.baddbmm_(z.transpose(1, 2), x)
    return losses, head_backward(d_z, d_W_O, state, saved, layer, batch.positions, architecture)


def earlier_layer_pass(
    state: Tensor,
    layer: Layer,
    W_O: Tensor,
    above: list[Frozen],
    unembedding: Unembedding,
    batch: Batch,
    architecture: Architecture,
    *,
    index: int,
    limit: int,
    gradient: bool,
) -> tuple[Tensor, Tensor | None]:
    """Losses [chain] and gradients [chain, n] of a head below the layers ``above``, which are run again."""
    contexts, context = batch.tokens.shape
    base = (layer.residual - layer.z[:, index] @ W_O).flatten(0, 1)
    per_chain = contexts * context**2 * architecture.n_heads * state.element_size()
    losses, slopes = [], []
    for part in state.split(max(limit // per_chain, 1)):
        head = view_head(part, architecture)
        z, saved = head_forward(head, layer, None)
        residual = torch.baddbmm(base, z, head.W_O).view(-1, context, architecture.d_model)
        tape = []
        for depth, frozen in enumerate(above):
            at = batch.positions if depth == len(above) - 1 else None
            residual, kept = frozen_forward(residual, frozen, at, architecture)
            tape.append((frozen, at, kept))
        x, sd = normalise(residual, architecture)
        values, d, _, _ = score(
            x.view(len(part), -1, x.shape[-1]), unembedding.W[None], batch.targets, bias=unembedding.c,
            limit=limit, gradient=gradient,
        )  # fmt: skip
        losses.append(values)
        if not gradient:
            continue
        d = normalise_backward(d.view(x.shape), x, sd)
        for frozen, at, kept in reversed(tape):
            d = frozen_backward(d, frozen, at, kept, architecture)
        d = d.view(len(part), -1, d.shape[-1])
        d_z, d_W_O = torch.bmm(d, head.W_O.transpose(1, 2)), torch.bmm(z.transpose(1, 2), d)
        slopes.append(head_backward(d_z, d_W_O, part, saved, layer, None, architecture))
    return torch.cat(losses), torch.cat(slopes) if gradient else None


def head_forward(head: Head, layer: Layer, at: Tensor | None) -> tuple[Tensor, tuple[Tensor, ...]]:
    """What each chain's head hands to W_O at the positions ``at`` (None: all): z [chain, row, d_head].

    b_K adds one number to all scores of a query, which the softmax does not see; b_V is added after the
    pattern, whose rows sum to 1.
    """
    chains, width = head.b_Q.shape
    batch, context, _ = layer.value.shape
    asked = layer.query_key if at is None else layer.query_key[:, at]

    def project(x: Tensor, W: Tensor) -> Tensor:  # [batch, position, model] -> [chain, row, d_head]
        return torch.bmm(x.flatten(0, 1).expand(chains, -1, -1), W)

    query = project(asked, head.W_Q)
    query = (query.add_(head.b_Q[:, None]) / width**0.5).view(chains * batch, -1, width)
    key = project(layer.query_key, head.W_K).view(chains * batch, -1, width)
    value = project(layer.value, head.W_V).view(chains * batch, -1, width)
    z, pattern = attend(query, key, value, causal_mask(context, at, key))
    saved = (z, pattern, query, key, value)
    return z.view(chains, -1, width) + head.b_V[:, None], saved


def head_backward(
    d_z: Tensor,
    d_W_O: Tensor,
    state: Tensor,
    saved: tuple[Tensor, ...],
    layer: Layer,
    at: Tensor | None,
    architecture: Architecture,
) -> Tensor:
    """The gradient of the flat states [chain, n] from those of z and W_O."""
    chains, _, width = d_z.shape
    asked = layer.query_key if at is None else layer.query_key[:, at]
    d_query, d_key, d_value = attend_backward(d_z.view(saved[0].shape), *saved)
    d_query = (d_query / width**0.5).view(chains, -1, width)

    def outer(x: Tensor, d: Tensor) -> Tensor:  # gradient of a projection's weights: [chain, model, d_head]
        return torch.bmm(x.flatten(0, 1).T.expand(chains, -1, -1), d.view(chains, -1, width))

    slope = torch.empty_like(state)
    into = view_head(slope, architecture)
    into.W_K.copy_(outer(layer.query_key, d_key))
    into.W_O.copy_(d_W_O)
    into.W_Q.copy_(outer(asked, d_query))
    into.W_V.copy_(outer(layer.value, d_value))
    into.b_K.zero_()
    into.b_Q.copy_(d_query.sum(1))
    into.b_V.copy_(d_z.sum(1))
    return slope


def score(
    a: Tensor,
    M: Tensor,
    targets: Tensor,
    *,
    bias: Tensor,
    base: Tensor | None = None,
    sd: Tensor | None = None,
    limit: int,
    gradient: bool,
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """Mean loss of logits (base + a M) / sd + bias, and its gradients, without keeping logits.

    a [chain, row, k], M [chain or 1, k, vocab], targets [batch, scored] or [batch, scored, vocab],
    base [row, vocab], sd [chain, row, 1]. At most ``limit`` bytes of logits exist at once (one row at least).

    Returns the loss [chain], its gradients in a and (where there is a base) in M, and, where there is an sd,
    its derivative in sd^2: [chain, row, 1].
    """
    chains, rows, _ = a.shape
    vocab = M.shape[-1]
    targets = targets.reshape(rows, vocab) if targets.is_floating_point() else targets.reshape(rows)
    at_once = min(max(limit // (vocab * a.element_size()), 1), rows)
    losses = a.new_zeros(chains)
    buffer = a.new_empty(at_once, vocab)
    d_a = torch.empty_like(a) if gradient else None
    d_M = torch.zeros_like(M) if gradient and base is not None else None
    d_variance = torch.empty_like(sd) if gradient and sd is not None else None
    for chain in range(chains):
        m = M[chain % len(M)]
        for start in range(0, rows, at_once):
            part = slice(start, min(start + at_once, rows))
            logits = buffer[: part.stop - start]
            if base is None:
                torch.addmm(bias, a[chain, part], m, out=logits)
            else:
                torch.addmm(base[part], a[chain, part], m, out=logits)
                if sd is not None:
                    logits /= sd[chain, part]
                logits += bias
            losses[chain] += cross_entropy_(logits, targets[part]) / rows
            if not gradient:
                continue
            logits *= 1 / rows if sd is None else 1 / (rows * sd[chain, part])
            torch.mm(logits, m.T, out=d_a[chain, part])
            if d_M is not None:
                d_M[chain].addmm_(a[chain, part].T, logits)
            if d_variance is not None:
                # sum over the vocabulary of gradient * (base + a M), the second term by way of d_a
                reach = torch.linalg.vecdot(logits, base[part])
                reach += torch.linalg.vecdot(d_a[chain, part], a[chain, part])
                d_variance[chain, part] = reach[:, None] / (-2 * sd[chain, part] ** 2)
    return losses, d_a, d_M, d_variance


def cross_entropy_(logits: Tensor, targets: Tensor) -> Tensor:
    """Sum of the rows' losses (``token_losses``); logits [row, vocab] become softmax - target in place."""
    logits -= logits.amax(-1, keepdim=True)
    if targets.is_floating_point():
        hit = torch.linalg.vecdot(targets, logits) + torch.special.entr(targets).sum(-1)
    else:
        hit = logits.gather(-1, targets[:, None]).squeeze(-1)
    total = logits.exp_().sum(-1)
    logits /= total[:, None]
    if targets.is_floating_point():
        logits -= targets
    else:
        logits.scatter_add_(-1, targets[:, None], logits.new_full((len(targets), 1), -1.0))
    return (total.log() - hit).sum()

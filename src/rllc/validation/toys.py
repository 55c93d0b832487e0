"""Toy models with exact learning coefficients, as losses over a dict of weights.

Every weight has a leading axis of replicas, independent copies of the model. The loss is the mean over them.
The joint posterior at n_beta x replicas is the product of the replicas' posteriors at n_beta. So one chain
samples all replicas at the cost of one, and its estimate is the sum of their estimates.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Weights = dict[str, Tensor]
ToyLoss = Callable[[Weights, Tensor | float], Tensor]


def replicated(center: Weights, replicas: int) -> Weights:
    """Return the centre of ``replicas`` copies: each weight with a leading axis."""
    return {name: w.expand(replicas, *w.shape).clone() for name, w in center.items()}


def quadratic(hessian: Tensor) -> ToyLoss:
    """Return the loss 1/2 w^T hessian w + batch . w, averaged over replicas: a well tilted by the batch.

    hessian  [n, n]
    weights  ``w`` [replica, n]; batch: slopes [replica, n], or 0.0
    """

    def loss(weights: Weights, batch: Tensor | float) -> Tensor:
        w = weights["w"]
        return ((0.5 * (w @ hessian) * w) + batch * w).sum(-1).mean()

    return loss


def potential(value: Callable[..., Tensor]) -> ToyLoss:
    """Return the mean over replicas of ``value(w1, w2, ...)``; weights: ``w`` [replica, coordinate]."""

    def loss(weights: Weights, batch: Tensor | float) -> Tensor:
        return value(*weights["w"].unbind(-1)).mean()

    return loss


def linear_network(target: Tensor) -> ToyLoss:
    """Return the loss 1/2 E |W_L ... W_1 x - target x|^2 over x ~ N(0, I), or over the batch's inputs.

    target   [outputs, inputs]
    weights  ``layer1``, ... [replica, H_l, H_(l-1)], in the dict's order
    batch    inputs [context, inputs], or a number: the expectation
    """

    def loss(weights: Weights, batch: Tensor | float) -> Tensor:
        inputs = batch.T if isinstance(batch, Tensor) and batch.ndim == 2 else None
        first, *others = weights.values()
        hidden = first if inputs is None else first @ inputs
        for w in others:
            hidden = w @ hidden
        error = hidden - (target if inputs is None else target @ inputs)
        scale = 1 if inputs is None else 1 / inputs.shape[1]
        return 0.5 * scale * error.square().sum((-2, -1)).mean()

    return loss


def balanced(widths: Sequence[int], singular_values: Sequence[float], *, seed: int) -> tuple[Weights, Tensor]:
    """Return weights of a deep linear network at a balanced point, and their product.

    W_l = Q_l diag(s^(1/L)) Q_(l-1)^T with random orthonormal Q_l [H_l, rank], so every layer has the rank of
    the map. Without singular values (rank 0), all weights are 0. float64.

    Returns ``layer1``, ..., ``layerL`` [H_l, H_(l-1)] and the target [H_L, H_0].
    """
    random = torch.Generator().manual_seed(seed)
    s = torch.tensor(singular_values, dtype=torch.float64)
    if len(s) > min(widths):
        raise ValueError(f"{len(s)} singular values: expected at most the smallest of widths {list(widths)}")
    depth = len(widths) - 1
    drawn = [torch.randn(width, len(s), generator=random, dtype=torch.float64) for width in widths]
    bases = [torch.linalg.qr(matrix)[0] for matrix in drawn]
    root = s ** (1 / depth)
    weights = {f"layer{i + 1}": (bases[i + 1] * root) @ bases[i].T for i in range(depth)}
    return weights, (bases[-1] * s) @ bases[0].T

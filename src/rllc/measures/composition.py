"""Composition of attention heads: how much of what a head reads was written by an earlier head."""

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.models.transformer import Architecture, Weights
from rllc.vocabulary import head_coords, head_labels


def composition_scores(weights: Weights, *, architecture: Architecture) -> xr.Dataset:
    """Q-, K- and V-composition of every head with every head of a later layer.

    In row convention, with OV = W_V W_O and QK = W_Q W_K^T (arXiv 2402.02364, eq. 13; Elhage et al. 2021)::

        score(1, 2) = |OV_1 M|_F / (|OV_1|_F |M|_F),   M = QK_2 (Q), QK_2^T (K), OV_2 (V)

    No layer norm is folded in and no chance level subtracted (about 1 / sqrt(d_model) for random
    matrices; the papers subtract nothing and compare with step 0). What TransformerLens returns from
    ``all_composition_scores`` on the same weights, from products of [d_head, d_head] matrices in double
    precision and without importing it.

    Returns ``q_composition``, ``k_composition``, ``v_composition`` (head, later_head), in 0 .. 1, NaN
    where the second head is not in a later layer (or where one of the matrices is 0).
    """
    with torch.no_grad():
        q, k, v, o = (_stacked(weights, m, architecture) for m in "QKVO")
        o_in = o.transpose(-1, -2)
        scores = {
            "q_composition": _relative_norms(v, o_in, q, k),
            "k_composition": _relative_norms(v, o_in, k, q),
            "v_composition": _relative_norms(v, o_in, v, o_in),
        }
    labels = head_labels(architecture.n_layers, architecture.n_heads)
    layer = np.repeat(np.arange(architecture.n_layers), architecture.n_heads)
    later = layer[:, None] < layer[None, :]
    return xr.Dataset(
        {
            name: (("head", "later_head"), np.where(later, values.cpu().numpy(), np.nan))
            for name, values in scores.items()
        },
        coords={**head_coords(labels), "later_head": np.asarray(labels, dtype=object)},
    )


def _stacked(weights: Weights, m: str, architecture: Architecture) -> Tensor:
    """W_m of all heads: [head, model, d_head] (W_O: [head, d_head, model]), double precision."""
    layers = range(architecture.n_layers)
    return torch.cat([weights[f"blocks.{layer}.attn.W_{m}"].double() for layer in layers])


def _relative_norms(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    """|A B^T C D^T| / (|A B^T| |C D^T|) (Frobenius) of all pairs; each [head, model, d_head] -> [head, head].

    With X = B^T C and Gram matrices, |A X D^T|^2 = sum of (A^T A X) * (X D^T D): no [model, model] matrix.
    """
    gram_a, gram_b, gram_c, gram_d = (x.transpose(-1, -2) @ x for x in (a, b, c, d))
    inner = torch.einsum("imr,jms->ijrs", b, c)
    both = ((gram_a[:, None] @ inner) * (inner @ gram_d[None])).sum((-2, -1))
    first = (gram_a * gram_b).sum((-2, -1))
    second = (gram_c * gram_d).sum((-2, -1))
    return (both / first[:, None] / second[None]).clamp_min(0).sqrt()

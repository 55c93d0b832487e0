"""The weights of an in-context transformer, and where it attends (arXiv 2402.02364, App. C.4)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import xarray as xr
from scipy.stats import spearmanr
from torch import Tensor

from rllc.measures.data import Data, Measurement
from rllc.models.model import Model
from rllc.models.regression import InContext
from rllc.models.weights import Weights
from rllc.tasks.regression.sequences import blocks
from rllc.vocabulary import head_coords, head_labels

SUBSPACES = (4, 16)  # directions of W_pos that an embedding is projected to
TOP = 3  # shares of W_pos that are called its largest
HARD = 0.25  # entropy and variability of attention that is called hard and constant are smaller
SMALL = 0.1  # a weight of a layer norm that is called collapsed is smaller


def structure(data: Data, *, sequences: int, law: Mapping[str, Any]) -> Measurement:
    """``of_weights`` and ``of_attention``, the latter on the same sequences at every checkpoint."""
    contexts = torch.from_numpy(blocks(sequences, seed=data.stream, **law).contexts)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        assert isinstance(model, InContext)
        place = weights["embed.W_E"].device
        # An answer that nobody asks for is read by nobody: the last is left out.
        patterns = model.patterns(weights, contexts[:, :-1].to(place)).double().cpu().numpy()
        labels = head_labels(model.n_layers, model.n_heads)
        made = [of_weights(weights, model.norms), of_attention(patterns, labels), of_model(model)]
        return xr.merge(made)

    return measure


def of_model(model: InContext) -> xr.Dataset:
    """What is drawn of the architecture, the same at all checkpoints.

    ``weight_count`` (weight)  numbers in each weight, by its name
    ``residual_factor``        what the residual stream is multiplied by in a block: 2 where it is doubled
    """
    shapes = model.shapes()
    counts = ("weight", [int(np.prod(shape)) for shape in shapes.values()])
    factor = 2 if model.residual == "doubled" else 1
    table = {"weight_count": counts, "residual_factor": factor}
    return xr.Dataset(table, coords={"weight": np.asarray(list(shapes), dtype=object)})


def of_weights(weights: Weights, norms: list[str]) -> xr.Dataset:
    """Embeddings, layer norms and unembedding.

    ``embedding_share`` (direction), ``position_share`` (position_direction)
        squares of the singular values of W_E and W_pos over their sum, descending
    ``embedding_rank``, ``position_rank``
        exp of the entropy of these shares: how many directions are used
    ``alignment`` (subspace, coordinate)
        |U' u| / |u| of the row u of W_E that reads a coordinate of a vector, U the first 4, or 16, directions
        of W_pos: 1 within their span, sqrt(4 or 16 / d_model) for a random row; ``alignment_mean`` (subspace)
        over coordinates
    ``position_top``
        the three largest shares of W_pos together
    ``norm_weight_{mean,sd,small}``, ``norm_bias_{mean,sd,small}`` (norm)
        over channels; ``small``: share with an absolute value below 0.1
    ``unembed_norm_weight``, ``unembed_norm_bias``, ``unembed_weight``, ``effective_weight``,
    ``effective_bias`` (channel)
        of the last layer norm w, b, of component 0 of W_U u, and u w, u b; the latter's sum and b_U are the
        prediction's constant, ``unembed_bias`` being b_U
    """
    plain = {name: w.detach().double().cpu() for name, w in weights.items()}
    embedding, position = plain["embed.W_E"], plain["pos_embed.W_pos"]
    table: dict[str, Any] = {}
    for name, matrix, dim in (
        ("embedding", embedding, "direction"), ("position", position, "position_direction"),
    ):  # fmt: skip
        table |= {f"{name}_share": (dim, shares(matrix)), f"{name}_rank": entropy_rank(shares(matrix))}
    directions = torch.linalg.svd(position, full_matrices=False).Vh  # rows are directions of d_model
    within = [(embedding @ directions[:r].T).norm(dim=1) / embedding.norm(dim=1) for r in SUBSPACES]
    table["alignment"] = (("subspace", "coordinate"), torch.stack(within).numpy())
    table["alignment_mean"] = ("subspace", torch.stack(within).mean(1).numpy())
    table["position_top"] = float(shares(position)[:TOP].sum())
    for part, word in (("w", "weight"), ("b", "bias")):
        each = torch.stack([plain[f"{norm}.{part}"] for norm in norms])
        for name, values in (
            ("mean", each.mean(1)), ("sd", each.std(1)), ("small", (each.abs() < SMALL).double().mean(1)),
        ):  # fmt: skip
            table[f"norm_{word}_{name}"] = ("norm", values.numpy())
    last, unembed = norms[-1], plain["unembed.W_U"][:, 0]
    for name, values in {
        "unembed_norm_weight": plain[f"{last}.w"], "unembed_norm_bias": plain[f"{last}.b"],
        "unembed_weight": unembed, "effective_weight": unembed * plain[f"{last}.w"],
        "effective_bias": unembed * plain[f"{last}.b"],
    }.items():  # fmt: skip
        table[name] = ("channel", values.numpy())
    table["unembed_bias"] = float(plain["unembed.b_U"][0])
    coords = {"norm": np.asarray(norms, dtype=object), "subspace": list(SUBSPACES)}
    return xr.Dataset(table, coords=coords)


def of_attention(patterns: np.ndarray, labels: list[str]) -> xr.Dataset:
    """What attention patterns [layer, sequence, head, query, key] are like, per head and query.

    ``attention_entropy``      of a query that sees k vectors over log k, k >= 2: 1 uniform, 0 on one key
    ``attention_variability``  sum over keys of the mean |pattern - mean pattern|, over 2: 0 where every
                               sequence has the same pattern, near 1 where no two have a key in common
    ``attention_self``, ``attention_previous``, ``attention_inputs``, ``attention_answers``
                               attention to the query's own vector, to the one before, to all x, to all y
    ``attention_mean`` (query, key)
    ``hard_patterns``          how many pairs of a head and a kind of query have a mean entropy and a mean
                               variability that are both below 0.25
    ``hard_correlation``       Spearman's, over these pairs, of the two means; NaN where one is constant

    Queries at even positions are inputs, at odd ones answers.
    """
    layers, _, heads, queries, _ = patterns.shape
    seen = np.arange(1, queries + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(patterns > 0, patterns * np.log(patterns), 0.0).sum(-1).mean(1) / np.log(seen)
    mean = patterns.mean(1)
    varied = abs(patterns - mean[:, None]).mean(1).sum(-1) / 2
    before = np.pad(np.diagonal(mean, -1, -2, -1), ((0, 0), (0, 0), (1, 0)), constant_values=np.nan)
    each = {
        "entropy": np.where(seen > 1, entropy, np.nan),
        "variability": varied,
        "self": np.diagonal(mean, 0, -2, -1),
        "previous": before,
        "inputs": mean[..., ::2].sum(-1),
        "answers": mean[..., 1::2].sum(-1),
    }
    table: dict[str, Any] = {
        f"attention_{name}": (("head", "query"), np.ascontiguousarray(v).reshape(layers * heads, queries))
        for name, v in each.items()
    }
    kinds = [  # [layer, head, kind of query], the first vector, which sees itself alone, left out
        np.stack([each[name][..., 2::2].mean(-1), each[name][..., 1::2].mean(-1)], -1).ravel()
        for name in ("entropy", "variability")
    ]
    table["hard_patterns"] = float((np.maximum(*kinds) < HARD).sum())
    vary = all(np.ptp(means) for means in kinds)
    table["hard_correlation"] = _rank_correlation(*kinds) if vary else np.nan
    table["attention_mean"] = (("head", "query", "key"), mean.reshape(layers * heads, queries, queries))
    return xr.Dataset(table, coords=head_coords(labels))


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    # scipy makes the class of the result at run time.
    return float(spearmanr(a, b).statistic)  # pyright: ignore[reportAttributeAccessIssue]


def shares(matrix: Tensor) -> np.ndarray:
    """Squares of the singular values over their sum, descending."""
    squares = torch.linalg.svdvals(matrix).square()
    return (squares / squares.sum()).numpy()


def entropy_rank(share: np.ndarray) -> float:
    """exp(- sum p ln p): as many as there are equal shares."""
    positive = share[share > 0]
    return float(np.exp(-(positive * np.log(positive)).sum()))

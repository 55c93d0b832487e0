"""Rank correlations of heads' multigrams with their refined LLC (arXiv 2410.02984, Section 4.1, App. B).

A table has for every head (seed, step, head): ``head_type``, ``layer``, ``multigrams``, the same for random
halves of the tokens (``multigrams_half``, half), ``rllc`` and ``rllc_se``.
"""

from collections.abc import Sequence
from itertools import permutations
from math import factorial

import numpy as np
import xarray as xr

from rllc.analysis.ranks import ranks, spearman
from rllc.analysis.tokens import heads_of

SCOPES = ("layer 0", "layer 1", "both layers")
FEWEST = 5  # least heads of a rank correlation: with fewer, no order is unlikely
EXACT = 7  # most heads for which all permutations are enumerated
DRAWS = 1000  # random permutations for more heads, and draws of an interval
NAN = float("nan")


def by_scope(table: xr.Dataset, random: np.random.Generator) -> xr.Dataset:
    """Return ``multigram_spearman`` (seed, step, scope) and its ``_low``, ``_high``, ``_p``, ``_heads``."""
    correlations = [_correlations(table, scope, random) for scope in SCOPES]
    return xr.concat(correlations, "scope").assign_coords(scope=np.asarray(SCOPES, dtype=object))


def over_seeds(table: xr.Dataset, random: np.random.Generator) -> dict[str, xr.DataArray]:
    """Return the correlation over all seeds' heads (seed, step): of layer 1 with p, and of both layers."""
    one, one_p = _pooled(table, "layer 1", random)
    both, _ = _pooled(table, "both layers", random)
    names = ("multigram_correlation", "multigram_correlation_p", "multigram_correlation_both")
    return dict(zip(names, (one, one_p, both), strict=True))


def _multigram_heads(one: xr.Dataset, scope: str) -> xr.Dataset:
    heads = heads_of(one, "multigram", layer=None if scope == SCOPES[2] else int(scope[-1]))
    known = np.isfinite(heads["rllc"].values) & np.isfinite(heads["multigrams"].values)
    return heads.isel(head=np.flatnonzero(known))


def _correlations(table: xr.Dataset, scope: str, random: np.random.Generator) -> xr.Dataset:
    """Return Spearman's correlation of one scope (seed, step), its interval and its p."""
    shape = (table.sizes["seed"], table.sizes["step"])
    made = {name: np.full(shape, NAN) for name in ("", "_low", "_high", "_p", "_heads")}
    for cell in np.ndindex(shape):
        heads = _multigram_heads(table.isel(seed=cell[0], step=cell[1]), scope)
        x, y = heads["multigrams"].values, heads["rllc"].values
        made["_heads"][cell] = x.size
        made[""][cell] = spearman(x, y)
        made["_low"][cell], made["_high"][cell] = _interval(heads, random)
        if x.size >= FEWEST:
            made["_p"][cell] = _p_value([x], [y], random)
    dims = ("seed", "step")
    coords = {"seed": table["seed"].values, "step": table["step"].values}
    return xr.Dataset({f"multigram_spearman{name}": (dims, v) for name, v in made.items()}, coords)


def _interval(heads: xr.Dataset, random: np.random.Generator) -> tuple[float, float]:
    """Return the 95 % interval of correlations with refined LLCs and counts redrawn by their errors."""
    error, halves = heads["rllc_se"].values, heads["multigrams_half"].transpose("half", "head").values
    if heads.sizes["head"] < 3 or not (np.isfinite(error).all() and np.isfinite(halves).all()):
        return NAN, NAN
    deviation, each = halves - halves.mean(0), np.arange(heads.sizes["head"])
    drawn = [
        (
            heads["multigrams"].values + deviation[random.integers(len(halves), size=each.size), each],
            random.normal(heads["rllc"].values, error),
        )
        for _ in range(DRAWS)
    ]
    drawn = spearman(*np.asarray(drawn).swapaxes(0, 1))
    low, high = np.nanpercentile(drawn, [2.5, 97.5]) if np.isfinite(drawn).any() else (NAN, NAN)
    return float(low), float(high)


def _pooled(table: xr.Dataset, scope: str, random: np.random.Generator) -> tuple[xr.DataArray, xr.DataArray]:
    """Return correlation and p over all seeds' heads, ranked within each seed: equal for every seed."""
    values = np.full((2, table.sizes["seed"], table.sizes["step"]), NAN)
    for t in range(table.sizes["step"]):
        cells = [_multigram_heads(table.isel(seed=s, step=t), scope) for s in range(table.sizes["seed"])]
        x, y = ([cell[name].values for cell in cells] for name in ("multigrams", "rllc"))
        if sum(map(len, x)) >= FEWEST:
            values[0, :, t] = correlation_within(x, y)
            values[1, :, t] = _p_value(x, y, random)
    coords = {"seed": table["seed"].values, "step": table["step"].values}
    correlation, p = (xr.DataArray(v, coords, ("seed", "step")) for v in values)
    return correlation, p


def correlation_within(x: Sequence[np.ndarray], y: Sequence[np.ndarray]) -> np.ndarray:
    """Return Pearson's correlation of ranks within each group [..., member], centred; NaN without any spread.

    Ranks are halves of whole numbers, so that sums of their products are exact in any order.
    """
    a, b = (np.concatenate([ranks(g) - (g.shape[-1] + 1) / 2 for g in groups], axis=-1) for groups in (x, y))
    size = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    product = (a * b).sum(-1)
    return np.divide(product, size, out=np.full(product.shape, NAN), where=size > 0)


def _p_value(x: Sequence[np.ndarray], y: Sequence[np.ndarray], random: np.random.Generator) -> float:
    """Return the share of orders within groups with at least this correlation; exact for few heads."""
    found = float(correlation_within(x, y))
    if not np.isfinite(found):
        return NAN
    if len(x) == 1 and factorial(x[0].size) <= factorial(EXACT):
        drawn = correlation_within(x, [np.asarray([*permutations(y[0])])])
        return float(np.mean(drawn >= found - 1e-12))
    orders = [[random.permutation(group) for group in y] for _ in range(DRAWS)]
    drawn = correlation_within(x, [np.asarray(group) for group in zip(*orders, strict=True)])
    return float((1 + np.sum(drawn >= found - 1e-12)) / (1 + DRAWS))

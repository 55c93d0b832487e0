"""Compare two measures of the same heads: rank correlation, shrinkage, prediction from curvature."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from rllc.analysis.ranks import spearman


def rank_correlation(a: xr.DataArray, b: xr.DataArray, *, dim: str | Sequence[str] = "head") -> xr.DataArray:
    """Return Spearman's rank correlation of two measures over ``dim``, for every index of the other dims.

    ``dim="head"`` compares the orderings of heads within each (seed, step); ``("step", "head")`` pools all
    cells of a seed, so the shared trend of all heads over training also counts. Only labels in both are
    compared. Never pool ``seed`` by head label: heads of different seeds are different heads.
    """
    over = [dim] if isinstance(dim, str) else list(dim)
    if "seed" in over:
        raise ValueError("a head label means another head in another seed: correlate within each seed")
    pairs = [each.stack(pooled=over) for each in xr.broadcast(*xr.align(a, b, join="inner"))]
    same = xr.apply_ufunc(spearman, *pairs, input_core_dims=[["pooled"], ["pooled"]])
    return same.rename("rank_correlation")


def shrinkage(on: xr.DataArray, off: xr.DataArray) -> xr.DataArray:
    """Return ``1 - on / off``: the reduction of the prior-only control by the loss gradient.

    0 where only the localization acts on the sampler. A "share explained by the control" is not defined (at a
    minimum the estimate is at most its control). 1 or more means that the estimate is 0 or negative.
    """
    return (1.0 - on / off.where(off != 0)).rename("shrinkage")


def curvature_prediction(
    hessian_trace: xr.DataArray, *, n_beta: float | xr.DataArray, localization: float | xr.DataArray
) -> xr.DataArray:
    """Return ``n_beta / (2 localization) tr H``: the estimate if the localization dominates the posterior.

    Leading order of n_beta E[L(w) - L(w*)] for w - w* ~ N(0, 1 / localization) at n_beta H << localization.
    """
    if not np.all(localization > 0):
        raise ValueError(f"the prediction needs a positive localization, got {localization}")
    return (n_beta / (2.0 * localization) * hessian_trace).rename("curvature_prediction")

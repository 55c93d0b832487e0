"""Two measures of the same heads side by side: rank correlation, paired contrasts, controls, onsets."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from rllc.vocabulary import describe

VARIABLES = {
    "contrast": ("difference of two estimates, mean over paired chains", "1"),
    "contrast_se": ("standard error over chains of the paired difference", "1"),
    "lead": ("value of the head less the highest other head", "1"),
    "lead_se": ("Monte Carlo standard error of the lead", "1"),
    "rival": ("the highest other head", "1"),
}


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1 of a vector, ties given their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's rank correlation over the pairs in which both are finite.

    The Pearson correlation of the mean ranks; NaN with fewer than 3 pairs or where either is constant.
    """
    a, b = np.ravel(a), np.ravel(b)
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < 3:
        return float("nan")
    x, y = (ranks(values[both]) - (both.sum() + 1) / 2 for values in (a, b))
    size = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / size) if size > 0 else float("nan")


def rank_correlation(a: xr.DataArray, b: xr.DataArray, *, dim: str | Sequence[str] = "head") -> xr.DataArray:
    """Spearman's rank correlation of two measures over ``dim``, for every index of the other dims.

    ``dim="head"`` compares the orderings of heads within each (seed, step); ``("step", "head")`` pools all
    cells of a seed, and so also rewards what all heads have in common over training. Only labels found in
    both are compared. Never pool ``seed``
    by head label: heads of different seeds are different heads.
    """
    over = [dim] if isinstance(dim, str) else list(dim)
    if "seed" in over:
        raise ValueError("a head label means another head in another seed: correlate within each seed")
    a, b = xr.broadcast(*xr.align(a, b, join="inner"))
    return xr.apply_ufunc(
        lambda x, y: np.vectorize(spearman, signature="(n),(n)->()")(*(_flat(v, len(over)) for v in (x, y))),
        a,
        b,
        input_core_dims=[over, over],
    ).rename("rank_correlation")


def _flat(values: np.ndarray, axes: int) -> np.ndarray:
    return values.reshape(*values.shape[: values.ndim - axes], -1)


def contrast(a: xr.DataArray, b: xr.DataArray, *, dim: str = "chain") -> xr.Dataset:
    """``a - b`` with the standard error of the paired difference.

    d_c = a_c - b_c per chain; ``contrast`` = mean of d, ``contrast_se`` = sd(d, ddof 1) / sqrt(chains).
    Chains of one seed share their noise across distributions, and their minibatches across heads, so what
    they have in common cancels and this is usually far tighter than adding the errors of ``a`` and ``b``.
    With n chains it has n - 1 degrees of freedom: with 4 chains, 2 standard errors are not 95 %.
    Chains that failed in either (NaN) are dropped; NaN with fewer than 2.
    """
    difference = a - b
    chains = difference.notnull().sum(dim)
    mean = difference.mean(dim)
    error = np.sqrt(((difference - mean) ** 2).sum(dim) / (chains - 1).where(chains > 1) / chains)
    return describe(xr.Dataset({"contrast": mean, "contrast_se": error}), VARIABLES)


def shrinkage(on: xr.DataArray, off: xr.DataArray) -> xr.DataArray:
    """``1 - on / off``: what the loss gradient takes away from the control without gradient.

    0 where the sampler feels only the localization. "Share explained by the control" is not defined (at a
    minimum the estimate is at most its control); 1 or more means that the estimate is 0 or negative.
    """
    return (1.0 - on / off.where(off != 0)).rename("shrinkage")


def curvature_prediction(hessian_trace: xr.DataArray, *, n_beta: float, localization: float) -> xr.DataArray:
    """``n_beta / (2 localization) tr H``: the estimate where the localization alone shapes the posterior.

    Leading order of n_beta E[L(w) - L(w*)] for w - w* ~ N(0, 1 / localization) at n_beta H << localization.
    """
    if not localization > 0:
        raise ValueError(f"the prediction needs a positive localization, got {localization}")
    return (n_beta / (2.0 * localization) * hessian_trace).rename("curvature_prediction")


def lead(
    values: xr.DataArray, *, head: str, others: Sequence[str], error: xr.DataArray | None = None
) -> xr.Dataset:
    """How far ``head`` is above the highest of ``others``, at each index of the other dims.

    ``lead`` = value(head) - max over others; ``lead_se`` = sqrt(se(head)^2 + se(highest other)^2), 0 without
    ``error``; where the two share their minibatches this is usually too large, never too bold. ``rival``
    names the highest other. Missing others are passed over.
    """
    rest = values.sel(head=list(others))
    if not rest.sizes["head"]:
        raise ValueError(f"nothing to compare head {head!r} with: 'others' is empty")
    filled = rest.fillna(-np.inf)
    top = filled.argmax("head")
    highest = rest.max("head")
    square = 0.0 * highest
    if error is not None:
        rival_error = error.sel(head=list(others)).isel(head=top).drop_vars("head")
        square = error.sel(head=head, drop=True) ** 2 + rival_error**2
    mine = values.sel(head=head)
    keep = [name for name in ("head", "layer", "head_index") if name in mine.coords]
    result = xr.Dataset(
        {
            "lead": mine.drop_vars(keep) - highest,
            "lead_se": np.sqrt(square),
            "rival": rest["head"].drop_vars("head", errors="ignore").isel(head=top),
        }
    )
    extra = [name for name in ("head", "layer", "head_index") if name in result.coords]
    return describe(result.drop_vars(extra), VARIABLES)


def onset(excess: xr.DataArray, *, threshold: xr.DataArray | float = 0.0, least: int = 2) -> float:
    """The first step at which ``excess`` (step) is above ``threshold`` and stays above to the end.

    Missing steps neither make nor break an onset. At least ``least`` measured steps must stay above, so
    that the last checkpoint alone is no onset. NaN where there is none.
    Use with ``lead``: ``onset(lead, threshold=3 * lead_se)`` is where a head leaves the others by three
    standard errors; for a score without error, give a margin.
    """
    above = (excess > threshold).transpose("step").values
    measured = np.isfinite((excess - threshold).transpose("step").values)
    steps = excess["step"].values
    steps, above = steps[measured], above[measured]
    below = np.flatnonzero(~above)
    first = 0 if below.size == 0 else below[-1] + 1
    return float(steps[first]) if len(steps) - first >= max(least, 1) else float("nan")

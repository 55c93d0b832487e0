"""Compare heads of a type between distributions (arXiv 2410.02984, section 4.2)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.analysis.contrasts import by_chain, difference
from rllc.quality import QUALITY_DTYPE, quality_attributes
from rllc.vocabulary import describe

GROUPS = ("induction", "multigram")  # types of heads
GAP = "induction less multigram"
VARIABLES = {
    "log2_ratio": (
        "mean over heads of log2 of their refined LLC on a distribution over that on another",
        "1",
    ),
    "log2_ratio_se": (
        "standard error of log2_ratio, paired by the chains' noise, given the minibatches",
        "1",
    ),
    "log2_ratio_prior_only": ("log2_ratio of the controls without the loss gradient", "1"),
    "log2_ratio_prior_only_se": (
        "standard error of log2_ratio_prior_only, with controls taken as independent",
        "1",
    ),
    "heads_of_group": ("number of heads in the group", "1"),
}


def refinement(
    datasets: Mapping[str, xr.Dataset],
    *,
    distribution: str,
    against: Sequence[str],
    random_seed: int = 0,
) -> xr.Dataset:
    """Return the log2 ratio of a type's refined LLCs on ``distribution`` to those on ``against``.

    datasets  ``rllc`` with ``rllc``, ``quality`` and the variables of ``contrasts.by_chain``;
              ``attention_scores`` with ``head_type``

    For the heads h of a group, of all layers, with the estimates of chain c (or their mean over chains)::

        log2_ratio  = mean_h log2(rllc(h, distribution) / rllc(h, against))
        its error^2 = sum_h var_c(a_hc / a_h - b_hc / b_h) / C / (H ln 2)^2

    to first order, since chain c has the same noise on both. Heads are independent given the minibatches. The
    gap is induction minus multigram, with squared errors added. NaN where the group has no head, or one of
    its estimates is missing or not positive. ``quality`` combines the bits of all its estimates.

    Returns ``log2_ratio``, ``log2_ratio_se``, ``quality`` (seed, step, head_group, against),
    ``heads_of_group`` (seed, head_group), and for the controls ``log2_ratio_prior_only`` with its error.
    """
    rllc, types = datasets["rllc"], datasets["attention_scores"]["head_type"]
    types = types.sel(seed=rllc["seed"], head=rllc["head"])
    others = rllc.sel(distribution=list(against)).rename(distribution="against")
    one = rllc.sel(distribution=distribution, drop=True)
    ratio, of_control = (_octaves(one[name], others[name]) for name in ("rllc", "rllc_prior_only"))
    control_square = sum(
        (each["rllc_prior_only_se"] / each["rllc_prior_only"]) ** 2 for each in (one, others)
    )
    control_square = control_square / np.log(2) ** 2
    (mine, my_common), (theirs, their_common) = by_chain(one), by_chain(others)
    relative = difference(
        mine / one["rllc"],
        theirs / others["rllc"],
        common=(my_common / one["rllc"] ** 2, their_common / others["rllc"] ** 2),
        shared_noise=True,
    )
    square = (relative["contrast_se"] / np.log(2)) ** 2
    bits = one["quality"] | others["quality"]
    made = []
    for kind in GROUPS:
        member = (types == kind).reset_coords(drop=True)
        count = member.sum("head")
        mean, error = _over(member, ratio, square)
        of_off, error_off = _over(member, of_control, control_square)
        off = {"log2_ratio_prior_only": of_off, "log2_ratio_prior_only_se": error_off}
        held = xr.where(member, bits, 0).reduce(np.bitwise_or.reduce, "head")
        made.append(
            xr.Dataset(
                {"log2_ratio": mean, "log2_ratio_se": error, "quality": held, "heads_of_group": count, **off}
            )
        )
    first, second = made
    gap = xr.Dataset(
        {
            "log2_ratio": first["log2_ratio"] - second["log2_ratio"],
            "log2_ratio_se": np.hypot(first["log2_ratio_se"], second["log2_ratio_se"]),
            "log2_ratio_prior_only": first["log2_ratio_prior_only"] - second["log2_ratio_prior_only"],
            "log2_ratio_prior_only_se": np.hypot(
                first["log2_ratio_prior_only_se"], second["log2_ratio_prior_only_se"]
            ),
            "quality": first["quality"] | second["quality"],
            "heads_of_group": first["heads_of_group"] + second["heads_of_group"],
        }
    )
    labels = xr.DataArray(np.asarray([*GROUPS, GAP], dtype=object), dims="head_group", name="head_group")
    result = xr.concat([*made, gap], labels).transpose("seed", "step", "head_group", "against")
    named = result.drop_vars([name for name in result.coords if name not in result.dims])
    named["quality"] = named["quality"].astype(QUALITY_DTYPE).assign_attrs(quality_attributes())
    return describe(named, VARIABLES).assign_attrs(distribution=distribution)


def _octaves(a: xr.DataArray, b: xr.DataArray) -> xr.DataArray:
    """Return log2(a / b), NaN where either is not positive."""
    return xr.ufuncs.log2(a.where(a > 0) / b.where(b > 0))


def _over(
    member: xr.DataArray, values: xr.DataArray, squares: xr.DataArray
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the mean of the members' values, and its error from their squared errors; NaN if none."""
    count = member.sum("head")
    count = count.where(count > 0)
    mean = xr.where(member, values, 0.0).sum("head", skipna=False) / count
    return mean, np.sqrt(xr.where(member, squares, 0.0).sum("head", skipna=False)) / count

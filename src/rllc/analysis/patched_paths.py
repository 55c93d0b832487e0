"""Path patching into the bracket head over training: numbers for claims (arXiv 2410.02984, Fig. 6)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.analysis.head_types import INDUCTION_BEGINS


def patched_paths(datasets: Mapping[str, xr.Dataset], *, random_seed: int = 0) -> xr.Dataset:
    """Return numbers over training of the loss added by replacing heads, on closing brackets.

    datasets  ``path_patching`` (``rise``, ``rise_se``), and ``attention_scores`` (``prefix_matching``)

    ``ablated_least``   the smaller of both kinds' losses added by ablating the bracket head (seed, step)
    ``path``            the loss that patching adds (seed, step, brackets)
    ``path_share``      ``path`` over the loss that ablating the bracket head adds (seed, step, brackets)
    ``path_onset``      ``path`` on nested brackets at the onset, over ``path`` at the step (seed, step).
                        The onset is the first checkpoint at or after that at which a head's prefix matching
                        reaches ``INDUCTION_BEGINS``. NaN before it, and where no head reaches it
    ``path_transient``  the largest ``path`` up to a step, over ``path`` at the step (seed, step, brackets)

    Ratios are NaN unless the denominator is above 0. Errors ``_se`` are to first order, for independent
    numbers. They are too large, since both numbers use the same contexts.
    """
    brackets, score = datasets["path_patching"], datasets["attention_scores"]["prefix_matching"]
    both = brackets[["rise", "rise_se"]].sel(closers="all", drop=True)
    ablated, patched = (both.sel(condition=c, drop=True) for c in ("ablated", "patched"))
    found = {}
    known = ablated["rise"].fillna(np.inf)
    least = ablated.isel(brackets=known.argmin("brackets"), drop=True).drop_vars("brackets")
    found["ablated_least"], found["ablated_least_se"] = least["rise"], least["rise_se"]
    found["path"], found["path_se"] = patched["rise"], patched["rise_se"]
    found |= _ratio("path_share", patched, ablated)
    found |= _ratio("path_onset", *_at_onset(patched.sel(brackets="nested", drop=True), score))
    largest = [
        patched.isel(step=slice(n + 1)).isel(
            step=patched["rise"].isel(step=slice(n + 1)).fillna(-np.inf).argmax("step")
        )
        for n in range(patched.sizes["step"])
    ]
    so_far = xr.concat([one.drop_vars("step") for one in largest], "step").assign_coords(step=patched["step"])
    found |= _ratio("path_transient", so_far, patched)
    return xr.Dataset(found).transpose("seed", "step", ...)


def _at_onset(patched: xr.Dataset, score: xr.DataArray) -> tuple[xr.Dataset, xr.Dataset]:
    """Return the numbers at the onset of induction, and from there on (seed, step)."""
    first: list[xr.Dataset] = []
    now: list[xr.Dataset] = []
    for seed in patched["seed"].values.tolist():
        own = patched.sel(seed=seed)
        reached = score["step"].values[(score.sel(seed=seed).max("head") >= INDUCTION_BEGINS).values]
        onset = min(reached, default=np.inf)
        late = own["step"] >= onset
        now.append(own.where(late))
        there = own.isel(step=late.values)
        one = there.isel(step=0, drop=True) if there.sizes["step"] else own.isel(step=0, drop=True) * np.nan
        first.append(one.expand_dims(step=own["step"]))
    return xr.concat(first, patched["seed"]), xr.concat(now, patched["seed"])


def _ratio(name: str, above: xr.Dataset, below: xr.Dataset) -> dict[str, xr.DataArray]:
    divisor = below["rise"].where(below["rise"] > 0)
    ratio = above["rise"] / divisor
    error = xr.apply_ufunc(np.hypot, above["rise_se"], ratio * below["rise_se"], join="inner") / divisor
    return {name: ratio, f"{name}_se": error}

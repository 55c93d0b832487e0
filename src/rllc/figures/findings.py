"""Findings out of labelled arrays: one number of several seeds, the largest head, the last value."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from rllc.figures.drawing import NAN, Finding


def over_seeds(
    label: str, values: xr.DataArray, error: xr.DataArray | None = None, unit: str = "1"
) -> list[Finding]:
    """Return one finding of values (seed).

    The value of one seed with its error, else mean and sd of the seeds.

    Seeds without a value are left out; no finding where no seed has one.
    """
    known = values.dropna("seed") if "seed" in values.dims else values.expand_dims("seed").dropna("seed")
    if not known.size:
        return []
    if known.size == 1:
        own = (
            NAN
            if error is None
            else float(error.sel(seed=known["seed"]).squeeze() if "seed" in error.dims else error)
        )
        several = "seed" in values.dims and values.sizes["seed"] > 1
        said = f"{label} (seed {known['seed'].values.item()})" if several else label
        return [Finding(said, float(known.squeeze()), own, unit)]
    spread = float(np.std(known.values, ddof=1))
    return [Finding(f"{label}, mean and sd of {known.size} seeds", float(known.mean()), spread, unit)]


def last(values: xr.DataArray) -> xr.DataArray:
    """Return the last value over ``step`` that is known, for every index of the other dims.

    NaN without one.
    """
    backwards = values.notnull().isel(step=slice(None, None, -1))
    return values.isel(step=values.sizes["step"] - 1 - backwards.argmax("step")).drop_vars("step")


def percent(values: xr.DataArray | float) -> xr.DataArray | float:
    """Return a share in per cent."""
    return 100.0 * values


def by_seed(dataset: xr.Dataset, read: Callable[[xr.Dataset], float]) -> xr.DataArray:
    """Return ``read`` of every seed (seed)."""
    seeds = np.atleast_1d(dataset["seed"].values)
    each = [read(dataset.sel(seed=seed) if "seed" in dataset.dims else dataset) for seed in seeds]
    return xr.DataArray(each, {"seed": seeds}, ["seed"])

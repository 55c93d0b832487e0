"""Findings from labelled arrays: one number of several seeds, the largest value, the last value."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
import xarray as xr

from rllc.analysis.curves import END_WINDOW, end_mean
from rllc.figures.drawing import NAN, Finding

Share = TypeVar("Share", xr.DataArray, float)
MOST, WORDS = 8, 115  # largest numbers of findings, and of words of a caption, of one figure


def over_seeds(
    label: str, values: xr.DataArray, error: xr.DataArray | None = None, unit: str = "1"
) -> list[Finding]:
    """Return one finding of values (seed).

    For one seed it is the value with its error, else mean and sd of the seeds.

    Seeds without a value are left out. If no seed has one, there is no finding.
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
    """Return the last known value over ``step``, for every index of the other dims; NaN if there is none."""
    backwards = values.notnull().isel(step=slice(None, None, -1))
    return values.isel(step=values.sizes["step"] - 1 - backwards.argmax("step")).drop_vars("step")


def percent(values: Share) -> Share:
    """Return a share in per cent."""
    return 100.0 * values


def by_seed(dataset: xr.Dataset, read: Callable[[xr.Dataset], float]) -> xr.DataArray:
    """Return ``read`` of every seed (seed)."""
    seeds = np.atleast_1d(dataset["seed"].values)
    each = [read(dataset.sel(seed=seed) if "seed" in dataset.dims else dataset) for seed in seeds]
    return xr.DataArray(each, {"seed": seeds}, ["seed"])


def at_end(
    label: str, values: xr.DataArray, error: xr.DataArray | None = None, unit: str = "1"
) -> list[Finding]:
    """Return the finding of the last known value of each seed; the label gets its step.

    values, error  (step), or (seed, step); an error is that of the value's own step
    """
    if not values.sizes["step"]:
        return []
    own = None if error is None else last(error.fillna(np.inf).where(values.notnull()))
    return over_seeds(f"{label} {_when(values)}", last(values), own, unit)


def near_end(
    label: str, values: xr.DataArray, error: xr.DataArray | None = None, unit: str = "1"
) -> list[Finding]:
    """Return the mean of the last checkpoints of each seed, with the noise of training in its error.

    values  (step), or (seed, step)
    error   standard errors of the values, which all checkpoints share: their mean is in the error too

    With fewer checkpoints than the mean takes, it is the finding of the last known value (``at_end``).
    """
    both = xr.Dataset({"value": values, "error": xr.zeros_like(values) if error is None else error})
    pairs = [_near_end(both.sel(seed=seed)) for seed in both["seed"].values] if "seed" in values.dims else []
    if not pairs:
        mean, spread = (xr.DataArray(each) for each in _near_end(both))
    else:
        mean, spread = (
            xr.DataArray(list(each), {"seed": both["seed"]}, ["seed"]) for each in zip(*pairs, strict=True)
        )
    if not bool(mean.notnull().any()):
        return at_end(label, values, error, unit)
    return over_seeds(f"{label}, mean of the last {END_WINDOW} checkpoints", mean, spread, unit)


def _near_end(one: xr.Dataset) -> tuple[float, float]:
    """Return the mean of the last checkpoints of one seed and its error; NaN with fewer checkpoints."""
    known = one.dropna("step", subset=["value"])
    if known.sizes["step"] < END_WINDOW:
        return NAN, NAN
    mean, noise = end_mean(known["value"].drop_vars("seed", errors="ignore"))
    shared = known["error"].isel(step=slice(-END_WINDOW, None)).fillna(0.0).mean()
    return float(mean), float(np.hypot(noise, shared))


def largest(
    label: str, values: xr.DataArray, error: xr.DataArray | None = None, unit: str = "1"
) -> list[Finding]:
    """Return the largest value over ``step`` of each seed, and its step.

    values, error  (step), or (seed, step); an error is that of the largest value
    """
    there = values.dropna("step", how="all")
    if not there.sizes["step"]:
        return []
    step = there.idxmax("step")
    own = None if error is None else error.where(values["step"] == step).max("step")
    return [
        *over_seeds(f"largest {label}", there.max("step"), own, unit),
        *over_seeds(f"step of the largest {label}", step, unit="steps"),
    ]


def known(findings: Iterable[Finding], at_most: int = MOST) -> list[Finding]:
    """Return the first findings that have a value, at most ``at_most``."""
    return [each for each in findings if np.isfinite(each.value)][:at_most]


def fitting(findings: Iterable[Finding], title: str, told: Sequence[str]) -> list[Finding]:
    """Return the first findings that have a value, as many as fit into a caption of ``WORDS`` words.

    title, told  the other parts of the caption
    """
    room, kept = WORDS - len(" ".join([title, *told]).split()), []
    for each in known(findings):
        room -= len(str(each).split()) + 1  # with the dash before the finding
        if room < 0:
            break
        kept.append(each)
    return kept


def _when(values: xr.DataArray) -> str:
    """Return "at step 3,000", or "at the last step" if seeds end at different steps."""
    there = values.notnull().transpose("step", ...).values.reshape(values.sizes["step"], -1)
    ends = {int(values["step"].values[row.nonzero()[0][-1]]) for row in there.T if row.any()}
    return f"at step {ends.pop():,}" if len(ends) == 1 else "at the last step"

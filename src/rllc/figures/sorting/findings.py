"""Findings of the sorting figures: numbers of each training seed, from the data drawn."""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from rllc.figures.drawing import NAN, Datasets, Finding
from rllc.figures.findings import over_seeds
from rllc.figures.sorting.inputs import LARGEST, first_accurate, llc_means, llc_peak, still_rises

Runs = Mapping[int, Datasets]  # seed -> its datasets, as ``one_seed`` returns them
AT_PEAK = "at the largest LLC"


def peak_step(ones: Runs) -> list[Finding]:
    """Return the step of the largest LLC, of seeds where a peak is seen (``llc_peak``)."""
    return over_seeds("step of the largest LLC", _each(ones, _peak_step), unit="steps")


def llc_fall(ones: Runs) -> list[Finding]:
    """Return the fall of the LLC from its largest mean to the last; nothing if the last is the largest."""
    errors = _each(ones, lambda one: _fall(one)[1])
    label = "fall of the LLC from peak to end"
    return over_seeds(label, _each(ones, lambda one: _fall(one)[0]), errors, "%")


def peak_conditions(ones: Runs) -> list[str]:
    """Return the definition of the largest LLC, and the seeds without a fall, where it is the last mean."""
    rising = [seed for seed, one in ones.items() if still_rises(one)]
    marked = any(llc_peak(one) is not None for one in ones.values())
    of = f" of seed{'s' * (len(rising) > 1)} {', '.join(map(str, rising))}" if len(ones) > 1 else ""
    return [
        *([LARGEST] if marked or rising else []),
        *([f"The last mean{of} is the largest: no fall is seen."] if rising else []),
    ]


def accuracy(ones: Runs, accurate: float) -> list[Finding]:
    """Return the first step with token accuracy ``accurate``; for seeds without one, the largest accuracy."""

    def reached(one: Datasets) -> float:
        first = first_accurate(one["metrics"], accurate)
        return NAN if first is None else float(first)

    steps = _each(ones, reached)
    most = _each(ones, lambda one: 100 * float(one["metrics"]["accuracy"].max()))
    return [
        *over_seeds(f"first step with token accuracy {accurate:g}", steps, unit="steps"),
        *over_seeds(f"largest token accuracy, never {accurate:g}", most.where(steps.isnull()), unit="%"),
    ]


def of_circuits(ones: Runs, variable: str, label: str) -> list[Finding]:
    """Return a variable (step) of the circuits at the end; for one seed also at its largest LLC."""
    circuits = [one["circuits"] for one in ones.values() if "circuits" in one]
    if not circuits:
        return []

    def at_peak(one: Datasets) -> float:
        peak = llc_peak(one)
        values = one["circuits"][variable]
        if peak is None or int(peak["step"]) not in values["step"].values:
            return NAN
        return float(values.sel(step=peak["step"]))

    end = int(circuits[0]["step"][-1])
    last = over_seeds(
        f"{label} at step {end:,}", _each(ones, lambda one: float(one["circuits"][variable].sel(step=end)))
    )
    return [*(over_seeds(f"{label} {AT_PEAK}", _each(ones, at_peak)) if len(ones) == 1 else []), *last]


def _each(ones: Runs, read: Callable[[Datasets], float]) -> xr.DataArray:
    """Return ``read`` of every seed (seed)."""
    return xr.DataArray([read(one) for one in ones.values()], {"seed": list(ones)}, ["seed"])


def _peak_step(one: Datasets) -> float:
    peak = llc_peak(one)
    return NAN if peak is None else float(peak["step"])


def _fall(one: Datasets) -> tuple[float, float]:
    """Return 1 - last / largest of ``llc_means`` in per cent, and its standard error.

    The two means are treated as independent. If they share checkpoints, the error is too large.
    """
    means, peak = llc_means(one), llc_peak(one)
    if means is None or peak is None:
        return NAN, NAN
    left = float(means["llc"][-1]) / float(peak)
    if "error" not in means:
        return 100 * (1 - left), NAN
    of_peak, of_end = float(means["error"].sel(step=peak["step"])), float(means["error"][-1])
    return 100 * (1 - left), 100 * float(np.hypot(of_end, left * of_peak)) / float(peak)

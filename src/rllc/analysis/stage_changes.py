"""Changes of curves over stages of training, with their errors (arXiv 2410.02984, D.1.2)."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from rllc.analysis.intervals import student_half_width


def stage_changes(
    value: xr.DataArray,
    error: xr.DataArray,
    edges: Sequence[float] | np.ndarray,
    freedom: xr.DataArray | float = float("inf"),
) -> xr.Dataset:
    """Return the change of a curve over every stage: ``change``, ``change_se``, ``half_width`` (stage, ...).

    value, error  (step, ...); the errors of two checkpoints are taken as independent
    edges         steps at which stages begin and end, ascending; the nearest measured checkpoint counts
    freedom       degrees of freedom of the errors; those of a change are Welch's and Satterthwaite's

    ``half_width`` is that of the 95 % Student interval of the change: a larger change is clear.
    ``first`` and ``last`` (stage) are the checkpoints compared. NaN for a stage that lies between two
    measured checkpoints, and where a value or an error is missing.
    """
    others = [dim for dim in value.dims if dim != "step"]
    known = np.sort(value["step"].values[value.notnull().any(others).values])
    if known.size < 2 or len(edges) < 2:
        return _empty(value, others)
    at = np.asarray([known[np.abs(known - edge).argmin()] for edge in edges])
    variance = error**2
    spread = freedom if isinstance(freedom, xr.DataArray) else xr.full_like(error, freedom)

    def ends(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
        chosen = values.sel(step=at).drop_vars("step").rename(step="stage")
        return chosen.isel(stage=slice(None, -1)), chosen.isel(stage=slice(1, None))

    (before, after), (one, other), (first, last) = map(ends, (value, variance, spread))
    total = one + other
    apart = xr.DataArray(at[1:] > at[:-1], dims="stage")
    welch = (total**2 / (one**2 / first + other**2 / last)).fillna(np.inf)
    change_error = total**0.5
    half_width = student_half_width(change_error, welch)
    found = {"change": after - before, "change_se": change_error, "half_width": half_width}
    stages = {
        "stage": np.arange(1, len(at)),
        "first": ("stage", at[:-1]),
        "last": ("stage", at[1:]),
    }
    made = xr.Dataset({name: each.where(apart).reset_coords(drop=True) for name, each in found.items()})
    return made.assign_coords(stages)


def _empty(value: xr.DataArray, others: Sequence) -> xr.Dataset:
    nothing = value.isel(step=slice(0, 0)).drop_vars("step").rename(step="stage").reset_coords(drop=True)
    nothing = nothing.transpose("stage", *others)
    made = xr.Dataset(dict.fromkeys(("change", "change_se", "half_width"), nothing))
    steps = np.empty(0, dtype=int)
    return made.assign_coords(stage=steps, first=("stage", steps), last=("stage", steps))

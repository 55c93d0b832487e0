"""Statistics of labelled curves over training, for claims and findings.

A curve is a DataArray with a dim ``step`` in ascending order and any other dims, such as ``head`` or
``redraw``. A function returns one number for each label of the other dims. Steps without a value count as not
measured.

The maximum of noisy checkpoints is biased upwards, and so is a fall from it. A running mean (``smooth``)
reduces this by the root of its window, at both ends of a fall. It uses whole windows only, so no peak lies
within ``window // 2`` checkpoints of an end.
"""

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from rllc.analysis import ranks

NAN = float("nan")
# Figures and claims share this definition of the largest LLC: the largest mean over PEAK_WINDOW neighbouring
# checkpoints from step PEAK_FROM on. Before this step, the LLC is that of random weights.
PEAK_WINDOW, PEAK_FROM = 3, 50
END_WINDOW = 4  # checkpoints whose mean is the value near the end
LAST_STEP = "last_step"  # scalar coordinate of a curve: the last checkpoint that could have a value


class NotJudged(ValueError):
    """The error of an undefined number. The message gives the reason: "needs two induction heads, has 1"."""


def smooth(curve: xr.DataArray, window: int = PEAK_WINDOW) -> xr.DataArray:
    """Return the running mean over whole windows, each at its middle checkpoint.

    For an even window, this is the later of the two middle checkpoints.

    Raises NotJudged with fewer checkpoints than a window has.
    """
    known = measured(curve)
    if known.sizes["step"] < window:
        raise NotJudged(f"{known.sizes['step']} of {window} checkpoints that a running mean takes")
    axis = known.get_axis_num("step")
    view = np.lib.stride_tricks.sliding_window_view(known.values, window, axis)
    first = window // 2
    middle = known.isel(step=slice(first, known.sizes["step"] - (window - 1 - first)))
    if LAST_STEP in known.coords and int(known["step"][-1]) >= int(known[LAST_STEP]):
        middle = middle.assign_coords({LAST_STEP: int(middle["step"][-1])})  # the last possible mean
    return middle.copy(data=view.mean(-1))


def smooth_error(error: xr.DataArray, window: int = PEAK_WINDOW) -> xr.DataArray:
    """Return the standard error of ``smooth`` for checkpoints with independent errors."""
    return xr.ufuncs.sqrt(smooth(error**2, window) / window)


def largest_means(curve: xr.DataArray) -> xr.DataArray:
    """Return the running means from step ``PEAK_FROM`` on, whose maximum is *the largest LLC*.

    Raises NotJudged.
    """
    return smooth(curve.sel(step=slice(PEAK_FROM, None)), PEAK_WINDOW)


def peak_step(curve: xr.DataArray) -> xr.DataArray:
    """Return the step of the largest value, the first of equal ones."""
    return _some(curve).idxmax("step")


def minimum_step(curve: xr.DataArray) -> xr.DataArray:
    """Return the step of the smallest value, the first of equal ones."""
    return _some(curve).idxmin("step")


def maximum(curve: xr.DataArray) -> xr.DataArray:
    """Return the largest value."""
    return _some(curve).max("step")


def minimum(curve: xr.DataArray) -> xr.DataArray:
    """Return the smallest value."""
    return _some(curve).min("step")


def last(curve: xr.DataArray) -> xr.DataArray:
    """Return the value at the last checkpoint. Raises NotJudged where it is missing."""
    _some(curve)
    if LAST_STEP in curve.coords and int(curve["step"][-1]) < int(curve[LAST_STEP]):
        raise NotJudged(f"the last checkpoint, step {int(curve[LAST_STEP]):,}, has no value")
    return curve.isel(step=-1, drop=True)


def end_mean(curve: xr.DataArray, count: int = END_WINDOW) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the mean of the last ``count`` checkpoints and its standard error, sd / sqrt(count).

    At a constant learning rate each checkpoint has noise of training, which more data at one checkpoint does
    not lower. The error holds this noise, with count - 1 degrees of freedom. A trend enlarges it.

    Raises NotJudged with fewer checkpoints, or where the last one has no value.
    """
    last(curve)
    known = measured(curve)
    if known.sizes["step"] < count:
        raise NotJudged(f"the mean of the last {count} checkpoints needs {count}, has {known.sizes['step']}")
    near = known.isel(step=slice(-count, None))
    return near.mean("step"), near.std("step", ddof=1) / np.sqrt(count)


def fall(curve: xr.DataArray) -> xr.DataArray:
    """Return 1 - last / maximum: the share of the maximum that is lost at the end.

    NaN where the maximum is not positive.
    """
    return _relative_fall(last(curve), maximum(curve))


def fall_to_minimum(curve: xr.DataArray) -> xr.DataArray:
    """Return 1 - (minimum at or after the maximum) / maximum: a fall that may recover later.

    Noise lowers a minimum over many checkpoints as it raises the maximum; ``fall`` has only the latter.
    """
    after = curve["step"] >= peak_step(curve)
    return _relative_fall(curve.where(after).min("step"), maximum(curve))


def rise(curve: xr.DataArray) -> xr.DataArray:
    """Return last - minimum: the rise from the smallest value to the end."""
    return last(curve) - minimum(curve)


def climb(curve: xr.DataArray) -> xr.DataArray:
    """Return maximum - first: the largest rise above the start."""
    return maximum(curve) - curve.isel(step=0, drop=True)


def kept_of_minimum(curve: xr.DataArray) -> xr.DataArray:
    """Return last / minimum: the share of its largest depth that is kept.

    NaN where the minimum is not below 0.
    """
    low = minimum(curve)
    return last(curve) / low.where(low < 0)


def value_at(curve: xr.DataArray, step: float) -> xr.DataArray:
    """Return the value at the first checkpoint at or after ``step``.

    Raises NotJudged where training is shorter.
    """
    later = np.flatnonzero(_some(curve)["step"].values >= step)
    if not later.size:
        raise NotJudged(f"training ends at step {int(curve['step'][-1]):,}, before {step:,.0f}")
    return curve.isel(step=int(later[0]), drop=True)


def change(curve: xr.DataArray, step: float, until: float) -> xr.DataArray:
    """Return the value at ``until`` minus that at ``step``, each by ``value_at``."""
    return value_at(curve, until) - value_at(curve, step)


def ratio_at(curve: xr.DataArray, step: float, until: float) -> xr.DataArray:
    """Return the value at ``until`` over that at ``step``, each by ``value_at``; NaN for a division by 0."""
    before = value_at(curve, step)
    return value_at(curve, until) / before.where(before != 0)


def log2_ratio(curve: xr.DataArray, step: float, until: float) -> xr.DataArray:
    """Return log2 of the value at ``until`` over that at ``step``; NaN where either is not positive."""
    return octaves(value_at(curve, until), value_at(curve, step))


def log2_gain(curve: xr.DataArray, step: float) -> xr.DataArray:
    """Return log2 of the last value over the mean up to ``step``; NaN where either is not positive.

    Raises NotJudged where no checkpoint is that early.
    """
    early = curve.sel(step=slice(None, step))
    if not early.sizes["step"]:
        raise NotJudged(f"no checkpoint is measured up to step {step:,.0f}")
    return octaves(last(curve), early.mean("step"))


def octaves(high: xr.DataArray, low: xr.DataArray) -> xr.DataArray:
    """Return log2(high / low), NaN where either is not positive."""
    return xr.ufuncs.log2(high.where(high > 0) / low.where(low > 0))


def mean_departure(curve: xr.DataArray) -> xr.DataArray:
    """Return the mean over checkpoints of |value - 1|: the mean distance of a ratio from 1."""
    return abs(_some(curve) - 1).mean("step")


def roughness(curve: xr.DataArray, error: xr.DataArray | None = None) -> xr.DataArray:
    """Return the root mean square second difference of checkpoints over the range of the values.

    Checkpoints count as evenly spaced. With standard errors, the mean square that independent noise of this
    size gives, e[i-1]^2 + 4 e[i]^2 + e[i+1]^2, is subtracted first; 0 where noise explains all. NaN for a
    constant.
    Raises NotJudged with fewer than 3 checkpoints.
    """
    known = measured(curve)
    if known.sizes["step"] < 3:
        raise NotJudged(f"roughness needs 3 checkpoints, has {known.sizes['step']}")
    square = (known.diff("step").diff("step", label="lower") ** 2).mean("step")
    if error is not None:
        noise = (
            error.sel(step=known["step"]).transpose(*[dim for dim in known.dims if dim in error.dims]) ** 2
        )
        parts = [noise.isel(step=slice(n, noise.sizes["step"] - 2 + n)).mean("step") for n in range(3)]
        square = (square - parts[0] - 4 * parts[1] - parts[2]).clip(min=0.0)
    breadth = known.max("step") - known.min("step")
    return xr.ufuncs.sqrt(square) / breadth.where(breadth > 0)


def count_reaching(curve: xr.DataArray, threshold: float) -> xr.DataArray:
    """Return the number of checkpoints with a value of at least ``threshold``."""
    return (curve >= threshold).sum("step").astype(float)


def places_reaching(
    curve: xr.DataArray, threshold: float, places: Sequence[int], factor: float
) -> xr.DataArray:
    """Return the number of ``places`` (steps) with a checkpoint of at least ``threshold`` within a factor."""
    near = [curve.sel(step=slice(place / factor, place * factor)) for place in places]
    return sum(((each >= threshold).any("step").astype(float) for each in near), start=xr.DataArray(0.0))


def first_step_reaching(curve: xr.DataArray, threshold: float) -> xr.DataArray:
    """Return the first checkpoint whose value is at least ``threshold``; NaN where none reaches it."""
    reached = curve >= threshold
    return reached.astype(float).idxmax("step").where(reached.any("step")).astype(float)


def growth(curve: xr.DataArray) -> xr.DataArray:
    """Return Spearman's rank correlation of the value with the step, or with its logarithm."""
    return spearman(curve, curve["step"].astype(float), "step")


def relative_range(curve: xr.DataArray) -> xr.DataArray:
    """Return (maximum - minimum) / |mean|: 0 for a constant; NaN where the mean is 0."""
    middle = abs(_some(curve).mean("step"))
    return (maximum(curve) - minimum(curve)) / middle.where(middle > 0)


def step_lead(curve: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    """Return log2 of (peak step of ``other`` + 1) / (own peak step + 1): 1 if ``other`` is twice as late."""
    return xr.ufuncs.log2((peak_step(other) + 1) / (peak_step(curve) + 1))


def spearman(one: xr.DataArray, other: xr.DataArray, dim: str = "step") -> xr.DataArray:
    """Return Spearman's rank correlation over the labels of ``dim`` where both are known.

    Raises NotJudged with fewer than 3; NaN where either is constant.
    """
    return _correlation(ranks.spearman, one, other, dim)


def pearson(one: xr.DataArray, other: xr.DataArray, dim: str = "step") -> xr.DataArray:
    """Return Pearson's correlation, as ``spearman`` does."""
    return _correlation(ranks.pearson, one, other, dim)


def measured(curve: xr.DataArray) -> xr.DataArray:
    """Return the curve at the steps where all of its values are known."""
    return curve.isel(
        step=np.flatnonzero(curve.notnull().all([dim for dim in curve.dims if dim != "step"]).values)
    )


def _correlation(
    function: Callable[[np.ndarray, np.ndarray], float | np.ndarray],
    one: xr.DataArray,
    other: xr.DataArray,
    dim: str,
) -> xr.DataArray:
    one, other = xr.align(one, other, join="inner", exclude=[each for each in one.dims if each != dim])
    if one.sizes[dim] < ranks.FEWEST:
        plural = {"step": "checkpoints", "head": "heads"}.get(dim, f"labels of {dim}")
        raise NotJudged(f"a correlation needs {ranks.FEWEST} {plural}, has {one.sizes[dim]}")
    return xr.apply_ufunc(function, one, other, input_core_dims=[[dim], [dim]])


def _some(curve: xr.DataArray) -> xr.DataArray:
    if not curve.sizes["step"]:
        raise NotJudged(f"{curve.name or 'the curve'} has no value at these steps")
    return curve


def _relative_fall(low: xr.DataArray, high: xr.DataArray) -> xr.DataArray:
    return 1 - low / high.where(high > 0)

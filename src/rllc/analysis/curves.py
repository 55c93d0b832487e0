"""What is read off one curve over training: pure functions, each of them one number.

Steps are the last axis of values, so of many curves at the same steps a function gives a number for each.

The maximum of noisy checkpoints is above the maximum of what they measure, and so is a fall from it. A
running mean (``smooth``) narrows that by the root of its window, at both ends of a fall alike; it keeps whole
windows only, so that no peak lies within window // 2 checkpoints of an end.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rllc.analysis.ranks import spearman

NAN = float("nan")
Numbers = float | np.ndarray  # one for each curve
# The one definition of a largest LLC, in figures and (config) in statistics: the largest mean over so many
# neighbouring checkpoints, from this step on. Before it the LLC is that of random weights.
PEAK_WINDOW, PEAK_FROM = 3, 50


class Curve(NamedTuple):
    """A quantity at ascending checkpoints, all finite, and where known its standard errors and faults.

    ``step`` [step], the others [..., step]. A fault is 1 where the estimate is not reliable, else 0.
    """

    step: np.ndarray
    value: np.ndarray
    error: np.ndarray | None = None
    fault: np.ndarray | None = None


def of_the_end(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    """Marks what is of the last checkpoint: where that has no value, an earlier one's is none."""
    function.of_the_end = True
    return function


def smooth(curve: Curve, window: int) -> Curve:
    """Running mean over whole windows, each at its middle checkpoint. Needs ``window`` checkpoints.

    Errors are those of means of independent values.
    """
    middle = curve.step[window // 2 : curve.step.size - (window - 1) // 2]
    view = np.lib.stride_tricks.sliding_window_view
    error = None if curve.error is None else np.sqrt((view(curve.error, window, -1) ** 2).sum(-1)) / window
    return Curve(middle, view(curve.value, window, -1).mean(-1), error)


def before_peak(curve: Curve) -> Curve | None:
    """The means of which the largest is *the largest LLC*; None with fewer checkpoints than that needs."""
    late = curve.step >= PEAK_FROM
    if late.sum() < PEAK_WINDOW:
        return None
    return smooth(Curve(*(None if each is None else each[late] for each in curve)), PEAK_WINDOW)


def peak_step(curve: Curve) -> Numbers:
    """The step of the largest value, the first of equal ones."""
    return curve.step[curve.value.argmax(-1)].astype(float)


def near_peak(curve: Curve) -> np.ndarray:
    """Which values are within a standard error of the difference from the largest, itself one; of one curve.

    Without errors only those that equal it.
    """
    top = curve.value.argmax()
    error = np.zeros(curve.value.size) if curve.error is None else curve.error
    return curve.value[top] - curve.value <= np.where(
        curve.step == curve.step[top], 0.0, np.hypot(error, error[top])
    )


def maximum(curve: Curve) -> Numbers:
    """The largest value."""
    return curve.value.max(-1)


def minimum(curve: Curve) -> Numbers:
    """The smallest value."""
    return curve.value.min(-1)


def minimum_step(curve: Curve) -> Numbers:
    """The step of the smallest value, the first of equal ones."""
    return curve.step[curve.value.argmin(-1)].astype(float)


def mean(curve: Curve) -> Numbers:
    """The mean over checkpoints, each counted alike."""
    return curve.value.mean(-1) if curve.step.size else none(curve.value)


@of_the_end
def last(curve: Curve) -> Numbers:
    """The value at the last checkpoint."""
    return curve.value[..., -1]


@of_the_end
def fall(curve: Curve) -> Numbers:
    """1 - last / maximum: what of the maximum is lost at the end. NaN where the maximum is not positive."""
    return _relative_fall(last(curve), maximum(curve))


def fall_to_minimum(curve: Curve) -> Numbers:
    """1 - (minimum at or after the maximum) / maximum: a fall that may be made good later.

    Noise lowers a minimum over many checkpoints as it raises the maximum; ``fall`` has only the latter.
    """
    after = np.arange(curve.step.size) >= curve.value.argmax(-1)[..., None]
    return _relative_fall(np.where(after, curve.value, np.inf).min(-1), maximum(curve))


def value_at(curve: Curve, *, step: int) -> Numbers:
    """The value at the first checkpoint at or after ``step``; NaN where training is shorter."""
    index = int(np.searchsorted(curve.step, step))
    return curve.value[..., index] if index < curve.step.size else none(curve.value)


def change(curve: Curve, *, step: int, until: int) -> Numbers:
    """The value at ``until`` less that at ``step``, each as of ``value_at``."""
    return value_at(curve, step=until) - value_at(curve, step=step)


def ratio_at(curve: Curve, *, step: int, until: int) -> Numbers:
    """The value at ``until`` over that at ``step``, each as of ``value_at``.

    NaN where that at ``step`` is 0.
    """
    before = value_at(curve, step=step)
    return over(value_at(curve, step=until), before, before != 0)


def log2_ratio(curve: Curve, *, step: int, until: int) -> Numbers:
    """log2 of the value at ``until`` over that at ``step``, as of ``value_at``.

    NaN where either is not positive.
    """
    return _log2(value_at(curve, step=until), value_at(curve, step=step))


@of_the_end
def log2_gain(curve: Curve, *, step: int) -> Numbers:
    """log2 of the last value over the mean up to ``step``.

    NaN where either is not positive or no checkpoint is early.
    """
    early = curve.step <= step
    return _log2(last(curve), curve.value[..., early].mean(-1)) if early.any() else none(curve.value)


def mean_departure(curve: Curve) -> Numbers:
    """Mean over checkpoints of |value - 1|: how far a ratio is from none."""
    return np.abs(curve.value - 1).mean(-1)


def roughness(curve: Curve) -> Numbers:
    """Root mean square second difference from checkpoint to checkpoint, over the range of the values.

    Checkpoints count as evenly spaced. NaN with fewer than 3 checkpoints, or for a constant.
    """
    if curve.step.size < 3:
        return none(curve.value)
    breadth = np.ptp(curve.value, -1)
    return over(np.sqrt((np.diff(curve.value, 2, -1) ** 2).mean(-1)), breadth, breadth > 0)


@of_the_end
def rise(curve: Curve) -> Numbers:
    """last - minimum: how far the curve comes from its least value."""
    return last(curve) - minimum(curve)


def climb(curve: Curve) -> Numbers:
    """maximum - first: how far the curve comes above where it begins."""
    return maximum(curve) - curve.value[..., 0]


@of_the_end
def kept_of_minimum(curve: Curve) -> Numbers:
    """last / minimum: what of its largest depth is kept. NaN where the minimum is not below 0."""
    low = minimum(curve)
    return over(last(curve), low, low < 0)


def count_reaching(curve: Curve, *, threshold: float) -> Numbers:
    """How many checkpoints have at least the value ``threshold``."""
    return (curve.value >= threshold).sum(-1).astype(float)


def places_reaching(curve: Curve, *, threshold: float, places: Sequence[int], factor: float) -> Numbers:
    """How many of ``places`` (steps) have a checkpoint of at least ``threshold`` within a factor."""
    reached, step = curve.value >= threshold, curve.step
    near = [(step >= place / factor) & (step <= place * factor) for place in places]
    return np.sum([(reached & each).any(-1) for each in near], axis=0).astype(float)


def first_step_reaching(curve: Curve, *, threshold: float) -> Numbers:
    """The first checkpoint whose value is at least ``threshold``; NaN where no checkpoint reaches it."""
    reached = curve.value >= threshold
    return np.where(reached.any(-1), curve.step[reached.argmax(-1)], NAN)[()]


def growth(curve: Curve) -> Numbers:
    """Spearman's rank correlation of the value with the step (or its logarithm: ranks are the same).

    NaN with fewer than 3 checkpoints, or where the value is constant.
    """
    return spearman(curve.value, curve.step)


def relative_range(curve: Curve) -> Numbers:
    """(maximum - minimum) / |mean|: 0 for a constant. NaN where the mean is 0."""
    middle = np.abs(curve.value.mean(-1))
    return over(np.ptp(curve.value, -1), middle, middle > 0)


def over(high: Numbers, low: Numbers, where: Numbers) -> Numbers:
    """high / low, NaN where not ``where``."""
    return np.divide(
        high, low, out=np.full(np.broadcast_shapes(np.shape(high), np.shape(low)), NAN), where=where
    )[()]


def none(values: np.ndarray) -> Numbers:
    """NaN for every curve of ``values`` [..., step]."""
    return np.full(values.shape[:-1], NAN)[()]


def _log2(high: Numbers, low: Numbers) -> Numbers:
    return np.log2(over(high, low, (np.asarray(high) > 0) & (low > 0)))


def _relative_fall(low: Numbers, high: Numbers) -> Numbers:
    return 1 - over(low, high, high > 0)

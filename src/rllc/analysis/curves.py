"""What is read off one curve over training: pure functions, each of them one number.

A statistic of the config is a function of ``STATISTICS``; its options are the keyword-only arguments.

The maximum of noisy checkpoints is above the maximum of what they measure, and so is a fall from it. A
running mean (``smooth``) narrows that by the root of its window, at both ends of a fall alike; it keeps whole
windows only, so that no peak lies within window // 2 checkpoints of an end.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rllc.analysis.ranks import spearman

NAN = float("nan")
# The one definition of a largest LLC, in figures and (config) in statistics: the largest mean over so many
# neighbouring checkpoints, from this step on. Before it the LLC is that of random weights.
PEAK_WINDOW, PEAK_FROM = 3, 50


class Curve(NamedTuple):
    """A quantity at ascending checkpoints, all finite, and where known its standard errors and faults.

    A fault is 1 where the estimate cannot be trusted, else 0.
    """

    step: np.ndarray
    value: np.ndarray
    error: np.ndarray | None = None
    fault: np.ndarray | None = None


def smooth(curve: Curve, window: int) -> Curve:
    """Running mean over whole windows, each at its middle checkpoint. Needs ``window`` checkpoints.

    Errors are those of means of independent values.
    """
    middle = curve.step[window // 2 : curve.step.size - (window - 1) // 2]
    view = np.lib.stride_tricks.sliding_window_view
    error = None if curve.error is None else np.sqrt((view(curve.error, window) ** 2).sum(-1)) / window
    return Curve(middle, view(curve.value, window).mean(-1), error)


def before_peak(curve: Curve) -> Curve | None:
    """The means of which the largest is *the largest LLC*; None with fewer checkpoints than that needs."""
    late = curve.step >= PEAK_FROM
    if late.sum() < PEAK_WINDOW:
        return None
    return smooth(Curve(*(None if each is None else each[late] for each in curve)), PEAK_WINDOW)


def peak_step(curve: Curve) -> float:
    """The step of the largest value, the first of equal ones."""
    return float(curve.step[curve.value.argmax()])


def maximum(curve: Curve) -> float:
    """The largest value."""
    return float(curve.value.max())


def minimum(curve: Curve) -> float:
    """The smallest value."""
    return float(curve.value.min())


def minimum_step(curve: Curve) -> float:
    """The step of the smallest value, the first of equal ones."""
    return float(curve.step[curve.value.argmin()])


def mean(curve: Curve) -> float:
    """The mean over checkpoints, each counted alike."""
    return float(curve.value.mean()) if curve.value.size else NAN


def last(curve: Curve) -> float:
    """The value at the last checkpoint."""
    return float(curve.value[-1])


def fall(curve: Curve) -> float:
    """1 - last / maximum: what of the maximum is lost at the end. NaN where the maximum is not positive."""
    return _relative_fall(curve.value[-1], curve.value.max())


def fall_to_minimum(curve: Curve) -> float:
    """1 - (minimum at or after the maximum) / maximum: a fall that may be made good later.

    Noise lowers a minimum over many checkpoints as it raises the maximum; ``fall`` has only the latter.
    """
    return _relative_fall(curve.value[curve.value.argmax() :].min(), curve.value.max())


def value_at(curve: Curve, *, step: int) -> float:
    """The value at the first checkpoint at or after ``step``; NaN where training is shorter."""
    index = int(np.searchsorted(curve.step, step))
    return float(curve.value[index]) if index < curve.step.size else NAN


def change(curve: Curve, *, step: int, until: int) -> float:
    """The value at ``until`` less that at ``step``, each as of ``value_at``."""
    return value_at(curve, step=until) - value_at(curve, step=step)


def ratio_at(curve: Curve, *, step: int, until: int) -> float:
    """The value at ``until`` over that at ``step``, each as of ``value_at``; NaN where the latter is 0."""
    before = value_at(curve, step=step)
    return value_at(curve, step=until) / before if before else NAN


def log2_ratio(curve: Curve, *, step: int, until: int) -> float:
    """log2 of the value at ``until`` over that at ``step``, as of ``value_at``; NaN where not positive."""
    return _log2(value_at(curve, step=until), value_at(curve, step=step))


def log2_gain(curve: Curve, *, step: int) -> float:
    """log2 of the last value over the mean up to ``step``; NaN where either is not positive, or none is."""
    early = curve.value[curve.step <= step]
    return _log2(float(curve.value[-1]), float(early.mean())) if early.size else NAN


def mean_departure(curve: Curve) -> float:
    """Mean over checkpoints of |value - 1|: how far a ratio is from none."""
    return float(np.abs(curve.value - 1).mean())


def roughness(curve: Curve) -> float:
    """Root mean square second difference from checkpoint to checkpoint, over the range of the values.

    Checkpoints count as evenly spaced. NaN with fewer than 3 of them, or for a constant.
    """
    if curve.step.size < 3 or not np.ptp(curve.value):
        return NAN
    return float(np.sqrt((np.diff(curve.value, 2) ** 2).mean()) / np.ptp(curve.value))


def rise(curve: Curve) -> float:
    """last - minimum: how far the curve comes from its least value."""
    return float(curve.value[-1] - curve.value.min())


def climb(curve: Curve) -> float:
    """maximum - first: how far the curve comes above where it begins."""
    return float(curve.value.max() - curve.value[0])


def kept_of_minimum(curve: Curve) -> float:
    """last / minimum where that is below 0, else NaN: what of its largest depth is kept."""
    low = curve.value.min()
    return float(curve.value[-1] / low) if low < 0 else NAN


def count_reaching(curve: Curve, *, threshold: float) -> float:
    """How many checkpoints have at least the value ``threshold``."""
    return float((curve.value >= threshold).sum())


def places_reaching(curve: Curve, *, threshold: float, places: Sequence[int], factor: float) -> float:
    """How many of ``places`` (steps) have a checkpoint of at least ``threshold`` within a factor."""
    there = curve.step[curve.value >= threshold]
    return float(sum(((there >= p / factor) & (there <= p * factor)).any() for p in places))


def first_step_reaching(curve: Curve, *, threshold: float) -> float:
    """The first checkpoint whose value is at least ``threshold``; NaN where there is none."""
    reached = np.flatnonzero(curve.value >= threshold)
    return float(curve.step[reached[0]]) if reached.size else NAN


def growth(curve: Curve) -> float:
    """Spearman's rank correlation of the value with the step (or its logarithm: ranks are the same).

    NaN with fewer than 3 checkpoints, or where the value is constant.
    """
    return spearman(curve.value, curve.step)


def relative_range(curve: Curve) -> float:
    """(maximum - minimum) / |mean|: 0 for a constant. NaN where the mean is 0."""
    mean = abs(curve.value.mean())
    return float(np.ptp(curve.value) / mean) if mean > 0 else NAN


def step_lead(curve: Curve, *, against: Curve) -> float:
    """log2 of (peak step of ``against`` + 1) / (own peak step + 1): 1 where its peak comes twice as late."""
    return float(np.log2((peak_step(against) + 1) / (peak_step(curve) + 1)))


def correlation(curve: Curve, *, against: Curve) -> float:
    """Pearson's correlation with another curve over the checkpoints that both have.

    NaN with fewer than 3 of them, or where either is constant there.
    """
    a, b = _in_common(curve, against)
    if a.size < 3 or not (np.ptp(a) and np.ptp(b)):
        return NAN
    return float(np.corrcoef(a, b)[0, 1])


def rank_correlation(curve: Curve, *, against: Curve) -> float:
    """Spearman's rank correlation with another curve over the checkpoints that both have.

    NaN with fewer than 3 of them, or where either is constant there.
    """
    return spearman(*_in_common(curve, against))


def mean_ratio(curve: Curve, *, against: Curve) -> float:
    """The mean over the checkpoints that both have of the value over that of another curve.

    NaN where there are none, or the latter is 0 at one.
    """
    own, other = _in_common(curve, against)
    return float((own / other).mean()) if own.size and other.all() else NAN


def roughness_ratio(curve: Curve, *, against: Curve) -> float:
    """``roughness`` over that of another curve, over the checkpoints that both have; NaN where that is 0."""
    steps = np.intersect1d(curve.step, against.step)
    own, other = (roughness(Curve(steps, value)) for value in _in_common(curve, against))
    return own / other if other else NAN


def last_ratio(curve: Curve, *, against: Curve) -> float:
    """The value over that of another curve at the last checkpoint that both have; NaN where that is 0."""
    own, other = _in_common(curve, against)
    return float(own[-1] / other[-1]) if own.size and other[-1] else NAN


def share_within(curve: Curve, *, against: Curve, threshold: float) -> float:
    """Share of the checkpoints that both have at which the value is at most ``threshold`` x the other's."""
    own, other = _in_common(curve, against)
    return float((own <= threshold * other).mean()) if own.size else NAN


def largest_change(curve: Curve, *, against: Curve) -> float:
    """The largest |value / that of another curve - 1| over the checkpoints that both have.

    NaN where there are none, or the latter is 0 at one.
    """
    own, other = _in_common(curve, against)
    return float(abs(own / other - 1).max()) if own.size and other.all() else NAN


def difference_in_errors(curve: Curve, *, against: Curve) -> float:
    """|mean difference from another curve| over the mean standard error of one difference.

    Over the checkpoints that both have: sqrt(s^2 + t^2) is the error of a difference of values with errors s
    and t, as if these were independent. NaN where a curve has none.
    """
    if curve.error is None or against.error is None:
        return NAN
    own, other = _in_common(curve, against)
    errors = _in_common(curve._replace(value=curve.error), against._replace(value=against.error))
    return float(abs((own - other).mean()) / np.hypot(*errors).mean()) if own.size else NAN


def last_difference(curve: Curve, *, against: Curve) -> float:
    """The value at the last checkpoint less that of another curve at its last."""
    return float(curve.value[-1] - against.value[-1]) if against.value.size else NAN


def minimum_ratio(curve: Curve, *, against: Curve) -> float:
    """The smallest value over that of another curve; NaN where the latter is not positive."""
    low = against.value.min()
    return float(curve.value.min() / low) if low > 0 else NAN


def _in_common(curve: Curve, other: Curve) -> tuple[np.ndarray, np.ndarray]:
    """The values of both at the checkpoints that both have."""
    _, mine, theirs = np.intersect1d(curve.step, other.step, return_indices=True)
    return curve.value[mine], other.value[theirs]


def _log2(high: float, low: float) -> float:
    return float(np.log2(high / low)) if high > 0 and low > 0 else NAN


def _relative_fall(low: float, high: float) -> float:
    return float(1 - low / high) if high > 0 else NAN


STATISTICS: dict[str, Callable[..., float]] = {
    f.__name__: f
    for f in (
        peak_step, maximum, minimum_step, minimum, last, fall, fall_to_minimum, rise, value_at, change,
        ratio_at, first_step_reaching, count_reaching, places_reaching, growth, relative_range, step_lead,
        correlation, climb, kept_of_minimum, minimum_ratio, rank_correlation, mean_ratio, share_within, mean,
        largest_change, difference_in_errors, last_difference,
        log2_ratio, log2_gain, mean_departure, roughness, roughness_ratio, last_ratio,
    )
}  # fmt: skip
OPTIONS = {name: tuple(inspect.signature(f).parameters)[1:] for name, f in STATISTICS.items()}


# Of numbers that other statistics are (``among``): one of them all.
COMBINATIONS: dict[str, Callable[[Sequence[np.ndarray]], np.ndarray]] = {
    "mean_of": lambda numbers: np.mean(numbers, axis=0),
    "largest_of": lambda numbers: np.max(numbers, axis=0),
    "difference_of": lambda numbers: numbers[0] - numbers[1],
}

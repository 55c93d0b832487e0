"""What is read off two curves over training: pure functions, each of them one number, as in ``curves``."""

import numpy as np

from rllc.analysis.curves import Curve, Numbers, last, minimum, none, of_the_end, over, peak_step, roughness
from rllc.analysis.ranks import pearson, spearman


def step_lead(curve: Curve, *, against: Curve) -> Numbers:
    """log2 of (peak step of ``against`` + 1) / (own peak step + 1): 1 where its peak comes twice as late."""
    return np.log2((peak_step(against) + 1) / (peak_step(curve) + 1))


def correlation(curve: Curve, *, against: Curve) -> Numbers:
    """Pearson's correlation with another curve over the checkpoints that both have.

    NaN where both have fewer than 3, or either is constant there.
    """
    return pearson(*_in_common(curve, against))


def rank_correlation(curve: Curve, *, against: Curve) -> Numbers:
    """Spearman's rank correlation with another curve over the checkpoints that both have.

    NaN where both have fewer than 3, or either is constant there.
    """
    return spearman(*_in_common(curve, against))


def mean_ratio(curve: Curve, *, against: Curve) -> Numbers:
    """The mean over the checkpoints that both have of the value over that of another curve.

    NaN where there is none, or the other is 0 at one.
    """
    own, other = _in_common(curve, against)
    return over(own, other, other != 0).mean(-1) if own.shape[-1] else none(own)


def roughness_ratio(curve: Curve, *, against: Curve) -> Numbers:
    """``roughness`` over that of another curve, over the checkpoints that both have.

    NaN where the other's is 0.
    """
    steps = np.intersect1d(curve.step, against.step)
    own, other = (roughness(Curve(steps, value)) for value in _in_common(curve, against))
    return over(own, other, other != 0)


def last_ratio(curve: Curve, *, against: Curve) -> Numbers:
    """The value over that of another curve at the last checkpoint that both have.

    NaN where the other's is 0.
    """
    own, other = _in_common(curve, against)
    return over(own[..., -1], other[..., -1], other[..., -1] != 0) if own.shape[-1] else none(own)


def share_within(curve: Curve, *, against: Curve, threshold: float) -> Numbers:
    """Share of the checkpoints that both have at which the value is at most ``threshold`` x the other's."""
    own, other = _in_common(curve, against)
    return (own <= threshold * other).mean(-1) if own.shape[-1] else none(own)


def largest_change(curve: Curve, *, against: Curve) -> Numbers:
    """The largest |value / that of another curve - 1| over the checkpoints that both have.

    NaN where there is none, or the other is 0 at one.
    """
    own, other = _in_common(curve, against)
    return np.abs(over(own, other, other != 0) - 1).max(-1) if own.shape[-1] else none(own)


def difference_in_errors(curve: Curve, *, against: Curve) -> Numbers:
    """|mean difference from another curve| over the mean standard error of one difference.

    Over the checkpoints that both have: sqrt(s^2 + t^2) is the error of a difference of values with errors s
    and t, as if these were independent. NaN where a curve has no errors.
    """
    own, other = _in_common(curve, against)
    if curve.error is None or against.error is None or not own.shape[-1]:
        return none(own)
    errors = _in_common(curve._replace(value=curve.error), against._replace(value=against.error))
    return np.abs((own - other).mean(-1)) / np.hypot(*errors).mean(-1)


@of_the_end
def last_difference(curve: Curve, *, against: Curve) -> Numbers:
    """The value at the last checkpoint less that of another curve at its last."""
    return last(curve) - last(against) if against.step.size else none(curve.value)


def minimum_ratio(curve: Curve, *, against: Curve) -> Numbers:
    """The smallest value over that of another curve; NaN where the other's is not positive."""
    low = minimum(against)
    return over(minimum(curve), low, low > 0)


def _in_common(curve: Curve, other: Curve) -> tuple[np.ndarray, np.ndarray]:
    """The values of both at the checkpoints that both have."""
    _, mine, theirs = np.intersect1d(curve.step, other.step, return_indices=True)
    return curve.value[..., mine], other.value[..., theirs]

"""Stages of development: boundaries are flat places of a smoothed curve, with their support.

The thresholds were chosen on the published curves of arXiv 2402.02364. So the authors' boundaries, which the
rule finds there, do not test it; synthetic curves with noise do (tests/analysis/test_plateaus.py).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rllc.analysis.gaussian_process import Smooth, smooth

START, END, PEAK, TROUGH, SADDLE = KINDS = ("start", "end", "peak", "trough", "saddle")
FEWEST = 5  # least checkpoints of a curve
FLAT, CORE = 0.08, 0.06  # slopes per e-fold of steps, as shares of the curve's range
ALIKE = 0.02  # least difference between separate neighbours, as share of the range
LARGE = 4.0  # least range of a curve with structure, in standard deviations of its noise
DRAWS = 200


class Boundary(NamedTuple):
    """A flat segment of a curve; indices of checkpoints.

    kind         ``start`` touches the first checkpoint and does not separate two stages; ``end`` the last
    at           its location: the extremum, the flattest point of a saddle, the inner edge of start and end
    first, last  the segment
    determined   on both sides, the slope exceeds flatness by two of its standard deviations
    support      share of posterior draws in which a segment of this kind overlaps it
    low, high    95 % interval of ``at`` over these draws
    """

    kind: str
    at: int
    first: int
    last: int
    determined: bool
    support: float = np.nan
    low: float = np.nan
    high: float = np.nan


class Shape(NamedTuple):
    """A curve, its slope, its range, and a mask of checkpoints flat enough for the core of a segment."""

    value: np.ndarray
    slope: np.ndarray
    range: float
    core: np.ndarray


Segment = tuple[int, int]


def plateaus(step: np.ndarray, value: np.ndarray, *, random_seed: int = 0) -> tuple[Smooth, list[Boundary]]:
    """Return the smoothed curve, and its determined and possible boundaries in order.

    1. The curve is smoothed (``rllc.analysis.gaussian_process``); R is the range of the smoothed curve f.
       If R is below ``LARGE`` times the noise, there is no structure and no boundary.
    2. Find segments of |f'| < ``FLAT`` R that contain a point with |f'| < ``CORE`` R. Where f' changes its
       sign between two checkpoints, both are flat, and the flatter one is core. Two adjacent such pairs are
       two segments.
    3. The *possible* boundaries are these segments, after merging neighbours whose f differs by less than
       ``ALIKE`` R or two posterior standard deviations of the difference.
    4. The *determined* boundaries come from the segments before merging. Repeatedly drop a segment if, on one
       side up to the next segment, no point has |f'| - 2 sd > ``FLAT`` R, or if it is a saddle with
       |f'| + 2 sd >= ``FLAT`` R at its location. The rest is determined.

    step   [n] positive and ascending; with fewer than ``FEWEST`` there is no boundary
    value  [n] finite
    """
    if step.size < FEWEST or np.ptp(value) == 0:
        zero = np.zeros_like(value)
        return Smooth(value, zero, np.zeros((2 * step.size, 2 * step.size)), 0.0), []
    curve = smooth(step, value)
    segments, shape = _segments(curve.value, curve.slope)
    if shape.range < LARGE * curve.noise:
        return curve, []
    sure = _merged(_determined(segments, shape, curve), shape, curve)
    possible = [s for s in _merged(segments, shape, curve) if not any(_overlap(s, other) for other in sure)]
    drawn = [_described(*draw) for draw in zip(*curve.draws(DRAWS, random_seed=random_seed), strict=True)]
    found = [
        _supported(Boundary(*_kind(segment, shape), *segment, segment in sure), drawn)
        for segment in sorted([*sure, *possible])
    ]
    return curve, found


def _segments(value: np.ndarray, slope: np.ndarray) -> tuple[list[Segment], Shape]:
    """Return the flat segments with a core, and the shape of the curve."""
    steep, span = np.abs(slope), np.ptp(value)
    flat, core = steep < FLAT * span, steep < CORE * span
    turns = np.sign(slope[1:]) != np.sign(slope[:-1])
    joined = turns | flat[1:] | flat[:-1]  # not two adjacent turns: the curve is steep between them
    at = np.flatnonzero(turns)
    flat[at] = flat[at + 1] = True
    core[np.where(steep[at] <= steep[at + 1], at, at + 1)] = True
    of_one = flat[1:] & flat[:-1] & joined
    firsts, lasts = flat & ~np.append(False, of_one), flat & ~np.append(of_one, False)
    runs = zip(np.flatnonzero(firsts).tolist(), np.flatnonzero(lasts).tolist(), strict=True)
    return [(a, b) for a, b in runs if core[a : b + 1].any()], Shape(value, slope, span, core)


def _kind(segment: Segment, shape: Shape) -> tuple[str, int]:
    """Return the kind and location of a segment."""
    first, last = segment
    inside = slice(first, last + 1)
    core = first + np.flatnonzero(shape.core[inside])
    if first == 0:
        return START, int(core[-1])
    if last == shape.value.size - 1:
        return END, int(core[0])
    before, after = shape.slope[first - 1], shape.slope[last + 1]
    if before > 0 > after:
        return PEAK, first + int(shape.value[inside].argmax())
    if before < 0 < after:
        return TROUGH, first + int(shape.value[inside].argmin())
    return SADDLE, first + int(np.abs(shape.slope[inside]).argmin())


def _merged(segments: list[Segment], shape: Shape, curve: Smooth) -> list[Segment]:
    """Merge neighbours at one level until none are left, and return the segments."""
    merged, n = list(segments), 0
    while n + 1 < len(merged):
        (_, a), (_, b) = (_kind(segment, shape) for segment in merged[n : n + 2])
        variance = curve.covariance[a, a] + curve.covariance[b, b] - 2 * curve.covariance[a, b]
        least = max(ALIKE * shape.range, 2 * np.sqrt(max(variance, 0.0)))
        if abs(shape.value[a] - shape.value[b]) < least:
            merged[n : n + 2] = [(merged[n][0], merged[n + 1][1])]
            n = 0
        else:
            n += 1
    return merged


def _determined(segments: list[Segment], shape: Shape, curve: Smooth) -> list[Segment]:
    """Return the segments that remain after dropping one after another, earliest in training first."""
    kept, error = list(segments), curve.errors[1]
    steep = np.abs(shape.slope) - 2 * error > FLAT * shape.range
    flat = np.abs(shape.slope) + 2 * error < FLAT * shape.range

    def stands(n: int) -> bool:
        first, last = kept[n]
        kind, at = _kind(kept[n], shape)
        before = steep[kept[n - 1][1] + 1 if n else 0 : first].any()
        after = steep[last + 1 : kept[n + 1][0] if n + 1 < len(kept) else None].any()
        return bool((before or kind == START) and (after or kind == END) and (kind != SADDLE or flat[at]))

    while (weak := next((n for n in range(len(kept)) if not stands(n)), None)) is not None:
        del kept[weak]
    return kept


def _described(value: np.ndarray, slope: np.ndarray) -> list[tuple[str, int, Segment]]:
    """Return kind, location and range of every flat segment of a draw."""
    segments, shape = _segments(value, slope)
    return [(*_kind(segment, shape), segment) for segment in segments]


def _supported(boundary: Boundary, drawn: list[list[tuple[str, int, Segment]]]) -> Boundary:
    """Return the boundary with the share of draws that contain it, and its interval."""
    own = (boundary.first, boundary.last)

    def places() -> Iterator[int]:
        for draw in drawn:
            near = [at for kind, at, other in draw if kind == boundary.kind and _overlap(own, other)]
            if near:
                yield min(near, key=lambda at: abs(at - boundary.at))

    there = [*places()]
    if not there:
        return boundary._replace(support=0.0)
    low, high = np.quantile(there, [0.025, 0.975], method="nearest")
    return boundary._replace(support=len(there) / len(drawn), low=float(low), high=float(high))


def _overlap(one: Segment, other: Segment) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]

"""Stages of development: boundaries are where a smoothed curve is flat, with what speaks for each.

The thresholds were settled on the published curves of arXiv 2402.02364, so that the rule finds there what the
authors name is no test of it; synthetic curves with noise are (tests/analysis/test_plateaus.py).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rllc.analysis.gaussian_process import Smooth, smooth

START, END, PEAK, TROUGH, SADDLE = KINDS = ("start", "end", "peak", "trough", "saddle")
FEWEST = 5  # checkpoints of a curve that has a shape
FLAT, CORE = 0.08, 0.06  # slopes per e-fold of steps, as shares of the curve's range
ALIKE = 0.02  # share of the range that lies between neighbours that are two
LARGE = 4.0  # range of a curve that has structure, in standard deviations of its noise
DRAWS = 200


class Boundary(NamedTuple):
    """A flat segment of a curve; indices of checkpoints.

    kind         ``start`` touches the first checkpoint, which is no boundary of two stages; ``end`` the last
    at           where it is: the extremum, the flattest point of a saddle, the inner edge of start and end
    first, last  the segment
    determined   on either side the slope is not flat by two of its standard deviations
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
    """A curve, its slope, its range, and which checkpoints are flat enough to be the core of a segment."""

    value: np.ndarray
    slope: np.ndarray
    range: float
    core: np.ndarray


Segment = tuple[int, int]


def plateaus(step: np.ndarray, value: np.ndarray, *, random_seed: int = 0) -> tuple[Smooth, list[Boundary]]:
    """The smoothed curve, and its boundaries in order: those that are determined, and possible ones.

    1. The curve is smoothed (``rllc.analysis.gaussian_process``); R is the range of the smoothed curve f.
       Below ``LARGE`` times the noise there is no structure, and no boundary.
    2. Segments of |f'| < ``FLAT`` R that hold a point with |f'| < ``CORE`` R. Where f' changes its sign
       between two checkpoints both are flat, and the flatter one is core; two such pairs side by side are two
       segments.
    3. *Possible* are these, neighbours merged whose f differs by less than ``ALIKE`` R or two posterior
       standard deviations of the difference.
    4. *Determined* are those that stay when, before they are merged, one after another is dropped that has on
       one of its sides, up to the segment next to it, no point with |f'| - 2 sd > ``FLAT`` R, or is a saddle
       and has |f'| + 2 sd >= ``FLAT`` R where it is.

    step   [n] positive and ascending; at least ``FEWEST``, else there is no boundary
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
    """The flat segments that have a core."""
    steep, span = np.abs(slope), np.ptp(value)
    flat, core = steep < FLAT * span, steep < CORE * span
    turns = np.sign(slope[1:]) != np.sign(slope[:-1])
    joined = turns | flat[1:] | flat[:-1]  # not two turns side by side: between these the curve is steep
    at = np.flatnonzero(turns)
    flat[at] = flat[at + 1] = True
    core[np.where(steep[at] <= steep[at + 1], at, at + 1)] = True
    of_one = flat[1:] & flat[:-1] & joined
    firsts, lasts = flat & ~np.append(False, of_one), flat & ~np.append(of_one, False)
    runs = zip(np.flatnonzero(firsts).tolist(), np.flatnonzero(lasts).tolist(), strict=True)
    return [(a, b) for a, b in runs if core[a : b + 1].any()], Shape(value, slope, span, core)


def _kind(segment: Segment, shape: Shape) -> tuple[str, int]:
    """What a segment is, and where."""
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
    """Neighbours at one level as one segment, until none are left."""
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
    """The segments that stay when one after another is dropped, the first in training first."""
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
    """Kind, place and segment of every flat segment of a draw."""
    segments, shape = _segments(value, slope)
    return [(*_kind(segment, shape), segment) for segment in segments]


def _supported(boundary: Boundary, drawn: list[list[tuple[str, int, Segment]]]) -> Boundary:
    """With the share of draws that have it, and where they have it."""
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

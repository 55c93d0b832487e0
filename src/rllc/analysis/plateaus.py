"""Stages of development: boundaries are the plateaus of a smoothed curve, with their support.

The rule is that of arXiv 2402.02364, App. A.5: "At a local minima or maxima of the estimated LLC curve
identifying a plateau from this estimated slope is straightforward, since the derivative crosses the x-axis.
However at a saddle point, the slope may not exactly reach zero, so we have to specify a 'tolerance' for the
absolute value of the derivative, below which we treat the boundary as an effective plateau. In this case, we
additionally require that the plateau be at a local minimum of the absolute first derivative. Otherwise, we
may identify several adjacent points as all constituting a stage boundary."

Two choices are ours. The tolerance is a share of the curve's range, so that curves of any height have the
same one. Adjacent checkpoints below it are one plateau, which contains a local minimum of the |slope|.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rllc.analysis.gaussian_process import Smooth, smooth

START, END, PEAK, TROUGH, SADDLE = KINDS = ("start", "end", "peak", "trough", "saddle")
FEWEST = 5  # least checkpoints of a curve
FLATNESS = 0.08  # tolerance: slope per e-fold of steps, as share of the curve's range
TOLERANCES = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.16, 0.2)  # at which boundaries are counted
EDGE = 3.0  # least change between a plateau and an end of the curve, in its posterior standard deviations
LARGE = 4.0  # least range of a curve with structure, in standard deviations of its noise
SURE = 0.9  # least support of a determined boundary
DRAWS = 200


class Boundary(NamedTuple):
    """A plateau of a curve; indices of checkpoints.

    kind         between a ``start`` and the first checkpoint, or an ``end`` and the last, the curve changes
                 by at most ``EDGE`` posterior standard deviations
    at           its location: the extremum, the flattest point of a saddle, the inner edge of start and end
    first, last  the plateau
    support      share of posterior draws in which a plateau of this kind overlaps it; start and end agree
                 with every kind, because the curve beyond them is not known
    low, high    95 % interval of ``at`` over these draws
    """

    kind: str
    at: int
    first: int
    last: int
    support: float = np.nan
    low: float = np.nan
    high: float = np.nan

    @property
    def determined(self) -> bool:
        """Return whether at least ``SURE`` of the posterior draws have it."""
        return self.support >= SURE


Plateau = tuple[str, int, int, int]  # kind, location, first and last checkpoint


def plateaus(
    step: np.ndarray,
    value: np.ndarray,
    error: np.ndarray | None = None,
    *,
    flatness: float = FLATNESS,
    random_seed: int = 0,
) -> tuple[Smooth, list[Boundary]]:
    """Return the smoothed curve and its boundaries in order, each with its support.

    1. The curve is smoothed (``rllc.analysis.gaussian_process``); R is the range of the smoothed curve f.
       If R is below ``LARGE`` times the noise, there is no structure and no boundary.
    2. A plateau is a run of adjacent checkpoints with |f'| < ``flatness`` R. Where f' changes its sign
       between two checkpoints, these two are a plateau, or part of one. The whole curve, the first
       checkpoint alone, or the last one alone separate nothing and are none.
    3. The same rule is applied to ``DRAWS`` posterior draws of f and f', which contain the errors of the
       values. The share of draws that have the plateau is its support.

    step      [n] positive and ascending; with fewer than ``FEWEST`` there is no boundary
    value     [n] finite
    error     [n] standard errors of the values, if they are known
    flatness  tolerance: slope per e-fold of steps, as share of R
    """
    if step.size < FEWEST or np.ptp(value) == 0:
        zero = np.zeros_like(value)
        return Smooth(value, zero, np.zeros((2 * step.size, 2 * step.size)), 0.0), []
    curve = smooth(step, value, error)
    return curve, _boundaries(curve, curve.draws(DRAWS, random_seed=random_seed), flatness)


def counts(curve: Smooth, *, random_seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of boundaries, and of determined ones, at every one of ``TOLERANCES``."""
    draws = curve.draws(DRAWS, random_seed=random_seed)
    every = [_boundaries(curve, draws, flatness) for flatness in TOLERANCES]
    sure = [sum(each.determined for each in boundaries) for boundaries in every]
    return np.array([len(boundaries) for boundaries in every]), np.array(sure)


def _boundaries(curve: Smooth, draws: tuple[np.ndarray, np.ndarray], flatness: float) -> list[Boundary]:
    """Return the boundaries of a curve with their support (steps 2 and 3 of ``plateaus``)."""
    span = np.ptp(curve.value)
    if not span or span < LARGE * curve.noise:
        return []
    drawn = [found(*draw, flatness) for draw in zip(*draws, strict=True)]
    named = _with_edges(found(curve.value, curve.slope, flatness), curve)
    return [_supported(Boundary(*each), drawn) for each in named]


def _with_edges(named: list[Plateau], curve: Smooth) -> list[Plateau]:
    """Return the plateaus, where the first may become the start and the last the end.

    Each does so if the curve changes by at most ``EDGE`` posterior standard deviations between it and the
    first, or last, checkpoint.
    """

    def same(a: int, b: int) -> bool:
        variance = curve.covariance[a, a] + curve.covariance[b, b] - 2 * curve.covariance[a, b]
        return abs(curve.value[a] - curve.value[b]) <= EDGE * np.sqrt(max(variance, 0.0))

    made = list(named)
    if made and same(0, made[0][2]):
        _, _, first, last = made[0]
        made[0] = (START, last, first, last)
    if made and made[-1][0] != START and same(curve.value.size - 1, made[-1][3]):
        _, _, first, last = made[-1]
        made[-1] = (END, first, first, last)
    return made


def found(value: np.ndarray, slope: np.ndarray, flatness: float) -> list[Plateau]:
    """Return the plateaus of a curve with known slope, in order (step 2 of ``plateaus``).

    value, slope  [n]
    """
    steep = np.abs(slope) >= flatness * np.ptp(value)
    turns = np.sign(slope[1:]) != np.sign(slope[:-1])
    joined = turns | ~steep[1:] | ~steep[:-1]  # not two turns with a steep part between them
    flat = ~steep
    at = np.flatnonzero(turns)
    flat[at] = flat[at + 1] = True
    of_one = flat[1:] & flat[:-1] & joined
    firsts = np.flatnonzero(flat & ~np.append(False, of_one)).tolist()
    lasts = np.flatnonzero(flat & ~np.append(of_one, False)).tolist()
    end = slope.size - 1
    nothing = ((0, end), (0, 0), (end, end))
    runs = [run for run in zip(firsts, lasts, strict=True) if run not in nothing]
    return [(*_kind(value, slope, *run), *run) for run in runs]


def _kind(value: np.ndarray, slope: np.ndarray, first: int, last: int) -> tuple[str, int]:
    """Return the kind and location of a plateau."""
    if first == 0:
        return START, last
    if last == value.size - 1:
        return END, first
    inside = slice(first, last + 1)
    before, after = slope[first - 1], slope[last + 1]
    if before > 0 > after:
        return PEAK, first + int(value[inside].argmax())
    if before < 0 < after:
        return TROUGH, first + int(value[inside].argmin())
    return SADDLE, first + int(np.abs(slope[inside]).argmin())


def _supported(boundary: Boundary, drawn: list[list[Plateau]]) -> Boundary:
    """Return the boundary with the share of draws that contain it, and its interval."""

    def places() -> Iterator[int]:
        for draw in drawn:
            near = [
                at
                for kind, at, first, last in draw
                if _alike(kind, boundary.kind) and first <= boundary.last and boundary.first <= last
            ]
            if near:
                yield min(near, key=lambda at: abs(at - boundary.at))

    there = [*places()]
    if not there:
        return boundary._replace(support=0.0)
    low, high = np.quantile(there, [0.025, 0.975], method="nearest")
    return boundary._replace(support=len(there) / len(drawn), low=float(low), high=float(high))


def _alike(kind: str, other: str) -> bool:
    """Return whether kinds agree; start and end agree with every kind."""
    return kind == other or not {kind, other}.isdisjoint((START, END))

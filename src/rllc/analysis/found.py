"""What a statistic comes to in one seed, by its curves: the number, its errors, and why there is none."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from rllc.analysis.across_heads import OF_HEADS, OVER_HEADS, SPEARMAN
from rllc.analysis.curves import NAN, Curve, Numbers, smooth
from rllc.analysis.functions import OPTIONS, STATISTICS, STEPS
from rllc.analysis.ranks import spearman
from rllc.analysis.readings import Absent, Entry, Reading, in_words, is_one_of, layer_of

REDRAWS = 1000  # of a curve, for the standard error of what is read off it: 2 % of error
BLOCK = 100  # redraws that are in memory at a time
NAN_WHERE = re.compile(r"\bNaN ((?:where|with|for) [^.]*?)(?:[.:]|$)")


class Found(NamedTuple):
    """A statistic of one seed.

    drawn      [mode, redraw] values of curves that are drawn anew: with errors of their own and, where all
               steps share their noise, with common ones; None where there are no errors
    untrusted  share of its estimates with a fault; NaN: it is of no estimates
    end        last step that is measured
    why        what a value that is NaN lacks
    """

    value: float
    drawn: np.ndarray | None = None
    untrusted: float = NAN
    end: float = NAN
    why: str = ""

    @property
    def error(self) -> float:
        return NAN if self.drawn is None else float(np.std(self.drawn, axis=1, ddof=1).max())


def find(
    entry: Entry, readings: Mapping[str, Reading], types: xr.DataArray | None, moments: Mapping[str, Found]
) -> Found:
    """The statistic of one seed, by its curves, types of its heads and steps that are read off others."""
    steps = {key: moments[key].value if key in moments else entry.get(key) for key in STEPS}
    for key, each in moments.items():
        if not np.isfinite(each.value):
            return Found(NAN, why=f"{entry[key]}, a step, has no value" + (each.why and f" ({each.why})"))
    of = readings["of"]
    kinds = layers = np.zeros(0)
    chosen: dict[str, np.ndarray | slice] = {}
    for role, reading in readings.items():
        chosen[role] = _chosen(entry, reading, types)
    if of.heads is not None:
        labels = [of.heads[n] for n in chosen["of"]]
        layers = np.asarray([layer_of(head) for head in labels])
        if types is not None:
            kinds = types.sel(head=labels).values
        if not labels and entry.get("over_heads") != "count":
            if not entry.get("types"):
                raise Absent(f"{entry['of']} has no head in layer {entry['layer']}")
            place = "" if entry.get("layer") is None else f" in layer {entry['layer']}"
            return Found(NAN, why=f"no {in_words(entry['types'])} head{place}")
    curves = {role: _within(reading.curve, chosen[role], steps) for role, reading in readings.items()}
    options = {key: steps[key] if key in STEPS else entry.get(key) for key in OPTIONS[entry["statistic"]]}
    of_heads = {role for role, reading in readings.items() if reading.heads is not None}
    end = float(curves["of"].step[-1]) if curves["of"].step.size else NAN
    faults = [c.fault for c in curves.values() if c.fault is not None and np.isfinite(c.fault).any()]
    untrusted = max((float(np.nanmean(fault)) for fault in faults), default=NAN)
    if hasattr(STATISTICS[entry["statistic"]], "of_the_end"):
        for role, curve in curves.items():
            if curve.step.size and curve.step[-1] < (late := _last(readings[role].curve, steps)):
                why = f"{readings[role].of} has no value at step {late:,.0f}"
                return Found(NAN, None, untrusted, end, why)
    value = float(_values(entry, curves, options, of_heads, kinds, layers))
    drawn = _drawn(entry, readings, chosen, curves, steps, options, of_heads, kinds, layers)
    why = "" if np.isfinite(value) else _lacking(entry, readings, curves, steps, end)
    return Found(value, drawn, untrusted, end, why)


def _lacking(
    entry: Entry,
    readings: Mapping[str, Reading],
    curves: Mapping[str, Curve],
    steps: Mapping[str, float | None],
    end: float,
) -> str:
    """Why there is no value: nothing is measured, training is too short, too few checkpoints, or what the
    docstring of its function says of NaN."""
    late = [steps[key] for key in ("step", "until") if steps[key] is not None and steps[key] > end]
    if late:
        return f"training ends at step {end:,.0f}, before {max(late):,.0f}"
    for role, curve in curves.items():
        reading = readings[role]
        if not np.isfinite(reading.curve.value).any():
            return f"needs {reading.needs}" if reading.needs else f"{reading.of} has no value"
        if not curve.step.size:
            ends = ((word, steps[f"{word}_step"]) for word in ("from", "to"))
            between = " ".join(f"{word} step {step:,.0f}" for word, step in ends if step is not None)
            return f"{reading.of} has no value {between}".rstrip()
    fewest, window = min(curve.step.size for curve in curves.values()), entry.get("window", 1)
    if fewest < window:
        return f"{fewest} of {window} checkpoints that a running mean takes"
    named = [OVER_HEADS.get(entry.get("over_heads")), STATISTICS[entry["statistic"]]]
    called = next((f for f in named if f is not None and _nan_where(f)), named[-1])
    common = sorted(set.intersection(*(set(curve.step.tolist()) for curve in curves.values())))
    measured = f"{common[0]:,.0f} to {common[-1]:,.0f}" if common else "none"
    return f"{called.__name__} has no value {_nan_where(called) or 'here'} (steps measured: {measured})"


def _nan_where(function: Callable[..., object]) -> str:
    """Of "... NaN where the mean is 0." in its docstring "where the mean is 0"."""
    return (NAN_WHERE.search(" ".join((function.__doc__ or "").split())) or [""] * 2)[1].replace("`", "")


def _chosen(entry: Entry, reading: Reading, types: xr.DataArray | None) -> np.ndarray | slice:
    """Which columns of a reading belong to the heads of the layer and of the types."""
    if reading.heads is None:
        return slice(None)
    layer, wanted = entry.get("layer"), entry.get("types")
    chosen = [n for n, head in enumerate(reading.heads) if layer is None or layer_of(head) == layer]
    if wanted:
        kinds = types.sel(head=list(reading.heads)).values
        chosen = [n for n in chosen if is_one_of(reading.heads[n], kinds[n], wanted)]
    return np.asarray(chosen, dtype=int)


def _within(curve: Curve, heads: np.ndarray | slice, steps: Mapping[str, float | None]) -> Curve:
    """Of these heads, at the checkpoints between the steps at which any has a value."""
    if isinstance(heads, np.ndarray):
        curve = Curve(curve.step, *(None if each is None else each[:, heads] for each in curve[1:]))
    inside = _inside(curve, steps)
    return Curve(*(None if each is None else each[inside] for each in curve))


def _last(curve: Curve, steps: Mapping[str, float | None]) -> float:
    """The last checkpoint in question, with a value or without."""
    return float(curve.step[_between(curve, steps)].max(initial=0))


def _inside(curve: Curve, steps: Mapping[str, float | None]) -> np.ndarray:
    known = np.isfinite(curve.value).reshape(curve.step.size, -1)
    return _between(curve, steps) & (known.any(-1) | (known.shape[-1] == 0))


def _between(curve: Curve, steps: Mapping[str, float | None]) -> np.ndarray:
    first, late = steps["from_step"] or 0, steps["to_step"]
    return (curve.step >= first) & (curve.step <= (np.inf if late is None else late))


def _drawn(
    entry: Entry,
    readings: Mapping[str, Reading],
    chosen: Mapping[str, np.ndarray | slice],
    curves: Mapping[str, Curve],
    steps: Mapping[str, float | None],
    options: Mapping[str, object],
    of_heads: Collection[str],
    kinds: np.ndarray,
    layers: np.ndarray,
) -> np.ndarray | None:
    """``Found.drawn``; NaN where an error is not known."""
    with_errors = {role: curve for role, curve in curves.items() if curve.error is not None}
    if not with_errors:
        return None
    modes = (False, True) if any(readings[role].seeded for role in readings) else (False,)
    if any(not np.isfinite(c.error[np.isfinite(c.value)]).all() for c in with_errors.values()):
        return np.full((len(modes), REDRAWS), NAN)
    made = np.empty((len(modes), REDRAWS))
    for row, shared in enumerate(modes):
        normals = {role: _normals(readings[role], chosen[role], steps, shared=shared) for role in with_errors}
        for first in range(0, REDRAWS, BLOCK):
            block = slice(first, first + BLOCK)
            redrawn = dict(curves)
            for role, curve in with_errors.items():
                redrawn[role] = curve._replace(value=curve.value + curve.error * normals[role][block])
            made[row, block] = _values(entry, redrawn, options, of_heads, kinds, layers)
    return made


def _normals(
    reading: Reading, heads: np.ndarray | slice, steps: Mapping[str, float | None], *, shared: bool
) -> np.ndarray:
    """Those of the reading [redraw, step(, head)] that belong to these heads and to the checkpoints used."""
    normals, curve = reading.normals(REDRAWS, shared=shared), reading.curve
    if reading.heads is not None:
        normals, curve = normals[..., heads], curve._replace(value=curve.value[:, heads])
    return normals if shared else normals[:, _inside(curve, steps)]


def _values(
    entry: Entry,
    curves: Mapping[str, Curve],
    options: Mapping[str, object],
    of_heads: Collection[str],
    kinds: np.ndarray,
    layers: np.ndarray,
) -> Numbers:
    """The number of each curve [..., step], or [..., step, head] of those that are ``of_heads``.

    NaN where fewer checkpoints are measured than the window has; with ``of_heads`` where a head has no value.
    """
    own, against = curves["of"], curves.get("against")
    headed, other_headed = "of" in of_heads, "against" in of_heads
    if "divided_by" in curves:
        own = _ratio(own, curves["divided_by"], axis=-2 if headed else -1)
    if reduce := entry.get("of_heads"):
        pairs = [
            (_of_head(own, n) if headed else own, _of_head(against, n) if other_headed else against)
            for n in range(own.value.shape[-1])
        ]
        numbers = [_read_off(entry, one, other, options) for one, other in pairs]
        numbers = np.stack(np.broadcast_arrays(*numbers), -1)
        return np.where(np.isfinite(numbers).all(-1), OF_HEADS[reduce](numbers, entry.get("bound")), NAN)
    if over := entry.get("over_heads"):
        if over == SPEARMAN:
            own, against = _known(_rank_correlations(own, against)), None
        else:
            own = Curve(own.step, OVER_HEADS[over](own.value, kinds, layers)) if headed else own
            if other_headed:
                against = Curve(against.step, OVER_HEADS[over](against.value, kinds, layers))
    return _read_off(entry, own, against, options)


def _read_off(entry: Entry, own: Curve, against: Curve | None, options: Mapping[str, object]) -> Numbers:
    curves = [curve for curve in (own, against) if curve is not None]
    window = entry.get("window", 1)
    if any(curve.step.size < max(window, 1) for curve in curves):
        return NAN
    own, *others = (smooth(curve, window) for curve in curves) if window > 1 else curves
    given = {key: others[0] if key == "against" else value for key, value in options.items()}
    return STATISTICS[entry["statistic"]](own, **given)


def _rank_correlations(own: Curve, other: Curve) -> Curve:
    """Spearman's over heads at the checkpoints that both have."""
    steps, mine, theirs = np.intersect1d(own.step, other.step, return_indices=True)
    return Curve(steps, spearman(own.value[..., mine, :], other.value[..., theirs, :]))


def _ratio(own: Curve, other: Curve, *, axis: int) -> Curve:
    """Value over value at the checkpoints that both have, which lie along ``axis``."""
    steps, mine, theirs = np.intersect1d(own.step, other.step, return_indices=True)
    return Curve(steps, own.value.take(mine, axis) / other.value.take(theirs, axis))


def _of_head(curve: Curve, n: int) -> Curve:
    """The curve of the n-th head, at its finite checkpoints."""
    return _known(Curve(curve.step, curve.value[..., n]))


def _known(curve: Curve) -> Curve:
    """At the checkpoints at which it is finite, however often it is drawn."""
    known = np.isfinite(curve.value).all(tuple(range(curve.value.ndim - 1)))
    return Curve(curve.step[known], curve.value[..., known])

"""Panels of the statistics of a sorting transformer over training, for figures and animations."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from rllc.figures import style
from rllc.figures.drawing import Datasets
from rllc.figures.inputs import ring_reasons
from rllc.figures.panels import Curve, Panel, curve
from rllc.figures.sorting.inputs import COLORS, has_peak, head_looks, llc_peak

PEAK = {"color": COLORS["llc"], "linestyle": (0, (1, 1.5)), "linewidth": 1.1}
ESTIMATES = ("llc", "rllc", "controls")
OTHERS = ("#999933", "#882255", "#332288", "#CC6677", "#44AA99")  # other settings than the LLC's own
FROM = 50  # first step that sets the range: the LLC of random weights would dwarf all others
TRIANGLE = {"linestyle": "none", "markersize": 4, "color": "#333333", "zorder": 4}
SECOND = {"linestyle": "--", "linewidth": 1.1, "markersize": 2.0}


class Variable(NamedTuple):
    """One variable of one dataset, over ``step`` at ``select``; ``relative``: divided by its maximum."""

    source: str
    variable: str
    look: Mapping[str, Any]
    label: str | None
    select: Mapping[str, str] = {}
    relative: bool = False

    def of(self, datasets: Datasets) -> Curve:
        """Return the curve, with standard errors and rings if they exist. Shares have neither."""
        dataset = datasets[self.source].sel(self.select)
        if self.relative:
            return Curve(dataset[self.variable] / dataset[self.variable].max("step"), self.look)
        return curve(dataset, self.variable, self.look)._replace(ring_look=style.SMALL_RING)


class Statistic(NamedTuple):
    """A panel's content: ``name`` in the options, title, vertical label, curves, and ``scale``.

    within  vertical limits; None: those of matplotlib
    """

    name: str
    title: str
    label: str
    curves: Sequence[Variable]
    scale: str = "linear"
    within: tuple[float, float] | None = None


def statistics(datasets: Datasets) -> list[Statistic]:
    """Return every panel whose variables the datasets have, from top to bottom."""
    several = "circuits" in datasets and datasets["circuits"].sizes["head"] > 1
    listed = [
        _whole(
            "metrics", "accuracy", "accuracy", "share right",
            accuracy="single predictions", sequence_accuracy="whole sequences",
        ),
        _whole("metrics", "loss", "held-out loss", "nats/token", loss=None)._replace(scale="log"),
        _whole("llc", "llc", "LLC of the whole model", "LLC", llc=None),
        _by_head(datasets, "rllc", "rllc", "refined LLC of each head", "refined LLC"),
        _controls(datasets),
        _whole(
            "circuits", "rank", "rank, summed over circuits", "rank",
            rank_sum="matrix rank", effective_rank_sum="effective rank",
        ),
        _whole(
            "circuits", "symmetry", "translational symmetry", "over mean |W|",
            translational_symmetry="sum over circuits", translational_symmetry_mean="mean",
        ),
    ]  # fmt: skip
    if several:
        listed += [
            _overlap(datasets["circuits"]),
            _whole(
                "circuits", "regions", "vocabulary regions", "regions",
                regions="any length", regions_min3="3 or more numbers",
            ),
            _anti_state(datasets),
        ]  # fmt: skip
    known = [
        each._replace(curves=[c for c in each.curves if c.variable in datasets.get(c.source, ())])
        for each in listed
    ]
    return [each._replace(within=_limits(each, datasets)) for each in known if each.curves]


def _whole(source: str, name: str, title: str, unit: str, **variables: str | None) -> Statistic:
    """Return the panel of variables of the whole model: the first solid with points, the others dashed."""
    first = dots(COLORS[name])
    curves = [
        Variable(source, variable, first if n == 0 else first | SECOND, label)
        for n, (variable, label) in enumerate(variables.items())
    ]
    return Statistic(name, title, unit, curves)


def _by_head(datasets: Datasets, source: str, variable: str, title: str, unit: str) -> Statistic:
    looks = head_looks(datasets[source]) if source in datasets else {}
    curves = [
        Variable(source, variable, look | {"markersize": 2.4}, f"head {head}", {"head": head})
        for head, look in looks.items()
    ]
    return Statistic(variable, title, unit, curves)


def _anti_state(datasets: Datasets) -> Statistic:
    """Return the panel of the anti-state. For two heads it has one line: both have the same score."""
    panel = _by_head(datasets, "circuits", "anti_state", "anti-state score", "−correlation")
    if len(panel.curves) > 2:
        return panel
    only = panel.curves[0]._replace(look=dots("#333333"), label="either head")
    return panel._replace(curves=[only])


def _overlap(circuits: xr.Dataset) -> Statistic:
    """Return the panel of the overlap: the mean, and thin lines for pairs of heads (QK dashed, OV dotted)."""
    thin = {"color": style.lightness(COLORS["overlap"], 0.45), "linewidth": 0.8}
    pairs = circuits["pair"].values.tolist() if "pair" in circuits.coords else []
    parts = [
        Variable(
            "circuits",
            "overlap",
            thin | {"linestyle": dash},
            None if n else f"{circuit.upper()}{' of each pair' if len(pairs) > 1 else ''}",
            {"pair": pair, "circuit": circuit},
        )
        for circuit, dash in (("qk", "--"), ("ov", ":"))
        for n, pair in enumerate(pairs)
    ]
    mean = Variable("circuits", "head_overlap", dots(COLORS["overlap"]), "mean")
    return Statistic("overlap", "overlap of heads", "overlap", [mean, *parts])


def _controls(datasets: Datasets) -> Statistic:
    """Return the panel of the LLC at other settings and of the weight norm, each over its maximum."""
    others = [name for name in datasets if name.startswith("llc.")]
    look = dots(COLORS["llc"]) | {"markersize": 2.0, "linewidth": 1.1}
    looks = zip(others, cycle(OTHERS), cycle(style.LINES[1:6]), cycle("s^Dv"), strict=False)
    curves = [
        Variable(
            name, "llc", look | {"color": color, "linestyle": dash, "marker": marker},
            name.removeprefix("llc."), relative=True,
        )
        for name, color, dash, marker in looks
    ]  # fmt: skip
    norm = {"color": "#7F7F7F", "linewidth": 1.1}
    if others:
        own = Variable("llc", "llc", look, "as above", relative=True)
        curves = [own, *curves, Variable("metrics", "weight_norm", norm, "norm of weights", relative=True)]
    return Statistic("controls", "LLC under other settings", "share of maximum", curves)


def dots(color: str) -> dict[str, Any]:
    return {"color": color, "marker": "o", "markersize": 2.4}


def _limits(statistic: Statistic, datasets: Datasets) -> tuple[float, float] | None:
    """Return the range of the estimates of all seeds from step ``FROM`` on; None for other statistics."""
    if statistic.name not in ESTIMATES:
        return None
    edges = []
    for each in statistic.curves:
        drawn = each.of(datasets)
        error = 0.0 if drawn.error is None else drawn.error
        edges += [drawn.values - error, drawn.values + error]
    values = np.concatenate([edge.sel(step=slice(FROM, None)).values.ravel() for edge in edges])
    values = values[np.isfinite(values)]
    if not values.size or values.min() == values.max():
        return None
    room = 0.06 * (values.max() - values.min())
    return float(values.min() - room), float(values.max() + room)


def of_seed(statistic: Statistic, one: Datasets, *, steps: np.ndarray, title: str) -> Panel:
    """Return the panel of one seed: curves, marks of values beyond its limits, and the peak of the LLC."""
    curves = [each.of(one) for each in statistic.curves]

    def frame(ax: Axes) -> None:
        if statistic.scale == "log":
            ax.set_yscale("log")
            ax.yaxis.set_minor_formatter(NullFormatter())  # in so low a panel labels would overlap
            _few_decades(ax)
        if statistic.within is not None:
            for each in curves:
                _beyond(ax, each.values, statistic.within)
            ax.set_ylim(statistic.within)
        if statistic.name in ("regions", "rank"):
            ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
            style.from_zero(ax)
        mark_peak(ax, one, zorder=1, **PEAK)

    return Panel(title, curves, over=frame, steps=steps)


def mark_peak(ax: Axes, one: Datasets, **look: Any) -> None:
    """Draw a vertical line at the largest LLC of one seed, if a peak is seen."""
    peak = llc_peak(one)
    if peak is not None:
        ax.axvline(float(peak["step"]), **look)


def _few_decades(ax: Axes) -> None:
    """Label a logarithmic axis whose values span less than two powers of ten."""
    low, high = ax.dataLim.minposy, ax.dataLim.y1
    if not low < high < 100 * low:
        return
    few = MaxNLocator(3, steps=[1, 2, 5, 10]) if high < 5 * low else LogLocator(subs=(1, 3))
    ax.yaxis.set_major_locator(few)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _beyond(ax: Axes, values: xr.DataArray, within: tuple[float, float]) -> None:
    """Draw a triangle at the edge for each value beyond it."""
    for marker, height, out in _outside(values, within):
        steps = values["step"].values[out.values]
        heights = np.full(steps.size, height)
        ax.plot(steps, heights, transform=ax.get_xaxis_transform(), marker=marker, **TRIANGLE)


def _outside(values: xr.DataArray, within: tuple[float, float]) -> Iterator[tuple[str, float, xr.DataArray]]:
    """Yield marker, height as a share of the panel, and values, first below and then above the limits."""
    yield "v", 0.05, values < within[0]
    yield "^", 0.95, values > within[1]


def entries(statistic: Statistic, datasets: Datasets, *, brief: bool = False) -> list:
    """Return legend entries of a panel: named curves, the peak, triangles, and the reasons of its rings.

    brief  leave out the reasons
    """
    listed = [style.key(curve.label, **curve.look) for curve in statistic.curves if curve.label]
    if statistic.name == "llc" and has_peak(datasets):
        listed.append(style.key("largest LLC", **PEAK))
    if statistic.within is not None:
        drawn = [curve.of(datasets).values for curve in statistic.curves]
        out = {
            marker for values in drawn for marker, _, out in _outside(values, statistic.within) if out.any()
        }
        named = {"v": "below the panel", "^": "above the panel"}
        listed += [style.key(named[marker], marker=marker, **TRIANGLE) for marker in named if marker in out]
    if statistic.name in ("llc", "rllc"):
        reasons = ring_reasons((datasets[statistic.name], statistic.name))
        if brief and reasons:
            listed.append(style.key("not reliable", **(style.DISTRUST | style.SMALL_RING)))
        else:
            listed += style.ring_keys(reasons, **style.SMALL_RING)
    return listed

"""The statistics of a sorting transformer over training, a panel each; figure and animation draw them."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from rllc.figures import style
from rllc.figures.drawing import Datasets
from rllc.figures.inputs import faulty, ring_reasons
from rllc.figures.panels import Curve, Panel
from rllc.figures.sorting.inputs import COLORS, has_peak, head_looks, llc_peak, one_seed

PEAK = {"color": COLORS["llc"], "linestyle": (0, (1, 1.5)), "linewidth": 1.1}
RING = {"markersize": 5.0, "markeredgewidth": 0.7}  # in low panels where most estimates may have one
ESTIMATES = ("llc", "rllc", "controls")
OTHERS = ("#999933", "#882255", "#332288", "#CC6677", "#44AA99")  # settings beside the LLC's own
FROM = 50  # steps: the LLC of random weights would set the scale of all others
SECOND = {"linestyle": "--", "linewidth": 1.1, "markersize": 2.0}


class Variable(NamedTuple):
    """One variable of one dataset, over ``step`` at ``select``; ``relative``: divided by its maximum."""

    source: str
    variable: str
    look: Mapping[str, Any]
    label: str | None
    select: Mapping[str, str] = {}
    relative: bool = False

    def of(self, one: Datasets) -> xr.Dataset:
        """What is drawn of one seed: the values, and standard errors and verdicts where there are any."""
        dataset = one[self.source].sel(self.select)
        kept = [name for name in (self.variable, f"{self.variable}_se", "verdict") if name in dataset]
        cut = dataset[kept]
        if not self.relative:
            return cut
        return cut.assign({name: cut[name] / cut[self.variable].max() for name in kept if name != "verdict"})


class Statistic(NamedTuple):
    """What a panel shows: ``name`` for those who choose, title, vertical label and curves; ``scale``."""

    name: str
    title: str
    label: str
    curves: Sequence[Variable]
    scale: str = "linear"


def statistics(datasets: Datasets) -> list[Statistic]:
    """Every panel that the datasets have the variables for, from top to bottom."""
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
    return [each for each in known if each.curves]


def _whole(source: str, name: str, title: str, unit: str, **variables: str | None) -> Statistic:
    """Variables of the whole model: the first solid with points, the others dashed."""
    first = _dots(COLORS[name])
    curves = [
        Variable(source, variable, first if n == 0 else first | SECOND, label)
        for n, (variable, label) in enumerate(variables.items())
    ]
    return Statistic(name, title, unit, curves)


def _by_head(datasets: Datasets, source: str, variable: str, title: str, unit: str) -> Statistic:
    heads = datasets[source]["head"].values.tolist() if source in datasets else []
    curves = [
        Variable(source, variable, look | {"markersize": 2.4}, f"head {head}", {"head": head})
        for head, look in head_looks(heads).items()
    ]
    return Statistic(variable, title, unit, curves)


def _anti_state(datasets: Datasets) -> Statistic:
    """One line where there are two heads: each is the other's rest, so both have the same score."""
    panel = _by_head(datasets, "circuits", "anti_state", "anti-state score", "−correlation")
    if len(panel.curves) > 2:
        return panel
    only = panel.curves[0]._replace(look=_dots("#333333"), label="either head")
    return panel._replace(curves=[only])


def _overlap(circuits: xr.Dataset) -> Statistic:
    """The mean, and under it thin lines: one per pair of heads, dashed QK and dotted OV."""
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
    mean = Variable("circuits", "head_overlap", _dots(COLORS["overlap"]), "mean")
    return Statistic("overlap", "overlap of heads", "overlap", [mean, *parts])


def _controls(datasets: Datasets) -> Statistic:
    """The LLC under other settings and the weight norm, each over its maximum; nothing without a setting."""
    others = [name for name in datasets if name.startswith("llc.")]
    look = {"color": COLORS["llc"], "marker": "o", "markersize": 2.0, "linewidth": 1.1}
    curves = [
        Variable(name, "llc", look | _other(n), name.removeprefix("llc."), relative=True)
        for n, name in enumerate(others)
    ]
    norm = {"color": "#7F7F7F", "linewidth": 1.1}
    if others:
        own = Variable("llc", "llc", look, "as above", relative=True)
        curves = [own, *curves, Variable("metrics", "weight_norm", norm, "norm of weights", relative=True)]
    return Statistic("controls", "LLC under other settings", "share of maximum", curves)


def _dots(color: str) -> dict[str, Any]:
    return {"color": color, "marker": "o", "markersize": 2.4}


def _other(n: int) -> dict[str, Any]:
    """The look of the setting number ``n`` beside the LLC's own."""
    dash, marker = style.LINES[1 + n % 5], ("s", "^", "D", "v")[n % 4]
    return {"color": OTHERS[n % len(OTHERS)], "linestyle": dash, "marker": marker}


def limits(statistic: Statistic, datasets: Datasets) -> tuple[float, float] | None:
    """Vertical limits of a panel of estimates, over all seeds: what they need from step ``FROM`` on.

    None: as they come.
    """
    if statistic.name not in ESTIMATES:
        return None
    edges = []
    for seed in datasets["metrics"]["seed"].values.tolist():
        one = one_seed(datasets, seed)
        for curve in statistic.curves:
            drawn = curve.of(one).sel(step=slice(FROM, None))
            error = 0.0 if curve.relative else drawn.get(f"{curve.variable}_se", 0.0)
            edges += [drawn[curve.variable] - error, drawn[curve.variable] + error]
    values = np.concatenate([edge.values for edge in edges])
    values = values[np.isfinite(values)]
    if not values.size or values.min() == values.max():
        return None
    room = 0.06 * (values.max() - values.min())
    return float(values.min() - room), float(values.max() + room)


def of_seed(
    statistic: Statistic,
    one: Datasets,
    within: tuple[float, float] | None,
    *,
    steps: np.ndarray,
    title: str,
    look: Mapping[str, Any] = MappingProxyType({}),
) -> Panel:
    """The panel of one seed: all curves, and where the LLC peaks; ``within``: as ``limits`` says."""
    curves = []
    for curve in statistic.curves:
        drawn = curve.of(one)
        error = None if curve.relative else drawn.get(f"{curve.variable}_se")
        wrong = None if curve.relative else faulty(drawn, curve.variable)
        curves.append(Curve(drawn[curve.variable], curve.look, error, wrong, RING))
    peak = llc_peak(one["llc"]) if "llc" in one else None
    frame = partial(_frame, statistic=statistic, curves=curves, within=within, peak=peak)
    logarithmic = partial(Axes.set_yscale, value="log") if statistic.scale == "log" else None
    return Panel(title, curves, look, under=logarithmic, over=frame, steps=steps)


def _frame(
    ax: Axes,
    statistic: Statistic,
    curves: Sequence[Curve],
    within: tuple[float, float] | None,
    peak: xr.DataArray | None,
) -> None:
    """The vertical axis, what lies beyond it, and where the LLC peaks."""
    if statistic.scale == "log":
        ax.yaxis.set_minor_formatter(NullFormatter())  # in so low a panel they would run into each other
        _few_decades(ax)
    if within is not None:
        for curve in curves:
            _beyond(ax, curve.values, within)
        ax.set_ylim(within)
    if statistic.name in ("regions", "rank"):
        ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        style.from_zero(ax)
    if peak is not None:
        ax.axvline(float(peak["step"]), zorder=1, **PEAK)


def _few_decades(ax: Axes) -> None:
    """Labels on a logarithmic axis whose values span less than two powers of ten."""
    low, high = ax.dataLim.minposy, ax.dataLim.y1
    if not low < high < 100 * low:
        return
    few = MaxNLocator(3, steps=[1, 2, 5, 10]) if high < 5 * low else LogLocator(subs=(1, 3))
    ax.yaxis.set_major_locator(few)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _beyond(ax: Axes, values: xr.DataArray, within: tuple[float, float]) -> None:
    """A triangle at the edge for each value that lies beyond it."""
    for height, marker, out in ((0.05, "v", values < within[0]), (0.95, "^", values > within[1])):
        steps = values["step"].values[out.values]
        ax.plot(
            steps, np.full(steps.size, height), transform=ax.get_xaxis_transform(), linestyle="none",
            marker=marker, markersize=4, color="#333333", zorder=4,
        )  # fmt: skip


def entries(statistic: Statistic, datasets: Datasets, *, brief: bool = False) -> list:
    """Legend entries of a panel: its curves that have a name, the peak, the reasons of its rings.

    ``brief``: without the reasons.
    """
    listed = [style.key(curve.label, **curve.look) for curve in statistic.curves if curve.label]
    if statistic.name == "llc" and has_peak(datasets["llc"]):
        listed.append(style.key("largest LLC", **PEAK))
    if statistic.name in ("llc", "rllc"):
        reasons = ring_reasons((datasets[statistic.name], statistic.name))
        if brief and reasons:
            listed.append(style.key("cannot be trusted", **(style.DISTRUST | RING)))
        elif reasons:
            listed += style.ring_keys(reasons, **RING)
    return listed

"""The curves of a sorting transformer over training, as a table of panels; figure and animation draw it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from rllc.figures import style
from rllc.figures.inputs import faulty, ring_reasons
from rllc.figures.sorting.inputs import COLORS, has_peak, head_looks, llc_peak, one_seed

PEAK = {"color": COLORS["llc"], "linestyle": (0, (1, 1.5)), "linewidth": 1.1}
RING = {"markersize": 5.0, "markeredgewidth": 0.7}  # in low panels where most estimates may have one
ESTIMATES = ("llc", "rllc", "controls")
OTHERS = ("#999933", "#882255", "#332288", "#CC6677", "#44AA99")  # settings beside the LLC's own
FROM = 50  # steps: the LLC of random weights would set the scale of all others
SECOND = {"linestyle": "--", "linewidth": 1.1, "markersize": 2.0}


class Curve(NamedTuple):
    """One variable of one dataset, over ``step`` at ``select``; ``relative``: divided by its maximum."""

    source: str
    variable: str
    look: Mapping[str, Any]
    label: str | None
    select: Mapping[str, str] = {}
    relative: bool = False

    def of(self, one: Mapping[str, xr.Dataset]) -> xr.Dataset:
        """What is drawn of one seed: the values, and standard errors and verdicts where there are any."""
        dataset = one[self.source].sel(self.select)
        kept = [name for name in (self.variable, f"{self.variable}_se", "verdict") if name in dataset]
        cut = dataset[kept]
        if not self.relative:
            return cut
        return cut.assign({name: cut[name] / cut[self.variable].max() for name in kept if name != "verdict"})


class Panel(NamedTuple):
    """A panel: ``name`` for those who choose, title, vertical label and curves; ``scale`` of the axis."""

    name: str
    title: str
    label: str
    curves: Sequence[Curve]
    scale: str = "linear"


def panels(found: Mapping[str, xr.Dataset]) -> list[Panel]:
    """Every panel that the datasets have the variables for, from top to bottom."""
    several = "circuits" in found and found["circuits"].sizes["head"] > 1
    made = [
        _whole(
            "metrics", "accuracy", "accuracy", "share right",
            accuracy="single predictions", sequence_accuracy="whole sequences",
        ),
        _whole("metrics", "loss", "held-out loss", "nats/token", loss=None)._replace(scale="log"),
        _whole("llc", "llc", "LLC of the whole model", "LLC", llc=None),
        _by_head(found, "rllc", "rllc", "refined LLC of each head", "refined LLC"),
        _controls(found),
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
        made += [
            _overlap(found["circuits"]),
            _whole(
                "circuits", "regions", "vocabulary regions", "regions",
                regions="any length", regions_min3="3 or more numbers",
            ),
            _anti_state(found),
        ]  # fmt: skip
    known = [
        panel._replace(
            curves=[c for c in panel.curves if c.source in found and c.variable in found[c.source]]
        )
        for panel in made
    ]
    return [panel for panel in known if panel.curves]


def _whole(source: str, name: str, title: str, unit: str, **variables: str | None) -> Panel:
    """Variables of the whole model: the first solid with points, the others dashed."""
    first = {"color": COLORS[name], "marker": "o", "markersize": 2.4}
    curves = [
        Curve(source, variable, first if n == 0 else first | SECOND, label)
        for n, (variable, label) in enumerate(variables.items())
    ]
    return Panel(name, title, unit, curves)


def _by_head(found: Mapping[str, xr.Dataset], source: str, variable: str, title: str, unit: str) -> Panel:
    heads = found[source]["head"].values.tolist() if source in found else []
    curves = [
        Curve(source, variable, look | {"markersize": 2.4}, f"head {head}", {"head": head})
        for head, look in head_looks(heads).items()
    ]
    return Panel(variable, title, unit, curves)


def _anti_state(found: Mapping[str, xr.Dataset]) -> Panel:
    """One line where there are two heads: each is the other's rest, so both have the same score."""
    panel = _by_head(found, "circuits", "anti_state", "anti-state score", "−correlation")
    if len(panel.curves) > 2:
        return panel
    look = {"color": "#333333", "marker": "o", "markersize": 2.4}
    return panel._replace(curves=[panel.curves[0]._replace(look=look, label="either head")])


def _overlap(circuits: xr.Dataset) -> Panel:
    """The mean, and under it thin lines: one per pair of heads, dashed QK and dotted OV."""
    thin = {"color": style.lightness(COLORS["overlap"], 0.45), "linewidth": 0.8}
    pairs = circuits["pair"].values.tolist() if "pair" in circuits.coords else []
    parts = [
        Curve(
            "circuits",
            "overlap",
            thin | {"linestyle": dash},
            None if n else f"{circuit.upper()}{' of each pair' if len(pairs) > 1 else ''}",
            {"pair": pair, "circuit": circuit},
        )
        for circuit, dash in (("qk", "--"), ("ov", ":"))
        for n, pair in enumerate(pairs)
    ]
    look = {"color": COLORS["overlap"], "marker": "o", "markersize": 2.4}
    return Panel(
        "overlap",
        "overlap of heads",
        "overlap",
        [Curve("circuits", "head_overlap", look, "mean"), *parts],
    )


def _controls(found: Mapping[str, xr.Dataset]) -> Panel:
    """The LLC under other settings and the weight norm, each over its maximum; nothing without a setting."""
    others = [name for name in found if name.startswith("llc.")]
    look = {"color": COLORS["llc"], "marker": "o", "markersize": 2.0, "linewidth": 1.1}
    curves = [
        Curve(
            name,
            "llc",
            look
            | {
                "color": OTHERS[n % len(OTHERS)],
                "linestyle": style.LINES[1 + n % 5],
                "marker": ("s", "^", "D", "v")[n % 4],
            },
            name.removeprefix("llc."),
            relative=True,
        )
        for n, name in enumerate(others)
    ]
    norm = {"color": "#7F7F7F", "linewidth": 1.1}
    return Panel(
        "controls",
        "LLC under other settings",
        "share of maximum",
        [
            Curve("llc", "llc", look, "as above", relative=True),
            *curves,
            Curve("metrics", "weight_norm", norm, "norm of weights", relative=True),
        ]
        if others
        else [],
    )


def limits(panel: Panel, found: Mapping[str, xr.Dataset]) -> tuple[float, float] | None:
    """Vertical limits of a panel of estimates, over all seeds: what they need from step ``FROM`` on.

    None: as they come.
    """
    if panel.name not in ESTIMATES:
        return None
    edges = []
    for seed in found["metrics"]["seed"].values.tolist():
        one = one_seed(found, seed)
        for curve in panel.curves:
            drawn = curve.of(one).sel(step=slice(FROM, None))
            error = 0.0 if curve.relative else drawn.get(f"{curve.variable}_se", 0.0)
            edges += [drawn[curve.variable] - error, drawn[curve.variable] + error]
    values = np.concatenate([edge.values for edge in edges])
    values = values[np.isfinite(values)]
    if not values.size or values.min() == values.max():
        return None
    room = 0.06 * (values.max() - values.min())
    return float(values.min() - room), float(values.max() + room)


def draw(
    ax: Axes, panel: Panel, one: Mapping[str, xr.Dataset], within: tuple[float, float] | None = None
) -> None:
    """All curves of a panel for one seed, and where the LLC peaks; ``within``: as ``limits`` says."""
    if panel.scale == "log":
        ax.set_yscale("log")
        ax.yaxis.set_minor_formatter(NullFormatter())  # in so low a panel they would run into each other
    for curve in panel.curves:
        drawn = curve.of(one)
        wrong = None if curve.relative else faulty(drawn, curve.variable)
        error = None if curve.relative else drawn.get(f"{curve.variable}_se")
        style.curve(ax, drawn[curve.variable], error, faulty=wrong, ring_look=RING, **curve.look)
        if within is not None:
            _beyond(ax, drawn[curve.variable], within)
    if panel.scale == "log":
        _few_decades(ax)
    if within is not None:
        ax.set_ylim(within)
    if panel.name in ("regions", "rank"):
        ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        style.from_zero(ax)
    peak = llc_peak(one["llc"]) if "llc" in one else None
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


def entries(panel: Panel, found: Mapping[str, xr.Dataset], *, brief: bool = False) -> list:
    """Legend entries of a panel: its curves that have a name, the peak, the reasons of its rings.

    ``brief``: without the reasons.
    """
    listed = [style.key(curve.label, **curve.look) for curve in panel.curves if curve.label]
    if panel.name == "llc" and has_peak(found["llc"]):
        listed.append(style.key("largest LLC", **PEAK))
    if panel.name in ("llc", "rllc"):
        reasons = ring_reasons((found[panel.name], panel.name))
        if brief and reasons:
            listed.append(style.key("cannot be trusted", **(style.DISTRUST | RING)))
        elif reasons:
            listed += style.ring_keys(reasons, **RING)
    return listed

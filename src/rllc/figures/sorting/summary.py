"""What the experiments with sorting transformers have in common: one panel per statistic."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.inputs import need, of_seeds
from rllc.figures.sorting.inputs import COLORS
from rllc.figures.summaries import DOUBT, DOUBTED, averaged, doubts, experiment_titles

QUANTITIES = {
    "llc_peak_step": "step of the largest LLC",
    "llc_fall": "fall of the LLC after it",
    "overlap_fall": "fall of the overlap",
    "final_regions": "regions of 3 or more",
    "final_accuracy": "accuracy at the end",
}
SHARES = ("fall", "accuracy")  # ends or beginnings of names whose values are shares
EXPECTED = "#DCE6DC"


@style.styled
def sort_summary(
    datasets: Datasets,
    *,
    quantities: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    seeds: Seeds = None,
    group: str = "experiment_of_claim",
) -> Drawing:
    """A panel per statistic, experiments from top to bottom, a point per seed.

    datasets    ``claims`` with statistics over (experiment, seed); its claims' thresholds are shaded
    quantities  title of each statistic's panel, by the statistic's name
    titles      what an experiment is called, by its name; default its label in the dataset
    group       the variable (claim) that names a claim's experiment
    """
    shown = dict(quantities or QUANTITIES)
    claims = of_seeds(need(datasets, "claims", *shown), seeds)
    also = [f"{name}_{of}" for name in shown for of in ("untrusted", "se") if f"{name}_{of}" in claims]
    data = claims[[*shown, *also]].transpose("experiment", "seed")
    called = experiment_titles(claims, titles)
    hollow = {name: _doubted(data, name) for name in shown}
    errors = {
        name: data[f"{name}_se"].values
        for name in shown
        if f"{name}_se" in data and not name.endswith("_step")  # of a few checkpoints: no interval
    }
    expected = _expected(claims, shown, group)
    names, runs = data["experiment"].values.tolist(), data["seed"].values.tolist()
    figure = Figure(figsize=(1.9 + 1.75 * len(shown) + 0.9, 1.0 + 0.3 * len(names)), layout="constrained")
    axes = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    shift = np.linspace(-0.18, 0.18, len(runs)) if len(runs) > 1 else np.zeros(1)
    for ax, (variable, title) in zip(axes, shown.items(), strict=True):
        values = data[variable].values.astype(float)
        for low, high, row in expected.get(variable, []):
            _expect(ax, low, high, names.index(row))
        color = _color(variable)
        for n in range(len(runs)):
            y = np.arange(len(names)) + shift[n]
            if variable in errors:
                bars = {"fmt": "none", "ecolor": color, "elinewidth": 0.8, "zorder": 1.5}
                ax.errorbar(values[:, n], y, xerr=errors[variable][:, n], **bars)
            _points(ax, values[:, n], y, hollow[variable][:, n], n, color)
        error = np.nan_to_num(errors.get(variable, 0.0))
        limits = [edge for low, high, _ in expected.get(variable, []) for edge in (low, high)]
        _axis(ax, variable, np.concatenate([(values - error).ravel(), (values + error).ravel(), limits]))
        for row in np.flatnonzero(~np.isfinite(values).any(1)):
            ax.annotate(
                "–", (0.02, row), xycoords=("axes fraction", "data"), va="center", color="#888888", fontsize=9
            )
        ax.set_title(title, loc="left", fontsize=8)
        ax.grid(False, axis="y")
    for ax in axes:
        for row in range(len(names)):
            ax.axhline(row, color="#EFEFEF", linewidth=0.6, zorder=0)
    axes[0].set_yticks(np.arange(len(names)), list(called.values()))
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    for ax in axes:
        ax.tick_params(axis="y", length=0)
    grey = {"linestyle": "none", "color": "#444444", "markersize": 5}
    keys = [style.key(f"seed {seed}", marker=style.MARKERS[n % 8], **grey) for n, seed in enumerate(runs)]
    if expected:
        keys.append(Patch(color=EXPECTED, label="expected"))
    style.beside(axes[-1], keys)
    doubted = any(marked.any() for marked in hollow.values())
    return captions.drawing(
        figure,
        data,
        *(_range(data, variable, title, called) for variable, title in shown.items()),
        conditions=[
            f"{len(names)} experiments, a point per seed; values without a step are of the last one.",
            doubts("Hollow") if doubted else "",
            "Shaded: what the claims table expects." if expected else "",
            "A dash: the statistic does not exist there.",
        ],
        details=[
            captions.when(
                any(np.isfinite(each).any() for each in errors.values()),
                "Bars: the standard error of a value by those of the estimates (none for steps), which holds "
                "nothing of the bias of a maximum.",
            ),
            averaged(claims, list(shown)),
            DOUBT if doubted else "",
            captions.when(
                expected, "Claims about steps that an experiment was not trained to are not shaded."
            ),
        ],
    )


def _doubted(data: xr.Dataset, statistic: str) -> np.ndarray:
    """Which values (experiment, seed) are read from estimates most of which cannot be trusted."""
    share = data.get(f"{statistic}_untrusted", xr.zeros_like(data[statistic]))
    return share.values > DOUBTED


def _points(ax: Axes, x: np.ndarray, y: np.ndarray, hollow: np.ndarray, run: int, color: str) -> None:
    """The points of one seed."""
    marker = style.MARKERS[run % len(style.MARKERS)]
    for which, look in (
        (~hollow, {"color": color, "markeredgecolor": "white", "markeredgewidth": 0.5}),
        (hollow, {"markerfacecolor": "white", "markeredgecolor": color, "markeredgewidth": 1.2}),
    ):
        if which.any():
            ax.plot(x[which], y[which], linestyle="none", markersize=5, marker=marker, **look)


def _expected(
    claims: xr.Dataset, shown: Mapping[str, str], group: str
) -> dict[str, list[tuple[float, float, str]]]:
    """Thresholds of the claims on the statistics shown: (at least, at most, experiment)."""
    ranges: dict[str, list[tuple[float, float, str]]] = {}
    if not {"statistic", "at_least", "at_most", group} <= set(claims.variables):
        return ranges
    experiments = set(claims["experiment"].values.tolist())
    if "verdict" in claims:
        claims = claims.isel(claim=claims["verdict"].values != "not reached")
    if "versus" in claims:  # a difference or ratio, which is not on the statistic's axis
        claims = claims.isel(claim=claims["versus"].values == "")
    columns = (claims[name].values.tolist() for name in ("statistic", "at_least", "at_most", group))
    for statistic, low, high, experiment in zip(*columns, strict=True):
        if statistic in shown and experiment in experiments:
            ranges.setdefault(statistic, []).append((float(low), float(high), experiment))
    return ranges


def _expect(ax: Axes, low: float, high: float, row: int) -> None:
    """A bar from ``low`` to ``high`` in the experiment's row; without one of them, to the panel's edge."""
    ax.fill_betweenx(
        [row - 0.36, row + 0.36], -1e9 if not np.isfinite(low) else low, high if np.isfinite(high) else 1e9,
        color=EXPECTED, linewidth=0, zorder=0.5,
    )  # fmt: skip


def _axis(ax: Axes, variable: str, values: np.ndarray) -> None:
    """The horizontal axis of a statistic: steps on a logarithmic one, shares in per cent."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if variable.endswith("_step"):
        low, high = max(low, 1.0) / 1.5, max(high, 1.0) * 1.5
        ax.set_xscale("log")
        ax.set_xlim(low, high)
        style.label_decades(ax.xaxis, low, high, (1,) if high > 100 * low else (1, 3))
        ax.set_xlabel("training step (log scale)", fontsize=7.5)
        return
    low, high = (low, max(high, 1.0)) if "accuracy" in variable else (min(low, 0.0), max(high, 0.0))
    room = 0.08 * ((high - low) or 1.0)
    ax.set_xlim(low - room, high + room)
    ax.xaxis.set_major_locator(MaxNLocator(3, integer="regions" in variable))
    if any(word in variable for word in SHARES):
        ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g} %"))
    if "accuracy" in variable:
        ax.set_xlabel("of lists" if "sequence" in variable else "of numbers", fontsize=7.5)
    elif "fall" in variable:
        ax.set_xlabel("of the largest", fontsize=7.5)


def _color(variable: str) -> str:
    return next((color for name, color in COLORS.items() if name in variable), "#333333")


def _range(data: xr.Dataset, variable: str, title: str, called: Mapping[str, str]) -> str:
    """The range of one statistic, and where its ends are."""
    name, stacked = f"{title[:1].upper()}{title[1:]}", data[variable].stack(cell=("experiment", "seed"))
    known = stacked.dropna("cell")
    if not known.size:
        return f"{name}: not known."
    share = any(word in variable for word in SHARES)
    form = "{:.1%}" if share else "{:,.0f}" if "step" in variable else "{:.3g}"
    low, high = (
        f"{form.format(float(cell))} ({called[cell['experiment'].item()]}, seed {cell['seed'].item()})"
        for cell in (known[int(known.argmin("cell"))], known[int(known.argmax("cell"))])
    )
    return f"{name}: {low} to {high}."

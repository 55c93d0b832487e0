"""Comparison of the experiments with sorting transformers: one panel per statistic."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rllc.analysis.curves import PEAK_FROM
from rllc.claims.columns import DOUBTED
from rllc.figures import conditions, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seeds
from rllc.figures.inputs import need, of_seeds
from rllc.figures.sorting.inputs import COLORS

QUANTITIES = {
    "llc_peak_step": "step of the largest LLC",
    "llc_fall": "fall of the LLC after it",
    "overlap_fall": "fall of the overlap",
    "final_regions": "regions of 3 or more",
    "final_accuracy": "accuracy at the end",
}
PEAKS = (
    "llc_peak_step",
    "llc_peak_step_unreliable",
)  # nothing is known of them if the last LLC is the largest
SHARES = ("fall", "accuracy")  # ends or beginnings of the names of shares
EXPECTED = "#DCE6DC"
RISING = "The largest LLC has no step where it is the last: no peak is seen."


@style.styled
def sort_summary(
    datasets: Datasets,
    *,
    quantities: Mapping[str, str] | None = None,
    titles: Mapping[str, str] | None = None,
    seeds: Seeds = None,
    group: str = "experiment_of_claim",
) -> Drawing:
    """A panel per statistic, a row per experiment, a point per seed. Shaded: where claims hold.

    quantities  title of each statistic's panel, by the statistic's name
    titles      experiment -> its title; default its label in the dataset
    group       the variable (claim) that names a claim's experiment
    """
    shown = dict(quantities or QUANTITIES)
    claims = of_seeds(need(datasets, "claims", *shown), seeds)
    also = [f"{name}_{of}" for name in shown for of in ("unreliable", "se") if f"{name}_{of}" in claims]
    data = claims[[*shown, *also]].transpose("experiment", "seed")
    data = data.sel(seed=np.any([data[name].notnull().any("experiment") for name in shown], axis=0))
    data = data.isel(experiment=np.any([data[name].notnull().any("seed").values for name in shown], axis=0))
    rising = _without_peak(data)
    data = data.assign({name: data[name].where(~rising) for name in PEAKS if name in data})
    called = _titles(data, titles)
    known = claims.sel(experiment=data["experiment"])
    expected = {name: _expected(known, name, group) for name in shown}
    shaded = any(expected.values())
    doubted = any((data[name] > DOUBTED).any() for name in also if name.endswith("_unreliable"))
    names, runs = list(called), data["seed"].values.tolist()
    figure = Figure(figsize=(1.9 + 1.75 * len(shown) + 0.9, 1.0 + 0.3 * len(names)), layout="constrained")
    axes = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    for ax, (variable, title) in zip(axes, shown.items(), strict=True):
        _panel(ax, data, variable, expected[variable])
        ax.set_title(title, loc="left", fontsize=8)
    axes[0].set_yticks(np.arange(len(names)), list(called.values()))
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    grey = {"linestyle": "none", "color": "#444444", "markersize": 5}
    keys: list[Artist] = [
        style.key(f"seed {seed}", marker=style.MARKERS[n % 8], **grey) for n, seed in enumerate(runs)
    ]
    if doubted:
        hollow = {"markerfacecolor": "white", "markeredgecolor": "#444444", "markeredgewidth": 1.2}
        keys.append(style.key("mostly not\nreliable", marker="o", **grey | hollow))
    if shaded:
        keys.append(Patch(color=EXPECTED, label="expected"))
    style.beside(axes[-1], keys)
    findings = [
        each for variable, title in list(shown.items())[:3] for each in _ends(data, variable, title, called)
    ]
    said = ["Shaded: what the claims expect.", *conditions.seeds(data)] if shaded else conditions.seeds(data)
    if doubted:
        said = [f"Hollow: more than {DOUBTED:.0%} of the estimates behind the value are not reliable.", *said]
    if any(np.isfinite(_errors(data, name)).any() for name in shown):
        said = [
            "Bars: one standard error by redraws of the estimates; it holds nothing of the bias of a "
            "maximum.",
            *said,
        ]
    if "llc_peak_step" in shown and bool(rising.any()):
        said = [RISING, *said]
    return Drawing(
        figure, data, "Sorting transformers: one number of each experiment and seed.", findings, said
    )


def _without_peak(data: xr.Dataset) -> xr.DataArray:
    """Return where the last mean LLC is the largest (experiment, seed): a fall of exactly 0."""
    if "llc_fall" in data and "llc_peak_step" in data:
        return (data["llc_fall"] == 0) & data["llc_peak_step"].notnull()
    return xr.zeros_like(data[next(iter(data.data_vars))], dtype=bool)


def _panel(ax: Axes, data: xr.Dataset, variable: str, expected: Sequence[tuple[float, float, str]]) -> None:
    """Draw the points of one statistic with their errors, and a bar for each claim's thresholds."""
    values, error = data[variable].values.astype(float), _errors(data, variable)
    hollow = data.get(f"{variable}_unreliable", xr.zeros_like(data[variable])).values > DOUBTED
    names, runs = data["experiment"].values.tolist(), data.sizes["seed"]
    for low, high, experiment in expected:
        row = names.index(experiment)
        ends = low if np.isfinite(low) else -1e9, high if np.isfinite(high) else 1e9
        ax.fill_betweenx([row - 0.36, row + 0.36], *ends, color=EXPECTED, linewidth=0, zorder=0.5)
    color = next((color for name, color in COLORS.items() if name in variable), "#333333")
    for n, shift in enumerate(np.linspace(-0.18, 0.18, runs) if runs > 1 else [0.0]):
        x, y = values[:, n], np.arange(len(names)) + shift
        if np.isfinite(error).any():
            ax.errorbar(x, y, xerr=error[:, n], fmt="none", ecolor=color, elinewidth=0.8, zorder=1.5)
        for which, look in (
            (~hollow[:, n], {"color": color, "markeredgecolor": "white", "markeredgewidth": 0.5}),
            (hollow[:, n], {"markerfacecolor": "white", "markeredgecolor": color, "markeredgewidth": 1.2}),
        ):
            if which.any():
                ax.plot(
                    x[which], y[which], linestyle="none", markersize=5, marker=style.MARKERS[n % 8], **look
                )
    error = np.nan_to_num(error)
    limits = [edge for low, high, _ in expected for edge in (low, high)]
    _axis(ax, variable, np.concatenate([(values - error).ravel(), (values + error).ravel(), limits]))
    for row in range(len(names)):
        ax.axhline(row, color="#EFEFEF", linewidth=0.6, zorder=0)
        if not np.isfinite(values[row]).any():
            at = {"xycoords": ("axes fraction", "data"), "va": "center"}
            ax.annotate("–", (0.02, row), color="#888888", fontsize=9, **at)
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)


def _errors(data: xr.Dataset, statistic: str) -> np.ndarray:
    """Return standard errors. Steps have none, since they come from a few checkpoints."""
    if f"{statistic}_se" in data and not statistic.endswith("_step"):
        return data[f"{statistic}_se"].values
    return np.full(data[statistic].shape, np.nan)


def _expected(claims: xr.Dataset, statistic: str, group: str) -> list[tuple[float, float, str]]:
    """Return the thresholds of the claims on a statistic: (at least, at most, experiment)."""
    if not {"statistic", "at_least", "at_most", group} <= set(claims.variables):
        return []
    mine = (claims["statistic"] == statistic) & claims[group].isin(claims["experiment"])
    if "verdict" in claims:
        mine &= ~claims["verdict"].isin(["not reached", "not judged"])
    if "versus" in claims:  # a difference or ratio, which does not fit the statistic's axis
        mine &= claims["versus"] == ""
    columns = (claims[name].values[mine.values].tolist() for name in ("at_least", "at_most", group))
    return list(zip(*columns, strict=True))


def _axis(ax: Axes, variable: str, values: np.ndarray) -> None:
    """Set the horizontal axis of a statistic: logarithmic for steps, per cent for shares."""
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


def _titles(data: xr.Dataset, titles: Mapping[str, str] | None) -> dict[str, str]:
    """Return the title of every experiment: as given, else its label."""
    names = data["experiment"].values.tolist()
    labels: list[str] = names
    if "experiment_label" in data.coords:
        labels = data["experiment_label"].values.tolist()
    return {name: (titles or {}).get(name, label) for name, label in zip(names, labels, strict=True)}


def _ends(data: xr.Dataset, variable: str, title: str, called: Mapping[str, str]) -> list[Finding]:
    """Return the smallest and largest value of a statistic with their places; one place of equal values."""
    known = data[variable].stack(cell=("experiment", "seed")).dropna("cell")
    if not known.size:
        return []
    share = any(word in variable for word in SHARES)
    factor, unit = (100.0, "%") if share else (1.0, str(data[variable].attrs.get("units", "1")))
    errors = data.get(f"{variable}_se", xr.full_like(data[variable], np.nan))
    ends = {"least ": known.argmin("cell"), "largest ": known.argmax("cell")}
    found = []
    for word, place in (
        ends.items() if float(known.min()) < float(known.max()) else [("", known.argmax("cell"))]
    ):
        cell = known[int(place)]
        at = {"experiment": cell["experiment"].item(), "seed": int(cell["seed"].item())}
        whose = f"{called[at['experiment']]}, seed {at['seed']}" if word or known.size == 1 else "all"
        label = f"{word}{title}, from step {PEAK_FROM} on: {whose}"
        error = np.nan if variable.endswith("_step") else factor * float(errors.sel(at))
        found.append(Finding(label, factor * float(cell), error, unit))
    return found

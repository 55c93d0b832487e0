"""Sweeps of the sampler's settings: the regime map."""

import json
from collections.abc import Mapping
from itertools import product

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, Normalize, TwoSlopeNorm
from matplotlib.patches import Patch

from rllc.analysis.calibration import GRID, OUTCOMES, kinds, regime
from rllc.analysis.regime import MEANINGS
from rllc.figures import style
from rllc.figures.drawing import Datasets, Drawing, Finding, Names, headed
from rllc.figures.findings import fitting
from rllc.figures.inputs import distribution_labels, distribution_names, need

KIND_NAMES = {"heads": "heads", "full": "whole model"}
IS = ("#C9C3DE", "#2A7F8E", "#E3A05C")  # colours of a curvature, a posterior mean, drift
WORDS = ("curvature", "mean", "drift")  # short enough for a cell
MAPS = {  # quantity -> title, colour map, norm
    "meaning": ("what the estimate is", ListedColormap(IS), Normalize(-0.5, 2.5)),
    "shrinkage": ("shrinkage", colormaps["YlGnBu"], Normalize(0, 1)),
    "shrinkage_without_drift": ("shrinkage without drift", colormaps["YlGnBu"], Normalize(0, 1)),
    "exponent": ("exponent in n_beta", colormaps["YlGnBu_r"], Normalize(0, 1)),
    "curvature_ratio": ("estimate / curvature", colormaps["PuOr"], TwoSlopeNorm(1, 0, 2)),
    "drift_term": ("drift term / |estimate|", colormaps["RdBu"], TwoSlopeNorm(0, -1, 1)),
}
AXES = ("n_beta", "localization")  # of a map
MARKS = [f"{which}_{axis}" for which in ("setting", "recommended") for axis in AXES]
SETTING_MARKERS = (("*", 9), ("D", 6), ("^", 6), ("v", 6), ("P", 6))
RECOMMENDED = {"marker": "o", "markersize": 9, "markerfacecolor": "none"}


def sweeps(
    calibration: xr.Dataset, distributions: Names, seed: int | None, step: int | None
) -> dict[tuple[str, str], xr.Dataset]:
    """Return the sweep at one seed and step (default first and last), by kind of component and distribution.

    Dims are kept; values of the grid at which the kind was never sampled are dropped.
    """
    at = {
        "seed": [calibration["seed"].values[0] if seed is None else seed],
        "step": [calibration["step"].values[-1] if step is None else step],
    }
    for dim, (value,) in at.items():
        known = calibration[dim].values.tolist()
        if value not in known:
            raise ValueError(f"calibration.nc has no {dim} {value}; it has {known}")
    swept = {}
    for kind, components in kinds(calibration).items():
        for name in distribution_names(calibration, distributions, ()):
            each = calibration.sel(at | {"component": components, "distribution": [name]})
            for dim in GRID:
                tried = each["llc_prior_only"].notnull().any([d for d in each["llc"].dims if d != dim])
                each = each.sel({dim: each[dim].values[tried.values]})
            swept[kind, name] = each
    return swept


@style.styled
def regime_map(
    datasets: Datasets,
    *,
    distributions: Names = None,
    seed: int | None = None,
    step: int | None = None,
    base_setting: str = "sampling",
    title: str = "",
) -> Drawing:
    """Class of the estimate (curvature, posterior mean, drift) at each n_beta and localization, with reasons.

    Rows: what it is, shrinkage, that of the drift-free control, exponent d ln(drift-free control) / d
    ln(n_beta), ratio to n_beta / (2 localization) tr H, drift term over the estimate; columns: heads (medians
    over them) and the whole model, by distribution.

    distributions  default all that were swept
    seed, step     default the first seed, the last step
    base_setting   name of the setting of rllc.nc
    """
    calibration = need(datasets, "calibration", "llc", "llc_drift_free")
    chosen = need(datasets, "recommendation", "recommended_n_beta", "setting_n_beta")
    called = [base_setting if name == "sampling" else name for name in chosen["setting"].values.tolist()]
    chosen, labels = chosen.assign_coords(setting=called), distribution_labels(calibration)
    limits = json.loads(chosen.attrs.get("rule", "{}"))  # settings of the recommendation
    swept = sweeps(calibration, distributions, seed, step)
    maps = {at: regime(each, **limits) for at, each in swept.items()}
    figure, axes = style.grid(
        len(MAPS), len(maps), panel=(2.35, 1.85), margin=1.6, title=title, sharex="col", sharey="col"
    )
    for row, variable in zip(axes, MAPS, strict=True):
        for ax, ((kind, name), drawn) in zip(row, maps.items(), strict=True):
            _map(ax, drawn, variable)
            _mark(ax, drawn, chosen.sel(kind=kind, distribution=name))
            at = f"{KIND_NAMES[kind]}, {style.short(labels[name], 18)}"
            ax.set_title(f"{MAPS[variable][0]}\n{at}", loc="left")
        row[0].set_ylabel("localization")
    for ax in axes[-1]:
        ax.set_xlabel("n_beta")
    keys = [style.key(name, linestyle="none", **_setting_look(i)) for i, name in enumerate(called)]
    black = {"linestyle": "none", "color": "#000000", "markeredgewidth": 1.6}
    keys.append(style.key("recommended\nby the rule", **black, **RECOMMENDED))
    keys += [Patch(color=color, label=name) for color, name in zip(IS, MEANINGS, strict=True)]
    style.beside(axes[0, -1], keys)
    names = dict.fromkeys(name for _, name in maps)
    nested = [
        [maps[kind, name].expand_dims(kind=[kind], distribution=[name]) for name in names]
        for kind in kinds(calibration)
    ]
    data = xr.combine_nested(nested, ["kind", "distribution"], join="outer", combine_attrs="override")
    heads = len(kinds(calibration).get("heads", []))
    marked = chosen.sel(kind=list(kinds(calibration)), distribution=list(names))
    data = data.assign({name: marked[name] for name in MARKS})
    named = headed(title, "What the estimate measures at every n_beta and localization of the sweep.")
    told = [
        f"{cell(next(iter(swept.values())))}.",
        *([f"Heads: medians over {heads} heads."] if heads else []),
        *_without(marked, labels),
        "Exponent 1: a curvature; 0: an LLC.",
        *(
            ["In brackets: a required criterion of the rule fails."]
            if _any(maps, "meets_requirements", 0)
            else []
        ),
        *(["Grey: not sampled, or a chain failed."] if _any(maps, "shrinkage", None) else []),
        "The rule reads all steps and seeds swept.",
    ]
    return Drawing(figure, data, named, fitting([*_in_use(data), *_recommended(data)], named, told), told)


def _any(maps: Mapping[tuple[str, str], xr.Dataset], name: str, value: float | None) -> bool:
    """Return whether a cell of any map has this value; ``value`` None: whether a cell is empty."""
    each = (drawn[name] for drawn in maps.values())
    return any(bool((one.isnull() if value is None else one == value).any()) for one in each)


def _map(ax: Axes, drawn: xr.Dataset, variable: str) -> None:
    """Draw one table of numbers as colours and text, in brackets if the rule does not trust them."""
    _, colors, norm = MAPS[variable]
    drawn = drawn.transpose("localization", "n_beta", ...)
    table, good = drawn[variable].values, drawn["meets_requirements"].values == 1
    rows, columns = table.shape
    colors = colors.with_extremes(bad="#bbbbbb")
    shown = np.ma.masked_invalid(np.clip(table, norm.vmin, norm.vmax))
    ax.imshow(shown, cmap=colors, norm=norm, origin="lower", aspect="auto")
    for i, j in np.argwhere(np.isfinite(table)):
        red, green, blue, _ = colors(norm(shown[i, j]))
        color = "#000000" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.55 else "#ffffff"
        value = 0.0 if abs(table[i, j]) < 0.005 else table[i, j]  # no "-0.00"
        form = ".2f" if abs(value) < 10 else ".0f" if abs(value) < 1000 else ".0e"
        text = WORDS[int(value)] if variable == "meaning" else f"{value:{form}}"
        size = 6 if variable == "meaning" else 7
        text = text if good[i, j] else f"({text})"
        ax.text(j, i + 0.12, text, ha="center", va="bottom", fontsize=size, color=color)
    ax.set_xticks(range(columns), [f"{value:g}" for value in drawn["n_beta"].values])
    ax.set_yticks(range(rows), [f"{value:g}" for value in drawn["localization"].values])
    ax.tick_params(axis="x", labelrotation=35)
    ax.grid(visible=False)
    ax.set(xlim=(-0.5, columns - 0.5), ylim=(-0.5, rows - 0.5))


def _place(drawn: xr.Dataset, chosen: xr.Dataset, prefix: str) -> list[np.ndarray]:
    """Return the places of settings on the axes of a map, interpolated by logarithm; NaN outside the grid."""
    place = []
    for name in AXES:
        value, grid = np.log(chosen[f"{prefix}_{name}"].values), np.log(drawn[name].values)
        inside = (value > grid[0] - 0.001) & (value < grid[-1] + 0.001)
        place.append(np.where(inside, np.interp(value, grid, np.arange(len(grid))), np.nan))
    return place


def _mark(ax: Axes, drawn: xr.Dataset, chosen: xr.Dataset) -> None:
    """Mark the settings in use and the recommended one, under the number of their cell."""
    marks: dict[tuple[float, float], int] = {}
    for i, at in enumerate(zip(*_place(drawn, chosen, "setting"), strict=True)):
        # Settings that differ only in other keys than the axes are drawn side by side.
        beside = marks[at] = marks.get(at, -1) + 1
        ax.plot(at[0] - 0.32 + 0.2 * beside, at[1] - 0.2, **_setting_look(i))
    x, y = _place(drawn, chosen, "recommended")
    for color, width in (("#ffffff", 3.4), ("#000000", 1.6)):
        ax.plot(x + 0.22, y - 0.2, color=color, markeredgewidth=width, **RECOMMENDED)


def _setting_look(i: int) -> dict:
    marker, size = SETTING_MARKERS[i % len(SETTING_MARKERS)]
    return {"marker": marker, "markersize": size, "color": "#ffffff", "markeredgecolor": "#000000"}


def _in_use(data: xr.Dataset) -> list[Finding]:
    """Return the shrinkage without drift at the settings in use that are points of the grid."""
    found = []
    for setting, kind in product(data["setting"].values.tolist(), data["kind"].values.tolist()):
        one = data.sel(kind=kind)
        at = {axis: float(one[f"setting_{axis}"].sel(setting=setting)) for axis in AXES}
        if all(np.isclose(one[axis], value).any() for axis, value in at.items()):
            values = one["shrinkage_without_drift"].sel(at, method="nearest")
            label = f"shrinkage without drift, {KIND_NAMES[kind]}{_over(values)}, setting {setting}"
            found.append(Finding(label, float(values.median())))
    return found


def _recommended(data: xr.Dataset) -> list[Finding]:
    """Return the setting that the rule recommends for a kind, if it is the same on all texts drawn."""
    found = []
    for kind in data["kind"].values.tolist():
        point = {axis: data[f"recommended_{axis}"].sel(kind=kind) for axis in AXES}
        if all(float(values.max()) == float(values.min(skipna=False)) for values in point.values()):
            for axis, values in point.items():
                label = f"recommended {axis}, {KIND_NAMES[kind]}{_over(values, 'same on')}"
                found.append(Finding(label, float(values[0])))
    return found


def _over(values: xr.DataArray, how: str = "median of") -> str:
    """Return the number of texts that a number summarises, if they are several."""
    count = values.sizes["distribution"]
    return f", {how} {count} texts" if count > 1 else ""


def _without(chosen: xr.Dataset, labels: Mapping[str, str]) -> list[str]:
    """Return the components and distributions for which the rule recommends no setting."""
    none = [
        f"{KIND_NAMES[kind]} on {labels[name]}"
        for kind, name in product(chosen["kind"].values.tolist(), chosen["distribution"].values.tolist())
        if OUTCOMES[int(chosen["outcome"].sel(kind=kind, distribution=name))] == "none"
    ]
    return [f"The rule recommends no setting for {', '.join(none)}."] if none else []


def cell(swept: xr.Dataset) -> str:
    """Return which part of the sweep is drawn."""
    return f"Training seed {swept['seed'].item()}, step {swept['step'].item():,}"

"""Sweeps of the sampler's settings: the regime map."""

import json

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, TwoSlopeNorm

from rllc.analysis.calibration import OUTCOMES, REQUIRED, kinds, regime
from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing, Names
from rllc.figures.inputs import distribution_labels, distribution_names, need

KIND_NAMES = {"heads": "heads", "full": "whole model"}
MAPS = {  # what is drawn: title, colour map, norm, what a value means
    "shrinkage": ("shrinkage 1 - on/off", "YlGnBu", Normalize(0, 1)),
    "shrinkage_without_drift": ("the same without drift", "YlGnBu", Normalize(0, 1)),
    "curvature_ratio": ("estimate / curvature", "PuOr", TwoSlopeNorm(1, 0, 2)),
    "drift_term": ("drift term / |estimate|", "RdBu", TwoSlopeNorm(0, -1, 1)),
}
SETTING_MARKERS = ("*", "D", "^", "v", "P")
RECOMMENDED = {"marker": "o", "markersize": 9, "markerfacecolor": "none"}
NUMBERS = {1: "#000000", 0: "#ffffff"}


def one(
    calibration: xr.Dataset, kind: str, distribution: str, seed: int | None, step: int | None
) -> xr.Dataset:
    """One seed and step (default the first, the last), one distribution, the components of a kind.

    Dims are kept; values of the grid at which the kind was never sampled are dropped.
    """
    chosen = {
        "seed": [calibration["seed"].values[0] if seed is None else seed],
        "step": [calibration["step"].values[-1] if step is None else step],
        "distribution": [distribution],
        "component": kinds(calibration)[kind],
    }
    for name, values in chosen.items():
        absent = [value for value in values if value not in calibration[name].values]
        if absent:
            raise ValueError(
                f"calibration.nc has no {name} {absent[0]}; it has {calibration[name].values.tolist()}"
            )
    swept = calibration.sel(chosen)
    for name in ("localization", "n_beta", "step_size"):
        tried = swept["llc_gradient_off"].notnull().any([dim for dim in swept["llc"].dims if dim != name])
        swept = swept.sel({name: swept[name].values[tried.values]})
    return swept


@style.styled
def regime_map(
    datasets: Datasets,
    *,
    distributions: Names = None,
    seed: int | None = None,
    step: int | None = None,
    main_setting: str = "sampling",
    title: str = "",
) -> Drawing:
    """Where an estimate is more than a curvature, and why one can be negative, per (n_beta, localization).

    Rows: shrinkage, shrinkage without the drift term, ratio to n_beta / (2 localization) tr H, drift term
    over the estimate; columns: heads (medians over them) and the whole model, by distribution.

    datasets       ``calibration`` and ``recommendation``
    distributions  default all that were swept
    seed, step     default the first seed, the last step
    main_setting   what the setting of rllc.nc is called
    """
    calibration = need(datasets, "calibration", "llc", "llc_centred")
    chosen = need(datasets, "recommendation", "recommended_n_beta", "setting_n_beta")
    names = distribution_names(calibration, distributions, calibration["distribution"].values.tolist())
    labels, limits = distribution_labels(calibration), _rule(chosen)
    columns = [(kind, name) for kind in kinds(calibration) for name in names]
    maps = {at: regime(one(calibration, *at, seed, step), **limits) for at in columns}
    figure, axes = style.grid(
        len(MAPS), len(columns), panel=(2.35, 1.85), margin=1.6, title=title, sharex="col", sharey="col"
    )
    for row, (variable, (called, palette, norm)) in zip(axes, MAPS.items(), strict=True):
        for ax, at in zip(row, columns, strict=True):
            _map(ax, maps[at][variable], maps[at]["trusted"], palette, norm)
            _mark(ax, chosen.sel(kind=at[0], distribution=at[1]))
            ax.set_title(f"{called}\n{KIND_NAMES[at[0]]}, {style.short(labels[at[1]], 18)}", loc="left")
        row[0].set_ylabel("localization")
    for ax in axes[-1]:
        ax.set_xlabel("n_beta")
    style.beside(axes[0, -1], _setting_keys(chosen, main_setting))
    data = xr.concat(
        [
            xr.concat(
                [maps[kind, name] for name in names],
                xr.DataArray(names, dims="distribution", name="distribution"),
            )
            for kind in kinds(calibration)
        ],
        xr.DataArray(list(kinds(calibration)), dims="kind", name="kind"),
        join="outer",
    )
    heads = len(kinds(calibration).get("heads", []))
    words = captions.compose(
        *(_outcome(chosen, kind, name, labels[name], main_setting) for kind, name in columns),
        conditions=[
            f"{cell(calibration, seed, step)}{f'; heads: medians over {heads} heads' if heads else ''}.",
            "In brackets: a required criterion of the rule fails.",
            "Grey: not sampled, or a chain failed at every step size.",
            "No uncertainty is drawn.",
        ],
        details=[
            "The recommendation and what is said of settings are the rule's: medians over all steps and "
            "seeds swept. What is drawn, and at which step size, is defined in docs/calibration.md."
        ],
        title=title,
    )
    return Drawing(figure, data, *words)


def _map(ax: Axes, values: xr.DataArray, trusted: xr.DataArray, palette: str, norm: Normalize) -> None:
    """One table of numbers as colours and text, in brackets where the rule does not trust them."""
    table = values.transpose("localization", "n_beta").values
    rows, columns = table.shape
    good = trusted.transpose("localization", "n_beta").values == 1
    colors = colormaps[palette].with_extremes(bad="#bbbbbb")
    shown = np.ma.masked_invalid(np.clip(table, norm.vmin, norm.vmax))
    ax.imshow(shown, cmap=colors, norm=norm, origin="lower", aspect="auto")
    for i, j in np.argwhere(np.isfinite(table)):
        red, green, blue, _ = colors(norm(shown[i, j]))
        light = 0.3 * red + 0.59 * green + 0.11 * blue > 0.55
        text = _number(table[i, j]) if good[i, j] else f"({_number(table[i, j])})"
        ax.text(j, i + 0.12, text, ha="center", va="bottom", fontsize=7, color=NUMBERS[light])
    ax.set_xticks(range(columns), [f"{value:g}" for value in values["n_beta"].values])
    ax.set_yticks(range(rows), [f"{value:g}" for value in values["localization"].values])
    ax.tick_params(axis="x", labelrotation=35)
    ax.grid(visible=False)
    ax.set_xlim(-0.5, columns - 0.5)
    ax.set_ylim(-0.5, rows - 0.5)
    ax.rllc_grid = (values["n_beta"].values, values["localization"].values)


def _number(value: float) -> str:
    value = 0.0 if abs(value) < 0.005 else value  # no "-0.00"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}" if abs(value) < 1000 else f"{value:.0e}"


def _place(ax: Axes, n_beta: float, localization: float) -> tuple[float, float] | None:
    """Where a setting lies on the axes of a map, between cells by its logarithm; None outside the grid."""
    place = []
    for value, grid in zip((n_beta, localization), ax.rllc_grid, strict=True):
        if not np.isfinite(value) or not grid[0] * 0.999 <= value <= grid[-1] * 1.001:
            return None
        place.append(float(np.interp(np.log(value), np.log(grid), np.arange(len(grid)))))
    return place[0], place[1]


def _mark(ax: Axes, chosen: xr.Dataset) -> None:
    """The settings in use and the recommended one, under the number of their cell."""
    marks: dict[tuple[float, float], int] = {}
    for i in range(chosen.sizes["setting"]):
        each = chosen.isel(setting=i)
        at = _place(ax, float(each["setting_n_beta"]), float(each["setting_localization"]))
        if at is not None:  # settings that differ in more than the axes show stand side by side
            beside = marks[at] = marks.get(at, -1) + 1
            ax.plot(at[0] - 0.32 + 0.2 * beside, at[1] - 0.2, **_setting_look(i))
    at = _place(ax, float(chosen["recommended_n_beta"]), float(chosen["recommended_localization"]))
    if at is not None:
        for color, width in (("#ffffff", 3.4), ("#000000", 1.6)):
            ax.plot(at[0] + 0.22, at[1] - 0.2, color=color, markeredgewidth=width, **RECOMMENDED)


def _setting_look(i: int) -> dict:
    marker = SETTING_MARKERS[i % len(SETTING_MARKERS)]
    size = 9 if marker == "*" else 6
    return {"marker": marker, "markersize": size, "color": "#ffffff", "markeredgecolor": "#000000"}


def _setting_keys(chosen: xr.Dataset, main_setting: str) -> list:
    entries = [
        style.key(_named(name, main_setting), linestyle="none", **_setting_look(i))
        for i, name in enumerate(chosen["setting"].values.tolist())
    ]
    return [
        *entries,
        style.key(
            "recommended\nby the rule", linestyle="none", color="#000000", markeredgewidth=1.6, **RECOMMENDED
        ),
    ]


def _named(name: str, main_setting: str) -> str:
    return main_setting if name == "sampling" else name


def _rule(chosen: xr.Dataset) -> dict[str, float]:
    """The thresholds that the recommendation was made with."""
    return json.loads(chosen.attrs.get("rule", "{}"))


def _outcome(chosen: xr.Dataset, kind: str, distribution: str, label: str, main_setting: str) -> str:
    """The rule's outcome, and where the settings in use stand."""
    here = chosen.sel(kind=kind, distribution=distribution)
    name, words = f"{KIND_NAMES[kind]}, {label}", here["said"].item()
    if OUTCOMES[int(here["outcome"])] == "none":
        parts = [f"{name}: the rule recommends no setting ({words})"]
    else:
        parts = [f"{name}: the rule recommends {words}"]
    for i, setting in enumerate(here["setting"].values.tolist()):
        each = here.isel(setting=i)
        if np.isfinite(each["setting_shrinkage"]):
            failed = [c for c in REQUIRED if int(each["setting_passes"].sel(criterion=c)) == 0]
            verdict = f"fails {', '.join(failed)}" if failed else "passes what is required"
            parts.append(
                f"{_named(setting, main_setting)} (n_beta {float(each['setting_n_beta']):g}, localization "
                f"{float(each['setting_localization']):g}) has shrinkage "
                f"{float(each['setting_shrinkage']):.2f} "
                f"({float(each['setting_shrinkage_without_drift']):.2f} without drift), "
                f"{float(each['setting_curvature_ratio']):.2f} of the curvature, and {verdict}"
            )
    return captions.sentence("; ".join(parts))


def cell(calibration: xr.Dataset, seed: int | None, step: int | None) -> str:
    """What of the sweep is drawn."""
    run = int(calibration["seed"].values[0]) if seed is None else seed
    return f"Training seed {run}, step {int(calibration['step'].values[-1]) if step is None else step:,}"

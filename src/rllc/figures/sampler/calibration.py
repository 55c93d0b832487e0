"""Sweeps of the sampler's settings: the grid (arXiv 2402.02364, Fig. D.6) and the regime map."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, TwoSlopeNorm

from rllc.analysis.calibration import OUTCOMES, REQUIRED, kinds, regime
from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.inputs import distribution_labels, distribution_names, need
from rllc.vocabulary import STATUS

CELLS = ("seed", "step", "component", "distribution")
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
    taken = calibration.sel(chosen)
    for name in ("localization", "n_beta", "step_size"):
        tried = taken["llc_gradient_off"].notnull().any([dim for dim in taken["llc"].dims if dim != name])
        taken = taken.sel({name: taken[name].values[tried.values]})
    return taken


@style.styled
def regime_map(
    datasets: Mapping[str, xr.Dataset],
    *,
    distributions: Sequence[str] | None = None,
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
    title          what the experiment is called
    """
    calibration = need(datasets, "calibration", "llc", "gradient_square")
    chosen = need(datasets, "recommendation", "recommended_n_beta", "setting_n_beta")
    names = distribution_names(calibration, distributions, calibration["distribution"].values.tolist())
    labels, limits = distribution_labels(calibration), _rule(chosen)
    columns = [(kind, name) for kind in kinds(calibration) for name in names]
    maps = {at: regime(one(calibration, *at, seed, step), **limits) for at in columns}
    figure, axes = style.grid(
        len(MAPS), len(columns), panel=(2.35, 1.85), margin=1.6, sharex="col", sharey="col"
    )
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
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
    caption = captions.joined(
        f"{title + ': s' if title else 'S'}hrinkage 1 - on/off against the control without gradient (0: the "
        "localization alone speaks; towards 1: the likelihood; above 1: the estimate is negative), the same "
        "without the drift term (what curvature takes away, without what a slope does), the estimate over "
        "n_beta / (2 localization) tr H (1: it is that curvature), and the drift term over the size of the "
        "estimate: what a chain gains by walking down the slope g of a checkpoint that is no minimum, "
        "-n_beta^2 |g|^2 / p (1 - n_beta h / (2 p)) with p = n_beta h + localization and h the curvature "
        "along g; colours are cut at the ends of their scale.",
        f"{_cell(calibration, seed, step)}{f'; heads: medians over {heads} heads' if heads else ''}. Each "
        "pair is shown at the step size with most cells that are equilibrated and have small steps among "
        "those without a failed chain, ties to the largest. In brackets: a required criterion of the rule "
        "fails even there, at this step.",
        "What follows is the rule's: medians over all steps and seeds swept.",
        *(_told(chosen, kind, name, labels[name], main_setting) for kind, name in columns),
        "Grey: not sampled (step_size x localization of 4 or more everywhere), or a chain failed at every "
        "step size. No uncertainty is drawn.",
    )
    return Drawing(figure, data, caption)


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
    found = []
    for value, grid in zip((n_beta, localization), ax.rllc_grid, strict=True):
        if not np.isfinite(value) or not grid[0] * 0.999 <= value <= grid[-1] * 1.001:
            return None
        found.append(float(np.interp(np.log(value), np.log(grid), np.arange(len(grid)))))
    return found[0], found[1]


def _mark(ax: Axes, chosen: xr.Dataset) -> None:
    """The settings in use and the recommended one, under the number of their cell."""
    taken: dict[tuple[float, float], int] = {}
    for i in range(chosen.sizes["setting"]):
        each = chosen.isel(setting=i)
        at = _place(ax, float(each["setting_n_beta"]), float(each["setting_localization"]))
        if at is not None:  # settings that differ in more than the axes show stand side by side
            beside = taken[at] = taken.get(at, -1) + 1
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


def _told(chosen: xr.Dataset, kind: str, distribution: str, label: str, main_setting: str) -> str:
    """The rule's outcome, and where the settings in use stand."""
    here = chosen.sel(kind=kind, distribution=distribution)
    outcome = OUTCOMES[int(here["outcome"])]
    said = [f"{KIND_NAMES[kind]}, {label}: the rule recommends {here['said'].item()}"]
    if outcome == "none":
        said = [f"{KIND_NAMES[kind]}, {label}: the rule recommends no setting ({here['said'].item()})"]
    for i, name in enumerate(here["setting"].values.tolist()):
        each = here.isel(setting=i)
        if np.isfinite(each["setting_shrinkage"]):
            failed = [c for c in REQUIRED if int(each["setting_passes"].sel(criterion=c)) == 0]
            verdict = f"fails {', '.join(failed)}" if failed else "passes what is required"
            said.append(
                f"{_named(name, main_setting)} (n_beta {float(each['setting_n_beta']):g}, localization "
                f"{float(each['setting_localization']):g}) has shrinkage "
                f"{float(each['setting_shrinkage']):.2f} "
                f"({float(each['setting_shrinkage_without_drift']):.2f} without drift), "
                f"{float(each['setting_curvature_ratio']):.2f} of the curvature, and {verdict}"
            )
    return captions.sentence("; ".join(said))


@style.styled
def stage_figD6(  # noqa: N802
    datasets: Mapping[str, xr.Dataset],
    *,
    distributions: Sequence[str] | None = None,
    seed: int | None = None,
    step: int | None = None,
    title: str = "",
) -> Drawing:
    """Grid sweep: estimate against step size, a line per n_beta, a column per localization.

    datasets       ``calibration`` and ``recommendation``
    distributions  default all that were swept
    seed, step     default the first seed, the last step
    title          what the experiment is called
    """
    calibration = need(datasets, "calibration", "llc", "llc_gradient_off", "status")
    chosen = need(datasets, "recommendation", "passes")
    names = distribution_names(calibration, distributions, calibration["distribution"].values.tolist())
    labels = distribution_labels(calibration)
    rows = [(kind, name) for kind in kinds(calibration) for name in names]
    taken = {at: one(calibration, *at, seed, step) for at in rows}
    columns = max(each.sizes["localization"] for each in taken.values())
    figure, axes = style.grid(len(rows), columns, panel=(2.25, 1.75), margin=1.7, sharex=False, sharey="row")
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    temperatures = np.unique(np.concatenate([each["n_beta"].values for each in taken.values()]))
    colors = dict(zip(temperatures.tolist(), shades(len(temperatures)), strict=True))
    for line, (at, each) in zip(axes, taken.items(), strict=True):
        good = (chosen["passes"].sel(kind=at[0], distribution=at[1], criterion=list(REQUIRED)) == 1).all(
            "criterion"
        )
        for ax in line[each.sizes["localization"] :]:
            ax.set_visible(False)
        for ax, pull in zip(line, each["localization"].values.tolist(), strict=False):
            for n_beta in each["n_beta"].values.tolist():
                here = {"localization": pull, "n_beta": n_beta}
                _sweep_line(ax, each.sel(here), good.sel(here), colors[n_beta])
            ax.axhline(0.0, color="#999999", linewidth=0.7, zorder=1)
            ax.set_xscale("log")
            steps = each["step_size"].values
            ax.set_xticks(steps, [f"{value:g}" for value in steps])
            ax.minorticks_off()
            ax.set_xlim(steps.min() / 1.5, steps.max() * 1.5)
            ax.set_yscale("symlog", linthresh=1.0)
            ax.set_title(f"localization {pull:g}", loc="left")
        line[0].set_ylabel(f"{KIND_NAMES[at[0]]}\n{style.short(labels[at[1]], 18)}\nLLC")
    for ax in axes[-1]:
        ax.set_xlabel("step size")
    entries = [style.key(f"n_beta {value:g}", color=color, marker="o") for value, color in colors.items()]
    entries += [
        style.key("gradient switched off", color=style.CONTROL_COLOR, linestyle=":"),
        style.key("fails the rule", color=style.CONTROL_COLOR, marker="o", markerfacecolor="white"),
        style.key("a chain failed", color=style.CONTROL_COLOR, marker="x", linestyle="none"),
    ]
    style.beside(axes[0, -1], entries)
    variables = ["llc", "llc_se", "llc_gradient_off", "status"]
    wholes = [xr.concat([taken[k, n][variables] for n in names], "distribution") for k in kinds(calibration)]
    data = xr.concat(wholes, "component", join="outer", fill_value={"status": STATUS.index("missing")})
    data["status"] = data["status"].astype(np.int8)
    drawn = [
        f"the median over {len(listed)} heads with bars from the lower to the upper quartile"
        if kind == "heads"
        else "the whole model with bars of two Monte Carlo standard errors"
        for kind, listed in kinds(calibration).items()
    ]
    caption = captions.joined(
        f"{title + ': ' if title else ''}LLC against step size: {' and '.join(drawn)}.",
        f"{_cell(calibration, seed, step)}. Dotted: the control without gradient. Hollow: the setting fails "
        "a required criterion of the rule on this distribution over the steps and components swept. The "
        "vertical axis is linear between -1 and 1 and logarithmic beyond.",
        *(_counted(chosen, kind, name, labels[name]) for kind, name in rows),
    )
    return Drawing(figure, data, caption)


def _cell(calibration: xr.Dataset, seed: int | None, step: int | None) -> str:
    """What of the sweep is drawn."""
    run = int(calibration["seed"].values[0]) if seed is None else seed
    return f"Training seed {run}, step {int(calibration['step'].values[-1]) if step is None else step:,}"


def shades(count: int) -> list:
    """So many colours in order, from dark to light, none too light for a white page."""
    return [colormaps["viridis"](value) for value in np.linspace(0.0, 0.85, count)]


def _sweep_line(ax: Axes, each: xr.Dataset, good: xr.DataArray, color: tuple) -> None:
    """One n_beta at one localization: the median and its bars, the control, hollow and crossed points."""
    over = [dim for dim in CELLS if dim in each.dims]
    failed = (
        (each["status"] == STATUS.index("nonfinite")) | (each["status"] == STATUS.index("diverged"))
    ).any([*over, "chain"])
    crossed = each["step_size"].values[failed.values]
    if crossed.size:
        ax.plot(
            crossed, np.full(crossed.size, 0.04), transform=ax.get_xaxis_transform(),
            linestyle="none", marker="x", markersize=5, color=color, clip_on=False,
        )  # fmt: skip
    each = each.sel(step_size=each["llc"].notnull().any(over))
    if not each.sizes["step_size"]:
        return
    steps, middle = each["step_size"].values, each["llc"].median(over).values
    if each.sizes["component"] > 1:
        low, high = (each["llc"].quantile(share, over).values for share in (0.25, 0.75))
    else:
        spread = 2.0 * each["llc_se"].median(over).values
        low, high = middle - spread, middle + spread
    ax.plot(steps, middle, color=color, linewidth=1.2)
    ax.vlines(steps, low, high, color=color, linewidth=0.9)
    passed = good.sel(step_size=steps).values
    for where, face in ((passed, color), (~passed, "white")):
        ax.plot(steps[where], middle[where], linestyle="none", marker="o", color=color, markerfacecolor=face)
    ax.plot(steps, each["llc_gradient_off"].median(over).values, color=color, linestyle=":", linewidth=0.9)


def _counted(chosen: xr.Dataset, kind: str, distribution: str, label: str) -> str:
    """How many settings pass, and what the rule takes."""
    here = chosen.sel(kind=kind, distribution=distribution)
    return captions.sentence(f"{KIND_NAMES[kind]}, {label}: {here['said'].item()}")

"""The grid of the sampler's settings (arXiv 2402.02364, Fig. D.6)."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.calibration import REQUIRED, kinds
from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing, Names
from rllc.figures.inputs import distribution_labels, distribution_names, need
from rllc.figures.sampler.calibration import KIND_NAMES, cell, one
from rllc.vocabulary import STATUS

CELLS = ("seed", "step", "component", "distribution")


@style.styled
def stage_figD6(  # noqa: N802
    datasets: Datasets,
    *,
    distributions: Names = None,
    seed: int | None = None,
    step: int | None = None,
    title: str = "",
) -> Drawing:
    """Grid sweep: estimate against step size, a line per n_beta, a column per localization.

    datasets       ``calibration`` and ``recommendation``
    distributions  default all that were swept
    seed, step     default the first seed, the last step
    """
    calibration = need(datasets, "calibration", "llc", "llc_gradient_off", "status")
    chosen = need(datasets, "recommendation", "passes")
    names = distribution_names(calibration, distributions, calibration["distribution"].values.tolist())
    labels = distribution_labels(calibration)
    rows = [(kind, name) for kind in kinds(calibration) for name in names]
    swept = {at: one(calibration, *at, seed, step) for at in rows}
    columns = max(each.sizes["localization"] for each in swept.values())
    figure, axes = style.grid(
        len(rows), columns, panel=(2.25, 1.75), margin=1.7, title=title, sharex=False, sharey="row"
    )
    temperatures = np.unique(np.concatenate([each["n_beta"].values for each in swept.values()]))
    colors = dict(zip(temperatures.tolist(), style.shades(len(temperatures)), strict=True))
    for line, (at, each) in zip(axes, swept.items(), strict=True):
        good = (chosen["passes"].sel(kind=at[0], distribution=at[1], criterion=list(REQUIRED)) == 1).all(
            "criterion"
        )
        for ax in line[each.sizes["localization"] :]:
            ax.set_visible(False)
        for ax, pull in zip(line, each["localization"].values.tolist(), strict=False):
            for n_beta in each["n_beta"].values.tolist():
                here = {"localization": pull, "n_beta": n_beta}
                _sweep_line(ax, each.sel(here), good.sel(here), colors[n_beta])
            style.zero(ax)
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
    wholes = [xr.concat([swept[k, n][variables] for n in names], "distribution") for k in kinds(calibration)]
    data = xr.concat(wholes, "component", join="outer", fill_value={"status": STATUS.index("missing")})
    data["status"] = data["status"].astype(np.int8)
    drawn = [
        f"the median over {len(listed)} heads with bars from the lower to the upper quartile"
        if kind == "heads"
        else "the whole model with bars of two Monte Carlo standard errors"
        for kind, listed in kinds(calibration).items()
    ]
    words = captions.compose(
        *(captions.sentence(_recommended(chosen, kind, name, labels[name])) for kind, name in rows),
        conditions=[
            f"{cell(calibration, seed, step)}. LLC against step size: {' and '.join(drawn)}.",
            "Dotted: the control without gradient. Hollow: the setting fails the rule.",
            "The vertical axis is linear between -1 and 1.",
        ],
        details=["Criteria are of this distribution over the steps and components swept."],
        title=title,
    )
    return Drawing(figure, data, *words)


def _sweep_line(ax: Axes, each: xr.Dataset, good: xr.DataArray, color: tuple) -> None:
    """One n_beta at one localization: the median and its bars, the control, hollow and crossed points."""
    over = [dim for dim in CELLS if dim in each.dims]
    failed = (
        (each["status"] == STATUS.index("nonfinite")) | (each["status"] == STATUS.index("diverged"))
    ).any([*over, "chain"])
    crossed = each["step_size"].values[failed.values]
    if crossed.size:
        style.crosses(ax, crossed, 0.04, color=color)
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


def _recommended(chosen: xr.Dataset, kind: str, distribution: str, label: str) -> str:
    """How many settings pass, and which the rule recommends."""
    return f"{KIND_NAMES[kind]}, {label}: {chosen['said'].sel(kind=kind, distribution=distribution).item()}"

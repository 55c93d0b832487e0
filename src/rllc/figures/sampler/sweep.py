"""The grid of the sampler's settings (arXiv 2402.02364, Fig. D.6)."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.calibration import CELLS, REQUIRED, kinds
from rllc.figures import style
from rllc.figures.drawing import Datasets, Drawing, Finding, Names, headed
from rllc.figures.findings import known
from rllc.figures.inputs import distribution_labels, need
from rllc.figures.panels import ticks_at
from rllc.figures.sampler.calibration import KIND_NAMES, cell, sweeps
from rllc.figures.sampler.traces import FAILED
from rllc.vocabulary import STATUS

BARS = {  # keywords of a kind of component
    "heads": "Heads: medians over {} heads, bars from the lower to the upper quartile.",
    "full": "Whole model: bars of two Monte Carlo standard errors.",
}


@style.styled
def calibration_grid(
    datasets: Datasets,
    *,
    distributions: Names = None,
    seed: int | None = None,
    step: int | None = None,
    title: str = "",
) -> Drawing:
    """Estimate against step size. Lines: n_beta. Columns: localization.

    distributions  default all that were swept
    seed, step     default the first seed, the last step
    """
    calibration = need(datasets, "calibration", "llc", "llc_prior_only", "status")
    chosen = need(datasets, "recommendation", "passes", "tested")
    swept, labels = sweeps(calibration, distributions, seed, step), distribution_labels(calibration)
    columns = max(each.sizes["localization"] for each in swept.values())
    figure, axes = style.grid(
        len(swept), columns, panel=(2.25, 1.75), margin=1.7, title=title, sharex=False, sharey="row"
    )
    temperatures = np.unique(np.concatenate([each["n_beta"].values for each in swept.values()]))
    colors = dict(zip(temperatures.tolist(), style.shades(len(temperatures)), strict=True))
    for line, ((kind, name), each) in zip(axes, swept.items(), strict=True):
        rule = chosen.sel(kind=kind, distribution=name)
        passes = (rule["passes"].sel(criterion=list(REQUIRED)) == 1).all("criterion")
        each = each.assign(passes=passes)
        for ax in line[each.sizes["localization"] :]:
            ax.set_visible(False)
        for ax, pull in zip(line, each["localization"].values.tolist(), strict=False):
            for n_beta in each["n_beta"].values.tolist():
                _sweep_line(ax, each.sel(localization=pull, n_beta=n_beta), colors[n_beta])
            style.zero(ax)
            steps = each["step_size"].values
            ticks_at(ax, steps)
            ax.set_xlim(steps.min() / 1.5, steps.max() * 1.5)
            ax.set_yscale("symlog", linthresh=1.0)
            ax.set_title(f"localization {pull:g}", loc="left")
        line[0].set_ylabel(f"{KIND_NAMES[kind]}\n{style.short(labels[name], 18)}\nLLC")
    for ax in axes[-1]:
        ax.set_xlabel("step size")
    entries = [style.key(f"n_beta {value:g}", color=color, marker="o") for value, color in colors.items()]
    entries += [
        style.key("gradient switched off", color=style.CONTROL_COLOR, linestyle=":"),
        style.key("fails the rule", color=style.CONTROL_COLOR, marker="o", markerfacecolor="white"),
        style.key("a chain failed", color=style.CONTROL_COLOR, marker="x", linestyle="none"),
    ]
    style.beside(axes[0, -1], entries)
    variables = ["llc", "llc_se", "llc_prior_only", "status"]
    names = dict.fromkeys(name for _, name in swept)
    wholes = [xr.concat([swept[k, n][variables] for n in names], "distribution") for k in kinds(calibration)]
    data = xr.concat(wholes, "component", join="outer", fill_value={"status": STATUS.index("missing")})
    data["status"] = data["status"].astype(np.int8)
    rule = chosen.sel(kind=list(kinds(calibration)), distribution=list(names))
    data["passes"] = (rule["passes"].sel(criterion=list(REQUIRED)) == 1).all("criterion").astype(np.int8)
    return Drawing(
        figure,
        data,
        headed(title, "LLC against step size at every n_beta and localization of the sweep."),
        known(_passing(data, rule, kind, name, labels[name]) for kind, name in swept),
        [
            f"{cell(data)}.",
            *(BARS[kind].format(len(listed)) for kind, listed in kinds(calibration).items()),
            "The vertical axis is linear between -1 and 1.",
            "The rule reads all steps and seeds swept.",
        ],
    )


def _passing(data: xr.Dataset, rule: xr.Dataset, kind: str, name: str, label: str) -> Finding:
    """Return the number of sampled settings that pass the rule."""
    at = {"kind": kind, "distribution": name}
    sampled = int(rule["tested"].sel(at))
    said = f"settings that pass the rule, of {sampled} sampled, {KIND_NAMES[kind]} on {label}"
    return Finding(said, float(data["passes"].sel(at).sum()))


def _sweep_line(ax: Axes, each: xr.Dataset, color: tuple) -> None:
    """Draw the median with bars, the control, hollow points where ``passes`` is false, and crosses."""
    over = [dim for dim in CELLS if dim in each.dims]
    crossed = each["step_size"].values[each["status"].isin(FAILED).any([*over, "chain"]).values]
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
    passed = each["passes"].values
    for where, face in ((passed, color), (~passed, "white")):
        ax.plot(steps[where], middle[where], linestyle="none", marker="o", color=color, markerfacecolor=face)
    ax.plot(steps, each["llc_prior_only"].median(over).values, color=color, linestyle=":", linewidth=0.9)

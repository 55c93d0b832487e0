"""Circuits beside the curves of training, moving from checkpoint to checkpoint (the list-sorting post)."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from rllc.figures import conditions, style
from rllc.figures.drawing import Animation, Datasets, Drawing, headed
from rllc.figures.inputs import need
from rllc.figures.panels import draw
from rllc.figures.sorting.circuits import (
    KINDS,
    circuit,
    color_bar,
    color_limit,
    limit_text,
    name_row,
    strip_colors,
)
from rllc.figures.sorting.findings import llc_fall, peak_conditions, peak_step
from rllc.figures.sorting.inputs import elsewhere, given, has_peak, one_seed
from rllc.figures.sorting.panels import Statistic, entries, of_seed, statistics

PANELS = ("accuracy", "llc", "rank", "symmetry", "overlap")
SHORT = {"llc": "LLC", "rank": "rank", "overlap": "overlap"}  # titles that leave room for a legend
NOW = {"color": "#222222", "linewidth": 1.0, "alpha": 0.8}


@style.styled
def sort_animation(
    datasets: Datasets,
    *,
    title: str = "",
    seed: int | None = None,
    distribution: str | None = None,
    curves: Sequence[str] = PANELS,
    quantile: float = 0.995,
) -> Animation:
    """Animation over checkpoints of one seed: QK and OV of each head, and curves with a marker.

    curves    names of ``sorting.panels.statistics`` to draw beside the circuits
    quantile  colours end at this quantile of |W| over the heads, separately at each checkpoint
    """
    need(datasets, "circuits", "qk", "ov", "token_head")
    told = elsewhere(datasets, distribution)
    datasets = given(datasets, distribution=distribution, seeds=None)
    chosen = one_seed(datasets, seed)
    datasets = {name: data.sel(seed=[int(chosen["circuits"]["seed"])]) for name, data in datasets.items()}
    shown = [each for each in statistics(datasets) if each.name in curves]
    circuits = chosen["circuits"]
    height = max(1.55 * circuits.sizes["head"], 0.92 * len(shown), 3.4) + 0.75
    figure = Figure(figsize=(9.4, height), layout="constrained", dpi=100)
    # The more heads, the smaller their square panels.
    width = min(2 * (height - 0.75) / circuits.sizes["head"] + 1.4, 5.6)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(width, 9.4 - width))[0]
    columns = _maps(left, circuits).T
    marks = _curves(right, shown, chosen, datasets)
    # The longest text reserves enough room above.
    heading = figure.suptitle("", x=0.012, ha="left", fontsize=11, fontweight="bold")
    steps = circuits["step"].values
    accuracy = chosen["metrics"]["accuracy"]

    def show(frame: int) -> list[Artist]:
        step = int(steps[frame])
        now = circuits.isel(step=frame)
        for column, (kind, (name, _, _)) in zip(columns, KINDS.items(), strict=True):
            limit = color_limit(now[kind], quantile)
            column[0].title.set_text(f"{name}, colours to ± {limit_text(limit)}")
            for index, ax in enumerate(column):
                ax.images[0].set_data(now[kind].isel(head=index).values)
                ax.images[0].set_clim(-limit, limit)
                for beside in ax.child_axes:
                    beside.images[0].set_data(strip_colors(now, index))
        for line in marks:
            line.set_xdata([step, step])
        right_now = float(accuracy.sel(step=step)) if step in accuracy["step"].values else np.nan
        reached = f", accuracy {right_now:.3f}" if np.isfinite(right_now) else ""
        heading.set_text(f"{title + ':  ' if title else ''}step {step:,}{reached}")
        return [
            *(ax.images[0] for ax in columns.flat),
            *(side for ax in columns.flat for side in ax.spines.values()),
            *(beside.images[0] for ax in columns.flat for beside in ax.child_axes),
            *(column[0].title for column in columns),
            *marks,
            heading,
        ]

    show(len(steps) - 1)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    one = {int(circuits["seed"]): chosen}
    words = Drawing(
        figure,
        circuits,
        headed(title, "full QK and OV circuits of each head, and training curves, checkpoint by checkpoint."),
        [*peak_step(one), *llc_fall(one)],
        [
            f"Upright line: the checkpoint shown{'; dotted: the largest LLC' * has_peak(datasets)}.",
            *told,
            *peak_conditions(one),
            *conditions.seeds(circuits),
        ],
    )
    return Animation(figure, len(steps), show, words.caption)


def _maps(figure: SubFigure, circuits: xr.Dataset) -> np.ndarray:
    """Return the axes [head, kind] of the heat maps."""
    heads = circuits["head"].values.tolist()
    axes = figure.subplots(len(heads), 2, squeeze=False, sharex=True, sharey=True)
    for column, (kind, (_, down, across)) in zip(axes.T, KINDS.items(), strict=True):
        column[0].set_title(" ")
        for ax, head in zip(column, heads, strict=True):
            circuit(ax, circuits.isel(step=-1), kind, head, 1.0)
            ax.set_ylabel(down, labelpad=1)
            if kind == "qk" and len(heads) > 1:
                name_row(ax, head, None)
        column[-1].set_xlabel(across)
        color_bar(figure, column, location="bottom", shrink=0.8, aspect=24, pad=0.02)
    return axes


def _curves(figure: SubFigure, shown: Sequence[Statistic], one: Datasets, datasets: Datasets) -> list[Line2D]:
    """Draw the curves of one seed. Return the line in each panel that marks the checkpoint."""
    axes = figure.subplots(len(shown), 1, squeeze=False, sharex=True)[:, 0]
    steps = np.unique(np.concatenate([one[c.source]["step"].values for each in shown for c in each.curves]))
    marks = []
    for ax, each in zip(axes, shown, strict=True):
        title = SHORT.get(each.name, each.title)
        draw(ax, of_seed(each, one, steps=steps, title=title)._replace(look={"fontsize": 8}))
        ax.set_ylabel(each.label)
        listed = entries(each, datasets, brief=True)
        if len(listed) > 1:
            style.above(ax, listed)
        marks.append(ax.axvline(steps[-1], zorder=4, **NOW))
    figure.align_ylabels(axes)
    return marks

"""Which head handles which number, over training: how heads divide the vocabulary (the list-sorting post)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.inputs import need, of_seeds
from rllc.figures.sorting.inputs import (
    COLORS,
    HEAD_COLORS,
    has_peak,
    head_looks,
    holders,
    llc_peak,
    on_lists,
    one_seed,
)
from rllc.figures.sorting.panels import PEAK

DRAWN = ("token_head", "regions", "regions_min3", "vocabulary_share")


@style.styled
def sort_specialization(
    datasets: Mapping[str, xr.Dataset],
    *,
    title: str = "",
    seeds: Sequence[int] | None = None,
    distribution: str | None = None,
) -> Drawing:
    """The head that handles each number against training step, the regions and each head's share.

    datasets  ``circuits``; ``llc`` marks where it is largest
    title     what the experiment is called
    """
    circuits = of_seeds(need(datasets, "circuits", *DRAWN[:2], DRAWN[3]), seeds)
    taken = circuits[[name for name in DRAWN if name in circuits]]
    found = {"circuits": taken}
    if "llc" in datasets:
        found["llc"] = on_lists(datasets["llc"], distribution).reindex(seed=taken["seed"].values)
    names, heads = taken["seed"].values.tolist(), taken["head"].values.tolist()
    looks = head_looks(heads)
    figure = Figure(figsize=(3.6 * len(names) + 1.7, 5.2), layout="constrained")
    axes = figure.subplots(3, len(names), squeeze=False, sharex=True, sharey="row", height_ratios=(2.4, 1, 1))
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    for column, seed in zip(axes.T, names, strict=True):
        one = one_seed(found, seed)
        seed_text = f", seed {seed}" if len(names) > 1 else ""
        _map(column[0], one["circuits"])
        column[0].set_title(f"head that handles each number{seed_text}", loc="left")
        _regions(column[1], one["circuits"])
        column[1].set_title(f"vocabulary regions{seed_text}", loc="left")
        for head in heads:
            share = one["circuits"]["vocabulary_share"].sel(head=head)
            style.curve(column[2], share, **(looks[head] | {"markersize": 2.4}))
        style.from_zero(column[2])
        column[2].set_title(f"share of the vocabulary{seed_text}", loc="left")
        peak = llc_peak(one["llc"]) if "llc" in one else None
        for ax in column:
            style.step_axis(ax, taken["step"].values)
            if peak is not None:
                look = PEAK | ({"color": "white", "linewidth": 1.6} if ax is column[0] else {})
                ax.axvline(float(peak["step"]), **look)
    axes[0, 0].set_ylabel("number")
    axes[0, 0].invert_yaxis()
    axes[1, 0].set_ylabel("regions")
    axes[2, 0].set_ylabel("share of numbers")
    axes[2, 0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    figure.align_ylabels(axes[:, 0])
    marked = "llc" in found and has_peak(found["llc"])
    _legends(axes[:, -1], looks, marked, "regions_min3" in taken)
    caption = captions.joined(
        f"{title + ': ' if title else ''}for each number the head with the largest entry on the diagonal of "
        "its OV circuit, at each checkpoint; below, how many runs of neighbouring numbers that makes and "
        "which share each head has.",
        *(_told(one_seed(found, seed)) for seed in names),
        "The dotted line is where the LLC is largest." if marked else "",
        captions.seeds(taken),
        "No uncertainty is drawn: the map is of the checkpoint's weights.",
    )
    return Drawing(figure, taken, caption)


def _map(ax: Axes, circuits: xr.Dataset) -> None:
    """An image of ``token_head`` (step, token): a cell reaches half way to the next checkpoint."""
    count = circuits.sizes["head"]
    held = np.ma.masked_less(holders(circuits.transpose("step", "token", ...)).T, 0)
    colors = ListedColormap([HEAD_COLORS[n % len(HEAD_COLORS)] for n in range(count)], bad="#EDEDED")
    tokens = circuits["token"].values.astype(float)
    ax.pcolormesh(
        _edges(circuits["step"].values),
        np.append(tokens - 0.5, tokens[-1] + 0.5),
        held,
        cmap=colors,
        norm=BoundaryNorm(np.arange(count + 1) - 0.5, count),
        rasterized=True,
    )
    ax.grid(False)
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))


def _edges(steps: np.ndarray) -> np.ndarray:
    """Borders of checkpoints half way between them on the step axis, log(1 + step / unit)."""
    steps = np.asarray(steps, dtype=float)
    unit = steps[steps > 0].min() if (steps > 0).any() else 1.0
    where = np.log1p(steps / unit)
    if len(where) == 1:
        return unit * np.expm1(where[0] + np.array([-0.05, 0.05]))
    middle = (where[1:] + where[:-1]) / 2
    ends = where[0] - (middle[0] - where[0]), where[-1] + (where[-1] - middle[-1])
    # The axis ends shortly before step 0, where its logarithm does.
    return np.maximum(unit * np.expm1(np.concatenate([[ends[0]], middle, [ends[1]]])), -0.3 * unit)


def _regions(ax: Axes, one: xr.Dataset) -> None:
    look = {"color": COLORS["regions"], "marker": "o", "markersize": 2.4}
    style.curve(ax, one["regions"], **look)
    if "regions_min3" in one:
        style.curve(ax, one["regions_min3"], **(look | {"linestyle": "--", "linewidth": 1.1}))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    style.from_zero(ax)


def _legends(column: np.ndarray, looks: Mapping[str, dict], peak: bool, long: bool) -> None:
    patches = [Patch(color=look["color"], label=f"head {head}") for head, look in looks.items()]
    style.beside(column[0], [*patches, *([style.key("largest LLC", **PEAK)] if peak else [])])
    if long:
        look = {"color": COLORS["regions"], "marker": "o", "markersize": 2.4}
        dashed = look | {"linestyle": "--", "linewidth": 1.1}
        style.beside(column[1], [style.key("any length", **look), style.key("3 or more numbers", **dashed)])
    style.beside(column[2], [style.key(f"head {head}", **look) for head, look in looks.items()])


def _told(one: Mapping[str, xr.Dataset]) -> str:
    """How one seed ends, and how many regions there are where the LLC is largest."""
    circuits = one["circuits"]
    peak = llc_peak(one["llc"]) if "llc" in one else None
    before = ""
    if peak is not None and int(peak["step"]) in circuits["step"].values:
        number = circuits["regions"].sel(step=peak["step"])
        before = f"{float(number):.0f} regions where the LLC is largest (step {int(peak['step']):,}), "
    last = circuits.isel(step=-1)
    shares = ", ".join(
        f"{head} {float(last['vocabulary_share'].sel(head=head)):.0%}" for head in last["head"].values
    )
    return (
        f"Seed {int(circuits['seed'])}: {before}{float(last['regions']):.0f} at step {int(last['step']):,}, "
        f"with shares {shares}."
    )

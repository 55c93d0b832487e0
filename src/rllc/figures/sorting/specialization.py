"""Which head handles which number, over training: how heads divide the vocabulary (the list-sorting post)."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.inputs import need, of_seeds
from rllc.figures.panels import Curve, Panel, all_of, draw, of_heads, seed_suffix
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

ON_MAP = PEAK | {"color": "white", "linewidth": 1.6}
_LOOK = {"color": COLORS["regions"], "marker": "o", "markersize": 2.4}
REGIONS = {"regions": _LOOK, "regions_min3": _LOOK | {"linestyle": "--", "linewidth": 1.1}}
DRAWN = ("token_head", "regions", "regions_min3", "vocabulary_share")


@style.styled
def sort_specialization(
    datasets: Datasets, *, title: str = "", seeds: Seeds = None, distribution: str | None = None
) -> Drawing:
    """The head that handles each number against training step, the regions and each head's share.

    datasets  ``circuits``; ``llc`` marks where it is largest
    """
    circuits = of_seeds(need(datasets, "circuits", *DRAWN[:2], DRAWN[3]), seeds)
    data = circuits[[name for name in DRAWN if name in circuits]]
    measured = {"circuits": data}
    if "llc" in datasets:
        measured["llc"] = on_lists(datasets["llc"], distribution).reindex(seed=data["seed"].values)
    runs = data["seed"].values.tolist()
    ones = [one_seed(measured, seed) for seed in runs]
    looks = head_looks(data["head"].values.tolist())
    figure = Figure(figsize=(3.6 * len(runs) + 1.7, 5.2), layout="constrained")
    axes = figure.subplots(3, len(runs), squeeze=False, sharex=True, sharey="row", height_ratios=(2.4, 1, 1))
    style.entitle(figure, title)
    for column, one in zip(axes.T, ones, strict=True):
        for ax, panel in zip(column, _panels(one, looks, runs), strict=True):
            draw(ax, panel)
    axes[0, 0].set_ylabel("number")
    axes[0, 0].invert_yaxis()
    axes[1, 0].set_ylabel("regions")
    axes[2, 0].set_ylabel("share of numbers")
    axes[2, 0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    figure.align_ylabels(axes[:, 0])
    marked = "llc" in measured and has_peak(measured["llc"])
    _legends(axes[:, -1], looks, marked, "regions_min3" in data)
    return captions.drawing(
        figure,
        data,
        *map(_outcome, ones),
        "For each number the head with the largest entry on the diagonal of its OV circuit, at each "
        "checkpoint; below, how many runs of neighbouring numbers that makes and which share each head has.",
        "The dotted line is where the LLC is largest." if marked else "",
        conditions=["No uncertainty is drawn: the map is of the checkpoint's weights."],
        title=title,
    )


def _panels(one: Datasets, looks: Mapping[str, dict], runs: Sequence[int]) -> list[Panel]:
    """The map, the regions and the shares of one seed, with the peak of its LLC."""
    circuits = one["circuits"]
    suffix, steps = seed_suffix(runs, int(circuits["seed"])), circuits["step"].values
    peak = llc_peak(one["llc"]) if "llc" in one else None
    step = None if peak is None else float(peak["step"])
    dark, white = ([] if step is None else [partial(Axes.axvline, x=step, **look)] for look in (PEAK, ON_MAP))
    regions = [Curve(circuits[name], look) for name, look in REGIONS.items() if name in circuits]
    small = {head: look | {"markersize": 2.4} for head, look in looks.items()}
    return [
        Panel(
            f"head that handles each number{suffix}",
            under=all_of(partial(_map, circuits=circuits), *white),
            steps=steps,
        ),
        Panel(f"vocabulary regions{suffix}", regions, over=all_of(_whole_numbers, style.from_zero, *dark)),
        Panel(
            f"share of the vocabulary{suffix}",
            of_heads(circuits, "vocabulary_share", small),
            over=all_of(style.from_zero, *dark),
        ),
    ]


def _whole_numbers(ax: Axes) -> None:
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))


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


def _legends(column: np.ndarray, looks: Mapping[str, dict], peak: bool, long: bool) -> None:
    patches = [Patch(color=look["color"], label=f"head {head}") for head, look in looks.items()]
    style.beside(column[0], [*patches, *([style.key("largest LLC", **PEAK)] if peak else [])])
    if long:
        labels = ("any length", "3 or more numbers")
        keys = [style.key(label, **look) for label, look in zip(labels, REGIONS.values(), strict=True)]
        style.beside(column[1], keys)
    style.beside(column[2], [style.key(f"head {head}", **look) for head, look in looks.items()])


def _outcome(one: Datasets) -> str:
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

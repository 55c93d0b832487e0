"""Vocabulary handled by each head over training: how heads divide it (the list-sorting post)."""

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from rllc.figures import conditions, style
from rllc.figures.drawing import Datasets, Drawing, Seeds, headed
from rllc.figures.findings import over_seeds, percent
from rllc.figures.inputs import need, of_seeds
from rllc.figures.panels import Panel, Row, all_of, curve, of_heads, seed_suffix, sheet
from rllc.figures.sorting.findings import of_circuits, peak_conditions
from rllc.figures.sorting.inputs import (
    COLORS,
    has_peak,
    head_color,
    head_looks,
    holders,
    on_lists,
    one_seed,
)
from rllc.figures.sorting.panels import PEAK, dots, mark_peak

ON_MAP = PEAK | {"color": "white", "linewidth": 1.6}
_LOOK = dots(COLORS["regions"])
REGIONS = {"regions": _LOOK, "regions_min3": _LOOK | {"linestyle": "--", "linewidth": 1.1}}
LENGTHS = {"regions": "any length", "regions_min3": "3 or more numbers"}
DRAWN = ("token_head", "regions", "regions_min3", "vocabulary_share")


@style.styled
def sort_specialization(
    datasets: Datasets, *, title: str = "", seeds: Seeds = None, distribution: str | None = None
) -> Drawing:
    """Head that handles each number, number of regions and share of each head, against training step."""
    circuits = of_seeds(need(datasets, "circuits", *DRAWN[:2], DRAWN[3]), seeds)
    data = circuits[[name for name in DRAWN if name in circuits]]
    measured = {"circuits": data}
    if "llc" in datasets:
        measured["llc"] = on_lists(datasets["llc"], distribution).reindex(seed=data["seed"].values)
    runs, marked, looks = data["seed"].values.tolist(), has_peak(measured), head_looks(data)
    ones = {seed: one_seed(measured, seed) for seed in runs}
    maps, regions, shares = [], [], []
    for seed, one in ones.items():
        drawn, suffix = one["circuits"], seed_suffix(runs, seed)
        dark, white = (partial(mark_peak, one=one, **look) for look in (PEAK, ON_MAP))
        under = all_of(partial(_map, circuits=drawn), white)
        steps = drawn["step"].values
        maps.append(Panel(f"head that handles each number{suffix}", under=under, steps=steps))
        curves = [curve(drawn, name, look) for name, look in REGIONS.items() if name in drawn]
        over = all_of(_whole_numbers, style.from_zero, dark)
        regions.append(Panel(f"vocabulary regions{suffix}", curves, over=over))
        curves = of_heads(
            drawn, "vocabulary_share", {h: look | {"markersize": 2.4} for h, look in looks.items()}
        )
        shares.append(Panel(f"share of the vocabulary{suffix}", curves, over=all_of(style.from_zero, dark)))
    patches = [Patch(color=look["color"], label=f"head {head}") for head, look in looks.items()]
    lengths = [style.key(LENGTHS[name], **look) for name, look in REGIONS.items()]
    rows = [
        Row("number", maps, [*patches, *([style.key("largest LLC", **PEAK)] if marked else [])]),
        Row("regions", regions, lengths if "regions_min3" in data else []),
        Row("share of numbers", shares, [style.key(f"head {h}", **look) for h, look in looks.items()]),
    ]
    share = {"sharex": True, "sharey": "row", "height_ratios": (2.4, 1, 1)}
    figure, axes = sheet(rows, panel=(3.6, 4.9 / 3), margin=1.7, title=title, **share)
    axes[0, 0].invert_yaxis()
    axes[2, 0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    figure.align_ylabels(axes[:, 0])
    end = data.isel(step=-1)
    largest = percent(end["vocabulary_share"].max("head"))
    return Drawing(
        figure,
        data,
        headed(title, "head that handles each number over training, vocabulary regions and shares of heads."),
        [
            *of_circuits(ones, "regions", "vocabulary regions"),
            *over_seeds(f"largest share of a head at step {int(end['step']):,}", largest, unit="%"),
        ],
        [
            "The head of a number has the largest entry on the diagonal of its OV circuit.",
            *peak_conditions(ones),
            *conditions.seeds(data),
        ],
    )


def _whole_numbers(ax: Axes) -> None:
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))


def _map(ax: Axes, circuits: xr.Dataset) -> None:
    """Draw ``token_head`` (step, token) as an image. A cell reaches half way to the next checkpoint."""
    count, tokens = circuits.sizes["head"], circuits["token"].values.astype(float)
    held = np.ma.masked_less(holders(circuits.transpose("step", "token", ...)).T, 0)
    ax.pcolormesh(
        _edges(circuits["step"].values),
        np.append(tokens - 0.5, tokens[-1] + 0.5),
        held,
        cmap=ListedColormap([head_color(n) for n in range(count)], bad="#EDEDED"),
        norm=BoundaryNorm(np.arange(count + 1) - 0.5, count),
        rasterized=True,
    )
    ax.grid(False)
    _whole_numbers(ax)


def _edges(steps: np.ndarray) -> np.ndarray:
    """Return the borders half way between checkpoints on the step axis, log(1 + step / unit)."""
    unit = steps[steps > 0].min() if (steps > 0).any() else 1.0
    where = np.log1p(steps / unit)
    half = np.diff(where) / 2 if len(where) > 1 else np.array([0.05])
    borders = np.concatenate(
        [where[:1] - half[0], where[:-1] + half[: len(where) - 1], where[-1:] + half[-1]]
    )
    # The axis ends shortly before step 0, where its logarithm does.
    return np.maximum(unit * np.expm1(borders), -0.3 * unit)

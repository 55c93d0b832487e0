"""The full QK and OV circuits of every head at chosen checkpoints (the list-sorting post's heat maps)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from rllc.figures import conditions, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seeds, headed
from rllc.figures.inputs import need
from rllc.figures.sorting.inputs import (
    LARGEST,
    first_accurate,
    head_color,
    holders,
    llc_peak,
    on_lists,
    one_seed,
)  # fmt: skip

KINDS = {"qk": ("QK", "query number", "key number"), "ov": ("OV", "source number", "output number")}
MAP = "RdBu_r"  # red raises attention or logit, blue lowers it
ANSWERS = "ov_answers"  # OV circuits of models whose predictions are answers, not numbers
FADED = 0.78
NOBODY = (0.93, 0.93, 0.93)
LISTED = 6  # largest number of heads with a finding
STRIP = "Strip beside OV: the head with the largest diagonal entry for each number, pale if it is another."
ASCENDING = "Numbers are drawn as tokens: 0 is the lowest, the middle one is the number 0."
DEAD = 0.02  # share of the colours' limit: a panel below it looks empty and shows the size of its entries


@style.styled
def sort_circuits(
    datasets: Datasets,
    *,
    title: str = "",
    seed: int | None = None,
    steps: Seeds = None,
    distribution: str | None = None,
    accurate: float = 0.99,
    quantile: float = 0.995,
) -> Drawing:
    """Heat maps of one seed. Rows: QK and OV of each head. Columns: checkpoints.

    steps     default, where ``metrics`` and ``llc`` were given: the first with token accuracy ``accurate``,
              that of the largest LLC (if it is not the last mean), about twice and four times as late,
              and the last
    quantile  colours end at this quantile of |W| over the heads, separately at each checkpoint: under layer
              norm the scale of a circuit is free, and weight decay shrinks it by orders of magnitude
    """
    to_answers = ANSWERS in need(datasets, "circuits", "qk")
    need(datasets, "circuits", *([ANSWERS] if to_answers else ["ov", "token_head"]))
    one = one_seed({name: on_lists(data, distribution) for name, data in datasets.items()}, seed)
    known = one["circuits"]["step"].values.tolist()
    absent = [step for step in steps or () if step not in known]
    if absent:
        raise ValueError(f"circuits.nc has no step {', '.join(map(str, absent))}; it has {known}")
    chosen = _chosen(one, accurate) if steps is None else {int(step): "" for step in steps}
    names = ["qk", ANSWERS] if to_answers else ["qk", "ov", "token_head"]
    data = one["circuits"][names].sel(step=list(chosen))
    maps = data.rename({ANSWERS: "ov"}) if to_answers else data
    heads = data["head"].values.tolist()
    rows = [(head, kind) for head in heads for kind in KINDS]
    figure = Figure(
        figsize=(0.9 + 1.85 * len(chosen), 0.95 + 1.78 * len(rows) + (0.25 if title else 0)),
        layout=ConstrainedLayoutEngine(wspace=0.02, hspace=0.02),
    )
    share = "row" if to_answers else True  # answers have another axis than numbers
    axes = figure.subplots(len(rows), len(chosen), squeeze=False, sharex=share, sharey=True)
    style.entitle(figure, title)
    limits = {kind: [color_limit(maps[kind].sel(step=step), quantile) for step in chosen] for kind in KINDS}
    for line, (head, kind) in zip(axes, rows, strict=True):
        for ax, (step, why), limit in zip(line, chosen.items(), limits[kind], strict=True):
            circuit(ax, maps.sel(step=step), kind, head, limit)
            note = partial(ax.annotate, xycoords="axes fraction", fontsize=6.5, color="#666666")
            note(f"± {limit_text(limit)}", (1, 1), xytext=(0, 2), textcoords="offset points", ha="right")
            largest = float(np.abs(maps[kind].sel(step=step, head=head)).max())
            if largest < DEAD * limit:
                note(f"largest |W|\n{largest:.0e}", (0.5, 0.5), ha="center", va="center")
            if ax.get_subplotspec().is_first_row():
                ax.set_title(f"step {step:,}\n{why}", pad=12)
            ax.label_outer()
            ax.set_xlabel("answer" if to_answers and kind == "ov" else KINDS[kind][2])
            if to_answers:
                ax.tick_params(labelbottom=True)
        line[0].set_ylabel(KINDS[kind][1])
        name_row(line[0], head if len(heads) > 1 else None, kind)
    color_bar(figure, axes.ravel(), shrink=1.6 / len(rows), aspect=26, pad=0.02, anchor=(0, 1))
    output = "number or answer" if to_answers else "number"
    peak = any("largest LLC" in why for why in chosen.values())
    return Drawing(
        figure,
        data,
        headed(title, f"full QK and OV circuits of each head at chosen checkpoints, number by {output}."),
        _held(data) if len(heads) > 1 and not to_answers else _scales(limits, list(chosen), quantile),
        [
            f"Colours of a checkpoint end at the {100 * quantile:g} % quantile of |W| over its heads.",
            *([ASCENDING] if to_answers else []),
            *([STRIP] if len(heads) > 1 and not to_answers else []),
            *([LARGEST] if peak else []),
            *conditions.seeds(data),
        ],
    )


def _held(circuits: xr.Dataset) -> list[Finding]:
    """Return the count of numbers of each head at the last checkpoint drawn; of many heads, the largest."""
    last = circuits.isel(step=-1)
    held, heads = holders(last), last["head"].values.tolist()
    counts = {head: int((held == n).sum()) for n, head in enumerate(heads)}
    most = sorted(heads, key=lambda head: counts[head], reverse=True)[:LISTED]
    return [
        Finding(
            f"numbers handled by head {head} at step {int(last['step']):,} (of {held.size})", counts[head]
        )
        for head in heads
        if head in most
    ]


def _scales(limits: Mapping[str, Sequence[float]], steps: Sequence[int], quantile: float) -> list[Finding]:
    """Return the size of the entries of both circuits at the first and at the last checkpoint drawn."""
    return [
        Finding(
            f"{100 * quantile:g} % quantile of |W| of {KINDS[kind][0]} at step {steps[n]:,}", limits[kind][n]
        )
        for kind in KINDS
        for n in dict.fromkeys((0, len(steps) - 1))
    ]


def circuit(ax: Axes, circuits: xr.Dataset, kind: str, head: str, limit: float) -> None:
    """Draw the heat map of one circuit, first number on top, colours from -limit to limit.

    An OV circuit to answers has a column for each answer.
    If there are several heads, a strip beside an OV circuit shows the head that handles each source number.
    Other heads than this one are pale.
    """
    values = circuits[kind].sel(head=head).transpose("token", ...)
    tokens, (_, across) = values["token"].values, values.dims
    answers = values["answer"].values.tolist() if across == "answer" else []
    others = np.arange(len(answers)) if answers else values[across].values
    extent = (others[0] - 0.5, others[-1] + 0.5, tokens[-1] + 0.5, tokens[0] - 0.5)
    aspect = len(answers) / len(tokens) if answers else "equal"  # as wide as the maps of numbers
    ax.imshow(
        values, cmap=MAP, vmin=-limit, vmax=limit, extent=extent, interpolation="nearest", aspect=aspect
    )
    ax.grid(False)
    ax.spines[["top", "right"]].set_visible(True)
    ax.spines[:].set_color("#999999")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 5, 10]))
    if answers:
        ax.set_xticks(others, answers, fontsize=7)
    heads = circuits["head"].values.tolist()
    if kind == "ov" and len(heads) > 1 and not answers:
        beside = ax.inset_axes((1.025, 0, 0.06, 1))
        beside.imshow(strip_colors(circuits, heads.index(head)), aspect="auto", interpolation="nearest")
        beside.axis("off")


def name_row(ax: Axes, head: str | None, kind: str | None) -> None:
    """Write the head, in its colour, and the circuit beside the first panel of a row."""
    color = "#222222" if head is None else head_color(int(head.split(":")[1]))
    shown = "  ".join(filter(None, (head and f"head {head}", kind and KINDS[kind][0])))
    ax.annotate(
        shown, (0, 0.5), xytext=(-47, 0), xycoords="axes fraction", textcoords="offset points",
        rotation=90, ha="center", va="center", fontsize=10, fontweight="bold", color=color,
    )  # fmt: skip


def strip_colors(circuits: xr.Dataset, index: int) -> np.ndarray:
    """Return the colours [token, 1, 3] of the strip of head number ``index``."""

    def color(holder: int) -> tuple[float, float, float]:
        if holder < 0:
            return NOBODY
        own = head_color(holder)
        return to_rgb(own) if holder == index else style.lightness(own, FADED)

    return np.array([[color(holder)] for holder in holders(circuits)])


def color_limit(values: xr.DataArray, quantile: float) -> float:
    """Return the limit of the colours: a quantile of |W|, which a few large entries do not move."""
    limit = float(np.nanquantile(np.abs(values.values), quantile))
    return limit if np.isfinite(limit) and limit > 0 else 1.0


def limit_text(limit: float) -> str:
    """Return a limit with two digits, from 100 on in full: 0.013, 4.2, 128."""
    return f"{limit:.2g}" if limit < 99.5 else f"{limit:,.0f}"


def color_bar(figure: Figure | SubFigure, axes: Iterable[Axes], **place) -> None:
    """Draw one colour bar for heat maps with different limits: from -1 to 1 times the limit."""
    bar = figure.colorbar(
        ScalarMappable(Normalize(-1, 1), MAP), ax=list(axes), extend="both", ticks=[-1, 0, 1], **place
    )
    bar.set_label("share of the limit above")
    bar.outline.set_visible(False)


def _chosen(one: Datasets, accurate: float) -> dict[int, str]:
    """Return the default checkpoints with the reason of each: onset, peak of the LLC, after the peak, end."""
    known = one["circuits"]["step"].values
    steps: dict[int, str] = {}
    first = first_accurate(one["metrics"], accurate) if "metrics" in one else None
    if first is not None:
        steps[_nearest(known, first)] = f"accuracy {accurate:g}"
    peak = llc_peak(one)
    if peak is not None:
        for factor, why in ((1, "largest LLC"), (2, "about 2 x as late"), (4, "about 4 x as late")):
            step = factor * float(peak["step"])
            if step < known[-1] or factor == 1:
                at = _nearest(known, step)
                steps[at] = ", ".join(filter(None, (steps.get(at), why, "last" if step == known[-1] else "")))
    steps.setdefault(int(known[-1]), "last")
    positive = known[known > 0]
    if len(steps) < 4 and positive.size:
        for step in np.geomspace(positive[0], known[-1], 5):
            steps.setdefault(_nearest(known, step), "")
    return dict(sorted(steps.items()))


def _nearest(known: np.ndarray, step: float) -> int:
    """Return the checkpoint nearest to ``step`` on the logarithmic axis."""
    return int(known[np.abs(np.log1p(known) - np.log1p(step)).argmin()])

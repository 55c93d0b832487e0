"""Stages of development as bands and lines in panels over training, and in words."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.against_loss import FIRST
from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Name
from rllc.figures.panels import Curve, curve
from rllc.units import NATS

RISING, FALLING, LAST = ("#FDEBD9", "#FAD9B8"), ("#DCE9F7", "#C2D9F0"), "#EFEFEF"
LINE = {"color": "#444444", "zorder": 1}
SURE, POSSIBLE, OPENING = {"linewidth": 1.8}, {"linewidth": 0.7}, {"linewidth": 0.7, "linestyle": (0, (1, 2))}
LLC = {"color": "#117733", "marker": "o"}
OFF = {"color": "#777777", "linestyle": ":", "linewidth": 1.4}
OFF_OF = "llc_gradient_off"
OF_LOSS = {"color": "#AA4499", "linestyle": "--", "linewidth": 1.1}
NONE = "no stage boundary is determined"
NAMES = {"rising": "stage: LLC rises", "falling": "stage: LLC falls", "last": "stage: the last"}
LINES = {"sure": "boundary, determined", "possible": "boundary, possible", "opening": "end of the flat start"}
BASE = "sampling"  # the setting whose boundaries are drawn where no other is asked for
Cells = Mapping[int, xr.Dataset | None]  # what ``stages`` has of each seed's curve
OF_BANDS = (
    "Bands: stages in which the smoothed LLC rises (orange) or falls (blue); grey: the last. Dotted: the end "
    "of the flat start."
)
OF_STAGES = f"{OF_BANDS} Where the dashed line is far from the LLC, it leaves the panel."
AT_ONE_LOSS = "Dashed: n_beta (c − loss), the LLC if all chains came to one loss c."


def estimates(datasets: Datasets, setting: str) -> xr.Dataset:
    """The LLC of the whole model at a setting."""
    return inputs.need(datasets, "llc" if setting == BASE else f"llc.{setting}", "llc")


def of_curve(datasets: Datasets, seed: int, distribution: Name, setting: str = BASE) -> xr.Dataset | None:
    """What ``stages`` has of one LLC curve; None where it has nothing."""
    stages = datasets.get("stages")
    if stages is None:
        return None
    name = distribution or inputs.one_distribution(stages, None)
    asked = {"setting": setting, "distribution": name, "seed": seed}
    if any(label not in stages[dim].values for dim, label in asked.items()):
        return None
    one = stages.sel(asked)
    return one.isel(boundary=np.isfinite(one["boundary_step"]).values)


def curves_of(datasets: Datasets, seeds: xr.DataArray, distribution: Name, setting: str = BASE) -> Cells:
    """The same of each of ``seeds``."""
    return {seed: of_curve(datasets, seed, distribution, setting) for seed in np.atleast_1d(seeds).tolist()}


def bands(one: xr.Dataset | None, *, said: bool = False, of: str = "") -> Callable[[Axes], object]:
    """Draws the stages of one LLC curve; what is drawn has a label, so that ``panels.sheet`` names it.

    A band is orange where the smoothed LLC rises over the stage, blue where it falls, grey in the last stage.
    Thick lines: boundaries that are determined; thin: possible ones; dotted: the end of the flat start.

    said  where no boundary is determined, the panel says so
    of    whose they are, where panels show more than that: ", seed 0"
    """

    def draw(ax: Axes) -> None:
        if one is None:
            return
        sure = one["boundary_determined"].values == 1
        counted = one["boundary_kind"].values != "start"
        level = one["llc_smooth"].dropna("step")
        edges = np.unique([*one["boundary_step"].values, *level["step"].values[[0, -1]]])
        if one.sizes["boundary"]:
            values = level.sel(step=edges).values
            for n, (left, right) in enumerate(pairwise(edges)):
                way, hues = ("rising", RISING) if values[n + 1] > values[n] else ("falling", FALLING)
                way, color = ("last", LAST) if right == edges[-1] else (way, hues[n % 2])
                ax.axvspan(left, right, color=color, zorder=0, linewidth=0, label=NAMES[way] + of)
        for each, certain, parts in zip(one["boundary_step"].values, sure, counted, strict=True):
            kind, look = (
                (("sure", SURE) if certain else ("possible", POSSIBLE)) if parts else ("opening", OPENING)
            )
            ax.axvline(each, **LINE, **look, label=LINES[kind] + of)
        if said and not (sure & counted).any():
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}
            ax.text(0.98, 0.04, NONE, transform=ax.transAxes, ha="right", fontsize=7, bbox=box)

    return draw


def of_loss(one: xr.Dataset | None) -> list[Curve]:
    """n_beta (median sampled loss - loss): what the LLC were, did chains go to one loss."""
    return [] if one is None else [Curve(one["llc_of_loss"].dropna("step"), OF_LOSS)]


def llc_curves(level: xr.Dataset, one: xr.Dataset | None) -> list[Curve]:
    """The LLC (step) with its errors and rings over its control, where there is one, and ``of_loss``."""
    off = [Curve(level[OFF_OF], OFF)] if OFF_OF in level else []
    return [*off, curve(level, "llc", LLC), *of_loss(one)]


def llc_keys(level: xr.Dataset, *shown: xr.Dataset | None) -> list:
    """Legend entries of ``llc_curves``."""
    off = [style.key("control: no loss gradient", **OFF)] if OFF_OF in level else []
    rings = style.ring_keys(inputs.ring_reasons((level, "llc")))
    return [style.key("LLC", **LLC), *off, *keys(*shown), *rings]


def within(level: xr.Dataset) -> Callable[[Axes], object]:
    """Keeps a panel to the LLC, its errors and its control: what the loss would make of it may be far off."""
    error = level.get("llc_se", xr.zeros_like(level["llc"])).fillna(0.0)
    shown = [level["llc"] - error, level["llc"] + error, level.get(OFF_OF, level["llc"])]
    low, high = min(float(each.min()) for each in shown), max(float(each.max()) for each in shown)
    room = 0.08 * (high - low) or 1.0
    limits = {"bottom": low - room, "top": high + room} if np.isfinite(low) else {}
    return partial(Axes.set_ylim, **limits)


def keys(*shown: xr.Dataset | None) -> list:
    """The legend entry of ``of_loss``; none where none of these curves is there."""
    there = any(one is not None for one in shown)
    return [style.key("n_beta (c − loss),\nc: mean loss of chains", **OF_LOSS)] if there else []


def words(one: xr.Dataset | None) -> str:
    """The boundaries of one curve: "peak 6.3k; possible: saddle 800"."""
    if one is None:
        return ""
    groups = {1: [], 0: []}
    for kind, step, sure in zip(
        one["boundary_kind"].values,
        one["boundary_step"].values,
        one["boundary_determined"].values,
        strict=True,
    ):
        if kind != "start":
            groups[int(sure)].append(f"{kind} {style.step_text(step)}")
    sure, possible = (", ".join(group) for group in (groups[1], groups[0]))
    return (f"boundaries {sure}" if sure else NONE) + (f" (possible: {possible})" if possible else "")


def explained(text: str, cells: Cells) -> str:
    """``OF_BANDS``, ``OF_STAGES`` or ``AT_ONE_LOSS``, where there is one of these curves."""
    return captions.when(any(one is not None for one in cells.values()), text)


def of_llc(cells: Cells, named: str = "LLC") -> list[str]:
    """Whether the curves of these seeds are those of the loss, and their boundaries; nothing without any."""
    there = {seed: one for seed, one in cells.items() if one is not None}
    several = len(there) > 1
    parted = (f"seed {seed}: {words(one)}" if several else words(one) for seed, one in there.items())
    said = (is_it_the_loss(*there.values()), _how_many(*there.values()) if several else "", "; ".join(parted))
    return [captions.sentence(f"{named}: {text}") for text in said if text]


def _how_many(*shown: xr.Dataset) -> str:
    """How many boundaries the curves of several seeds have, each by itself."""
    parts = [one.isel(boundary=one["boundary_kind"].values != "start") for one in shown]
    sure, possible = ([int((one["boundary_determined"] == n).sum()) for one in parts] for n in (1, 0))
    of = f"stage boundaries over {len(shown)} seeds"
    return f"{captions.spread(sure, '.0f')} determined and {captions.spread(possible, '.0f')} possible {of}"


def among(findings: list[str], cells: Cells) -> list[str]:
    """Findings, after the first whether the LLC is the loss, and at the end its boundaries."""
    alike, *parted = of_llc(cells) or [""]
    return [*findings[:1], alike, *findings[1:], *parted]


def is_it_the_loss(*shown: xr.Dataset | None) -> str:
    """How like the loss the LLC of these curves is, and what loss the chains came to."""
    there = [one for one in shown if one is not None and np.isfinite(one["llc_loss_correlation"])]
    if not there:
        return ""
    late = [one["sampled_loss"].dropna("step") for one in there]
    late = [sampled.sel(step=slice(FIRST * float(sampled["step"].max()), None)) for sampled in late]
    low, high = min(float(each.min()) for each in late), max(float(each.max()) for each in late)
    alike = [float(one["llc_loss_correlation"]) for one in there]
    text = f"correlation with the loss {captions.spread(alike, '.3f')}"
    text += f", mean loss of the chains {low:.2f} to {high:.2f} {late[0].attrs.get('units', NATS)}"
    chance, guess = (there[0].attrs.get(name) for name in ("chance", "guess"))
    if chance is None:
        return text
    return text + (f" ({guess}: " if low < chance else f", more than {guess} (") + f"{chance:.2f})"

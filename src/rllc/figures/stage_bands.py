"""Stages of development as bands and lines in panels over training, with their findings and conditions."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.against_loss import FIRST
from rllc.figures import inputs, style
from rllc.figures.drawing import Datasets, Finding, Name
from rllc.figures.findings import over_seeds
from rllc.figures.panels import Curve, curve
from rllc.units import NATS

RISING, FALLING, LEVEL, LAST = ("#FDEBD9", "#FAD9B8"), ("#DCE9F7", "#C2D9F0"), "#F7F7F7", "#EFEFEF"
LINE = {"color": "#444444", "zorder": 1}
SURE, POSSIBLE = {"linewidth": 1.8}, {"linewidth": 0.7}
LLC = {"color": "#117733", "marker": "o"}
OFF = {"color": "#777777", "linestyle": ":", "linewidth": 1.4}
OFF_OF = "llc_prior_only"
OF_LOSS = {"color": "#AA4499", "linestyle": "--", "linewidth": 1.1}
NONE = "no stage boundary is determined"
NAMES = {
    "rising": "stage: LLC rises", "falling": "stage: LLC falls", "level": "stage: no clear change",
    "last": "stage: the last",
}  # fmt: skip
LINES = {"sure": "boundary, determined", "possible": "boundary, possible"}
BASE = "sampling"  # setting whose boundaries are drawn by default
Cells = Mapping[int, xr.Dataset | None]  # seed -> the data of ``stages`` about its curve; None: no data
NAMED = 3  # largest number of boundaries of one seed with a finding each
KINDS = {"end": "start of the flat end"}  # kinds of boundaries whose name alone cannot be read


def estimates(datasets: Datasets, setting: str) -> xr.Dataset:
    """Return the LLC of the whole model at a setting."""
    return inputs.need(datasets, "llc" if setting == BASE else f"llc.{setting}", "llc")


def of_curve(datasets: Datasets, seed: int, distribution: Name, setting: str = BASE) -> xr.Dataset | None:
    """Return the data of ``stages`` about one LLC curve; None if it has none."""
    stages = datasets.get("stages")
    if stages is None:
        return None
    name = distribution or inputs.one_distribution(stages, None)
    asked = {"setting": setting, "distribution": name, "seed": seed}
    if any(label not in stages[dim].values for dim, label in asked.items()):
        return None
    one = stages.sel(asked)
    return one.isel(boundary=np.isfinite(one["boundary_step"].values))


def curves_of(datasets: Datasets, seeds: xr.DataArray, distribution: Name, setting: str = BASE) -> Cells:
    """Return the data of ``stages`` about the LLC curve of each of ``seeds``."""
    return {seed: of_curve(datasets, seed, distribution, setting) for seed in np.atleast_1d(seeds).tolist()}


def bands(one: xr.Dataset | None, *, said: bool = False, of: str = "") -> Callable[[Axes], object]:
    """Return a function that draws the stages of one LLC curve, with labels for ``panels.sheet``.

    A band is orange where the LLC rises over the stage, blue where it falls: both the estimates at the two
    boundaries and the smoothed curve. Pale grey where these disagree, grey in the last stage.
    Thick lines: boundaries that are determined; thin: possible ones.

    said  whether the panel says so if no boundary is determined
    of    suffix of labels if panels show several curves: ", seed 0"
    """

    def draw(ax: Axes) -> None:
        if one is None:
            return
        sure = one["boundary_determined"].values == 1
        level = one["llc_smooth"].dropna("step")
        edges = np.unique([*one["boundary_step"].values, *level["step"].values[[0, -1]]])
        if one.sizes["boundary"]:
            smooth = np.diff(level.sel(step=edges).values)
            own = np.diff((one["sampled_loss"] - one["loss"]).sel(step=edges).values)  # the LLC over n_beta
            for n, (left, right) in enumerate(pairwise(edges)):
                way, color = _change(smooth[n], own[n], n) if right < edges[-1] else ("last", LAST)
                ax.axvspan(left, right, color=color, zorder=0, linewidth=0, label=NAMES[way] + of)
        for each, certain in zip(one["boundary_step"].values, sure, strict=True):
            kind, look = ("sure", SURE) if certain else ("possible", POSSIBLE)
            ax.axvline(each, **LINE, **look, label=LINES[kind] + of)
        if said and not sure.any():
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}
            ax.text(0.98, 0.04, NONE, transform=ax.transAxes, ha="right", fontsize=7, bbox=box)

    return draw


def _change(smooth: float, own: float, n: int) -> tuple[str, str]:
    """Return the name and colour of stage n by the changes of the smoothed curve and of the estimates."""
    if smooth * own <= 0:
        return "level", LEVEL
    return ("rising", RISING[n % 2]) if own > 0 else ("falling", FALLING[n % 2])


def of_loss(one: xr.Dataset | None) -> list[Curve]:
    """Return n_beta (median sampled loss - loss): the LLC if all chains moved to the same loss."""
    return [] if one is None else [Curve(one["llc_of_loss"].dropna("step"), OF_LOSS)]


def llc_curves(level: xr.Dataset, one: xr.Dataset | None) -> list[Curve]:
    """Return the LLC (step) with its errors and rings, its control if there is one, and ``of_loss``."""
    off = [Curve(level[OFF_OF], OFF)] if OFF_OF in level else []
    return [*off, curve(level, "llc", LLC), *of_loss(one)]


def llc_keys(level: xr.Dataset, *shown: xr.Dataset | None) -> list:
    """Return legend entries of ``llc_curves``."""
    off = [style.key("control: no loss gradient", **OFF)] if OFF_OF in level else []
    rings = style.ring_keys(inputs.ring_reasons((level, "llc")))
    return [style.key("LLC", **LLC), *off, *keys(*shown), *rings]


def within(level: xr.Dataset) -> Callable[[Axes], object]:
    """Return a function that limits a panel to LLC, errors and control: ``of_loss`` may be far off."""
    error = level.get("llc_se", xr.zeros_like(level["llc"])).fillna(0.0)
    shown = [level["llc"] - error, level["llc"] + error, level.get(OFF_OF, level["llc"])]
    low, high = min(float(each.min()) for each in shown), max(float(each.max()) for each in shown)
    room = 0.08 * (high - low) or 1.0
    limits = {"bottom": low - room, "top": high + room} if np.isfinite(low) else {}
    return partial(Axes.set_ylim, **limits)


def keys(*shown: xr.Dataset | None) -> list:
    """Return the legend entry of ``of_loss``; none if no such curve is drawn."""
    there = any(one is not None for one in shown)
    return [style.key("n_beta (c − loss),\nc: mean loss of chains", **OF_LOSS)] if there else []


CHAINS_LOSS = "initial loss after 1 % of training"


def llc_findings(cells: Cells, llc: str = "LLC") -> list[Finding]:
    """Return the correlation of the LLC with the loss, and its determined boundaries; none without stages.

    llc  name of the curve
    """
    if all(one is None for one in cells.values()):
        return []
    alike = _of_seeds(cells, lambda one: float(one["llc_loss_correlation"]))
    return [
        *over_seeds(f"correlation of {llc} and {CHAINS_LOSS}", alike),
        *boundary_findings(cells, llc),
    ]


def boundary_findings(cells: Cells, llc: str = "LLC", *, each: bool = True) -> list[Finding]:
    """Return the number of determined boundaries; for one seed with few of them, their steps.

    each  whether steps may be given
    """
    counts = _of_seeds(cells, lambda one: float(_determined(one).sum()))
    if each and counts.size == 1 and 1 <= float(counts[0]) <= NAMED:
        (one,) = cells.values()
        assert one is not None
        kept = one.isel(boundary=_determined(one))
        pairs = zip(kept["boundary_kind"].values, kept["boundary_step"].values, strict=True)
        return [
            Finding(
                f"determined stage boundary of the {llc} ({KINDS.get(kind, kind)})", float(step), unit="steps"
            )
            for kind, step in pairs
        ]
    return over_seeds(f"determined stage boundaries of the {llc}", counts)


def of_stages(cells: Cells, setting: str = "") -> list[str]:
    """Return which LLC gives the stages drawn; nothing without stages.

    setting  name of the sampling setting; default its name in the dataset
    """
    there = [one for one in cells.values() if one is not None]
    if not there:
        return []
    on = inputs.distribution_labels(there[0])[str(there[0]["distribution"].item())]
    return [f"Stages: LLC on {on}, setting {setting or there[0]['setting'].item()}."]


def above_chance(cells: Cells) -> list[str]:
    """Return a sentence if the chains' mean loss is above that of a guess from 1 % of training on."""
    there = [one for one in cells.values() if one is not None and np.isfinite(one["llc_loss_correlation"])]
    late = [one["sampled_loss"].dropna("step") for one in there]
    late = [each.sel(step=slice(FIRST * float(each["step"].max()), None)) for each in late]
    if not late or "chance" not in there[0].attrs:
        return []
    lowest, chance = min(float(each.min()) for each in late), there[0].attrs["chance"]
    unit = late[0].attrs.get("units", NATS)
    if lowest < chance:
        return []
    return [
        f"Mean loss of the chains: at least {lowest:.2f} {unit}, above {there[0].attrs['guess']} "
        f"({chance:.2f})."
    ]


def _determined(one: xr.Dataset) -> np.ndarray:
    """Return which boundaries are determined."""
    return one["boundary_determined"].values == 1


def _of_seeds(cells: Cells, read: Callable[[xr.Dataset], float]) -> xr.DataArray:
    """Return a number of each seed (seed); NaN where it has no stages."""
    values = [np.nan if one is None else read(one) for one in cells.values()]
    return xr.DataArray(values, {"seed": list(cells)}, ["seed"])

"""One distribution less each of the others: the paired contrasts of rLLCs, drawn and told."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.contrasts import contrast, gain
from rllc.figures import captions, style
from rllc.figures.inputs import faulty


def between(taken: xr.Dataset, reference: str) -> xr.Dataset | None:
    """The paired contrasts of ``reference`` with every other distribution; None where there is none.

    ``faulty`` where either of the two estimates cannot be trusted.
    """
    names = taken["distribution"].values.tolist()
    others = [name for name in names if name != reference]
    if reference not in names or not others or "rllc_chain" not in taken:
        return None
    each = [contrast(taken, dim="distribution", a=reference, b=name) for name in others]
    joined = xr.concat(
        each,
        dim=xr.DataArray(others, dims="distribution", name="distribution"),
        combine_attrs="drop_conflicts",
    )
    wrong = faulty(taken, "rllc")
    wrong = xr.zeros_like(taken["rllc"], dtype=bool) if wrong is None else wrong
    either = wrong.sel(distribution=others) | wrong.sel(distribution=reference, drop=True)
    return joined.assign(faulty=either).assign_attrs(a=reference)


def draw(ax: Axes, apart: xr.Dataset, styles: Mapping[str, dict]) -> None:
    """The contrasts of one head, each with its interval."""
    ax.axhline(0.0, color="#333333", linewidth=0.8, zorder=1)
    for name in apart["distribution"].values.tolist():
        one = apart.sel(distribution=name)
        style.curve(ax, one["contrast"], one["half_width"], faulty=one["faulty"], **styles[name])


def told(apart: xr.Dataset, labels: Mapping[str, str]) -> str:
    """Where the reference is above and below each other distribution, and what pairing gains."""
    mine, confidence = labels[apart.attrs["a"]], apart.attrs["confidence"]
    said = []
    for name in apart["distribution"].values.tolist():
        one = apart.sel(distribution=name)
        one = one.where(~one["faulty"])
        above = int((one["contrast"] > one["half_width"]).sum())
        below = int((-one["contrast"] > one["half_width"]).sum())
        total = int(one["half_width"].notnull().sum())
        last = one.isel(step=-1)
        heads = (last["contrast"] > last["half_width"]).any("seed")
        at_end = ", ".join(last["head"].values[heads.values].tolist()) or "no head"
        said.append(
            f"it is above {labels[name]} by more than the interval in {above} of {total} cells and below in "
            f"{below} (at the last step above for {at_end}; the unpaired error is {gain(one):.2f} times the "
            "paired one)"
        )
    freedom = apart["degrees_of_freedom"]
    low, high = float(freedom.min()), float(freedom.max())
    return captions.joined(
        f"The lower panels are {mine} less each other distribution; bands there are {confidence:.0%} "
        f"Student-t intervals of the difference, paired by the noise that both share ({_span(low, high)} "
        "degrees of freedom), given the minibatches.",
        captions.sentence(f"of cells whose two estimates can be trusted: {mine}: {'; '.join(said)}")
        if apart["faulty"].any()
        else captions.sentence(f"{mine}: {'; '.join(said)}"),
        f"By chance alone an interval would miss 0 in {(1 - confidence) / 2:.1%} of cells on either side.",
    )


def _span(low: float, high: float) -> str:
    return f"{low:.0f}" if round(low) == round(high) else f"{low:.0f} to {high:.0f}"


def at_the_end(taken: xr.Dataset, natural: str, labels: Mapping[str, str]) -> str:
    """How many heads differ at the last step by more than the interval of the paired difference."""
    apart = between(taken, natural)
    if apart is None:
        return ""
    last = apart.isel(step=-1)
    clear = int((np.abs(last["contrast"]) > last["half_width"]).sum())
    total = int(last["half_width"].notnull().sum())
    return (
        f"There {labels[natural]} differs from the other by more than the {last.attrs['confidence']:.0%} "
        f"Student-t interval of the paired difference for {clear} of {total} heads."
    )

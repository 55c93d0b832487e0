"""One distribution less each of the others: the paired contrasts of rLLCs, drawn and told."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.analysis.contrasts import contrast, gain
from rllc.figures import captions
from rllc.figures.inputs import faulty
from rllc.figures.panels import Curve


def between(data: xr.Dataset, reference: str) -> xr.Dataset | None:
    """The paired contrasts of ``reference`` with every other distribution; None where there is none.

    ``faulty`` where either of the two estimates is not reliable.
    """
    names = data["distribution"].values.tolist()
    others = [name for name in names if name != reference]
    if reference not in names or not others or "rllc_chain" not in data:
        return None
    each = [contrast(data, dim="distribution", a=reference, b=name) for name in others]
    dim = xr.DataArray(others, dims="distribution", name="distribution")
    joined = xr.concat(each, dim=dim, combine_attrs="drop_conflicts")
    wrong = faulty(data, "rllc")
    wrong = xr.zeros_like(data["rllc"], dtype=bool) if wrong is None else wrong
    either = wrong.sel(distribution=others) | wrong.sel(distribution=reference, drop=True)
    return joined.assign(faulty=either).assign_attrs(a=reference)


def curves(apart: xr.Dataset, looks: Mapping[str, dict]) -> list[Curve]:
    """The contrasts with one distribution of every head that has a look, each with its interval."""
    cells = {head: apart.sel(head=head) for head in looks}
    return [
        Curve(cell["contrast"], looks[head], cell["half_width"], cell["faulty"])
        for head, cell in cells.items()
    ]


def findings(apart: xr.Dataset, labels: Mapping[str, str]) -> list[str]:
    """Where the reference is above and below each other distribution, and what pairing gains."""
    mine, confidence = labels[apart.attrs["a"]], apart.attrs["confidence"]
    sentences, gains = [], []
    for name in apart["distribution"].values.tolist():
        one = apart.sel(distribution=name)
        one = one.where(~one["faulty"])
        above, below = one["contrast"] > one["half_width"], -one["contrast"] > one["half_width"]
        at_end = above["head"].values[above.isel(step=-1).any("seed").values]
        sentences.append(
            f"On {mine} the refined LLC is above that on {labels[name]} by more than the paired "
            f"{confidence:.0%} interval in {int(above.sum())} of {int(one['half_width'].notnull().sum())} "
            f"cells and below in {int(below.sum())} (at the last step above for "
            f"{', '.join(at_end) or 'no head'})."
        )
        gains.append(f"{gain(one):.2f} for {labels[name]}")
    trusted = "Counted are cells whose two estimates are reliable. " if apart["faulty"].any() else ""
    return [
        *sentences,
        f"{trusted}By chance alone an interval would miss 0 in {(1 - confidence) / 2:.1%} of cells a side.",
        f"Lower panels: {mine} less each other distribution, with {confidence:.0%} Student-t intervals "
        f"paired by the noise that both share ({captions.freedom(apart['degrees_of_freedom'])}), given the "
        f"minibatches; the unpaired error over the paired one is {', '.join(gains)}.",
    ]


def at_the_end(data: xr.Dataset, natural: str) -> str:
    """How many heads differ at the last step by more than the interval of the paired difference."""
    apart = between(data, natural)
    if apart is None:
        return ""
    last = apart.isel(step=-1)
    clear = int((np.abs(last["contrast"]) > last["half_width"]).sum())
    total = int(last["half_width"].notnull().sum())
    return (
        f"The two differ by more than the {last.attrs['confidence']:.0%} Student-t interval of the paired "
        f"difference for {clear} of {total} heads."
    )

"""Paired contrasts of rLLCs, one distribution minus each other one: their curves and findings."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.analysis.contrasts import by_chain, contrast, difference
from rllc.figures.drawing import NAN, Finding
from rllc.figures.findings import over_seeds
from rllc.figures.heads.head_findings import LISTED, at_end, at_step
from rllc.figures.inputs import distribution_labels, faulty, heads_of_layer, layers
from rllc.figures.panels import Curve

INTERVALS = "Bands of differences, and what counts as higher: paired 95 % intervals."


def between(data: xr.Dataset, reference: str) -> xr.Dataset | None:
    """Return the paired contrasts of ``reference`` with every other distribution; None if there is no other.

    ``faulty`` is true if either of the two estimates is unreliable.
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
    """Return the contrasts of every head in ``looks`` with one distribution, each with its interval."""
    cells = {head: apart.sel(head=head) for head in looks}
    return [
        Curve(cell["contrast"], looks[head], cell["half_width"], cell["faulty"])
        for head, cell in cells.items()
    ]


def higher(apart: xr.Dataset, said: Mapping[str, str]) -> list[Finding]:
    """Return how many heads are higher on the reference than on each other distribution at the end.

    Only reliable estimates count, whose difference is larger than its interval. If distributions are many,
    the findings are those with most and with fewest such heads.
    """
    last = at_end(apart.where(~apart["faulty"]), "half_width")
    dims = [dim for dim in last["contrast"].dims if dim != "distribution"]
    numbers = (last["contrast"] > last["half_width"]).sum(dims)
    others = apart["distribution"].values.tolist()
    names = (
        others
        if len(others) < LISTED
        else [str(each.item()) for each in (numbers.idxmax(), numbers.idxmin())]
    )
    found = []
    for name in dict.fromkeys(names):
        total = int(last["half_width"].sel(distribution=name).notnull().sum())
        label = f"heads, of {total}, higher on {said[apart.attrs['a']]} than on {said[name]} {at_step(last)}"
        found += [Finding(label, int(numbers.sel(distribution=name)))] if total else []
    return found


def ratios(data: xr.Dataset, numerator: str, denominator: str) -> list[Finding]:
    """Return the ratio of the mean rLLCs of each layer on two distributions at the last step.

    Heads without both estimates are left out. The error is that of a ratio of sums over independent heads.
    """
    last, said = at_end(data, "rllc"), distribution_labels(data)
    of_layers = ((layer, last.sel(head=heads_of_layer(last, layer))) for layer in layers(last))
    found = []
    for layer, heads in of_layers:
        a, b = (heads.sel(distribution=name, drop=True) for name in (numerator, denominator))
        both = a["rllc"].notnull() & b["rllc"].notnull()
        sums = [each["rllc"].where(both).sum("head", min_count=1) for each in (a, b)]
        ratio = sums[0] / sums[1]
        square = _of_difference(a, b, ratio).where(both, 0.0).sum("head", skipna=False)
        label = f"mean rLLC of layer {layer}, {said[numerator]} over {said[denominator]}"
        found += over_seeds(f"{label} {at_step(last)}", ratio, xr.ufuncs.sqrt(square) / abs(sums[1]))
    return found


def _of_difference(a: xr.Dataset, b: xr.Dataset, factor: xr.DataArray) -> xr.DataArray:
    """Return the squared error (..., head) of a - factor * b: paired by chains if they are known."""
    if "rllc_chain" not in a:
        errors = [each.get("rllc_se", xr.full_like(each["rllc"], NAN)) for each in (a, b)]
        return errors[0] ** 2 + (factor * errors[1]) ** 2
    (of_a, common_a), (of_b, common_b) = by_chain(a), by_chain(b)
    common = (common_a, factor**2 * common_b)
    return difference(of_a, factor * of_b, common=common, shared_noise=True)["contrast_se"] ** 2


def at_the_end(data: xr.Dataset, a: str, b: str) -> list[Finding]:
    """Return how many heads differ between two distributions by more than the paired interval at the end."""
    apart = between(data, a)
    if apart is None:
        return []
    last = at_end(apart.sel(distribution=b), "half_width")
    total = int(last["half_width"].notnull().sum())
    number = int((np.abs(last["contrast"]) > last["half_width"]).sum())
    interval = f"{apart.attrs['confidence']:.0%}".replace("%", " %")
    label = (
        f"heads, of {total}, that differ clearly between the two (paired {interval} interval) {at_step(last)}"
    )
    return [Finding(label, number)] if total else []

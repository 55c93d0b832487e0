"""Findings about heads: the highest of a layer, the falls from peak to end, the prior-only control."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.analysis.curves import PEAK_FROM, PEAK_WINDOW, NotJudged, fall, largest_means, smooth_error
from rllc.figures import against_controls, inputs
from rllc.figures.drawing import NAN, Finding
from rllc.figures.findings import over_seeds, percent
from rllc.figures.uncertain import called

LISTED = 3  # largest number of distributions with a finding each


def at_end(data: xr.Dataset, name: str) -> xr.Dataset:
    """Return the last checkpoint with a value of ``name``; the last of all if there is none."""
    known = data[name].notnull().any([dim for dim in data[name].dims if dim != "step"]).values
    return data.isel(step=int(np.flatnonzero(known)[-1]) if known.any() else -1)


def at_step(data: xr.Dataset | xr.DataArray) -> str:
    """Return "at step 1,342" for data of one checkpoint."""
    return f"at step {int(data['step']):,}"


def labels(data: xr.Dataset) -> str:
    """Return the names of the distributions: "training mixture and code"; no names if they are many."""
    names = [*inputs.distribution_labels(data).values()]
    if len(names) > LISTED:
        return "several texts"
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def described(head: str, kinds: xr.DataArray | None) -> str:
    """Return "head 1:2 (induction)" for types (head) of one seed; without the type if it is unknown."""
    kind = "unknown" if kinds is None else called(kinds.sel(head=head))
    return f"head {head}" if kind == "unknown" else f"head {head} ({kind})"


def highest(data: xr.Dataset, name: str, what: str, where: str, unit: str = "1") -> list[Finding]:
    """Return the highest head's value: for one seed its label and error, for several their mean and sd.

    data   ``name`` (seed, head), ``name_se`` and ``head_type`` where they are known, at one checkpoint
    what   the quantity, "rLLC"
    where  among which heads and on which text, "of layer 1 on code"
    """
    values, place = data[name], f"{where} {at_step(data)}".strip()
    if values.sizes["seed"] > 1:
        return over_seeds(f"highest {what} {place}", values.max("head"), unit=unit)
    one = data.isel(seed=0)
    known = one[name].dropna("head")
    if not known.size:
        return []
    head = str(known["head"].values[int(known.argmax("head"))])
    error = float(one[f"{name}_se"].sel(head=head)) if f"{name}_se" in one else NAN
    said = described(head, one.get("head_type"))
    return [Finding(f"{what} of {said}, highest {place}", float(known.max()), error, unit)]


def of_layers(data: xr.Dataset, *distributions: str, layers: list[int] | None = None) -> list[Finding]:
    """Return the highest rLLC of each layer (default all) on each of these distributions at the end."""
    end, said, found = at_end(data, "rllc"), inputs.distribution_labels(data), []
    for name in distributions:
        for layer in inputs.layers(data) if layers is None else layers:
            heads = inputs.of_layer(end.sel(distribution=name), layer)
            found += highest(heads, "rllc", "rLLC", f"of layer {layer} on {said[name]}")
    return found


def largest_fall(data: xr.Dataset) -> list[Finding]:
    """Return the largest fall of a head from peak to end, in per cent of the peak.

    data  ``rllc`` (seed, step, head), and ``rllc_se`` and ``head_type`` where they are known

    Peak and end are running means, the peak from step ``PEAK_FROM`` on (``largest_means``).
    """
    errors = data.get("rllc_se", xr.full_like(data["rllc"], NAN))
    labels = {dim: data[dim].values for dim in ("seed", "head")}
    cells = [[{"seed": seed, "head": head} for head in labels["head"]] for seed in labels["seed"]]
    table = [[_fall(data["rllc"].sel(cell), errors.sel(cell)) for cell in row] for row in cells]
    fallen, error = (xr.DataArray(each, labels, [*labels]) for each in np.moveaxis(np.array(table), -1, 0))
    means = f"{PEAK_WINDOW}-checkpoint means"
    label = f"largest fall of a head from peak to end ({means})"
    if fallen.sizes["seed"] > 1:
        return over_seeds(label, percent(fallen.max("head")), unit="%")
    one = fallen.isel(seed=0).dropna("head")
    if not one.size:
        return []
    head = str(one["head"].values[int(one.argmax("head"))])
    kinds = data["head_type"].isel(seed=0) if "head_type" in data else None
    spread = percent(float(error.isel(seed=0).sel(head=head)))
    label = f"fall of {described(head, kinds)} from peak to end ({means}), largest"
    return [Finding(label, percent(float(one.max())), spread, "%")]


def _fall(value: xr.DataArray, error: xr.DataArray) -> tuple[float, float]:
    """Return the fall of one curve (step) and its standard error; NaN with fewer than two windows."""
    try:
        means = largest_means(value)
        part = float(fall(means))
    except NotJudged:
        return NAN, NAN
    if means.sizes["step"] < 2:
        return NAN, NAN
    top = means.argmax("step")
    if top == means.sizes["step"] - 1 or error.isnull().all():
        return part, NAN
    errors = smooth_error(error.where(value.notnull()).sel(step=slice(PEAK_FROM, None)))
    end, peak = (float(errors.isel(step=n)) for n in (-1, top))
    return part, float(np.hypot(end, (1 - part) * peak) / means.isel(step=top))


def without_gradient(rllc: xr.Dataset) -> list[Finding]:
    """Return by how much estimates and their prior-only controls differ, in per cent: medians over cells.

    rllc  estimates, their controls and chains, with their sampling setting
    """
    if "rllc_prior_only" not in rllc:
        return []
    change = abs(against_controls.change_by_gradient(rllc))
    middle = percent(float(change.median()))
    label = "absolute difference of rLLC and prior-only control, median"
    return [Finding(label, middle, unit="%")] if np.isfinite(middle) else []


def geometric_ratios(refinement: xr.Dataset, said: Mapping[str, str]) -> list[Finding]:
    """Return the ratio of the rLLCs on two distributions of induction and of multigram heads, at the end.

    refinement  ``log2_ratio`` and its error (seed, step, head_group, against)
    said        what the distributions are called; those not in it are left out
    """
    last, of = at_end(refinement, "log2_ratio"), refinement.attrs["distribution"]
    found = []
    for against in (name for name in last["against"].values.tolist() if {name, of} <= {*said}):
        for group in ("induction", "multigram"):
            cell = last.sel(head_group=group, against=against)
            ratio = 2.0 ** cell["log2_ratio"]
            label = (
                f"rLLC on {said[of]} over {said[against]}, geometric mean of {group} heads {at_step(last)}"
            )
            found += over_seeds(label, ratio, ratio * np.log(2) * cell["log2_ratio_se"])
    return found

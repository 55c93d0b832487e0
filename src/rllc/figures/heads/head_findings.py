"""Findings about heads: the highest of a layer, the falls from peak to end, the prior-only control."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.analysis.curves import PEAK_FROM, PEAK_WINDOW
from rllc.figures import against_controls, inputs
from rllc.figures.drawing import NAN, Finding
from rllc.figures.findings import over_seeds, percent

LISTED = 3  # distributions of which each has a finding


def at_end(data: xr.Dataset, name: str) -> xr.Dataset:
    """Return the last checkpoint with a value of ``name``; the last of all where there is none."""
    known = data[name].notnull().any([dim for dim in data[name].dims if dim != "step"]).values
    return data.isel(step=int(np.flatnonzero(known)[-1]) if known.any() else -1)


def at_step(data: xr.Dataset | xr.DataArray) -> str:
    """Return "at step 1,342" of data of one checkpoint."""
    return f"at step {int(data['step']):,}"


def labels(data: xr.Dataset) -> str:
    """Return what the distributions are called: "training mixture and code"; of many only that they are many."""
    names = [*inputs.distribution_labels(data).values()]
    if len(names) > LISTED:
        return "each of several texts"
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def described(head: str, kinds: xr.DataArray | None) -> str:
    """Return "head 1:2 (induction)" for types (head) of one seed; the label alone where the type is unknown."""
    kind = "unknown" if kinds is None else str(kinds.sel(head=head).item())
    return f"head {head}" if kind == "unknown" else f"head {head} ({kind})"


def highest(data: xr.Dataset, name: str, what: str, where: str, unit: str = "1") -> list[Finding]:
    """Return the highest head's value: of one seed its label and error, of several seeds their mean and sd.

    data   ``name`` (seed, head), ``name_se`` and ``head_type`` where they are known, at one checkpoint
    what   the quantity, "rLLC"
    where  among which heads and on which text, "of layer 1 on code"
    """
    values, when = data[name], at_step(data)
    if values.sizes["seed"] > 1:
        return over_seeds(f"highest {what} {where} {when}", values.max("head"), unit=unit)
    one = data.isel(seed=0)
    known = one[name].dropna("head")
    if not known.size:
        return []
    head = str(known["head"].values[int(known.argmax("head"))])
    error = float(one[f"{name}_se"].sel(head=head)) if f"{name}_se" in one else NAN
    said = described(head, one.get("head_type"))
    return [Finding(f"{what} of {said}, highest {where} {when}", float(known.max()), error, unit)]


def of_layers(data: xr.Dataset, *distributions: str, layers: list[int] | None = None) -> list[Finding]:
    """Return the highest rLLC of each layer (default all) on each of these distributions at the end."""
    end, said = at_end(data, "rllc"), inputs.distribution_labels(data)
    return [
        finding
        for name in distributions
        for layer in (inputs.layers(data) if layers is None else layers)
        for finding in highest(
            inputs.of_layer(end.sel(distribution=name), layer), "rllc", "rLLC", f"of layer {layer} on {said[name]}"
        )
    ]  # fmt: skip


def falls(data: xr.Dataset, layer: int) -> list[Finding]:
    """Return the largest and the smallest fall of a layer's heads from peak to end, in per cent of the peak.

    data  ``rllc``, and ``rllc_se`` where it is known (seed, step, head)

    Peak and end are means of ``PEAK_WINDOW`` checkpoints, the peak from step ``PEAK_FROM`` on.
    """
    one = inputs.of_layer(data, layer)
    errors = one.get("rllc_se", xr.full_like(one["rllc"], NAN))
    fallen, error = xr.apply_ufunc(
        _fall, one["step"], one["rllc"], errors, input_core_dims=[["step"]] * 3,
        output_core_dims=[[], []], vectorize=True,
    )  # fmt: skip
    if fallen.sizes["seed"] > 1:
        ends = (("largest", fallen.max("head")), ("smallest", fallen.min("head")))
        return [
            finding
            for which, values in ends
            for finding in over_seeds(
                f"{which} fall of a head of layer {layer} from peak to end", percent(values), unit="%"
            )
        ]
    known = fallen.isel(seed=0).dropna("head")
    order = known["head"].values[np.argsort(-known.values, kind="stable")].tolist()
    chosen = dict(zip(("largest", "smallest"), (order[0], order[-1]), strict=True)) if known.size > 1 else {}
    return [
        Finding(
            f"fall of head {head} from peak to end, {which} of layer {layer}",
            percent(float(known.sel(head=head))),
            percent(float(error.isel(seed=0).sel(head=head))),
            "%",
        )
        for which, head in chosen.items()
    ]


def _fall(step: np.ndarray, value: np.ndarray, error: np.ndarray) -> tuple[float, float]:
    """Return 1 - end / peak of one curve and its standard error; NaN with fewer than two windows."""
    known = np.isfinite(value) & (step >= PEAK_FROM)
    if known.sum() <= PEAK_WINDOW:
        return NAN, NAN
    means, squares = (
        np.lib.stride_tricks.sliding_window_view(each[known], PEAK_WINDOW).mean(-1)
        for each in (value, error**2)
    )
    errors, top = np.sqrt(squares / PEAK_WINDOW), int(means.argmax())
    if means[top] <= 0:
        return NAN, NAN
    if top == means.size - 1:
        return 0.0, NAN
    ratio = means[-1] / means[top]
    return 1 - ratio, float(np.hypot(errors[-1], ratio * errors[top]) / means[top])


def without_gradient(rllc: xr.Dataset, where: str = "") -> list[Finding]:
    """Return by how much estimates and their prior-only controls differ, in per cent: medians over cells.

    rllc   estimates, their controls and chains, with their sampling setting
    where  what else the label says
    """
    if "rllc_gradient_off" not in rllc:
        return []
    change = np.abs(against_controls.change_by_gradient(rllc))
    middle = percent(float(change.median()))
    label = f"median difference between rLLC and prior-only control{where}"
    return [Finding(label, middle, unit="%")] if np.isfinite(middle) else []


def known(findings: list[Finding]) -> list[Finding]:
    """Return the findings that have a value."""
    return [finding for finding in findings if np.isfinite(finding.value)]


def geometric_ratios(refinement: xr.Dataset, said: Mapping[str, str]) -> list[Finding]:
    """Return the ratio of the rLLCs on two distributions for the induction and the multigram heads, at the end.

    refinement  ``log2_ratio`` and its error (seed, step, head_group, against)
    said        what the distributions are called; those not in it are left out
    """
    last, of = at_end(refinement, "log2_ratio"), refinement.attrs["distribution"]
    found = []
    for against in (name for name in last["against"].values.tolist() if {name, of} <= {*said}):
        for group in ("induction", "multigram"):
            cell = last.sel(head_group=group, against=against)
            ratio = 2.0 ** cell["log2_ratio"]
            label = f"rLLC on {said[of]} over {said[against]}, {group} heads {at_step(last)}"
            found += over_seeds(label, ratio, ratio * np.log(2) * cell["log2_ratio_se"])
    return found

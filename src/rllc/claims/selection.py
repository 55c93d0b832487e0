"""Parts of a variable that a claim reads: labels, heads and steps."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr


class Absent(ValueError):
    """The experiment has no such curve, so the claim is not about it."""


def at_labels(values: xr.DataArray, variable: str, labels: Mapping[str, Any]) -> xr.DataArray:
    """Return the values at the labels, by step first. Dims of one label and other coordinates are dropped.

    Raises Absent where a dim, a label or the steps are missing.
    """
    for dim, label in labels.items():
        if dim not in values.dims or label not in values[dim].values:
            raise Absent(f"{variable} has no {dim} {label!r}")
    values = values.sel(labels).reset_coords(drop=True)
    if "step" not in values.dims:
        raise Absent(f"{variable} is no curve over training")
    values = values.squeeze(
        [dim for dim in values.dims if values.sizes[dim] == 1 and dim not in ("step", "head")]
    )
    values = values.reset_coords(drop=True).sortby("step").astype(float)
    return values.transpose("step", *[dim for dim in values.dims if dim != "step"])


def chosen_cells(
    value: xr.DataArray, heads: Sequence[str] | None, from_step: float, to_step: float | None
) -> dict[str, np.ndarray]:
    """Return the indices of the heads, and of the steps at which any of them is measured.

    Raises Absent where a head is missing.
    """
    chosen = {}
    if heads is not None:
        if "head" not in value.dims:
            raise Absent(f"{value.name} is of no heads")
        labels = value["head"].values.tolist()
        if missing := [head for head in heads if head not in labels]:
            raise Absent(f"{value.name} has no head {', '.join(missing)}")
        chosen["head"] = np.asarray([labels.index(head) for head in heads], dtype=int)
        value = value.isel(chosen)
    step = value["step"].values
    inside = (step >= from_step) & (step <= (np.inf if to_step is None else to_step))
    known = value.notnull().any([dim for dim in value.dims if dim != "step"]).values & inside
    chosen["step"] = np.flatnonzero(known)
    return chosen


def part(values: xr.DataArray, indices: Mapping[str, np.ndarray]) -> xr.DataArray:
    """Return the values at the given indices. Dims that the values lack are skipped."""
    return values.isel({dim: n for dim, n in indices.items() if dim in values.dims})


def between(first: float, last: float | None) -> str:
    """Return the range of steps in words, with a leading space: " from step 50 to step 4,000"."""
    words = [f" from step {first:,.0f}"] if first else []
    words += [] if last is None else [f" to step {last:,.0f}"]
    return "".join(words)

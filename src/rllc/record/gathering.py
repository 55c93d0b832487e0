"""Joining the parts of a dataset by their labels."""

import json
from collections.abc import Sequence

import numpy as np
import xarray as xr

from rllc.verdicts import MISSING
from rllc.vocabulary import STATUS

ORDER = (
    "seed",
    "step",
    "component",
    "head",
    "later_head",
    "distribution",
    "chain",
    "draw",
    "position",
    "method",
)
# Flags stay integers: what a cell holds that no part has.
ABSENT = {"status": np.int8(STATUS.index("missing")), "verdict": np.int16(MISSING)}


def gather(parts: Sequence[xr.Dataset], *, labels: dict[str, str]) -> xr.Dataset:
    """All parts as one dataset: steps ascending, distributions in the order of ``labels``.

    Each part has one seed and, where the measure has distributions, one distribution. Cells that no part
    has are NaN (``status`` and ``verdict`` missing). ``labels`` gives the coordinate ``distribution_label``.
    """
    keys = [name for name in ("component", "distribution", "seed") if name in parts[0].dims]
    joined = _join(list(parts), keys)
    joined = joined.sortby("step")
    if "distribution" in joined.dims:
        order = [name for name in labels if name in joined["distribution"].values]
        joined = joined.sel(distribution=order)
        joined = joined.assign_coords(distribution_label=("distribution", [labels[name] for name in order]))
    for name, absent in ABSENT.items():
        if name in joined:
            flags = joined[name].fillna(absent).astype(absent.dtype)
            joined[name] = flags.assign_attrs(parts[0][name].attrs)
    dims = [name for name in ORDER if name in joined.dims]
    dims += [str(name) for name in joined.dims if name not in dims]
    return joined.transpose(*dims).assign_attrs(_attributes(parts))


def _attributes(parts: Sequence[xr.Dataset]) -> dict[str, str]:
    """What all parts say alike, and the inputs of each distribution (equal for all seeds and chunks)."""
    attributes = {name: str(value) for name, value in parts[0].attrs.items()}
    if "inputs" in attributes:
        attributes["inputs"] = json.dumps(
            {
                str(part["distribution"].item()) if "distribution" in part.dims else "all": json.loads(
                    part.attrs["inputs"]
                )
                for part in parts
            },
            sort_keys=True,
        )
    return attributes


def traces_of(part: xr.Dataset) -> xr.Dataset:
    """The traces of a part, heads and the whole model both as components."""
    traces = part[[name for name in part.data_vars if str(name).startswith("trace_")]]
    traces = traces.rename({str(name): str(name).removeprefix("trace_") for name in traces.data_vars})
    if "head" in traces.dims:
        return traces.rename(head="component").drop_vars(["layer", "head_index"])
    if "component" not in traces.dims:
        return traces.expand_dims(component=np.asarray(["full"], dtype=object))
    return traces


def _join(parts: list[xr.Dataset], keys: list[str]) -> xr.Dataset:
    """Concatenate along ``step`` what agrees in all keys, then along each key in turn."""
    if not keys:
        return xr.concat(parts, "step", data_vars="all", coords="minimal", compat="override", join="outer")
    key, *rest = keys
    groups: dict[object, list[xr.Dataset]] = {}
    for part in parts:
        groups.setdefault(tuple(part[key].values.tolist()), []).append(part)
    joined = [_join(group, rest) for group in groups.values()]
    if len(joined) == 1:
        return joined[0]
    return xr.concat(joined, key, data_vars="all", coords="minimal", compat="override", join="outer")

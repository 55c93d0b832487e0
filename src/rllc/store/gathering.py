"""Join the parts of a dataset by their labels."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from rllc.quality import MISSING, QUALITY_DTYPE
from rllc.vocabulary import FREEDOM, PRECISE_AT, PRECISE_FREEDOM, STATUS

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
# Value of a flag in a cell that no part has. Flags stay integers.
ABSENT = {"status": np.int8(STATUS.index("missing")), "quality": QUALITY_DTYPE(MISSING)}


# Attributes in which parts of one measure may differ: with device `auto`, a GPU may have made some of them.
MAY_DIFFER = ("compute", "versions")
OF_TRACES = (*MAY_DIFFER, "sampling", "code")  # their parts come from several measures


def gather(
    parts: Sequence[xr.Dataset], *, labels: dict[str, str], may_differ: Collection[str] = MAY_DIFFER
) -> xr.Dataset:
    """Return all parts as one dataset: steps ascending, distributions in the order of ``labels``.

    Each part has one seed and, if the measure has distributions, one distribution. Cells that no part has are
    NaN (``status`` and ``quality`` missing). ``labels`` gives the coordinate ``distribution_label``.

    may_differ  attributes that may differ between parts; they become a list of all values

    Raises ValueError if parts differ in another attribute: they come from different measurements. ``inputs``
    may differ between distributions.
    """
    keys = [name for name in ("component", "distribution", "seed") if name in parts[0].dims]
    joined = _join(list(parts), keys)
    joined = joined.sortby("step")
    if "distribution" in joined.dims:
        order = [name for name in labels if name in joined["distribution"].values]
        joined = joined.sel(distribution=order)
        joined = joined.assign_coords(distribution_label=("distribution", [labels[name] for name in order]))
    for name in ABSENT:
        if name in joined:
            joined[name] = _flags(joined[name], name, parts[0])
    dims = [name for name in ORDER if name in joined.dims]
    dims += [str(name) for name in joined.dims if name not in dims]
    return joined.transpose(*dims).assign_attrs(_attributes(parts, may_differ))


def described(dataset: xr.Dataset, variables: Mapping[str, Sequence[Any]]) -> xr.Dataset:
    """Return the dataset with long names and units.

    variables  name -> (long name, unit, dims, optional); a variable without a long name is described already

    Raises ValueError if the dataset has other variables or dims than declared (none declared: no check).
    """
    for name, (long_name, unit, dims, optional) in variables.items():
        if name not in dataset:
            if optional:
                continue
            raise ValueError(
                f"no part holds '{name}', which the measure's specification (rllc.measures.<name>.spec) "
                "declares: take it out there, or say when it is optional"
            )
        own = {str(dim) for dim in dataset[name].dims} - {"seed", "step", "distribution"}
        if own != set(dims):
            raise ValueError(
                f"'{name}' has the dims {sorted(own)}; the measure's specification declares {list(dims)}"
            )
        if long_name:
            dataset[name].attrs.pop("comment", None)
            dataset[name].attrs.update(long_name=long_name, units=unit)
    unknown = [str(name) for name in dataset.data_vars if name not in variables]
    if variables and unknown:
        raise ValueError(
            "the measure's specification (rllc.measures.<name>.spec) does not declare "
            f"{', '.join(unknown)}: add what the kernel returns to its variables (no measure runs again for "
            "that)"
        )
    return dataset


def with_freedom(
    dataset: xr.Dataset,
    freedom: Mapping[str, int],
    precise: Mapping[str, int] | None = None,
    precise_at: Sequence[int] = (),
) -> xr.Dataset:
    """Return the dataset whose standard errors have their degrees of freedom as an attribute.

    freedom     name of an error -> its degrees of freedom; errors that the dataset lacks are passed over
    precise     name of an error -> its degrees of freedom at the steps ``precise_at``, if there are more
    """
    for name, number in freedom.items():
        if name in dataset:
            dataset[name].attrs[FREEDOM] = number
    for name, number in (precise or {}).items():
        if name in dataset and precise_at:
            dataset[name].attrs |= {PRECISE_FREEDOM: number, PRECISE_AT: list(precise_at)}
    return dataset


def whole_grid(dataset: xr.Dataset, coords: dict[str, list[Any]], labels: dict[str, str]) -> xr.Dataset:
    """Return a partial dataset on the labels of the whole one. Missing cells are NaN, with status missing.

    The attribute ``unfinished`` says how many cells (of seed, step and distribution) exist. A complete
    dataset does not get it.
    """
    dims = {name: values for name, values in coords.items() if name in dataset.dims}
    # A cell exists if any variable has a number there. For a component that a seed lacks, only variables
    # without a component, such as the loss at the centre, have one.
    numbers = [v for v in dataset.data_vars.values() if v.dtype.kind == "f" and set(dims) <= set(v.dims)]
    known = [v.notnull().any([d for d in v.dims if d not in dims]).transpose(*dims).values for v in numbers]
    there = int(np.any(known, 0).sum()) if known else 0
    filled = dataset.reindex(dims)
    for name, variable in dataset.data_vars.items():
        if variable.dtype.kind == "O":
            filled[name] = filled[name].fillna("").astype(object)
    for name in ABSENT:
        if name in filled:
            filled[name] = _flags(filled[name], name, dataset)
    if "distribution" in dims:
        named = [labels[name] for name in dims["distribution"]]
        filled = filled.assign_coords(distribution_label=("distribution", named))
    cells = int(np.prod([len(values) for values in dims.values()]))
    if there == cells:
        return filled
    return filled.assign_attrs(unfinished=f"{there} of {cells} cells of {', '.join(dims)}")


def _flags(variable: xr.DataArray, name: str, source: xr.Dataset) -> xr.DataArray:
    """Return flags as integers with their meanings; empty cells become ``missing``."""
    absent = ABSENT[name]
    return variable.fillna(absent).astype(absent.dtype).assign_attrs(source[name].attrs)


def _attributes(parts: Sequence[xr.Dataset], may_differ: Collection[str]) -> dict[str, str]:
    """Return the attributes that parts share, lists of those that may differ, and inputs by distribution."""
    # attribute -> value -> the parts that have it; ``inputs`` has one key per distribution
    said: dict[str, dict[str, list[str]]] = {}
    for part in parts:
        where = {name: str(part[name].item()) for name in ("distribution", "seed") if name in part.dims}
        at = f"{' '.join(f'{name} {value}' for name, value in where.items())} from {part['step'].values[0]}"
        for name, value in part.attrs.items():
            key = f"inputs of {where.get('distribution', 'all')}" if name == "inputs" else str(name)
            said.setdefault(key, {}).setdefault(str(value), []).append(at)
    for name, values in said.items():
        if len(values) > 1 and name not in may_differ:
            (one, *_), (other, *_), *_ = values.values()
            raise ValueError(
                f"the parts of {one} and of {other} differ in '{name}', so they do not come from one "
                "measurement: move away the parts that were not made with the present config and code, and "
                "run again"
            )
    # ``*said[name]``: its one value
    inputs = {name.removeprefix("inputs of "): json.loads(*said[name]) for name in said if " of " in name}
    rest = {name: _listed(list(values)) for name, values in said.items() if " of " not in name}
    return rest | ({"inputs": json.dumps(inputs, sort_keys=True)} if inputs else {})


def _listed(values: list[str]) -> str:
    """Return one value as it is, several as a JSON list."""
    if len(values) == 1:
        return values[0]
    return json.dumps([json.loads(value) if value.startswith("{") else value for value in values])


def without_traces(part: xr.Dataset) -> xr.Dataset:
    """Return a part without the losses of every draw, which ``traces.nc`` holds."""
    return part.drop_vars([name for name in part.data_vars if str(name).startswith("trace_")])


def traces_of(part: xr.Dataset) -> xr.Dataset:
    """Return the traces of a part. Heads and the whole model are both components."""
    traces = part[[name for name in part.data_vars if str(name).startswith("trace_")]]
    traces = traces.rename({str(name): str(name).removeprefix("trace_") for name in traces.data_vars})
    if "head" in traces.dims:
        return traces.rename(head="component").drop_vars(["layer", "head_index"])
    if "component" not in traces.dims:
        return traces.expand_dims(component=np.asarray(["full"], dtype=object))
    return traces


def _join(parts: list[xr.Dataset], keys: list[str]) -> xr.Dataset:
    """Concatenate parts with equal keys along ``step``, then the results along each key in turn."""
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

"""What a statistic is read off: a variable of one seed as a curve, of all heads where it is of several."""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from rllc.analysis.columns import CONTROL, NEEDS, STANDARD_ERROR
from rllc.analysis.curves import Curve
from rllc.verdicts import sound

Entry = Mapping[str, Any]
Datasets = Mapping[str, xr.Dataset]


class Absent(ValueError):
    """An experiment has no such curve."""


class Reading(NamedTuple):
    """A variable of one seed at all its checkpoints, ascending: values [step] or [step, head].

    of      which variable
    needs   without what it has no value, in words; "": not known
    heads   labels of the heads; None: it is of none, or of one
    stream  number of the random stream by which it is drawn anew, one for a variable at its labels
    seeded  whether the estimates of all steps share their noise
    """

    curve: Curve
    heads: tuple[str, ...] | None
    stream: int
    seeded: bool
    of: str = ""
    needs: str = ""

    def normals(self, count: int, *, shared: bool) -> np.ndarray:
        """Standard normal numbers [count, step(, head)]; ``shared``: the same at all steps."""
        shape = self.curve.value.shape
        return np.random.default_rng(self.stream).normal(size=(count, 1 if shared else shape[0], *shape[1:]))


def read(
    of: str,
    at: Mapping[str, Any],
    datasets: Datasets,
    *,
    several: bool,
    over_seeds: bool = False,
    control: bool = False,
) -> dict[int, Reading]:
    """A variable ("rllc.rllc": dataset and name) at labels, by seed. Raises Absent.

    several     all heads; else the variable is of none, or ``at`` says of which
    over_seeds  its spread between seeds instead, the same for all of them
    control     of its control instead, where it has one
    """
    dataset = of.rpartition(".")[0]
    if control and has_control(of, datasets):
        of = of + CONTROL
    value = _table(of, at, datasets, several)
    error, fault = _errors(of, at, datasets, several), _faults(of, at, datasets, several)
    if over_seeds:
        value, error, fault = _over_seeds(value, error, fault)
    heads = tuple(map(str, value["head"].values)) if "head" in value.dims else None
    readings = {}
    for row, seed in enumerate(value["seed"].values.tolist()):
        arrays = (None if table is None else table.values[row] for table in (value, error, fault))
        name = f"{of} {sorted(at.items())} {seed}"
        curve = Curve(value["step"].values, *arrays)
        stream, needs = zlib.crc32(name.encode()), str(value.attrs.get(NEEDS, ""))
        readings[seed] = Reading(curve, heads, stream, _seeded(datasets[dataset]), of, needs)
    return readings


def has_control(of: str, datasets: Datasets) -> bool:
    """Whether a variable has a control."""
    dataset, _, variable = of.rpartition(".")
    return dataset in datasets and variable + CONTROL in datasets[dataset]


def head_types(datasets: Datasets) -> xr.DataArray:
    """Types of heads (seed, head). Raises Absent."""
    if "heads" not in datasets or "head_type" not in datasets["heads"]:
        raise Absent("the experiment has no heads.head_type, by which heads are chosen")
    return datasets["heads"]["head_type"]


def layer_of(head: str) -> int:
    """Of "1:6" 1."""
    return int(head.partition(":")[0])


def is_one_of(head: str, kind: str, types: Sequence[str]) -> bool:
    """Whether a head of this type is among types such as "induction" or, in layer 0 alone, "0:multigram"."""
    return kind in types or f"{layer_of(head)}:{kind}" in types


def in_words(types: Sequence[str]) -> str:
    """Such types: "induction or layer-0 multigram"."""
    return " or ".join(f"layer-{kind.replace(':', ' ')}" if ":" in kind else kind for kind in types)


def _table(of: str, at: Mapping[str, Any], datasets: Datasets, several: bool) -> xr.DataArray:
    """(seed, step) or (seed, step, head)."""
    dataset, _, variable = of.rpartition(".")
    if dataset not in datasets or variable not in datasets[dataset]:
        raise Absent(f"the experiment has no {of}")
    values = datasets[dataset][variable]
    for dim, label in at.items():
        if dim not in values.dims or label not in values[dim].values:
            raise Absent(f"{of} has no {dim} {label!r}")
        values = values.sel({dim: label})
    heads = ["head"] if several and "head" in values.dims else []
    others = [dim for dim in values.dims if dim not in ("seed", "step", *heads)]
    values = values.squeeze([dim for dim in others if values.sizes[dim] == 1])
    if set(values.dims) != {"seed", "step", *heads}:
        more = ", ".join(str(dim) for dim in others if dim in values.dims)
        raise Absent(
            f"{of} has more than one {more or 'value'}: say which in 'at', or 'over_heads' or 'of_heads'"
        )
    return values.sortby("step").transpose("seed", "step", *heads).astype(float)


def _errors(of: str, at: Mapping[str, Any], datasets: Datasets, several: bool) -> xr.DataArray | None:
    """Standard errors of a variable, shaped as it is; none where there are none."""
    try:
        return _table(f"{of}{STANDARD_ERROR}", at, datasets, several)
    except Absent:
        return None


def _faults(of: str, at: Mapping[str, Any], datasets: Datasets, several: bool) -> xr.DataArray | None:
    """1 where an estimate has a fault, else 0, shaped as it is; none where the dataset has no verdicts."""
    dataset, _, variable = of.rpartition(".")
    data = datasets[dataset]
    if "verdict" not in data or set(data["verdict"].dims) - set(data[variable].dims):
        return None
    faults = (~sound(data)).astype(float).where(np.isfinite(data[variable]))
    return _table(of, at, {dataset: data.assign({variable: faults})}, several)


def _over_seeds(
    values: xr.DataArray, errors: xr.DataArray | None, faults: xr.DataArray | None
) -> list[xr.DataArray | None]:
    """Standard deviations (ddof 1) over the seeds that have a value, the same for each of these.

    Their errors to first order, sqrt(sum ((v - mean) e)^2) / ((n - 1) sd): that the noise of n values makes
    their spread larger is in none of them. A fault of one seed is a fault.
    """
    count = values.count("seed")
    spread = values.std("seed", ddof=1).where(count > 1)
    found: list[xr.DataArray | None] = [spread]
    if errors is not None:
        apart = ((values - values.mean("seed")) * errors).where(values.notnull(), 0.0)
        errors = np.sqrt((apart**2).sum("seed", skipna=False)) / ((count - 1) * spread)
    found.append(errors)
    found.append(None if faults is None else faults.max("seed"))
    return [None if each is None else each.where(values.notnull()).transpose(*values.dims) for each in found]


def _seeded(data: xr.Dataset) -> bool:
    return bool(json.loads(data.attrs.get("sampling", "{}")).get("seeded"))

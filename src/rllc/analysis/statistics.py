"""Named statistics of an experiment: one number per seed from the curve of a variable over training.

An entry says which curve and what is read off it, in this order: the variable (``of``, at the labels ``at``,
over heads as ``over_heads`` says), its finite checkpoints from ``from_step`` to ``to_step``, a running mean
over ``window`` of them, and one of the functions of ``rllc.analysis.curves``. Where the curve has standard
errors, the statistic has one: its spread when every checkpoint is drawn anew.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.columns import PER_EXPERIMENT, STANDARD_ERROR, UNTRUSTED
from rllc.analysis.curves import NAN, OPTIONS, STATISTICS, Curve, smooth
from rllc.verdicts import sound

REDRAWS = 1000  # of a curve, for the standard error of what is read off it: 2 % of error
Entry = Mapping[str, Any]
Datasets = Mapping[str, xr.Dataset]


class Absent(ValueError):
    """An experiment has no such curve."""


def summarise(statistics: Mapping[str, Entry], datasets: Datasets) -> xr.Dataset:
    """Every statistic that the experiment has, per seed, and its last step.

    statistics  name -> ``of`` ("llc.llc": dataset and variable), ``statistic``, ``label``, ``unit``, and
                where wanted ``at`` (dim -> label; a dim with one label needs none), ``over_heads``,
                ``from_step``, ``to_step``, ``window`` and the options of the function (``against``: as
                ``of``)
    datasets    name -> dataset with dims seed and step

    Returns a variable per statistic (seed) and ``last_step`` (seed), NaN where nothing is measured; where the
    curve's dataset has verdicts, ``<statistic>_untrusted`` (seed), the share of its estimates with a fault.
    Where it has standard errors of the variable (``llc_se`` of ``llc``; not over heads, nor where all steps
    share their noise), ``<statistic>_se`` (seed): the standard deviation of the statistic over curves whose
    checkpoints are normal about the estimates, NaN where an error is not known or such a curve has no value.
    The errors are taken as independent. Checkpoints share their minibatches, though, and what these do to
    all of them cancels in a fall, whose error is rather too large. A statistic whose curve the experiment has
    not is left out: why stands in the attribute ``absent.<statistic>``. Curves against each other are taken
    over seeds that both have.
    """
    columns, reasons = {}, {}
    ends: dict[int, list[float]] = {
        int(seed): [] for data in datasets.values() for seed in data["seed"].values
    }
    for name, entry in statistics.items():
        sources = [of for of in (entry["of"], entry.get("against")) if of]
        try:
            curves = [_curves(of, entry, datasets) for of in sources]
        except Absent as error:
            reasons[f"absent.{name}"] = str(error)
            continue
        rows = {seed: [each[seed] for each in curves] for seed in sorted(set.intersection(*map(set, curves)))}
        label, unit = entry["label"], entry["unit"]
        columns[name] = _column({seed: _value(entry, row) for seed, row in rows.items()}, label, unit)
        if entry.get("window", 1) > 1:
            columns[name].attrs["window"] = entry["window"]
        every = [curve for each in curves for curve in each.values()]
        if any(curve.error is not None for curve in every):
            spreads = {seed: _spread(entry, row) for seed, row in rows.items()}
            columns[name + STANDARD_ERROR] = _column(spreads, f"standard error of: {label}", unit)
        if any(curve.fault is not None and curve.fault.size for curve in every):
            shares = {
                seed: max((c.fault.mean() for c in row if c.fault is not None and c.fault.size), default=NAN)
                for seed, row in rows.items()
            }
            words = f"share of its estimates that cannot be trusted: {label}"
            columns[name + UNTRUSTED] = _column(shares, words, "1")
        for seed, curve in curves[0].items():
            ends[seed] += curve.step[-1:].tolist()
    last = {seed: float(max(ends[seed], default=NAN)) for seed in sorted(ends)}
    columns["last_step"] = _column(last, *PER_EXPERIMENT["last_step"])
    table = xr.Dataset({name: values.reindex(seed=list(last)) for name, values in columns.items()})
    return table.assign_attrs(reasons)


def _column(values: Mapping[int, float], label: str, unit: str) -> xr.DataArray:
    attributes = {"long_name": label, "units": unit}
    return xr.DataArray(list(values.values()), {"seed": list(values)}, ["seed"], attrs=attributes)


def _table(of: str, entry: Entry, datasets: Datasets) -> xr.DataArray:
    """A variable (seed, step), its steps ascending. Raises Absent."""
    dataset, _, variable = of.rpartition(".")
    if dataset not in datasets or variable not in datasets[dataset]:
        raise Absent(f"the experiment has no {of}")
    values = datasets[dataset][variable]
    for dim, label in entry.get("at", {}).items():
        if dim not in values.dims or label not in values[dim].values:
            raise Absent(f"{of} has no {dim} {label!r}")
        values = values.sel({dim: label})
    if "head" in values.dims and entry.get("over_heads"):
        values = getattr(values, entry["over_heads"])("head")  # max, min or mean
    others = [dim for dim in values.dims if dim not in ("seed", "step")]
    values = values.squeeze([dim for dim in others if values.sizes[dim] == 1])
    if set(values.dims) != {"seed", "step"}:
        more = ", ".join(str(dim) for dim in others if dim in values.dims)
        raise Absent(f"{of} has more than one {more or 'value'}: say which in 'at', or 'over_heads'")
    return values.sortby("step").transpose("seed", "step").astype(float)


def _curves(of: str, entry: Entry, datasets: Datasets) -> dict[int, Curve]:
    """The finite checkpoints of every seed from ``from_step`` to ``to_step``. Raises Absent."""
    tables = [read(of, entry, datasets) for read in (_table, _errors, _faults)]
    step, late = tables[0]["step"].values, entry.get("to_step")
    within = (step >= entry.get("from_step", 0)) & (step <= (np.inf if late is None else late))
    curves = {}
    for row, seed in enumerate(tables[0]["seed"].values.tolist()):
        values, *others = (None if table is None else table.values[row] for table in tables)
        inside = within & np.isfinite(values)
        curves[seed] = Curve(*(None if v is None else v[inside] for v in (step, values, *others)))
    return curves


def _errors(of: str, entry: Entry, datasets: Datasets) -> xr.DataArray | None:
    """Standard errors of a variable (seed, step); none where there are none or all steps share one."""
    sampling = json.loads(datasets[of.rpartition(".")[0]].attrs.get("sampling", "{}"))
    if entry.get("over_heads") or sampling.get("seeded"):
        return None
    try:
        return _table(f"{of}_se", entry, datasets)
    except Absent:
        return None


def _faults(of: str, entry: Entry, datasets: Datasets) -> xr.DataArray | None:
    """1 where an estimate has a fault, else 0 (seed, step); none where the dataset has no verdicts."""
    dataset, _, variable = of.rpartition(".")
    data = datasets[dataset]
    if "verdict" not in data or set(data["verdict"].dims) - set(data[variable].dims):
        return None
    faults = (~sound(data)).astype(float).where(np.isfinite(data[variable]))
    return _table(of, entry, {dataset: data.assign({variable: faults})})


def _spread(entry: Entry, curves: Sequence[Curve]) -> float:
    """Standard deviation of the statistic over curves with normal errors.

    NaN where one of these is not known, or one of the curves has no value.
    """
    if any(curve.error is not None and not np.isfinite(curve.error).all() for curve in curves):
        return NAN
    random = np.random.default_rng(0)

    def redrawn(curve: Curve) -> Curve:
        return curve if curve.error is None else curve._replace(value=random.normal(curve.value, curve.error))

    return float(np.std([_value(entry, [redrawn(c) for c in curves]) for _ in range(REDRAWS)], ddof=1))


def _value(entry: Entry, curves: Sequence[Curve]) -> float:
    """The statistic of one seed; NaN where fewer checkpoints are measured than the window has.

    The first curve is that of ``of``, the second, where there is one, that of ``against``.
    """
    window = entry.get("window", 1)
    if any(curve.step.size < window for curve in curves):
        return NAN
    curve, *against = (smooth(curve, window) for curve in curves)
    options = {key: against[0] if key == "against" else entry[key] for key in OPTIONS[entry["statistic"]]}
    return STATISTICS[entry["statistic"]](curve, **options)

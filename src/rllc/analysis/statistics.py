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
from rllc.vocabulary import describe

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
    all of them cancels in a fall, whose error is rather too large. It holds nothing of the bias of a maximum
    (``rllc.analysis.curves``). A statistic whose curve the experiment has not is left out: why stands in the
    attribute ``absent.<statistic>``. A ``window`` above 1 is in an attribute of the statistic. Curves
    against each other are taken over seeds that both have.
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
        seeds = sorted(set.intersection(*map(set, curves)))
        label, unit = entry["label"], entry["unit"]
        values = [_value(entry, [each[seed] for each in curves]) for seed in seeds]
        columns[name] = _column(seeds, values, label, unit)
        if entry.get("window", 1) > 1:
            columns[name].attrs["window"] = entry["window"]
        errors = [_errors(of, entry, datasets, each) for of, each in zip(sources, curves, strict=True)]
        if any(errors):
            spreads = [
                _spread(entry, [each[seed] for each in curves], [each.get(seed) for each in errors])
                for seed in seeds
            ]
            columns[name + STANDARD_ERROR] = _column(seeds, spreads, f"standard error of: {label}", unit)
        doubts = [_untrusted(of, entry, datasets) for of in sources]
        if any(doubts):
            shares = [max((each[seed] for each in doubts if seed in each), default=NAN) for seed in seeds]
            words = f"share of its estimates that cannot be trusted: {label}"
            columns[name + UNTRUSTED] = _column(seeds, shares, words, "1")
        for seed, curve in curves[0].items():
            ends[seed] += curve.step[-1:].tolist()
    seeds = sorted(ends)
    columns["last_step"] = xr.DataArray(
        [float(max(ends[seed], default=NAN)) for seed in seeds], {"seed": seeds}, ["seed"]
    )
    table = xr.Dataset({name: values.reindex(seed=seeds) for name, values in columns.items()})
    return describe(table, PER_EXPERIMENT).assign_attrs(reasons)


def _column(seeds: Sequence[int], values: Sequence[float], label: str, unit: str) -> xr.DataArray:
    return xr.DataArray(values, {"seed": seeds}, ["seed"], attrs={"long_name": label, "units": unit})


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
    values = values.squeeze([d for d in values.dims if d not in ("seed", "step") and values.sizes[d] == 1])
    if set(values.dims) != {"seed", "step"}:
        more = ", ".join(str(d) for d in values.dims if d not in ("seed", "step"))
        raise Absent(f"{of} has more than one {more or 'value'}: say which in 'at', or 'over_heads'")
    return values.sortby("step").transpose("seed", "step").astype(float)


def _curves(of: str, entry: Entry, datasets: Datasets) -> dict[int, Curve]:
    """The finite checkpoints of every seed from ``from_step`` to ``to_step``. Raises Absent."""
    values = _table(of, entry, datasets)
    step = values["step"].values
    late = np.inf if entry.get("to_step") is None else entry["to_step"]
    inside = np.isfinite(values.values) & (step >= entry.get("from_step", 0)) & (step <= late)
    rows = zip(values["seed"].values.tolist(), values.values, inside, strict=True)
    return {int(seed): Curve(step[which], row[which]) for seed, row, which in rows}


def _untrusted(of: str, entry: Entry, datasets: Datasets) -> dict[int, float]:
    """Per seed the share of a curve's estimates with a fault; empty where the dataset has no verdicts."""
    dataset, _, variable = of.rpartition(".")
    data = datasets[dataset]
    if "verdict" not in data or set(data["verdict"].dims) - set(data[variable].dims):
        return {}
    faults = (~sound(data)).astype(float).where(np.isfinite(data[variable]))
    curves = _curves(of, entry, {dataset: data.assign({variable: faults})})
    return {seed: float(curve.value.mean()) for seed, curve in curves.items() if curve.step.size}


def _errors(of: str, entry: Entry, datasets: Datasets, curves: Mapping[int, Curve]) -> dict[int, Curve]:
    """Per seed the standard errors at a curve's checkpoints; none where there are none or all share one."""
    sampling = json.loads(datasets[of.rpartition(".")[0]].attrs.get("sampling", "{}"))
    if entry.get("over_heads") or sampling.get("seeded"):
        return {}
    try:
        errors = _table(f"{of}_se", entry, datasets)
    except Absent:
        return {}
    return {
        seed: Curve(curve.step, errors.sel(seed=seed, step=curve.step).values)
        for seed, curve in curves.items()
    }


def _spread(entry: Entry, curves: Sequence[Curve], errors: Sequence[Curve | None]) -> float:
    """Standard deviation of the statistic over curves with normal errors, each of them beside its own.

    NaN where one of these is not known, or one of the curves has no value.
    """
    if any(not np.isfinite(error.value).all() for error in errors if error is not None):
        return NAN
    random = np.random.default_rng(0)

    def redrawn(curve: Curve, error: Curve | None) -> Curve:
        return curve if error is None else Curve(curve.step, random.normal(curve.value, error.value))

    values = [
        _value(entry, [redrawn(*pair) for pair in zip(curves, errors, strict=True)]) for _ in range(REDRAWS)
    ]
    return float(np.std(values, ddof=1))


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

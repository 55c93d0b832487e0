"""Named statistics of an experiment: one number per seed from the curve of a variable over training.

An entry says which curve and what is read off it, in this order: the variable (``of``, at the labels ``at``,
over heads as ``over_heads`` says), its finite checkpoints from ``from_step`` to ``to_step``, a running mean
over ``window`` of them, and one of the functions of ``rllc.analysis.curves``. Where the curve has standard
errors, the statistic has one: its spread when every checkpoint is drawn anew.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.curves import NAN, STATISTICS, Curve, smooth
from rllc.verdicts import sound
from rllc.vocabulary import describe

VARIABLES = {"last_step": ("last checkpoint at which any of the statistics is measured", "steps")}
REDRAWS = 1000  # of a curve, for the standard error of what is read off it: 2 % of error
OVER_HEADS = {"max": xr.DataArray.max, "min": xr.DataArray.min, "mean": xr.DataArray.mean}


class Absent(ValueError):
    """An experiment has no such curve."""


def summarise(statistics: Mapping[str, Mapping[str, Any]], datasets: Mapping[str, xr.Dataset]) -> xr.Dataset:
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
    found, reasons, ends = {}, {}, []
    for name, entry in statistics.items():
        try:
            curves = _curves(entry["of"], entry, datasets)
            other = _curves(entry["against"], entry, datasets) if entry.get("against") else None
        except Absent as error:
            reasons[f"absent.{name}"] = str(error)
            continue
        seeds = sorted(curves if other is None else set(curves) & set(other))
        values = [_value(entry, curves[seed], None if other is None else other[seed]) for seed in seeds]
        found[name] = xr.DataArray(values, {"seed": seeds}, ["seed"])
        found[name].attrs.update(long_name=entry["label"], units=entry["unit"])
        errors = _errors(entry["of"], entry, datasets, curves)
        against = {} if other is None else _errors(entry["against"], entry, datasets, other)
        if errors or against:
            spreads = [
                _spread(
                    entry, *((c[seed], e.get(seed)) for c, e in ((curves, errors), (other, against)) if c)
                )
                for seed in seeds
            ]
            found[f"{name}_se"] = xr.DataArray(spreads, {"seed": seeds}, ["seed"])
            found[f"{name}_se"].attrs.update(
                long_name=f"standard error of: {entry['label']}", units=entry["unit"]
            )
        doubts = [_untrusted(of, entry, datasets) for of in (entry["of"], entry.get("against")) if of]
        if any(doubts):
            shares = [max((each[seed] for each in doubts if seed in each), default=NAN) for seed in seeds]
            found[f"{name}_untrusted"] = xr.DataArray(shares, {"seed": seeds}, ["seed"])
            what = f"share of its estimates that cannot be trusted: {entry['label']}"
            found[f"{name}_untrusted"].attrs.update(long_name=what, units="1")
        if entry.get("window", 1) > 1:
            found[name].attrs["window"] = entry["window"]
        ends.append({seed: curve.step[-1] for seed, curve in curves.items() if curve.step.size})
    seeds = sorted({int(s) for dataset in datasets.values() for s in dataset["seed"].values})
    furthest = [max((end[seed] for end in ends if seed in end), default=NAN) for seed in seeds]
    found["last_step"] = xr.DataArray(np.asarray(furthest, dtype=float), {"seed": seeds}, ["seed"])
    joined = xr.Dataset({name: values.reindex(seed=seeds) for name, values in found.items()})
    return describe(joined, VARIABLES).assign_attrs(reasons)


def _table(of: str, entry: Mapping[str, Any], datasets: Mapping[str, xr.Dataset]) -> xr.DataArray:
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
        values = OVER_HEADS[entry["over_heads"]](values, "head")
    values = values.squeeze([d for d in values.dims if d not in ("seed", "step") and values.sizes[d] == 1])
    if set(values.dims) != {"seed", "step"}:
        more = ", ".join(str(d) for d in values.dims if d not in ("seed", "step"))
        raise Absent(f"{of} has more than one {more or 'value'}: say which in 'at', or 'over_heads'")
    return values.sortby("step").transpose("seed", "step").astype(float)


def _curves(of: str, entry: Mapping[str, Any], datasets: Mapping[str, xr.Dataset]) -> dict[int, Curve]:
    """The finite checkpoints of every seed from ``from_step`` to ``to_step``. Raises Absent."""
    values = _table(of, entry, datasets)
    step = values["step"].values
    late = np.inf if entry.get("to_step") is None else entry["to_step"]
    kept = np.isfinite(values.values) & (step >= entry.get("from_step", 0)) & (step <= late)
    rows = zip(values["seed"].values.tolist(), values.values, kept, strict=True)
    return {int(seed): Curve(step[which], row[which]) for seed, row, which in rows}


def _untrusted(of: str, entry: Mapping[str, Any], datasets: Mapping[str, xr.Dataset]) -> dict[int, float]:
    """Per seed the share of a curve's estimates with a fault; empty where the dataset has no verdicts."""
    dataset, _, variable = of.rpartition(".")
    held = datasets[dataset]
    if "verdict" not in held or set(held["verdict"].dims) - set(held[variable].dims):
        return {}
    marked = held.assign({variable: (~sound(held)).astype(float).where(np.isfinite(held[variable]))})
    curves = _curves(of, entry, {dataset: marked})
    return {seed: float(curve.value.mean()) for seed, curve in curves.items() if curve.step.size}


def _errors(
    of: str, entry: Mapping[str, Any], datasets: Mapping[str, xr.Dataset], curves: Mapping[int, Curve]
) -> dict[int, Curve]:
    """Per seed the standard errors at a curve's checkpoints; none where there are none or all share one."""
    sampling = json.loads(datasets[of.rpartition(".")[0]].attrs.get("sampling", "{}"))
    try:
        errors = None if entry.get("over_heads") else _table(f"{of}_se", entry, datasets)
    except Absent:
        errors = None
    if errors is None or sampling.get("seeded"):
        return {}
    return {
        seed: Curve(curve.step, errors.sel(seed=seed, step=curve.step).values)
        for seed, curve in curves.items()
    }


def _spread(entry: Mapping[str, Any], *known: tuple[Curve, Curve | None]) -> float:
    """Standard deviation of the statistic over curves with normal errors, each of them beside its own.

    NaN where one of these is not known, or one of the curves has no value.
    """
    if any(not np.isfinite(error.value).all() for _, error in known if error is not None):
        return NAN
    random = np.random.default_rng(0)

    def redrawn(curve: Curve, error: Curve | None) -> Curve:
        return curve if error is None else Curve(curve.step, random.normal(curve.value, error.value))

    return float(np.std([_value(entry, *(redrawn(*pair) for pair in known)) for _ in range(REDRAWS)], ddof=1))


def _value(entry: Mapping[str, Any], curve: Curve, against: Curve | None = None) -> float:
    """The statistic of one seed; NaN where fewer checkpoints are measured than the window has."""
    window = entry.get("window", 1)
    if any(c.step.size < window for c in (curve, against) if c is not None):
        return NAN
    options = {key: entry[key] for key in ("step", "threshold") if entry.get(key) is not None}
    if against is not None:
        options["against"] = smooth(against, window)
    return STATISTICS[entry["statistic"]](smooth(curve, window), **options)

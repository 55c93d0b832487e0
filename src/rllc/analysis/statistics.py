"""Named statistics of an experiment: one number per seed from the curve of a variable over training.

An entry says which curve and what is read off it, in this order: the variable (``of``, at the labels ``at``,
of the heads of a ``layer``, over heads as ``over_heads`` says), its finite checkpoints from ``from_step`` to
``to_step``, with ``over_seeds`` the spread between seeds there, a running mean over ``window`` of them, one
of the functions of ``rllc.analysis.curves``, and of the numbers that it gives for each head the one that
``of_heads`` says. Where the curve has standard errors, the statistic has one: its spread when every
checkpoint of every head is drawn anew.
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
OVER = {"max": np.nanmax, "min": np.nanmin, "mean": np.nanmean}
Entry = Mapping[str, Any]
Datasets = Mapping[str, xr.Dataset]


class Absent(ValueError):
    """An experiment has no such curve."""


def summarise(statistics: Mapping[str, Entry], datasets: Datasets) -> xr.Dataset:
    """Every statistic that the experiment has, per seed, and its last step.

    statistics  name -> ``of`` ("llc.llc": dataset and variable), ``statistic``, ``label``, ``unit``, and
                where wanted ``at`` (dim -> label; a dim with one label needs none), ``layer``,
                ``over_heads`` or ``of_heads``, ``over_seeds``, ``from_step``, ``to_step``, ``window`` and the
                options of the function (``against``: as ``of``, at ``against_at`` if that is given, else at
                ``at``)
    datasets    name -> dataset with dims seed and step

    Returns a variable per statistic (seed) and ``last_step`` (seed), NaN where nothing is measured; where the
    curve's dataset has verdicts, ``<statistic>_untrusted`` (seed), the share of its estimates with a fault.
    Where it has standard errors of the variable (``llc_se`` of ``llc``), ``<statistic>_se`` (seed): the
    standard deviation of the statistic over curves whose checkpoints are normal about the estimates, NaN
    where an error is not known or such a curve has no value. The errors are taken as independent. Checkpoints
    share their minibatches, though, and what these do to all of them cancels in a fall, whose error is rather
    too large. Where all steps share their noise (``seeded``), the error is the larger of two: with errors
    that are independent, and with one that all steps share in units of its size. A statistic whose curve the
    experiment has not is left out: why stands in the attribute ``absent.<statistic>``. Curves against each
    other are taken over seeds that both have.
    """
    columns, reasons = {}, {}
    ends: dict[int, list[float]] = {
        int(seed): [] for data in datasets.values() for seed in data["seed"].values
    }
    for name, entry in statistics.items():
        other = entry if entry.get("against_at") is None else {**entry, "at": entry["against_at"]}
        both = [(of, at) for of, at in ((entry["of"], entry), (entry.get("against"), other)) if of]
        sources = [of for of, _ in both]
        try:
            curves = [_curves(of, at, datasets) for of, at in both]
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
            seeded = any(_seeded(of, datasets) for of in sources)
            spreads = {seed: _spread(entry, row, seeded=seeded) for seed, row in rows.items()}
            columns[name + STANDARD_ERROR] = _column(spreads, f"standard error of: {label}", unit)
        if any(curve.fault is not None and curve.fault.size for curve in every):
            shares = {
                seed: max(
                    (np.nanmean(c.fault) for c in row if c.fault is not None and c.fault.size), default=NAN
                )
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
    """A variable (seed, step) or, where a statistic is of several heads, (seed, step, head). Raises Absent.

    Steps ascend.
    """
    dataset, _, variable = of.rpartition(".")
    if dataset not in datasets or variable not in datasets[dataset]:
        raise Absent(f"the experiment has no {of}")
    values = datasets[dataset][variable]
    for dim, label in entry.get("at", {}).items():
        if dim not in values.dims or label not in values[dim].values:
            raise Absent(f"{of} has no {dim} {label!r}")
        values = values.sel({dim: label})
    if "head" in values.dims and entry.get("layer") is not None:
        layers = [int(str(label).partition(":")[0]) for label in values["head"].values]
        values = values.isel({"head": np.flatnonzero(np.equal(layers, entry["layer"]))})
        if not values.sizes["head"]:
            raise Absent(f"{of} has no head in layer {entry['layer']}")
    several = ["head"] if "head" in values.dims and _several(entry) else []
    others = [dim for dim in values.dims if dim not in ("seed", "step", *several)]
    values = values.squeeze([dim for dim in others if values.sizes[dim] == 1])
    if set(values.dims) != {"seed", "step", *several}:
        more = ", ".join(str(dim) for dim in others if dim in values.dims)
        raise Absent(
            f"{of} has more than one {more or 'value'}: say which in 'at', or 'over_heads' or 'of_heads'"
        )
    return values.sortby("step").transpose("seed", "step", *several).astype(float)


def _several(entry: Entry) -> bool:
    return bool(entry.get("over_heads") or entry.get("of_heads"))


def _curves(of: str, entry: Entry, datasets: Datasets) -> dict[int, Curve]:
    """The checkpoints of every seed from ``from_step`` to ``to_step`` that have a value. Raises Absent.

    Values, errors and faults are (step) or (step, head), then those at which any head has one.
    """
    tables = [read(of, entry, datasets) for read in (_table, _errors, _faults)]
    step, late = tables[0]["step"].values, entry.get("to_step")
    within = (step >= entry.get("from_step", 0)) & (step <= (np.inf if late is None else late))
    if entry.get("over_seeds"):
        tables = _over_seeds(*tables)
    curves = {}
    for row, seed in enumerate(tables[0]["seed"].values.tolist()):
        values, *others = (None if table is None else table.values[row] for table in tables)
        inside = within & np.isfinite(values).reshape(step.size, -1).any(-1)
        curves[seed] = Curve(*(None if v is None else v[inside] for v in (step, values, *others)))
    return curves


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


def _errors(of: str, entry: Entry, datasets: Datasets) -> xr.DataArray | None:
    """Standard errors of a variable, shaped as it is; none where there are none."""
    try:
        return _table(f"{of}_se", entry, datasets)
    except Absent:
        return None


def _seeded(of: str, datasets: Datasets) -> bool:
    """Whether the estimates of all steps share their noise."""
    return bool(json.loads(datasets[of.rpartition(".")[0]].attrs.get("sampling", "{}")).get("seeded"))


def _faults(of: str, entry: Entry, datasets: Datasets) -> xr.DataArray | None:
    """1 where an estimate has a fault, else 0, shaped as it is; none where the dataset has no verdicts."""
    dataset, _, variable = of.rpartition(".")
    data = datasets[dataset]
    if "verdict" not in data or set(data["verdict"].dims) - set(data[variable].dims):
        return None
    faults = (~sound(data)).astype(float).where(np.isfinite(data[variable]))
    return _table(of, entry, {dataset: data.assign({variable: faults})})


def _spread(entry: Entry, curves: Sequence[Curve], *, seeded: bool) -> float:
    """Standard deviation of the statistic over curves with normal errors, of each head by itself.

    NaN where one of these is not known, or one of the curves has no value. ``seeded``: the larger of those
    with independent errors and with errors that all steps share.
    """
    if any(c.error is not None and not np.isfinite(c.error[np.isfinite(c.value)]).all() for c in curves):
        return NAN

    def spread(shared: bool) -> float:
        random = np.random.default_rng(0)

        def redrawn(curve: Curve) -> Curve:
            if curve.error is None:
                return curve
            if shared:
                return curve._replace(
                    value=curve.value + curve.error * random.normal(size=curve.value.shape[1:])
                )
            return curve._replace(value=random.normal(curve.value, curve.error))

        return float(np.std([_value(entry, [redrawn(c) for c in curves]) for _ in range(REDRAWS)], ddof=1))

    return max(spread(False), spread(True)) if seeded else spread(False)


def _value(entry: Entry, curves: Sequence[Curve]) -> float:
    """The statistic of one seed; NaN where fewer checkpoints are measured than the window has.

    The first curve is that of ``of``, the second, where there is one, that of ``against``. With ``of_heads``
    NaN where a head has no value.
    """
    if over := entry.get("of_heads"):
        heads = curves[0].value.shape[-1]
        alone = {**entry, "of_heads": None}
        values = [_value(alone, [_of_head(c, n) for c in curves]) for n in range(heads)]
        return float(OVER[over](values)) if np.isfinite(values).all() else NAN
    if over := entry.get("over_heads"):
        curves = [Curve(c.step, OVER[over](c.value, -1)) if c.value.ndim > 1 else c for c in curves]
    window = entry.get("window", 1)
    if any(curve.step.size < window for curve in curves):
        return NAN
    curve, *against = (smooth(curve, window) for curve in curves)
    options = {key: against[0] if key == "against" else entry[key] for key in OPTIONS[entry["statistic"]]}
    return STATISTICS[entry["statistic"]](curve, **options)


def _of_head(curve: Curve, n: int) -> Curve:
    """The curve of the n-th head, at its finite checkpoints; one without heads as it is."""
    if curve.value.ndim == 1:
        return curve
    known = np.isfinite(curve.value[:, n])
    return Curve(curve.step[known], curve.value[known, n])

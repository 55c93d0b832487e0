"""Named statistics of an experiment: one number per seed from the curve of a variable over training.

An entry says which curve and what is read off it, in this order: the variable (``of``, at the labels ``at``,
over that at ``divided_by``), with ``over_seeds`` the spread between seeds of that, the heads of a ``layer``
and of some ``types``, over heads as ``over_heads`` says, its finite checkpoints from ``from_step`` to
``to_step``, a running mean over ``window`` of them, one of ``rllc.analysis.functions``, and of the numbers
that it gives for each head the one that ``of_heads`` says. Or it is one number of other statistics
(``among``). A step may be the name of a statistic that gives one. Where the curve has standard errors, the
statistic has one: its spread when every checkpoint of every head is drawn anew.
"""

import json
from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.analysis.across_heads import BY_TYPE
from rllc.analysis.columns import CONTROL, NOT_JUDGED, PER_EXPERIMENT, STANDARD_ERROR, UNTRUSTED
from rllc.analysis.curves import NAN
from rllc.analysis.found import REDRAWS, Found, find
from rllc.analysis.functions import COMBINATIONS, STEPS
from rllc.analysis.readings import Absent, Datasets, Entry, has_control, head_types, in_words, is_one_of, read


def summarise(statistics: Mapping[str, Entry], datasets: Datasets) -> xr.Dataset:
    """Every statistic that the experiment has, per seed, and its last step.

    statistics  name -> ``label``, ``unit``, ``statistic`` and either ``of`` ("llc.llc": dataset and variable)
                or ``among`` (names of others); where wanted ``at`` (dim -> label; a dim with one label needs
                none), ``divided_by`` (labels), ``layer``, ``types`` ("induction", "0:multigram"),
                ``over_heads`` or ``of_heads`` (with ``bound``), ``over_seeds``, ``needs`` (``heads`` of
                ``types``: with fewer there is no value), ``from_step``, ``to_step``, ``window`` and the
                options of the function (``against``: as ``of``, at ``against_at`` if that is given, else at
                ``at``)
    datasets    name -> dataset with dims seed and step

    Returns a variable per statistic (seed) and ``last_step`` (seed), NaN where nothing is measured; why is in
    the variable's attribute ``not_judged``, by seed. Where the curve's dataset has verdicts,
    ``<statistic>_untrusted`` (seed), the share of its estimates with a fault. Where it has standard errors of
    the variable (``llc_se`` of ``llc``), ``<statistic>_se`` (seed): the standard deviation of the statistic
    over curves whose checkpoints are normal about the estimates, NaN where an error is not known or such a
    curve has no value. The errors are taken as independent; numbers read off the same curve share them.
    Checkpoints share their minibatches, though, and what these do to all of them cancels in a fall, whose
    error is rather too large. Where all steps share their noise (``seeded``), the error is the larger of two:
    with errors that are independent, and with one that all steps share in units of its size. Where the
    variable has a control (``llc_gradient_off``), ``<statistic>_gradient_off`` is the same of that, with
    its error. A statistic whose curve the experiment has not is left out: why stands in the attribute
    ``absent.<statistic>``. Curves against each other are taken over seeds that both have.
    """
    table = _Table(statistics, datasets)
    columns, reasons, ends = {}, {}, {int(s): [] for data in datasets.values() for s in data["seed"].values}
    for name, entry in statistics.items():
        try:
            found = table.found(name)
        except Absent as error:
            reasons[f"absent.{name}"] = str(error)
            continue
        label, unit = entry["label"], entry["unit"]
        _add(columns, name, found, label, unit)
        if entry.get("window", 1) > 1:
            columns[name].attrs["window"] = entry["window"]
        why = {seed: _unmeasured(entry, seed, datasets) for seed in ends if seed not in found}
        why |= {seed: each.why for seed, each in found.items() if each.why}
        if why:
            columns[name].attrs[NOT_JUDGED] = json.dumps(why)
        shares = {seed: each.untrusted for seed, each in found.items()}
        if np.isfinite([*shares.values()]).any():
            words = f"share of its estimates that are not reliable: {label}"
            columns[name + UNTRUSTED] = _column(shares, words, "1")
        if table.controlled(name):
            words = f"{label}, of the control without the loss gradient"
            _add(columns, name + CONTROL, table.found(name, control=True), words, unit)
        for seed, each in found.items():
            ends[seed].append(each.end)
    last = {seed: float(np.fmax.reduce(ends[seed], initial=NAN)) for seed in sorted(ends)}
    columns["last_step"] = _column(last, *PER_EXPERIMENT["last_step"])
    summary = xr.Dataset({name: values.reindex(seed=list(last)) for name, values in columns.items()})
    return summary.assign_attrs(reasons)


def _add(
    columns: dict[str, xr.DataArray], name: str, found: Mapping[int, Found], label: str, unit: str
) -> None:
    """A statistic and, where any seed has errors, its own."""
    columns[name] = _column({seed: each.value for seed, each in found.items()}, label, unit)
    if any(each.drawn is not None for each in found.values()):
        errors = {seed: each.error for seed, each in found.items()}
        columns[name + STANDARD_ERROR] = _column(errors, f"standard error of: {label}", unit)


def _column(values: Mapping[int, float], label: str, unit: str) -> xr.DataArray:
    attributes = {"long_name": label, "units": unit}
    return xr.DataArray(list(values.values()), {"seed": list(values)}, ["seed"], attrs=attributes)


class _Table:
    """All statistics of one experiment, each worked out once."""

    def __init__(self, statistics: Mapping[str, Entry], datasets: Datasets) -> None:
        self.statistics, self.datasets = statistics, datasets
        self.known: dict[tuple[str, bool], dict[int, Found]] = {}

    def found(self, name: str, *, control: bool = False) -> dict[int, Found]:
        """A statistic, or the same of the control, by seed. Raises Absent."""
        if name not in self.statistics:
            raise Absent(f"the experiment has no statistic {name}")
        if (name, control) not in self.known:
            entry = self.statistics[name]
            made = self._combined(entry, control) if entry.get("among") else self._read(entry, control)
            self.known[name, control] = made
        return self.known[name, control]

    def controlled(self, name: str) -> bool:
        """Whether anything that it is read off has a control."""
        entry = self.statistics[name]
        if entry.get("among"):
            return any(self.controlled(each) for each in entry["among"])
        return any(has_control(of, self.datasets) for of in (entry["of"], entry.get("against")) if of)

    def _combined(self, entry: Entry, control: bool) -> dict[int, Found]:
        members = [self.found(name, control=control) for name in entry["among"]]
        combine = COMBINATIONS[entry["statistic"]]
        table = {}
        for seed in sorted(set.intersection(*map(set, members))):
            each = [member[seed] for member in members]
            drawn = None
            if any(one.drawn is not None for one in each):
                rows = [np.full((1, REDRAWS), one.value) if one.drawn is None else one.drawn for one in each]
                modes = max(len(row) for row in rows)
                drawn = combine([np.broadcast_to(row[-modes:], (modes, REDRAWS)) for row in rows])
            value = float(combine([one.value for one in each]))
            why = next((one.why for one in each if one.why), "")
            untrusted = float(np.fmax.reduce([one.untrusted for one in each]))
            end = float(np.fmax.reduce([one.end for one in each]))
            table[seed] = _with_needs(self, entry, seed, Found(value, drawn, untrusted, end, why))
        return table

    def _read(self, entry: Entry, control: bool) -> dict[int, Found]:
        """One that is read off curves."""
        at, of, several = entry.get("at", {}), entry["of"], _several(entry)
        over_seeds = bool(entry.get("over_seeds"))
        places = {"of": (of, at)}
        if entry.get("divided_by") is not None:
            places["divided_by"] = (of, {**at, **entry["divided_by"]})
        if entry.get("against"):
            other = entry.get("against_at")
            places["against"] = (entry["against"], at if other is None else other)
        readings = {
            role: read(*place, self.datasets, several=several, over_seeds=over_seeds, control=control)
            for role, place in places.items()
        }
        chosen = head_types(self.datasets) if _by_type(entry) else None
        moments = {key: self.found(entry[key]) for key in STEPS if isinstance(entry.get(key), str)}
        table = {}
        for seed in sorted(set.intersection(*map(set, readings.values()))):
            steps = {key: found.get(seed, Found(NAN)) for key, found in moments.items()}
            types = None if chosen is None else chosen.sel(seed=seed)
            rows = {role: each[seed] for role, each in readings.items()}
            table[seed] = _with_needs(self, entry, seed, find(entry, rows, types, steps))
        return table


def _with_needs(table: _Table, entry: Entry, seed: int, found: Found) -> Found:
    """The same, without a value where the seed has fewer heads than the statistic needs."""
    if not (needs := entry.get("needs")):
        return found
    types = head_types(table.datasets).sel(seed=seed)
    heads = zip(types["head"].values.tolist(), types.values.tolist(), strict=True)
    count = sum(is_one_of(head, kind, needs["types"]) for head, kind in heads)
    if count >= needs["heads"]:
        return found
    plural = "s" * (needs["heads"] > 1)
    why = f"needs {needs['heads']} {in_words(needs['types'])} head{plural}, has {count or 'none'}"
    return found._replace(value=NAN, drawn=None if found.drawn is None else found.drawn * NAN, why=why)


def _unmeasured(entry: Entry, seed: int, datasets: Datasets) -> str:
    """Which of the datasets that it is read off the seed lacks."""
    if entry.get("among"):
        return f"one of {', '.join(entry['among'])} is not measured in it"
    sources = {of.rpartition(".")[0] for of in (entry["of"], entry.get("against")) if of}
    lacking = sorted(name for name in sources if seed not in datasets[name]["seed"].values)
    return f"{', '.join(lacking)} is not measured in it"


def _several(entry: Entry) -> bool:
    return bool(entry.get("over_heads") or entry.get("of_heads"))


def _by_type(entry: Entry) -> bool:
    return bool(entry.get("types")) or entry.get("over_heads") in BY_TYPE

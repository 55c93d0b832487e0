"""Numbers that stand beside the claims: listed statistics, and the claimants' own curves."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.claims.claim import Claim, Statistic
from rllc.claims.experiment import Experiment
from rllc.claims.judging.evaluate import Value
from rllc.claims.judging.values import Values
from rllc.claims.run import Datasets

NAN = float("nan")


def listed(numbers: Sequence[Statistic], table: Values, seeds: Sequence[int]) -> xr.Dataset:
    """Return the listed statistics of every experiment, with errors and shares of unreliable estimates."""
    made = {}
    for each in numbers:
        parts: dict[str, list[np.ndarray]] = {"": [], "_se": [], "_unreliable": []}
        for name in table.experiments:
            known = table.of(each, name) if table.has(each, name) else {}
            rows = [known.get(seed, Value(NAN)) for seed in seeds]
            parts[""].append(np.asarray([row.value for row in rows]))
            parts["_se"].append(np.asarray([NAN if row.exact else row.error for row in rows]))
            parts["_unreliable"].append(np.asarray([row.unreliable for row in rows]))
        words = {
            "": each.label,
            "_se": f"standard error of: {each.label}",
            "_unreliable": f"share of unreliable estimates: {each.label}",
        }
        for ending, values in parts.items():
            attrs = {"long_name": words[ending], "units": "1" if ending == "_unreliable" else each.unit}
            made[each.name + ending] = (("experiment", "seed"), np.stack(values), attrs)
    return xr.Dataset(made)


def by_published(
    rows: Sequence[tuple[Claim, str]],
    called: Sequence[str],
    published: Mapping[str, Sequence[tuple[Experiment, Datasets]]],
) -> xr.Dataset:
    """Return the number of each claim by the claimants' own curves, where they have those it reads."""
    tables = {
        work: Values({each.name: each for each, _ in theirs}, {each.name: data for each, data in theirs}, {})
        for work, theirs in published.items()
    }
    values = [_by_their_curves(each, tables[each.work]) if each.work in tables else {} for each, _ in rows]
    seeds = sorted({seed for found in values for seed in found})
    if not seeds:
        return xr.Dataset()
    made = np.asarray([[found.get(seed, NAN) for seed in seeds] for found in values], dtype=float)
    return xr.Dataset(
        {"published_value": (("claim", "published_seed"), made)},
        {"claim": text_array(called), "published_seed": seeds},
    )


def _by_their_curves(claim: Claim, table: Values) -> dict[int, float]:
    """Return the claim's number by seed on the claimants' experiment that it is about; empty without one."""
    for name, experiment in table.experiments.items():
        if claim.applies(experiment) and not claim.versus and table.has(claim.statistic, name):
            return {seed: each.value for seed, each in table.of(claim.statistic, name).items()}
    return {}


def text_array(values: Iterable[str]) -> np.ndarray:
    return np.asarray(list(values), dtype=object)

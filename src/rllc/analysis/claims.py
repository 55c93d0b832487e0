"""Claims against statistics: which hold, which are undecided, which our training is too short to judge."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from rllc.analysis.columns import (
    CONTROL,
    DOUBTED,
    INTERVAL,
    NOT_JUDGED,
    NUMBERS,
    PER_SEED,
    STANDARD_ERROR,
    TEXTS,
    UNTRUSTED,
    VARIABLES,
)
from rllc.vocabulary import describe

NAN = float("nan")
PASSES = {"fails": 0, "passes": 1, "not_reached": -1, "undecided": -2, "not_judged": -3, "missing": -4}
OPEN = [PASSES[name] for name in ("not_reached", "not_judged", "missing")]  # of these no verdict is made
Claim = Mapping[str, Any]


def judge(
    claims: Mapping[str, Claim],
    summaries: Mapping[str, xr.Dataset],
    labels: Mapping[str, str] | None = None,
) -> xr.Dataset:
    """Every claim, judged seed by seed, and the statistics of all experiments side by side.

    claims     name -> ``text``, ``source``, ``experiment``, ``statistic``, ``at_least`` and/or ``at_most``
               (bounds included), and where wanted ``versus`` (an experiment whose mean over seeds is
               subtracted, or with ``ratio`` divides), ``reached`` (step that the training must have come to),
               ``given`` (a claim, without one of its own, that this one presupposes), ``published`` (what
               the claimants' own data give, in words: it is in no verdict)
    summaries  experiment -> what ``rllc.analysis.statistics.summarise`` returns
    labels     experiment -> its name in figures (default: its name), the coordinate ``experiment_label``

    Returns the columns of ``rllc.analysis.columns`` (claim, seed) or (claim), and every statistic and
    ``last_step`` (experiment, seed), NaN where an experiment lacks it. Seeds that are not reached, that
    have no value (``reason`` says why), or that the experiment does not have (``missing``) are in no verdict,
    and those of ``versus`` in no mean. ``control``,
    ``control_passes`` and ``control_verdict`` are what the claim would come to by the control of its
    statistic, where that has one. To first order the error of a difference v - w is sqrt(s^2 + t^2), that of
    a ratio sqrt(s^2 + (v t / w)^2) / |w|, with t = sqrt(sum of squared errors) / n for the mean w over n
    seeds.

    A seed passes where the whole interval value ± ``INTERVAL`` errors lies within the bounds, and fails where
    all of it lies beyond one of them. Between the two it is undecided, and also where an error is not known,
    where more than ``DOUBTED`` of the estimates behind the value are not reliable, and where the claim that
    it presupposes does not pass. A statistic without errors (of what is not sampled) has an interval without
    length. The interval is that of one seed and one claim: it holds no bias of a maximum, and is not widened
    for the number of claims. ``verdict`` says how seeds are taken together.

    Raises ValueError where there is no such experiment or claim, or it has no such statistic.
    """
    table = _side_by_side(summaries)
    clash = sorted(set(VARIABLES) & set(table.data_vars))
    if clash:
        raise ValueError(
            f"a statistic cannot be called {', '.join(clash)}: the claims table has that; rename it"
        )
    found = {name: _row(name, claim, table, summaries) for name, claim in claims.items()}
    rows = [_presupposing(name, found, claims) for name in claims]
    for key in VARIABLES:
        column = [row[key] for row in rows]
        if key in PER_SEED:
            values = np.asarray(column, dtype=float).reshape(len(rows), table.sizes["seed"])
            table[key] = ("claim", "seed"), values
        else:
            table[key] = "claim", _text(column) if key in TEXTS else np.asarray(column, dtype=float)
    table["passes"] = table["passes"].astype(np.int8)
    titles = ("experiment", _text((labels or {}).get(name, name) for name in summaries))
    table["passes"].attrs |= {
        "flag_values": np.asarray(list(PASSES.values()), dtype=np.int8),
        "flag_meanings": " ".join(PASSES),
    }
    return describe(table.assign_coords(claim=_text(claims), experiment_label=titles), VARIABLES)


def decide(values: np.ndarray, errors: np.ndarray, claim: Claim) -> np.ndarray:
    """``PASSES`` of values ± ``INTERVAL`` errors by the claim's bounds, which belong to it.

    Undecided where the interval crosses a bound or the error is NaN.
    """
    low = -np.inf if claim.get("at_least") is None else claim["at_least"]
    high = np.inf if claim.get("at_most") is None else claim["at_most"]
    least, most = values - INTERVAL * errors, values + INTERVAL * errors
    outcomes = [PASSES["passes"], PASSES["fails"]]
    return np.select(
        [(low <= least) & (most <= high), (most < low) | (least > high)], outcomes, PASSES["undecided"]
    )


def verdict(passes: np.ndarray) -> str:
    """One of ``rllc.analysis.columns.VERDICTS`` from the flags of all seeds.

    It is the verdict by all seeds that are reached ("holds" where all pass, "does not" where all fail, else
    "half") where it is the same whichever way the undecided ones turn out; where it is not, "undecided". So
    one seed that passes and one that fails are "half" beside any number of undecided ones.
    """
    reached = passes[~np.isin(passes, OPEN)]
    decided = reached[reached >= 0]
    if not reached.size:
        return "not judged" if (passes == PASSES["not_judged"]).any() else "not reached"
    if decided.any() and not decided.all():
        return "half"
    if decided.size < reached.size:
        return "undecided"
    return "holds" if decided.all() else "does not"


def _row(
    name: str, claim: Claim, table: xr.Dataset, summaries: Mapping[str, xr.Dataset]
) -> dict[str, np.ndarray | float | str]:
    """All columns of one claim."""
    own, control = _outcome(name, claim, table, summaries), None
    summary, none = summaries[claim["experiment"]], np.full_like(own.values, NAN)
    if claim["statistic"] + CONTROL in summary:
        control = _outcome(name, claim, table, summaries, CONTROL)
    return {
        **{key: NAN if claim.get(key) is None else claim[key] for key in NUMBERS},
        **{key: claim.get(key) or "" for key in TEXTS},
        "value": own.values,
        "value_se": none if own.exact else own.errors,
        "untrusted": own.untrusted,
        "passes": own.passes,
        "control": control.values if control else none,
        "control_passes": control.passes if control else none,
        "control_verdict": verdict(control.passes) if control else "",
        "reason": _reasons(summary[claim["statistic"]], own.passes, table["seed"].values.tolist()),
        "compared_with": own.mean,
        "experiment_of_claim": claim["experiment"],
        "comparison": ("ratio" if claim.get("ratio") else "difference") if claim.get("versus") else "",
        "verdict": verdict(own.passes),
    }


class _Outcome(NamedTuple):
    """What a claim comes to: values [seed], their errors and the share of estimates that are not
    reliable, the mean that they are compared with, ``PASSES``, and whether the statistic has no errors."""

    values: np.ndarray
    errors: np.ndarray
    untrusted: np.ndarray
    mean: float
    passes: np.ndarray
    exact: bool


def _outcome(
    name: str, claim: Claim, table: xr.Dataset, summaries: Mapping[str, xr.Dataset], suffix: str = ""
) -> _Outcome:
    """By the claim's statistic, or by that with a suffix."""
    own = _measured(claim["experiment"], name, claim, table, summaries, suffix)
    values, errors, untrusted, mean = own["value"].values, own["error"].values, own["untrusted"].values, NAN
    if claim.get("versus"):
        other = _measured(claim["versus"], name, claim, table, summaries, suffix)
        own.attrs["exact"] &= other.attrs["exact"]
        other = other.isel(seed=(other["reached"] & other["value"].notnull()).values)
        values, errors, mean = _compared(values, errors, other, claim)
        untrusted = np.fmax(untrusted, float(other["untrusted"].mean()))
    passes = np.where(untrusted > DOUBTED, PASSES["undecided"], decide(values, errors, claim))
    passes = np.where(np.isfinite(values), passes, PASSES["not_judged"])
    passes = np.where(own["reached"].values, passes, PASSES["not_reached"])
    has_seed = np.isin(own["seed"].values, summaries[claim["experiment"]]["seed"].values)
    passes = np.where(has_seed, passes, PASSES["missing"])
    return _Outcome(values, errors, untrusted, mean, passes, own.attrs["exact"])


def _reasons(statistic: xr.DataArray, passes: np.ndarray, seeds: list[int]) -> str:
    """Why seeds have no value, those with the same reason together: "seeds 0, 2: needs 2 induction heads"."""
    why = json.loads(statistic.attrs.get(NOT_JUDGED, "{}"))
    together: dict[str, list[str]] = {}
    for seed, passed in zip(seeds, passes.tolist(), strict=True):
        if passed == PASSES["not_judged"]:
            together.setdefault(why.get(str(seed), "no value"), []).append(str(seed))
    if len(together) == 1 and set(passes) == {PASSES["not_judged"]}:
        return next(iter(together))
    return "; ".join(f"seed{'s' * (len(of) > 1)} {', '.join(of)}: {text}" for text, of in together.items())


def _presupposing(
    name: str, found: Mapping[str, Mapping[str, Any]], claims: Mapping[str, Claim]
) -> Mapping[str, Any]:
    """The columns of a claim, undecided where it is judged and what it presupposes does not pass."""
    given = claims[name].get("given")
    if not given:
        return found[name]
    if given not in claims or claims[given].get("given"):
        raise ValueError(f"claim {name}: presupposes {given!r}: expected a claim that presupposes none")
    own, other = found[name]["passes"], found[given]["passes"]
    open_ = (own >= 0) & (other != PASSES["passes"])
    passes = np.where(open_, PASSES["undecided"], own)
    return {**found[name], "passes": passes, "verdict": verdict(passes)}


def _measured(
    experiment: str,
    name: str,
    claim: Claim,
    table: xr.Dataset,
    summaries: Mapping[str, xr.Dataset],
    suffix: str,
) -> xr.Dataset:
    """The claim's statistic, with a suffix, in an experiment, and which seeds came to the claim's step.

    ``error`` is 0 where the statistic has none (attribute ``exact``), NaN where it is not known.
    """
    statistic = claim["statistic"] + suffix
    if experiment not in summaries:
        raise ValueError(
            f"claim {name}: no experiment {experiment!r}; expected one of {', '.join(summaries)}"
        )
    if statistic not in summaries[experiment]:
        why = summaries[experiment].attrs.get(f"absent.{statistic}", "it is not among the statistics")
        raise ValueError(f"claim {name}: {experiment} has no {statistic} ({why}); correct claim or statistic")
    one = table.sel(experiment=experiment)
    unknown = xr.full_like(one[statistic], np.nan)
    exact = f"{statistic}{STANDARD_ERROR}" not in summaries[experiment]
    measured = xr.Dataset(
        {
            "value": one[statistic],
            "error": xr.zeros_like(unknown) if exact else one[f"{statistic}{STANDARD_ERROR}"],
            "untrusted": one.get(f"{claim['statistic']}{UNTRUSTED}", unknown) if not suffix else unknown,
            "reached": (one["last_step"] >= (claim.get("reached") or 0)) | one["last_step"].isnull(),
        }
    )
    return measured.assign_attrs(exact=exact)


def _compared(
    values: np.ndarray, errors: np.ndarray, other: xr.Dataset, claim: Claim
) -> tuple[np.ndarray, np.ndarray, float]:
    """Values less or over the mean of the other's seeds, which are judged, their errors, and that mean."""
    if not other.sizes["seed"]:
        return np.full_like(values, np.nan), np.full_like(values, np.nan), NAN
    mean = float(other["value"].mean())
    error = float(np.sqrt((other["error"] ** 2).mean(skipna=False) / other.sizes["seed"]))
    if not claim.get("ratio"):
        return values - mean, np.hypot(errors, error), mean
    return values / mean, np.hypot(errors, values * error / mean) / abs(mean), mean


def _side_by_side(summaries: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """All summaries along ``experiment``, over the seeds of any."""
    if not summaries:
        raise ValueError("no experiment to judge claims by: give at least one summary")
    index = xr.DataArray(_text(summaries), dims="experiment", name="experiment")
    attributes = {name: s[name].attrs for s in summaries.values() for name in s.data_vars}
    table = xr.concat(
        list(summaries.values()), index, data_vars="all", coords="minimal", compat="override", join="outer",
        combine_attrs="drop",
    )[list(attributes)]  # fmt: skip
    for name in attributes:
        table[name].attrs = attributes[name]
    return table.transpose("experiment", "seed")


def _text(values: Iterable[str]) -> np.ndarray:
    return np.asarray(list(values), dtype=object)

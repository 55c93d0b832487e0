"""Claims against statistics: which hold, for how many seeds, and which our training is too short to judge."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from rllc.vocabulary import describe

VERDICTS = ("holds", "half", "does not", "not reached")
PASSES = {"fails": 0, "passes": 1, "not_reached": -1}
VARIABLES = {
    "value": ("the statistic of the claim, less or over what it is compared with", "as the statistic"),
    "value_se": (
        "standard error of the value, from those of the estimates; NaN: no such",
        "as the statistic",
    ),
    "compared_with": ("mean over seeds of the statistic in the experiment compared with", "as the statistic"),
    "untrusted": ("share of the estimates behind the value that cannot be trusted, NaN: not judged", "1"),
    "verdict": ("holds: all seeds; half: some; does not: none; not reached: too short, or no value", "1"),
    "at_least": ("least value that passes", "as the statistic"),
    "at_most": ("largest value that passes", "as the statistic"),
    "reached": ("training step that the claim speaks of", "steps"),
    "text": ("the claim", "1"),
    "source": ("who claims it", "1"),
    "experiment_of_claim": ("experiment that the claim is about", "1"),
    "versus": ("experiment that it is compared with", "1"),
    "comparison": ("how it is compared with that experiment's mean: difference or ratio", "1"),
    "statistic": ("statistic that the claim is judged by", "1"),
}
TEXTS = ("text", "source", "statistic", "versus")


def judge(
    claims: Mapping[str, Mapping[str, Any]],
    summaries: Mapping[str, xr.Dataset],
    labels: Mapping[str, str] | None = None,
) -> xr.Dataset:
    """Every claim, judged seed by seed, and the statistics of all experiments side by side.

    claims     name -> ``text``, ``source``, ``experiment``, ``statistic``, ``at_least`` and/or ``at_most``
               (bounds included), and where wanted ``versus`` (an experiment whose mean over seeds is
               subtracted, or with ``ratio`` divides), ``reached`` (step that the training must have come to)
    summaries  experiment -> what ``rllc.analysis.statistics.summarise`` returns
    labels     experiment -> its name in figures (default: its name), the coordinate ``experiment_label``

    Returns ``value``, ``value_se``, ``untrusted``, ``passes`` (claim, seed; a flag: 1, 0, or -1 not reached),
    ``verdict`` and the claim's own entries (claim), and every statistic and ``last_step`` (experiment, seed),
    NaN where an experiment lacks it. Seeds that are not reached are in no verdict, and those of ``versus`` in
    no mean; a claim without a seed that is reached is "not reached". ``passes`` asks for the value alone. To
    first order the error of a difference v - w is sqrt(s^2 + t^2), that of a ratio sqrt(s^2 + (v t / w)^2) /
    |w|, with t = sqrt(sum of squared errors) / n for the mean w over n seeds.

    Raises ValueError where there is no such experiment, or it has no such statistic.
    """
    joined = _join(summaries)
    seeds = joined["seed"].values
    values, passes = np.full((len(claims), seeds.size), np.nan), np.full((len(claims), seeds.size), -1, "i1")
    against, untrusted, errors = np.full(len(claims), np.nan), values.copy(), values.copy()
    for row, (name, claim) in enumerate(claims.items()):
        measured = _reached(joined, summaries, claim["experiment"], name, claim)
        values[row], errors[row], untrusted[row] = (measured[n] for n in ("value", "error", "untrusted"))
        if claim.get("versus"):
            other = _reached(joined, summaries, claim["versus"], name, claim)
            values[row], errors[row], against[row] = _compared(values[row], errors[row], other, claim)
        judged = measured["reached"].values & np.isfinite(values[row])
        passes[row, judged] = within(values[row, judged], claim)
    entries = list(claims.values())
    found = {
        "value": (("claim", "seed"), values),
        "passes": (("claim", "seed"), passes),
        "value_se": (("claim", "seed"), errors),
        "untrusted": (("claim", "seed"), untrusted),
        "compared_with": ("claim", against),
        "verdict": ("claim", _text(verdict(row) for row in passes)),
        "experiment_of_claim": ("claim", _text(claim["experiment"] for claim in entries)),
        **{key: ("claim", _text(claim.get(key) or "" for claim in entries)) for key in TEXTS},
        "comparison": ("claim", _text(_comparison(claim) for claim in entries)),
        **{key: ("claim", _number(claim.get(key) for claim in entries)) for key in ("at_least", "at_most")},
        "reached": ("claim", _number(claim.get("reached") for claim in entries)),
    }
    clash = sorted(set(found) & set(joined.data_vars))
    if clash:
        raise ValueError(
            f"a statistic cannot be called {', '.join(clash)}: the claims table has that; rename it"
        )
    named = ("experiment", _text((labels or {}).get(name, name) for name in summaries))
    dataset = joined.assign(found).assign_coords(claim=_text(claims), experiment_label=named)
    dataset["passes"].attrs = {
        "long_name": "whether the claim passes in a seed",
        "flag_values": np.asarray(list(PASSES.values()), dtype=np.int8),
        "flag_meanings": " ".join(PASSES),
    }
    return describe(dataset, VARIABLES)


def within(values: np.ndarray, claim: Mapping[str, Any]) -> np.ndarray:
    """Whether values lie within the claim's bounds, which belong to it."""
    low = -np.inf if claim.get("at_least") is None else claim["at_least"]
    high = np.inf if claim.get("at_most") is None else claim["at_most"]
    return (low <= values) & (values <= high)


def verdict(passes: np.ndarray) -> str:
    """One of ``VERDICTS`` from the flags of all seeds."""
    judged = passes[passes >= 0]
    if not judged.size:
        return "not reached"
    return "holds" if judged.all() else "half" if judged.any() else "does not"


def _compared(
    values: np.ndarray, errors: np.ndarray, other: xr.Dataset, claim: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Values less or over the mean of the other's seeds, their errors, and that mean."""
    judged = other.isel(seed=(other["reached"] & other["value"].notnull()).values)
    if not judged.sizes["seed"]:
        return np.full_like(values, np.nan), np.full_like(values, np.nan), float("nan")
    mean = float(judged["value"].mean())
    error = float(np.sqrt((judged["error"] ** 2).mean(skipna=False) / judged.sizes["seed"]))
    if not claim.get("ratio"):
        return values - mean, np.hypot(errors, error), mean
    return values / mean, np.hypot(errors, values * error / mean) / abs(mean), mean


def _comparison(claim: Mapping[str, Any]) -> str:
    return "" if not claim.get("versus") else "ratio" if claim.get("ratio") else "difference"


def _reached(
    joined: xr.Dataset,
    summaries: Mapping[str, xr.Dataset],
    experiment: str,
    name: str,
    claim: Mapping[str, Any],
) -> xr.Dataset:
    """The claim's statistic in an experiment, what goes with it, and which seeds came to the claim's step."""
    statistic = claim["statistic"]
    if experiment not in summaries:
        raise ValueError(
            f"claim {name}: there is no experiment {experiment!r}; expected one of {', '.join(summaries)}"
        )
    if statistic not in summaries[experiment]:
        why = summaries[experiment].attrs.get(f"absent.{statistic}", "it is not among the statistics")
        raise ValueError(
            f"claim {name}: {experiment} has no {statistic} ({why}); correct the claim or the statistic"
        )
    one = joined.sel(experiment=experiment)
    unknown = xr.full_like(one[statistic], np.nan)
    return xr.Dataset(
        {
            "value": one[statistic],
            "error": one.get(f"{statistic}_se", unknown),
            "untrusted": one.get(f"{statistic}_untrusted", unknown),
            "reached": one["last_step"] >= (claim.get("reached") or 0),
        }
    )


def _join(summaries: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """All summaries along ``experiment``, over the seeds of any."""
    if not summaries:
        raise ValueError("no experiment to judge claims by: give at least one summary")
    index = xr.DataArray(_text(summaries), dims="experiment", name="experiment")
    names = list(dict.fromkeys(name for summary in summaries.values() for name in summary.data_vars))
    attributes = {name: s[name].attrs for s in summaries.values() for name in s.data_vars}
    joined = xr.concat(
        list(summaries.values()), index, data_vars="all", coords="minimal", compat="override", join="outer",
        combine_attrs="drop",
    )[names]  # fmt: skip
    for name in names:
        joined[name].attrs = attributes[name]
    return joined.transpose("experiment", "seed")


def _text(values: Any) -> np.ndarray:
    return np.asarray(list(values), dtype=object)


def _number(values: Any) -> np.ndarray:
    return np.asarray([np.nan if value is None else value for value in values], dtype=float)

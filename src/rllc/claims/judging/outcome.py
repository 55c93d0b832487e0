"""The outcome of a claim over the seeds of an experiment: values, errors, passes and verdict."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from rllc.claims.claim import Claim
from rllc.claims.columns import DOUBTED, INTERVAL, PASSES
from rllc.claims.experiment import Experiment
from rllc.claims.judging.evaluate import Value
from rllc.claims.judging.values import Values

NAN = float("nan")
NO_VERDICT = [PASSES[name] for name in ("not_reached", "not_judged", "missing")]


class Outcome(NamedTuple):
    """A claim over the seeds of an experiment: arrays [seed], and what it was compared with.

    values      the statistic, minus or divided by ``mean`` where the claim compares experiments
    errors      standard errors of ``values``
    freedom     degrees of freedom of ``errors``
    unreliable  share of unreliable estimates, as in ``Value``; the larger of both experiments
    passes      values of ``PASSES``
    mean        mean over the seeds of the other experiment; NaN: the claim compares none
    exact       whether no curve that was read has an error
    unsupported  True in seeds that are undecided because the presupposed claim does not pass
    """

    values: np.ndarray
    errors: np.ndarray
    freedom: np.ndarray
    unreliable: np.ndarray
    passes: np.ndarray
    mean: float
    exact: bool
    unsupported: np.ndarray | bool = False
    flips: tuple[str, ...] = ()  # by seed, why the types of heads leave it undecided; "": they do not


def decide(values: np.ndarray, errors: np.ndarray, freedom: np.ndarray, claim: Claim) -> np.ndarray:
    """Return whether each seed's Student interval lies within the claim's bounds: ``PASSES`` [seed].

    A seed is undecided where its interval crosses a bound or has no error.
    """
    low, high = claim.bounds
    half = errors * stats.t.ppf(0.5 + INTERVAL / 2, freedom)
    least, most = values - half, values + half
    within, beyond = (low <= least) & (most <= high), (most < low) | (least > high)
    return np.select([within, beyond], [PASSES["passes"], PASSES["fails"]], PASSES["undecided"])


def verdict(passes: np.ndarray, needed: int = 1) -> str:
    """Return one of ``VERDICTS`` from the flags of all seeds.

    needed  fewest seeds with a result by which the claim can hold; with fewer that all pass, it is
            "undecided"

    Seeds without a value, or too short for the claim, do not count. The verdict is "holds" where all seeds
    pass, "does not" where all fail, and "half" where some pass and some fail. It is "undecided" where it
    would differ with how undecided seeds turn out. One seed that passes and one that fails are "half" beside
    any undecided ones. Where no seed counts, it is "not judged" if a seed was not judged, else "not reached".
    """
    with_result = passes[~np.isin(passes, NO_VERDICT)]
    decided = with_result[with_result >= 0]
    if not with_result.size:
        return "not judged" if (passes == PASSES["not_judged"]).any() else "not reached"
    if decided.any() and not decided.all():
        return "half"
    if decided.size < with_result.size:
        return "undecided"
    if not decided.all():
        return "does not"
    return "holds" if decided.size >= needed else "undecided"


def judged_outcome(
    claim: Claim,
    experiment: str,
    table: Values,
    *,
    control: bool = False,
    own: Sequence[Value] | None = None,
) -> Outcome:
    """Return the outcome of a claim, by its statistic or by that of the prior-only control.

    own  values of its statistic by seed; default those of the table

    Raises Absent where an experiment lacks a curve that the statistic reads.
    """
    if own is None:
        own = list(table.of(claim.statistic, experiment, control=control).values())
    values, errors, freedom, unreliable = _arrays(own)
    exact, mean = all(each.exact for each in own), NAN
    if claim.versus:
        others = list(table.of(claim.statistic, claim.versus, control=control).values())
        others = [
            each
            for each in others
            if np.isfinite(each.value) and not too_short(claim, table.experiments[claim.versus], each)
        ]
        exact &= all(each.exact for each in others)
        theirs = _arrays(others)
        values, errors, freedom, mean = _compared(values, errors, freedom, theirs, claim)
        unreliable = np.fmax(unreliable, np.nanmean(theirs[3]) if np.isfinite(theirs[3]).any() else NAN)
    if control:  # the flags judge the estimate, not its control
        unreliable = np.full_like(values, NAN)
    passes = np.where(unreliable > DOUBTED, PASSES["undecided"], decide(values, errors, freedom, claim))
    passes = np.where(np.isfinite(values), passes, PASSES["not_judged"])
    short = [too_short(claim, table.experiments[experiment], each) for each in own]
    return Outcome(
        values, errors, freedom, unreliable, np.where(short, PASSES["not_reached"], passes), mean, exact
    )


def too_short(claim: Claim, experiment: Experiment, value: Value) -> bool:
    """Return whether the training, or its measured part, ends before the step that the claim speaks of."""
    return 0 < experiment.steps < claim.reached or value.last_step < claim.reached


def _arrays(values: Sequence[Value]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rows = [(each.value, each.error, each.freedom, each.unreliable) for each in values]
    columns = np.asarray(rows, dtype=float).reshape(-1, 4).T
    return columns[0], columns[1], columns[2], columns[3]


def _compared(
    values: np.ndarray, errors: np.ndarray, freedom: np.ndarray, others: Sequence[np.ndarray], claim: Claim
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Compare values with the mean over the other experiment's seeds: subtract it, or divide by it.

    Returns the compared values, their errors, their degrees of freedom, and the mean.
    """
    their_values, their_errors, their_freedom, _ = others
    if not their_values.size:
        nothing = np.full_like(values, NAN)
        return nothing, nothing, freedom, NAN
    mean, count = float(their_values.mean()), their_values.size
    error = float(np.sqrt((their_errors**2).sum())) / count
    own, other = errors**2, np.full_like(values, error**2)
    if claim.ratio:
        own, other = own / mean**2, (values * error / mean) ** 2 / mean**2
        values = values / mean
    else:
        values = values - mean
    square = own + other
    # Welch and Satterthwaite. The other mean has at least the least freedom of its seeds, times their number.
    parts = own**2 / freedom + other**2 / (their_freedom.min() * count)
    welch = np.divide(square**2, parts, out=np.full_like(values, np.inf), where=parts > 0)
    return values, np.sqrt(square), welch, mean


def presupposing(rows: Sequence[tuple[Claim, str]], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes, undecided in seeds in which the claim that a claim presupposes does not pass.

    rows  claims, each with the name of its experiment

    The presupposed claim counts by its own values, whatever it presupposes itself. Where it is about the
    experiment that a claim compares with, it must pass in every seed of that.
    """
    by_name = {(each.name, name): outcome for (each, name), outcome in zip(rows, outcomes, strict=True)}
    found = []
    for (each, name), outcome in zip(rows, outcomes, strict=True):
        if each.given:
            given = by_name.get((each.given, name))
            fails = given is None or given.passes != PASSES["passes"]  # None: there is nothing that it reads
            if given is None and each.versus and (each.given, each.versus) in by_name:
                fails = (by_name[each.given, each.versus].passes != PASSES["passes"]).any()
            unsupported = (outcome.passes >= 0) & fails
            outcome = outcome._replace(
                passes=np.where(unsupported, PASSES["undecided"], outcome.passes), unsupported=unsupported
            )
        found.append(outcome)
    return found

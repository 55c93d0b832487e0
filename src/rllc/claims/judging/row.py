"""The row of one claim in the table, with its reasons."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rllc.claims.claim import Claim
from rllc.claims.columns import CHANCE, DOUBTED, PASSES
from rllc.claims.judging.evaluate import Value
from rllc.claims.judging.outcome import NO_VERDICT, Outcome, judged_outcome, verdict
from rllc.claims.judging.values import Values
from rllc.claims.selection import Absent

NAN = float("nan")


def row_of(
    claim: Claim, name: str, outcome: Outcome, chance: tuple[float, int], table: Values
) -> dict[str, Any]:
    """Return all columns of one claim."""
    control = None
    if any(each.controlled for each in table.of(claim.statistic, name).values()):
        try:
            control = judged_outcome(claim, name, table, control=True)
        except Absent:
            control = None
    judged = verdict(outcome.passes, claim.seeds)
    reason = _reasons(claim, table.of(claim.statistic, name), outcome)
    judged_seeds = ~np.isin(outcome.passes, NO_VERDICT)
    if judged == "undecided" and verdict(outcome.passes) == "holds":
        reason = "; ".join(filter(None, [reason, _too_few(claim, int(judged_seeds.sum()))]))
    share, count = chance
    if share > CHANCE and judged in ("holds", "half", "undecided"):
        judged = "not judged"
        orders = "random orders" if claim.by_chance else "orders of the types of heads"
        reason = f"chance passes: every seed passes in {share:.0%} of {count} {orders}"
    if judged == "undecided" and (outcome.unreliable[judged_seeds] > DOUBTED).all():
        judged = "not judged"
    none = np.full_like(outcome.values, NAN)
    return {
        "value": outcome.values,
        "value_se": none if outcome.exact else outcome.errors,
        "degrees_of_freedom": none if outcome.exact else outcome.freedom,
        "unreliable": outcome.unreliable,
        "passes": outcome.passes,
        "control": none if control is None else control.values,
        "control_passes": none if control is None else control.passes,
        "chance": share,
        "shuffles": count or NAN,
        "compared_with": outcome.mean,
        "at_least": NAN if claim.at_least is None else claim.at_least,
        "at_most": NAN if claim.at_most is None else claim.at_most,
        "reached": claim.reached,
        "seeds_needed": claim.seeds,
        "text": claim.text,
        "source": claim.source,
        "work": claim.work,
        "family": claim.family or table.experiments[name].label or name,
        "experiment_of_claim": name,
        "versus": claim.versus or "",
        "comparison": ("ratio" if claim.ratio else "difference") if claim.versus else "",
        "published": claim.published,
        "given": claim.given or "",
        "correction": claim.correction,
        "statistic": claim.statistic.name,
        "label": claim.statistic.label,
        "unit": "1" if claim.ratio else claim.statistic.unit,
        "reason": reason,
        "control_verdict": "" if control is None else verdict(control.passes, claim.seeds),
        "verdict": judged,
    }


def _reasons(claim: Claim, values: Mapping[int, Value], outcome: Outcome) -> str:
    """Return why seeds have no value or are undecided: "seeds 0, 2: needs ...". Equal reasons stand once."""
    together: dict[str, list[str]] = {}
    for n, (seed, each) in enumerate(values.items()):
        if outcome.passes[n] == PASSES["not_judged"]:
            reason = each.reason or f"{claim.versus} has no value"
        elif outcome.passes[n] == PASSES["undecided"]:
            reason = _undecided(claim, outcome, n)
        else:
            continue
        together.setdefault(reason, []).append(str(seed))
    if len(together) == 1 and len(next(iter(together.values()))) == len(values):
        return next(iter(together))
    return "; ".join(f"seed{'s' * (len(of) > 1)} {', '.join(of)}: {text}" for text, of in together.items())


def _too_few(claim: Claim, count: int) -> str:
    """Return why a claim that passes in all of too few seeds is undecided."""
    passing = "the only seed judged passes" if count == 1 else f"all {count} seeds judged pass"
    return f"{passing}: a claim on every run needs {claim.seeds} seeds to hold"


def _undecided(claim: Claim, outcome: Outcome, n: int) -> str:
    """Return why a seed is undecided."""
    if outcome.flips and outcome.flips[n]:
        return outcome.flips[n]
    if outcome.unreliable[n] > DOUBTED:
        return f"{outcome.unreliable[n]:.0%} of the estimates behind it are not reliable"
    if np.broadcast_to(outcome.unsupported, outcome.passes.shape)[n]:
        return f"presupposes {claim.given}, which does not pass"
    return "its interval crosses a bound" if np.isfinite(outcome.errors[n]) else "its error is not known"

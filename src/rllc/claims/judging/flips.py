"""Claims whose outcome depends on heads of uncertain type: they are judged with these heads flipped too."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import xarray as xr

from rllc.analysis.head_types import Doubt, doubts
from rllc.claims.claim import Claim
from rllc.claims.columns import PASSES
from rllc.claims.judging.evaluate import Value, evaluate
from rllc.claims.judging.outcome import Outcome, judged_outcome
from rllc.claims.judging.values import Values
from rllc.claims.run import Run
from rllc.claims.selection import Absent

MOST = 4  # heads of a seed that are flipped, in all 2^4 combinations: those nearest to a threshold
SAID = {"passes": "passes", "fails": "fails", "undecided": "is undecided"}
NO_VALUE = "has no value"


def with_flips(
    rows: Sequence[tuple[Claim, str]],
    outcomes: Sequence[Outcome],
    table: Values,
    tell: Callable[[str], None],
) -> list[Outcome]:
    """Return the outcomes, undecided in seeds whose result the flip of an uncertain head changes.

    Seeds that neither pass nor fail stay as they are. The reason names the fewest heads that change the
    result. Measures that choose heads by type are not run again, and the experiment that a claim compares
    with keeps its types.
    """
    found = [list(outcome.flips or [""] * len(outcome.passes)) for outcome in outcomes]
    passes = [outcome.passes.copy() for outcome in outcomes]
    for name in table.experiments:
        for place, seed in enumerate(table.seeds(name)):
            uncertain = doubts(table.datasets[name].get("attention_scores", xr.Dataset()), seed)[:MOST]
            open_ = [
                n
                for n, row in enumerate(rows)
                if uncertain and _may_change(row, passes[n], name, seed, table)
            ]
            if not open_:
                continue
            heads = ", ".join(doubt.head for doubt in uncertain)
            tell(f"{name}, seed {seed}: flipping the type of {heads} for {len(open_)} claims")
            for flips, run in _flipped(table.run(name, seed), uncertain):
                for n in open_:
                    if passes[n][place] < 0:
                        continue
                    result = _result(rows[n], table, run)
                    if result != passes[n][place]:
                        found[n][place] = _reason(result, flips)
                        passes[n][place] = PASSES["undecided"]
    return [
        outcome._replace(passes=own, flips=tuple(why))
        for outcome, own, why in zip(outcomes, passes, found, strict=True)
    ]


def _may_change(
    row: tuple[Claim, str], passes: np.ndarray, experiment: str, seed: int, table: Values
) -> bool:
    """Return whether a claim has a result in this seed, and reads types of heads."""
    claim, name = row
    if name != experiment:
        return False
    values = table.of(claim.statistic, name)
    return bool(passes[list(values).index(seed)] >= 0) and values[seed].typed


def _flipped(run: Run, uncertain: Sequence[Doubt]) -> Iterator[tuple[tuple[Doubt, ...], Run]]:
    """Yield every combination of flipped heads, from few to many, with the run in which they are flipped."""
    measured = run.datasets["attention_scores"]["head_type"]
    for number in range(1, len(uncertain) + 1):
        for flips in combinations(uncertain, number):
            types = measured.copy(deep=True)
            for doubt in flips:
                types.loc[{"seed": run.seed, "head": doubt.head}] = doubt.other
            yield flips, run.with_types(types)


def _result(row: tuple[Claim, str], table: Values, run: Run) -> int:
    """Return whether a claim passes in the seed of a run, one of ``PASSES``."""
    claim, name = row
    values: Mapping[int, Value] = table.of(claim.statistic, name)
    try:
        own = {**values, run.seed: evaluate(claim.statistic, run)}
    except Absent:
        return PASSES["not_judged"]
    passes = judged_outcome(claim, name, table, own=list(own.values())).passes
    return int(passes[list(own).index(run.seed)])


def _reason(result: int, flips: Sequence[Doubt]) -> str:
    """Return "fails if head 0:3 is previous-token, not multigram: score 0.299 ± 0.013, threshold 0.3"."""
    said = {PASSES[name]: words for name, words in SAID.items()}.get(result, NO_VALUE)
    heads = [f"head {each.head} is {each.other}, not {each.kind}{each.because}" for each in flips]
    return f"{said} if {' and '.join(heads)}"

"""Claims on the order in which behaviours appear, by the analysis "milestones"."""

import xarray as xr

from rllc.analysis.curves import last
from rllc.claims.claim import claim
from rllc.claims.run import Run
from rllc.claims.settled import require_settled
from rllc.claims.stages.curves import two_layers

ORDER = 6  # place of these claims among those of the work


@claim(
    "The bigram score is least at the first boundary",
    source="§5.1",
    name="bigram_min",
    label="log2 of the step of the least bigram score over that of the LLC's first boundary",
    unit="octaves",
    at_least=-0.5,
    at_most=0.5,
    where=two_layers,
    published="-0.51: 700 against 1,000, fails",
)
def bigram_after_boundary(run: Run) -> xr.DataArray:
    """Return log2 of the step of the least bigram score over that of the LLC's first boundary."""
    require_settled(run, run.experiment.setting)
    return last(run.curve("milestones.bigram_after_boundary"))


@claim(
    "Bigrams, n-grams, previous tokens and induction come in this order",
    source="§5",
    name="order",
    label="whether these come in this order: the least bigram score; half of the rise of the 3-gram "
    "score, the previous-token score, the prefix-matching score",
    at_least=1,
    where=two_layers,
    published="1: 700, 4.8k, 11.6k, 13.2k",
)
def behaviours_in_order(run: Run) -> xr.DataArray:
    """Return 1 where the landmarks of bigrams, 3-grams, previous tokens and induction ascend, else 0."""
    return last(run.curve("milestones.in_order"))


@claim(
    "Induction heads K-compose before their attention changes",
    source="§5.2, B.5",
    name="kcomp_early",
    label="log2 of the step of the onset of K-composition over that of prefix matching",
    unit="octaves",
    at_most=-0.1,
    where=two_layers,
    published="not among the numbers read",
)
def composition_lead(run: Run) -> xr.DataArray:
    """Return log2 of the step of the onset of K-composition over that of prefix matching."""
    return last(run.curve("milestones.composition_lead"))

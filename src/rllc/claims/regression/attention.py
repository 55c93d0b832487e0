"""Claims on attention that gets hard and constant."""

import xarray as xr

from rllc.analysis.curves import last
from rllc.claims.claim import claim
from rllc.claims.regression.curves import PAPER
from rllc.claims.run import Run

ORDER = 6  # place of these claims among those of the work


@claim(
    "The attention of two or more heads becomes hard and constant",
    source=f"{PAPER}, App. C.4.5",
    label="number of (head, kind of query) pairs with hard, constant attention",
    unit="patterns",
    experiment="regression",
    at_least=2,
)
def heads_hard(run: Run) -> xr.DataArray:
    """Return the number of heads and kinds of query with hard, constant attention at the end."""
    return last(run.curve("structure.hard_patterns"))


@claim(
    "Attention that is hard does not vary between sequences",
    source=f"{PAPER}, App. C.4.5",
    label="rank correlation of attention's entropy and variability at the end",
    experiment="regression",
    at_least=0.5,
)
def hard_constant(run: Run) -> xr.DataArray:
    """Return the rank correlation of attention's entropy and variability at the end."""
    return last(run.curve("structure.hard_correlation"))

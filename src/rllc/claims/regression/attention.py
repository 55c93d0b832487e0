"""Claims on attention that gets hard and constant."""

import xarray as xr

from rllc.analysis.curves import NotJudged, last, measured
from rllc.analysis.knots import places_fit_worse
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


@claim(
    "Stages of the LLC line up with stages of the attention's entropy",
    source=f"{PAPER}, App. C.4.5",
    label="share of random places at which entropies bend less than at the LLC's boundaries",
    experiment="regression",
    at_least=0.95,
)
def entropy_lines_up(run: Run) -> xr.DataArray:
    """Return how often the entropies' bends fit random places worse than the LLC's stage boundaries.

    Every head has two curves, for queries at inputs and at answers. ``rllc.analysis.knots`` explains the
    share. It is 1/2 on average if boundaries and bends have nothing to do with each other, so random
    boundaries pass in 5 % of cases.
    """
    boundaries = run.curve(
        "stages.at_boundary", setting=run.experiment.setting, distribution=run.text, kind="any", from_step=1
    )
    knots = boundaries["step"].values[boundaries.values >= 1]
    if not knots.size:
        raise NotJudged("needs a stage boundary of the LLC, has none")
    entropy = run.curve("structure.attention_entropy", from_step=1)
    kinds = [entropy.isel(query=slice(first, None, 2)).mean("query") for first in (2, 1)]
    curves = measured(xr.concat(kinds, "kind")).transpose("step", ...)
    step = curves["step"].values.astype(float)
    fitting = places_fit_worse(step, curves.values.reshape(step.size, -1), knots.astype(float))
    return xr.DataArray(fitting)

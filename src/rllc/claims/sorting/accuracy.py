"""Claims on the accuracy."""

import xarray as xr

from rllc.analysis.curves import last, value_at
from rllc.claims.claim import claim, number
from rllc.claims.run import Run
from rllc.claims.sorting.curves import of_the_post

ORDER = 1  # place of these claims among those of the work


def accuracy_curve(run: Run) -> xr.DataArray:
    """Return the token accuracy on the first distribution measured: clean lists, whatever is trained on.

    Raises Absent for models that the post does not have.
    """
    of_the_post(run)
    measured = run.dataset("metrics")["distribution"].values
    return run.curve("metrics.accuracy", distribution=measured[0])


@claim(
    "One head sorts almost perfectly by step 200 (the post: 100 % at about step 100)",
    source="post, 1-Head Model",
    name="accuracy_1head",
    at_least=0.99,
    experiment="sort_1head",
)
@claim(
    "Two heads sort almost perfectly by step 200",
    source="post, figure of the 2-Head Model",
    name="accuracy_2heads",
    label="token accuracy at step 200",
    at_least=0.99,
    experiment="sort_2head_baseline",
)
def accuracy_by_200(run: Run) -> xr.DataArray:
    """Return the token accuracy at step 200."""
    return value_at(accuracy_curve(run), 200)


@claim(
    "Without layer norm, the accuracy is about 90 % at step 60,000",
    source="post, Removing Layer Norm",
    name="accuracy_noLN",
    label="token accuracy at step 60,000",
    at_least=0.85,
    at_most=0.95,
    experiment="sort_2head_noLN",
    reached=60_000,
)
def accuracy_at_60k(run: Run) -> xr.DataArray:
    """Return the token accuracy at step 60,000."""
    return value_at(accuracy_curve(run), 60_000)


@claim(
    "Without layer norm and weight decay, the model sorts with 100 % accuracy",
    source="post, Removing both",
    name="accuracy_noLN_noWD",
    at_least=0.99,
    experiment="sort_2head_noLN_noWD",
    reached=4_000,
)
@number("token accuracy at the end")
def final_accuracy(run: Run) -> xr.DataArray:
    """Return the token accuracy at the end."""
    return last(accuracy_curve(run))

"""Claims on the ranks of the circuits."""

import xarray as xr

from rllc.analysis.curves import fall, relative_range
from rllc.claims.claim import claim
from rllc.claims.run import Run

ORDER = 3  # place of these claims among those of the work


@claim(
    "With one head the sum of ranks falls",
    source="post, 1-Head Model",
    name="rank_1head",
    at_least=0.2,
    experiment="sort_1head",
    reached=4_000,
)
@claim(
    "With two heads and weight decay the sum of ranks falls",
    source="post, 2-Head Model",
    name="rank_2heads",
    at_least=0.2,
    experiment="sort_2head_baseline",
    reached=4_000,
)
@claim(
    "Trained on perturbed lists the sum of ranks falls (the post: after step 2,400)",
    source="post, Adding Noise",
    name="rank_noise",
    label="fall of the rank sum from its largest value to the end",
    at_least=0.2,
    experiment="sort_2head_noise",
    reached=6_000,
)
def rank_fall(run: Run) -> xr.DataArray:
    """Return the fall of the summed ranks of all circuits from the largest value to the end."""
    return fall(run.curve("circuits.rank_sum"))


@claim(
    "Without weight decay the sum of ranks stays constant",
    source="post, Removing Weight Decay",
    name="rank_noWD",
    at_most=0.05,
    experiment="sort_2head_noWD",
)
@claim(
    "Without layer norm and weight decay the sum of ranks stays constant",
    source="post, Removing both",
    name="rank_noLN_noWD",
    label="range of the rank sum divided by its mean",
    at_most=0.05,
    experiment="sort_2head_noLN_noWD",
)
def rank_range(run: Run) -> xr.DataArray:
    """Return the range of the summed ranks of all circuits over their mean."""
    return relative_range(run.curve("circuits.rank_sum"))

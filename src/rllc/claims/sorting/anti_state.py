"""Claims on a head that is the negative of the others."""

import xarray as xr

from rllc.analysis.curves import last
from rllc.claims.claim import claim
from rllc.claims.run import Run

ORDER = 6  # place of these claims among those of the work


@claim(
    "Heads that divide the vocabulary are not each other's negative",
    source="ours: a check that the statistic can be low",
    name="anti_state_baseline",
    at_most=0.5,
    experiment="sort_2head_baseline",
    reached=4_000,
)
@claim(
    "Trained on perturbed lists one head becomes the negative of the other",
    source="post, Adding Noise",
    name="anti_state_noise",
    at_least=0.5,
    experiment="sort_2head_noise",
    reached=4_000,
)
@claim(
    "With three heads, one becomes the negative sum of the others",
    source="post, Adding More Heads",
    name="anti_state_3heads",
    at_least=0.5,
    experiment="sort_3head",
    reached=4_000,
)
@claim(
    "With four heads, one becomes the negative sum of the others (the post: around step 5,000)",
    source="post, Adding More Heads",
    name="anti_state_4heads",
    label="largest anti-state correlation of a head at the end",
    at_least=0.5,
    experiment="sort_4head",
    reached=6_000,
)
def final_anti_state(run: Run) -> xr.DataArray:
    """Return the largest correlation of a head's OV circuit with minus the sum of the others', at the end."""
    return last(run.curve("circuits.anti_state").max("head"))

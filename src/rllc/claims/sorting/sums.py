"""Claims on the circuits of the model of cumulative sums."""

import numpy as np
import xarray as xr

from rllc.analysis.curves import PEAK_FROM, NotJudged, fall, first_step_reaching, last, value_at
from rllc.claims.claim import claim
from rllc.claims.run import Run
from rllc.claims.sorting.accuracy import accuracy_curve

ORDER = 8  # place of these claims among those of the work

ACCURATE = 0.99  # token accuracy of a model that has learned its task
SOURCE = "post, Other algorithmic transformers"


@claim(
    "For cumulative sums the OV circuit goes directly to its final structure",
    source=SOURCE,
    name="direct_cumsum",
    label="correlation of the OV circuit at the first accuracy of 0.99 with that at the end",
    at_least=0.9,
    experiment="cumsum",
    reached=4_000,
)
def ov_likeness_to_end(run: Run) -> xr.DataArray:
    """Return the correlation of the OV circuit at the first accurate checkpoint with that at the end.

    The checkpoint is that of the measured accuracy, without redraws.
    """
    accuracy = accuracy_curve(run.like(noise=None, control=False))
    step = float(first_step_reaching(accuracy, ACCURATE))
    if not np.isfinite(step):
        raise NotJudged(f"needs an accuracy of {ACCURATE:g}, has at most {float(accuracy.max()):.2f}")
    circuit = run.curve("circuits.ov_answers")
    return xr.corr(value_at(circuit, step), last(circuit))


@claim(
    "For cumulative sums the circuits do not get simpler: the sum of ranks falls by less than a fifth",
    source=SOURCE,
    name="rank_cumsum",
    label="fall of the rank sum from its largest value, from step 50 on, to the end",
    at_most=0.2,
    experiment="cumsum",
    reached=4_000,
)
def rank_fall_of_sums(run: Run) -> xr.DataArray:
    """Return the fall of the summed ranks from their largest value to the end."""
    return fall(run.curve("circuits.rank_sum", from_step=PEAK_FROM))

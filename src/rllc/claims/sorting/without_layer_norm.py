"""Claims on the model without layer norm while its LLC rises and falls.

The post makes seven statements on it. Two of them are in ``accuracy`` (90 % at step 60,000) and ``llc`` (the
peak at step 27,000), and the level of the symmetry is in ``symmetry``. Bounds are those of the same words on
other models: a fall of the LLC of 0.05, of the overlap of 0.1, of ranks of 0.2, a growth of 0.8. "Very
slightly" is a rise of the ranks of at most a tenth.
"""

import xarray as xr

from rllc.analysis.curves import change, fall, ratio_at, smooth, value_at
from rllc.claims.claim import claim
from rllc.claims.run import Run
from rllc.claims.sorting.curves import FEW_CHECKPOINTS, growth_of, llc_curve

ORDER = 7  # place of these claims among those of the work

PEAK, END = 27_000, 60_000  # steps of the LLC's peak and of the end of its fall in the post
AROUND_PEAK = (20_000, 36_000)  # bounds of the claim on the step of the peak
EARLY = 200  # the ranks fall around step 100
SOURCE = "post, Removing Layer Norm"


@claim(
    "Without layer norm the LLC falls after its peak until step 60,000",
    source=SOURCE,
    name="fall_noLN",
    label="fall of the LLC from its peak to step 60,000",
    at_least=0.05,
    experiment="sort_2head_noLN",
    reached=END,
)
def llc_fall_to_60k(run: Run) -> xr.DataArray:
    """Return the fall of the mean LLC over three checkpoints from its peak to step 60,000."""
    return fall(smooth(llc_curve(run, to_step=END)))


@claim(
    "Without layer norm the translational symmetry grows while the LLC falls",
    source=SOURCE,
    name="symmetry_grows_noLN",
    label="rank correlation of translational symmetry with the step, from step 27,000 to 60,000",
    at_least=0.8,
    experiment="sort_2head_noLN",
    reached=END,
    correction=FEW_CHECKPOINTS,
)
def symmetry_growth_after_peak(run: Run) -> xr.DataArray:
    """Return Spearman's correlation of the translational symmetry with the step after the LLC's peak."""
    return growth_of(run, "circuits.translational_symmetry", from_step=PEAK, to_step=END)


@claim(
    "Without layer norm the overlap of the heads falls while the LLC falls",
    source=SOURCE,
    name="overlap_noLN",
    label="fall of the head overlap from step 27,000 to 60,000",
    at_least=0.1,
    experiment="sort_2head_noLN",
    reached=END,
)
def overlap_fall_after_peak(run: Run) -> xr.DataArray:
    """Return the share of the overlap at the LLC's peak that is lost at step 60,000."""
    return 1 - ratio_at(run.curve("circuits.head_overlap"), PEAK, END)


@claim(
    "Without layer norm the overlap of the heads ends smaller than in the baseline",
    source="post, footnote 6",
    name="overlap_level_noLN",
    label="head overlap at step 60,000",
    at_most=-0.02,
    experiment="sort_2head_noLN",
    versus="sort_2head_baseline",
    reached=END,
)
def overlap_at_60k(run: Run) -> xr.DataArray:
    """Return the overlap of the heads at step 60,000."""
    return value_at(run.curve("circuits.head_overlap"), END)


@claim(
    "Without layer norm the sum of ranks falls steeply around step 100",
    source=SOURCE,
    name="rank_falls_noLN",
    label="fall of the rank sum from step 0 to step 200",
    at_least=0.2,
    experiment="sort_2head_noLN",
    reached=EARLY,
)
def rank_fall_early(run: Run) -> xr.DataArray:
    """Return the share of the summed ranks of the untrained model that is lost at step 200."""
    return 1 - ratio_at(run.curve("circuits.rank_sum"), 0, EARLY)


@claim(
    "Without layer norm the sum of ranks rises very slightly as the LLC peaks",
    source=SOURCE,
    name="rank_rises_noLN",
    label="rise of the rank sum from step 20,000 to 36,000, as a share",
    at_least=0.001,
    at_most=0.1,
    experiment="sort_2head_noLN",
    reached=END,
)
def rank_rise_at_peak(run: Run) -> xr.DataArray:
    """Return the rise of the summed ranks around the LLC's peak, as a share of their value before it."""
    ranks, (before, after) = run.curve("circuits.rank_sum"), AROUND_PEAK
    return change(ranks, before, after) / value_at(ranks, before)

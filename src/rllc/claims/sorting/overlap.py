"""Claims on the overlap of the heads, and on regions of the vocabulary."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from rllc.analysis.curves import PEAK_FROM, fall, last, smooth, step_lead, value_at
from rllc.analysis.regions import regions
from rllc.claims.claim import claim, number
from rllc.claims.run import Run
from rllc.claims.sorting.curves import COMMON, MOVED, SEEN, SETTING, common_end, llc_curve, require_peak

ORDER = 4  # place of these claims among those of the work


@claim(
    "The overlap of the heads is largest where the LLC is largest, within a factor of 1.4 in steps",
    source="post, 2-Head Model",
    name="overlap_at_peak",
    label="log2 of the step of the LLC's peak divided by that of the overlap's",
    unit="octaves",
    at_least=-0.5,
    at_most=0.5,
    experiment="sort_2head_baseline",
    reached=2_000,
    correction=f"{SEEN} {SETTING}",
)
def overlap_lead(run: Run) -> xr.DataArray:
    """Return log2 of the step of the LLC's peak over that of the overlap's, of means over three.

    Raises NotJudged if the LLC's is at the end.
    """
    require_peak(run, lambda one: smooth(llc_curve(one)))
    overlap = run.curve("circuits.head_overlap", from_step=PEAK_FROM)  # before, that of random matrices
    return step_lead(smooth(overlap), smooth(llc_curve(run)))


@claim(
    "The overlap of the heads falls with the LLC",
    source="post, 2-Head Model",
    name="overlap_falls",
    at_least=0.1,
    experiment="sort_2head_baseline",
    reached=4_000,
    given="fall_2heads",
)
@number("fall of the head overlap from its peak, from step 50 on, to the end")
def overlap_fall(run: Run) -> xr.DataArray:
    """Return the fall of the overlap of the heads from its peak to the end."""
    return fall(run.curve("circuits.head_overlap", from_step=PEAK_FROM))


@claim(
    "Without weight decay the overlap of the heads is larger than in the baseline",
    source="post, Removing Weight Decay",
    name="overlap_noWD",
    at_least=0.02,
    experiment="sort_2head_noWD",
    versus="sort_2head_baseline",
    reached=4_000,
    correction=MOVED,
)
@claim(
    "Without layer norm and weight decay, the overlap of the heads is larger than in the baseline",
    source="post, Removing both",
    name="overlap_noLN_noWD",
    label=f"head overlap at {COMMON}",
    at_least=0.02,
    experiment="sort_2head_noLN_noWD",
    versus="sort_2head_baseline",
    reached=4_000,
    correction=MOVED,
)
def overlap_common(run: Run) -> xr.DataArray:
    """Return the overlap of the heads at the end of the study's shortest training."""
    return value_at(run.curve("circuits.head_overlap"), common_end(run))


def _of_shuffled_numbers(*, shortest: int) -> Callable[[Run, np.random.Generator], float]:
    """Return the function that counts the regions at the end with the numbers in a random order."""

    def count(run: Run, random: np.random.Generator) -> float:
        circuits = run.dataset("circuits")["ov"].isel(step=-1).transpose("token", "other_token", "head")
        diagonal = np.diagonal(circuits.values).T
        return float(regions(random.permutation(diagonal).tolist(), shortest=shortest))

    return count


CHANCE = (
    "Random orders of the numbers give its chance level. Before, it had none. Most random orders pass if "
    "single numbers do not count as regions."
)


@claim(
    "Two heads divide the vocabulary into a few contiguous regions",
    source="post, 2-Head Model",
    name="regions_2heads",
    at_least=2,
    at_most=10,
    experiment="sort_2head_baseline",
    reached=4_000,
    by_chance=_of_shuffled_numbers(shortest=3),
    correction=CHANCE,
)
@number("vocabulary regions of at least 3 tokens at the end", unit="regions")
def final_regions(run: Run) -> xr.DataArray:
    """Return the number of runs of at least 3 numbers of which one head has the larger OV diagonal."""
    return last(run.curve("circuits.regions_min3"))


@claim(
    "Two heads divide the vocabulary into a few contiguous regions, single tokens counted as regions",
    source="post, 2-Head Model",
    name="regions_raw_2heads",
    label="vocabulary regions at the end, single tokens counted",
    unit="regions",
    at_least=2,
    at_most=10,
    experiment="sort_2head_baseline",
    reached=4_000,
    by_chance=_of_shuffled_numbers(shortest=1),
    correction=CHANCE,
)
def final_raw_regions(run: Run) -> xr.DataArray:
    """Return the number of regions at the end, those of a single number counted."""
    return last(run.curve("circuits.regions"))


@claim(
    "With vocabulary 202 the number of regions is the same, to within 2",
    source="post, Number of vocabulary regions",
    name="regions_vocab202",
    at_least=-2,
    at_most=2,
    experiment="sort_2head_vocab202",
    versus="sort_2head_baseline",
    reached=4_000,
    correction=MOVED,
)
@claim(
    "With lists of 20 there are more regions",
    source="post, Number of vocabulary regions",
    name="regions_len20",
    label=f"vocabulary regions of at least 3 tokens at {COMMON}",
    unit="regions",
    at_least=3,
    experiment="sort_2head_len20",
    versus="sort_2head_baseline",
    reached=4_000,
    correction=f"{MOVED} It was at least 1 more, which also counts as the same number (to within 2).",
)
def regions_common(run: Run) -> xr.DataArray:
    """Return the number of regions of at least 3 numbers at the end of the study's shortest training."""
    return value_at(run.curve("circuits.regions_min3"), common_end(run))

"""Claims on the translational symmetry."""

import xarray as xr

from rllc.analysis.curves import last, maximum, value_at
from rllc.claims.claim import claim, number
from rllc.claims.run import Run
from rllc.claims.sorting.curves import COMMON, FEW_CHECKPOINTS, MOVED, common_end, growth_of

ORDER = 5  # place of these claims among those of the work

SYMMETRY_FROM = 100  # step from which the symmetry is read


@claim(
    "With one head the translational symmetry grows through most of the training",
    source="post, 1-Head Model",
    name="symmetry_1head",
    at_least=0.8,
    experiment="sort_1head",
    reached=4_000,
    correction=FEW_CHECKPOINTS,
)
@claim(
    "With two heads the translational symmetry grows",
    source="post, 2-Head Model",
    name="symmetry_2heads",
    label="rank correlation of translational symmetry with the step, from step 100",
    at_least=0.8,
    experiment="sort_2head_baseline",
    reached=4_000,
    correction=FEW_CHECKPOINTS,
)
def symmetry_growth(run: Run) -> xr.DataArray:
    """Return Spearman's correlation of the translational symmetry with the step."""
    return growth_of(run, "circuits.translational_symmetry", from_step=SYMMETRY_FROM)


@claim(
    "Without layer norm the symmetry reaches about 1.25, within a fifth",
    source="post, Removing Weight Decay",
    name="symmetry_level_noLN",
    at_least=1.0,
    at_most=1.5,
    experiment="sort_2head_noLN",
    reached=60_000,
)
@claim(
    "With two heads, the symmetry reaches about 1.75, within a fifth",
    source="post, Removing Weight Decay",
    name="symmetry_level_2heads",
    label="largest translational symmetry",
    at_least=1.4,
    at_most=2.1,
    experiment="sort_2head_baseline",
    reached=60_000,
)
def symmetry_peak(run: Run) -> xr.DataArray:
    """Return the largest translational symmetry."""
    return maximum(run.curve("circuits.translational_symmetry", from_step=SYMMETRY_FROM))


@claim(
    "Without weight decay the symmetry stays below that of the baseline",
    source="post, Removing Weight Decay",
    name="symmetry_noWD",
    at_most=0.75,
    experiment="sort_2head_noWD",
    versus="sort_2head_baseline",
    ratio=True,
    reached=4_000,
    correction=MOVED,
)
@claim(
    "Without layer norm and weight decay, the symmetry is lower than without weight decay alone",
    source="post, Removing both",
    name="symmetry_noLN_noWD",
    label=f"translational symmetry at {COMMON}",
    at_most=0.0,
    experiment="sort_2head_noLN_noWD",
    versus="sort_2head_noWD",
    reached=4_000,
    correction=MOVED,
)
def symmetry_common(run: Run) -> xr.DataArray:
    """Return the translational symmetry at the end of the study's shortest training."""
    return value_at(run.curve("circuits.translational_symmetry"), common_end(run))


@number("translational symmetry at the end")
def final_symmetry(run: Run) -> xr.DataArray:
    """Return the translational symmetry at the end. No claim is judged by it; docs/sorting.md quotes it."""
    return last(run.curve("circuits.translational_symmetry"))

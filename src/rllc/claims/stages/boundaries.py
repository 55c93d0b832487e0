"""Claims on the boundaries between stages, by the LLC."""

import xarray as xr

from rllc.analysis.curves import change, count_reaching, first_step_reaching, places_reaching
from rllc.analysis.stages import ANY, POSSIBLE
from rllc.claims.claim import EVERY_RUN, claim
from rllc.claims.columns import CONTROL
from rllc.claims.run import Run
from rllc.claims.settled import require_settled
from rllc.claims.stages.curves import (
    BOUNDARIES,
    END,
    FACTOR,
    LM2_END,
    LM3_END,
    LM4_END,
    PAPER_BEGINS,
    llc_curve,
    one_layer,
    two_layers,
)

ORDER = 1  # place of these claims among those of the work


def _boundaries(run: Run, kind: str = ANY, *, ending: str = "", from_step: float = 0) -> xr.DataArray:
    """Return 0 where no stage boundary of this kind is, 1 where one is possible, 2 where it is determined.

    Raises NotJudged where the chains of the LLC do not settle. A control needs none.
    """
    if not ending:
        require_settled(run, run.experiment.setting)
    setting = run.experiment.setting + ending
    return run.curve(
        "stages.at_boundary", from_step=from_step, setting=setting, distribution=run.text, kind=kind
    )


NO_BUMPS = (
    "Boundaries before step 100, the paper's first checkpoint, do not count. Before, bumps of closer "
    "checkpoints there did."
)
SEVERAL_SEEDS = "It needs three seeds to hold. Before, it held by one."


@claim(
    "LLC plateaus divide the two-layer model's training into five stages",
    source="§5, Fig. 1a",
    name="lm_stages",
    at_least=4,
    at_most=4,
    where=two_layers,
    published="4; on all of their checkpoints 6, of which 4 determined",
    correction=NO_BUMPS,
)
@claim(
    "Every seed has LM1 to LM4",
    source="B.1",
    name="lm_universal_stages",
    label="stage boundaries of the LLC from step 100 on, possible and determined",
    unit="boundaries",
    at_least=3,
    where=two_layers,
    published="4 (one seed is public)",
    correction=f"{NO_BUMPS} {SEVERAL_SEEDS}",
    seeds=EVERY_RUN,
)
def stages(run: Run) -> xr.DataArray:
    """Return the number of stage boundaries of the LLC from step 100 on, possible and determined."""
    return count_reaching(_boundaries(run, from_step=PAPER_BEGINS), POSSIBLE)


@claim(
    "The boundaries are at 900, 6.5k, 8.5k and 17k, within a factor of 1.25",
    source="§5",
    name="lm_boundaries",
    label="number of the published boundaries 900, 6.5k, 8.5k and 17k that are found",
    unit="boundaries",
    at_least=4,
    where=two_layers,
    reached=END,
    published="4: 1,000, 6,200, 8,800, 16,400",
)
def published_boundaries(run: Run) -> xr.DataArray:
    """Return how many of the paper's boundaries are there, within a factor."""
    return places_reaching(_boundaries(run), POSSIBLE, BOUNDARIES, FACTOR)


@claim(
    "In some seeds (paper: three of five), LM5 is divided once more",
    source="B.1",
    name="lm5_split",
    label="stage boundaries of the LLC after step 21,250",
    unit="boundaries",
    at_least=1,
    where=two_layers,
    reached=END,
    published="0 (one seed is public)",
)
def late_boundaries(run: Run) -> xr.DataArray:
    """Return the number of stage boundaries later than any that could be the end of LM4."""
    return count_reaching(_boundaries(run, from_step=LM4_END * FACTOR), POSSIBLE)


@claim(
    "In every seed the LLC falls once between stages",
    source="B.1",
    name="lm_universal_trough",
    label="troughs of the LLC between stages, from step 100 on",
    unit="boundaries",
    at_least=1,
    at_most=1,
    where=two_layers,
    published="1 (one seed is public)",
    correction=f"{NO_BUMPS} {SEVERAL_SEEDS}",
    seeds=EVERY_RUN,
)
def troughs(run: Run) -> xr.DataArray:
    """Return the number of boundaries from step 100 on at which the LLC has a trough."""
    return count_reaching(_boundaries(run, "trough", from_step=PAPER_BEGINS), POSSIBLE)


@claim(
    "With one layer the LLC falls from step 400 to 900",
    source="B.5",
    name="one_layer_two",
    label="step of the LLC's first trough between stages",
    unit="steps",
    at_least=720,
    at_most=1_100,
    where=one_layer,
    reached=END,
    published="none; on all of their checkpoints 800, after the start to 500",
)
def first_trough(run: Run) -> xr.DataArray:
    """Return the step of the LLC's first trough between stages."""
    return first_step_reaching(_boundaries(run, "trough"), POSSIBLE)


@claim(
    "The prior-only control has no boundary",
    source="ours: a control",
    name="stages_not_of_control",
    label="stage boundaries of the prior-only control",
    unit="boundaries",
    at_most=0,
    where=two_layers,
    published="not measured",
)
def stages_control(run: Run) -> xr.DataArray:
    """Return the number of stage boundaries of the LLC's prior-only control."""
    return count_reaching(_boundaries(run, ending=CONTROL), POSSIBLE)


@claim(
    "The published rule finds the four boundaries without human choice",
    source="A.5",
    name="smooth_auto",
    label="plateaus of the LLC by the published rule",
    unit="plateaus",
    at_least=4,
    at_most=4,
    where=two_layers,
    reached=END,
    published="7; on all of their checkpoints over 100: fails",
)
def published_rule(run: Run) -> xr.DataArray:
    """Return the number of checkpoints that the published rule calls plateaus."""
    require_settled(run, run.experiment.setting)
    flat = run.curve("stages.published", setting=run.experiment.setting, distribution=run.text)
    return count_reaching(flat, 1)


@claim(
    "The LLC falls in LM3",
    source="§5.3",
    name="lm3_falls",
    label="change of the LLC from step 6,500 to 8,500",
    at_most=0,
    where=two_layers,
    reached=END,
    published="-1.6 ± 0.2",
)
def llc_change_lm3(run: Run) -> xr.DataArray:
    """Return the change of the LLC in LM3."""
    return change(llc_curve(run, run.experiment.setting), LM2_END, LM3_END)

"""Claims on the peak and the fall of the LLC."""

import xarray as xr

from rllc.analysis.curves import fall, fall_to_minimum, maximum, peak_step, smooth
from rllc.claims.claim import claim, number
from rllc.claims.run import Run
from rllc.claims.sorting.curves import COMMON, SEEN, SETTING, UNSEEN, common_end, llc_curve, require_peak

ORDER = 2  # place of these claims among those of the work

NOISY = (
    "It was read on clean lists. Now it is read on perturbed lists if the LLC is measured on them, because "
    "the post takes clean lists for the accuracy alone."
)
COMPARED = "It presupposes that the LLC falls with two heads. Before, two trainings without a fall passed."
SINGLE = (
    "It was the largest mean of three checkpoints, which reads a peak at 400 as one at 700. Now it is the "
    "largest checkpoint."
)


def _means(run: Run) -> xr.DataArray:
    return smooth(llc_curve(run))


@number("step of the largest LLC", unit="steps")
def llc_peak_step(run: Run) -> xr.DataArray:
    """Return the step of the largest mean LLC over three checkpoints."""
    return peak_step(_means(run))


@claim(
    "With one head the LLC peaks around step 1,000",
    source="post, 1-Head Model",
    name="peak_1head",
    at_least=500,
    at_most=1_300,
    experiment="sort_1head",
    reached=2_000,
    correction=f"{SEEN} {SETTING}",
)
@claim(
    "With two heads the LLC peaks around step 1,000",
    source="post, 2-Head Model",
    name="peak_2heads",
    at_least=500,
    at_most=1_300,
    experiment="sort_2head_baseline",
    reached=2_000,
    correction=f"{SEEN} {SETTING}",
)
@claim(
    "Without layer norm the LLC peaks at about step 27,000",
    source="post, Removing Layer Norm",
    name="peak_noLN",
    label="step of the LLC's peak",
    unit="steps",
    at_least=20_000,
    at_most=36_000,
    experiment="sort_2head_noLN",
    reached=60_000,
    correction=f"{SEEN} {SETTING}",
)
def llc_peak_seen(run: Run) -> xr.DataArray:
    """Return the step of the largest mean LLC over three checkpoints. Raises NotJudged if it is the last."""
    require_peak(run, _means)
    return llc_peak_step(run)


@claim(
    "Without layer norm and weight decay, the LLC peaks shortly before step 400",
    source="post, Removing both",
    name="peak_noLN_noWD",
    label="step of the checkpoint with the largest LLC",
    unit="steps",
    at_least=200,
    at_most=400,
    experiment="sort_2head_noLN_noWD",
    reached=2_000,
    correction=f"{SINGLE} {SEEN} {SETTING}",
)
def llc_peak_step_single(run: Run) -> xr.DataArray:
    """Return the step of the checkpoint with the largest LLC. Raises NotJudged if it is the last."""
    require_peak(run, llc_curve)
    return peak_step(llc_curve(run))


@claim(
    "Trained on perturbed lists the LLC does not fall",
    source="post, Adding Noise",
    name="no_fall_noise",
    at_most=0.05,
    experiment="sort_2head_noise",
    reached=4_000,
    correction=f"{NOISY} {SETTING}",
)
@claim(
    "For cumulative sums the LLC rises and stays",
    source="post, Other algorithmic transformers",
    name="no_fall_cumsum",
    at_most=0.05,
    experiment="cumsum",
    reached=4_000,
    correction=SETTING,
)
@number("fall of the LLC from its peak to the end")
def llc_fall(run: Run) -> xr.DataArray:
    """Return the fall of the mean LLC over three checkpoints from its peak to the end, over the peak."""
    return fall(smooth(llc_curve(run)))


@claim(
    "With one head the LLC then falls (the post: while the accuracy stays)",
    source="post, 1-Head Model",
    name="fall_1head",
    at_least=0.05,
    experiment="sort_1head",
    reached=4_000,
    correction=f"{UNSEEN} {SETTING}",
)
@claim(
    "With two heads the LLC then falls",
    source="post, 2-Head Model",
    name="fall_2heads",
    at_least=0.05,
    experiment="sort_2head_baseline",
    reached=4_000,
    correction=f"{UNSEEN} {SETTING}",
)
@claim(
    "Without weight decay the LLC falls",
    source="post, Removing Weight Decay",
    name="fall_noWD",
    at_least=0.05,
    experiment="sort_2head_noWD",
    reached=4_000,
    correction=f"{UNSEEN} {SETTING}",
)
@claim(
    "With lists of 20 the LLC falls as in the baseline",
    source="post, Number of vocabulary regions",
    name="fall_len20",
    at_least=0.05,
    experiment="sort_2head_len20",
    reached=4_000,
    correction=f"{UNSEEN} {SETTING}",
)
@claim(
    "With three heads the LLC falls",
    source="post, Adding More Heads",
    name="fall_3heads",
    at_least=0.05,
    experiment="sort_3head",
    reached=4_000,
    correction=f"{UNSEEN} {SETTING}",
)
@claim(
    "With four heads the LLC falls (the post: sharply around step 5,000)",
    source="post, Adding More Heads",
    name="fall_4heads",
    label="fall of the LLC from its peak to the end",
    at_least=0.05,
    experiment="sort_4head",
    reached=8_000,
    correction=f"{UNSEEN} {SETTING}",
)
def llc_fall_seen(run: Run) -> xr.DataArray:
    """Return ``llc_fall``. Raises NotJudged if the largest mean is the last."""
    require_peak(run, _means)
    return llc_fall(run)


@claim(
    "With one head the fall is weaker than with two",
    source="post, Discussion",
    name="fall_weaker_1head",
    label=f"fall of the LLC from its peak to {COMMON}",
    at_most=0.0,
    experiment="sort_1head",
    versus="sort_2head_baseline",
    reached=4_000,
    given="fall_2heads",
    correction=f"{COMPARED} {SETTING}",
)
def llc_fall_common(run: Run) -> xr.DataArray:
    """Return ``llc_fall`` to the end of the study's shortest training."""
    return fall(smooth(llc_curve(run, to_step=common_end(run))))


@claim(
    "Without layer norm and weight decay, the LLC falls until step 10,000",
    source="post, Removing both",
    name="fall_noLN_noWD",
    label="fall of the LLC from its peak to its least value after it",
    at_least=0.05,
    experiment="sort_2head_noLN_noWD",
    reached=10_000,
    correction=SETTING,
)
def llc_fall_to_minimum(run: Run) -> xr.DataArray:
    """Return the fall of the mean LLC over three checkpoints from its peak to the least value after that."""
    return fall_to_minimum(smooth(llc_curve(run)))


@number("largest LLC")
def llc_peak(run: Run) -> xr.DataArray:
    """Return the largest mean LLC over three checkpoints."""
    return maximum(smooth(llc_curve(run)))


# Falls by single checkpoints: docs/sorting.md quotes them, and no claim is judged by them.


@number("fall of the LLC from its largest checkpoint to the last")
def llc_fall_single(run: Run) -> xr.DataArray:
    """Return the fall of the LLC from its largest checkpoint to the last."""
    return fall(llc_curve(run))


@number("fall of the LLC, the post's setting")
def llc_fall_post(run: Run) -> xr.DataArray:
    """Return the fall from the largest checkpoint to the last at the post's setting."""
    return fall(llc_curve(run, "llc.post"))


@number("fall of the LLC, coarse steps")
def llc_fall_coarse(run: Run) -> xr.DataArray:
    """Return the fall from the largest checkpoint to the last with larger steps and a lower n_beta."""
    return fall(llc_curve(run, "llc.coarse"))


@number("fall of the LLC, longer chains")
def llc_fall_long(run: Run) -> xr.DataArray:
    """Return the fall from the largest checkpoint to the last by longer chains with more localization."""
    return fall(llc_curve(run, "llc.long"))


@number("fall of the LLC, scaled step")
def llc_fall_scaled(run: Run) -> xr.DataArray:
    """Return the fall from the largest checkpoint to the last with steps that scale with the squared norm."""
    return fall(llc_curve(run, "llc.scaled"))

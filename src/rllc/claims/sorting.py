"""Claims of the post on list sorting, and of its other algorithmic transformers.

The post is "Measuring Structure Development in Algorithmic Transformers" (Alignment Forum, August 2024).
Texts are ours, close to its words, and ``source`` names its section. Thresholds were fixed before a result
of this code was seen; where a prototype had shown something, the words of the post decided. docs/sorting.md
says what was changed since.

Each claim is about one experiment of config/sorting.yaml, by its name.

The LLC is read from step 50 on, because the LLC of random weights is no stage of the training. Its largest
value is that of means over three neighbouring checkpoints (a factor of 2.5 to 4 in steps). The largest of
noisy estimates lies above what they estimate, and a flat LLC would seem to fall by 5 % in half of the
seeds. The price is that a fall at the end shows at a part of its size. ``llc_fall_single`` says what single
checkpoints do.
"""

import xarray as xr

from rllc.analysis.curves import (
    PEAK_FROM,
    fall,
    fall_to_minimum,
    growth,
    last,
    maximum,
    peak_step,
    relative_range,
    smooth,
    step_lead,
    value_at,
)
from rllc.claims.claim import claim, number
from rllc.claims.run import Absent, Run

TASKS = ("sorting", "cumulative_sum")  # of the post

# length of the training -> end of the shortest training of the study, at which experiments are compared
COMMON_END = {
    0: 4_000,  # config/sorting.yaml: 4,000 to 8,000 steps
    60_000: 60_000,  # the post's lengths, config/sorting_published.yaml: 60,000 to 100,000 steps
}
COMMON = "the end of the shortest training (4,000; at the post's lengths, 60,000)"
MOVED = (
    "At the post's lengths it was read at step 4,000; now at step 60,000, the end of the shortest training "
    "there, as the fall of the LLC is. At 4,000 to 8,000 steps nothing changes."
)
NOISY = (
    "It was read on clean lists; now on perturbed ones where the LLC is measured on them, because the post "
    "takes clean lists for the accuracy alone."
)
SYMMETRY_FROM = 100  # step from which the symmetry is read


def _common_end(run: Run) -> int:
    """Return the step at which experiments of different lengths are compared."""
    shortest = run.experiment.shortest or run.experiment.steps
    return COMMON_END[max(length for length in COMMON_END if length <= shortest)]


def _llc(run: Run, dataset: str = "llc", *, to_step: int | None = None) -> xr.DataArray:
    """Return the LLC from step 50 on. Raises Absent for models that the post does not have.

    It is that on the distribution trained on, or where it is not measured there, on the first one.
    """
    if run.experiment.task not in TASKS:
        raise Absent(f"the post trains no model on {run.experiment.task}")
    measured = run.dataset(dataset)["distribution"].values
    text = run.text if run.text in measured else measured[0]
    return run.curve(f"{dataset}.llc", from_step=PEAK_FROM, to_step=to_step, distribution=text)


def _accuracy(run: Run) -> xr.DataArray:
    """Return the token accuracy on the first distribution measured: clean lists, whatever is trained on."""
    measured = run.dataset("metrics")["distribution"].values
    return run.curve("metrics.accuracy", distribution=measured[0])


# --- accuracy


@claim(
    "One head sorts all but perfectly by step 200 (the post: 100 % at about step 100)",
    source="post, 1-Head Model",
    name="accuracy_1head",
    at_least=0.99,
    experiment="sort_1head",
)
@claim(
    "Two heads sort all but perfectly by step 200",
    source="post, figure of the 2-Head Model",
    name="accuracy_2heads",
    label="token accuracy at step 200",
    at_least=0.99,
    experiment="sort_2head_baseline",
)
def accuracy_by_200(run: Run) -> xr.DataArray:
    """Return the token accuracy at step 200."""
    return value_at(_accuracy(run), 200)


@claim(
    "Without layer norm about 90 % accuracy at step 60,000",
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
    return value_at(_accuracy(run), 60_000)


@claim(
    "Without both the model sorts with 100 % accuracy",
    source="post, Removing both",
    name="accuracy_noLN_noWD",
    at_least=0.99,
    experiment="sort_2head_noLN_noWD",
    reached=4_000,
)
@number("token accuracy at the end")
def final_accuracy(run: Run) -> xr.DataArray:
    """Return the token accuracy at the end."""
    return last(_accuracy(run))


# --- peak and fall of the LLC


@claim(
    "With one head the LLC peaks around step 1,000",
    source="post, 1-Head Model",
    name="peak_1head",
    at_least=500,
    at_most=1_300,
    experiment="sort_1head",
    reached=2_000,
)
@claim(
    "With two heads the LLC peaks around step 1,000",
    source="post, 2-Head Model",
    name="peak_2heads",
    at_least=500,
    at_most=1_300,
    experiment="sort_2head_baseline",
    reached=2_000,
)
@claim(
    "Without layer norm the LLC peaks at about step 27,000",
    source="post, Removing Layer Norm",
    name="peak_noLN",
    at_least=20_000,
    at_most=36_000,
    experiment="sort_2head_noLN",
    reached=60_000,
)
@claim(
    "Without both the LLC peaks shortly before step 400",
    source="post, Removing both",
    name="peak_noLN_noWD",
    at_least=200,
    at_most=400,
    experiment="sort_2head_noLN_noWD",
    reached=2_000,
)
@number("step of the LLC's peak", unit="steps")
def llc_peak_step(run: Run) -> xr.DataArray:
    """Return the step of the largest mean LLC over three checkpoints."""
    return peak_step(smooth(_llc(run)))


@claim(
    "With one head the LLC then falls (the post: while the accuracy stays)",
    source="post, 1-Head Model",
    name="fall_1head",
    at_least=0.05,
    experiment="sort_1head",
    reached=4_000,
)
@claim(
    "With two heads the LLC then falls",
    source="post, 2-Head Model",
    name="fall_2heads",
    at_least=0.05,
    experiment="sort_2head_baseline",
    reached=4_000,
)
@claim(
    "Without weight decay the LLC falls",
    source="post, Removing Weight Decay",
    name="fall_noWD",
    at_least=0.05,
    experiment="sort_2head_noWD",
    reached=4_000,
)
@claim(
    "Trained on perturbed lists the LLC does not fall",
    source="post, Adding Noise",
    name="no_fall_noise",
    at_most=0.05,
    experiment="sort_2head_noise",
    reached=4_000,
    correction=NOISY,
)
@claim(
    "With lists of 20 the LLC falls as in the baseline",
    source="post, Number of vocabulary regions",
    name="fall_len20",
    at_least=0.05,
    experiment="sort_2head_len20",
    reached=4_000,
)
@claim(
    "With three heads the LLC falls",
    source="post, Adding More Heads",
    name="fall_3heads",
    at_least=0.05,
    experiment="sort_3head",
    reached=4_000,
)
@claim(
    "With four heads the LLC falls (the post: sharply around step 5,000)",
    source="post, Adding More Heads",
    name="fall_4heads",
    at_least=0.05,
    experiment="sort_4head",
    reached=8_000,
)
@claim(
    "For cumulative sums the LLC rises and stays",
    source="post, Other algorithmic transformers",
    name="no_fall_cumsum",
    at_most=0.05,
    experiment="cumsum",
    reached=4_000,
)
@number("fall of the LLC from its peak to the end")
def llc_fall(run: Run) -> xr.DataArray:
    """Return the fall of the mean LLC over three checkpoints from its peak to the end, over the peak."""
    return fall(smooth(_llc(run)))


@claim(
    "With one head the fall is weaker than with two",
    source="post, Discussion",
    name="fall_weaker_1head",
    label=f"fall of the LLC from its peak to {COMMON}",
    at_most=0.0,
    experiment="sort_1head",
    versus="sort_2head_baseline",
    reached=4_000,
)
def llc_fall_common(run: Run) -> xr.DataArray:
    """Return the same fall to the end of the study's shortest training."""
    return fall(smooth(_llc(run, to_step=_common_end(run))))


@claim(
    "Without both the LLC falls until step 10,000",
    source="post, Removing both",
    name="fall_noLN_noWD",
    label="fall of the LLC from its peak to its least value after it",
    at_least=0.05,
    experiment="sort_2head_noLN_noWD",
    reached=10_000,
)
def llc_fall_to_minimum(run: Run) -> xr.DataArray:
    """Return the fall of the mean LLC over three checkpoints from its peak to the least value after that."""
    return fall_to_minimum(smooth(_llc(run)))


@number("largest LLC")
def llc_peak(run: Run) -> xr.DataArray:
    """Return the largest mean LLC over three checkpoints."""
    return maximum(smooth(_llc(run)))


# By single checkpoints. No claim is judged by these; docs/sorting.md quotes them.


@number("fall of the LLC from its largest checkpoint to the last")
def llc_fall_single(run: Run) -> xr.DataArray:
    """Return the fall of the LLC from its largest checkpoint to the last."""
    return fall(_llc(run))


@number("fall of the LLC, calibrated setting")
def llc_fall_calibrated(run: Run) -> xr.DataArray:
    """Return the fall from the largest checkpoint to the last at the setting that calibration recommends."""
    return fall(_llc(run, "llc.calibrated"))


@number("fall of the LLC, coarse steps")
def llc_fall_coarse(run: Run) -> xr.DataArray:
    """Return the fall from the largest checkpoint to the last with larger steps and a lower n_beta."""
    return fall(_llc(run, "llc.coarse"))


@number("fall of the LLC, longer chains")
def llc_fall_long(run: Run) -> xr.DataArray:
    """Return the fall from the largest checkpoint to the last by longer chains with more localization."""
    return fall(_llc(run, "llc.long"))


@number("fall of the LLC, scaled step")
def llc_fall_scaled(run: Run) -> xr.DataArray:
    """Return the fall from the largest checkpoint to the last with steps that scale with the squared norm."""
    return fall(_llc(run, "llc.scaled"))


# --- ranks


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
    label="range of the rank sum over its mean",
    at_most=0.05,
    experiment="sort_2head_noLN_noWD",
)
def rank_range(run: Run) -> xr.DataArray:
    """Return the range of the summed ranks of all circuits over their mean."""
    return relative_range(run.curve("circuits.rank_sum"))


# --- overlap of the heads, and regions of the vocabulary


@claim(
    "The overlap of the heads is largest where the LLC is, within a factor of 1.4 in steps",
    source="post, 2-Head Model",
    name="overlap_at_peak",
    label="log2 of the step of the LLC's peak over that of the overlap's",
    unit="octaves",
    at_least=-0.5,
    at_most=0.5,
    experiment="sort_2head_baseline",
    reached=2_000,
)
def overlap_lead(run: Run) -> xr.DataArray:
    """Return log2 of the step of the LLC's peak over that of the overlap's, of means over three."""
    overlap = run.curve("circuits.head_overlap", from_step=PEAK_FROM)  # before, that of random matrices
    return step_lead(smooth(overlap), smooth(_llc(run)))


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
    "Without both the overlap of the heads is larger than in the baseline",
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
    return value_at(run.curve("circuits.head_overlap"), _common_end(run))


@claim(
    "Two heads divide the vocabulary into a few contiguous regions",
    source="post, 2-Head Model",
    name="regions_2heads",
    at_least=2,
    at_most=10,
    experiment="sort_2head_baseline",
    reached=4_000,
)
@number("vocabulary regions of at least 3 tokens at the end", unit="regions")
def final_regions(run: Run) -> xr.DataArray:
    """Return the number of runs of at least 3 numbers of which one head has the larger OV diagonal."""
    return last(run.curve("circuits.regions_min3"))


@claim(
    "The same, with single tokens counted as regions",
    source="post, 2-Head Model",
    name="regions_raw_2heads",
    label="vocabulary regions at the end, single tokens counted",
    unit="regions",
    at_least=2,
    at_most=10,
    experiment="sort_2head_baseline",
    reached=4_000,
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
    at_least=1,
    experiment="sort_2head_len20",
    versus="sort_2head_baseline",
    reached=4_000,
    correction=MOVED,
)
def regions_common(run: Run) -> xr.DataArray:
    """Return the number of regions of at least 3 numbers at the end of the study's shortest training."""
    return value_at(run.curve("circuits.regions_min3"), _common_end(run))


# --- translational symmetry


@claim(
    "With one head the translational symmetry grows through most of the training",
    source="post, 1-Head Model",
    name="symmetry_1head",
    at_least=0.8,
    experiment="sort_1head",
    reached=4_000,
)
@claim(
    "With two heads the translational symmetry grows",
    source="post, 2-Head Model",
    name="symmetry_2heads",
    label="rank correlation of translational symmetry with the step, from step 100",
    at_least=0.8,
    experiment="sort_2head_baseline",
    reached=4_000,
)
def symmetry_growth(run: Run) -> xr.DataArray:
    """Return Spearman's correlation of the translational symmetry with the step."""
    return growth(run.curve("circuits.translational_symmetry", from_step=SYMMETRY_FROM))


@claim(
    "With two heads the symmetry comes to about 1.75, within a fifth",
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
    "Without both the symmetry is lower than without weight decay alone",
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
    return value_at(run.curve("circuits.translational_symmetry"), _common_end(run))


@number("translational symmetry at the end")
def final_symmetry(run: Run) -> xr.DataArray:
    """Return the translational symmetry at the end. No claim is judged by it; docs/sorting.md quotes it."""
    return last(run.curve("circuits.translational_symmetry"))


# --- a head that is the negative of the others


@claim(
    "Heads that divide the vocabulary are not each other's negative",
    source="ours: a check that the statistic tells the two apart",
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
    "With three heads one becomes minus the sum of the others",
    source="post, Adding More Heads",
    name="anti_state_3heads",
    at_least=0.5,
    experiment="sort_3head",
    reached=4_000,
)
@claim(
    "With four heads one becomes minus the sum of the others (the post: around step 5,000)",
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

"""Claims about in-context linear regression, and its stages by the local learning coefficient (LLC).

The work is arXiv 2402.02364 (Sec. 6, App. C). Texts are ours, close to the paper's words, and ``source``
names the section. Thresholds come from these words and were fixed before a result of this code was seen.
``published`` says what the same number is by the authors' own curves (``rllc.claims.published``).
``correction`` says what was changed since, and why.

Claims that name steps of the paper speak of its 500,000 steps. Shorter trainings are not judged by them.
"""

from typing import Any, NamedTuple

import xarray as xr

from rllc.analysis.curves import (
    NotJudged,
    change,
    climb,
    count_reaching,
    fall_to_minimum,
    kept_of_minimum,
    last,
    minimum,
    minimum_step,
    peak_step,
    pearson,
    places_reaching,
    ratio_at,
    spearman,
    value_at,
)
from rllc.claims.claim import claim
from rllc.claims.run import Run

PAPER = "arXiv 2402.02364"
END = 499_999  # last checkpoint of the paper's training
BOUNDARIES = (1_000, 40_000, 126_000, 320_000)  # of stages in the paper's training
NEAR = 1.4  # a boundary within this factor counts as the same


class Landmarks(NamedTuple):
    """Steps at which a training is read.

    first_stage_end  where predictions are those of the zero predictor
    second_stage     first and last step of the second stage
    llc_rise         first and last step of the rise of the LLC to its peak
    score_read_at    where the in-context learning score is read; None: the last checkpoint
    """

    first_stage_end: int
    second_stage: tuple[int, int]
    llc_rise: tuple[int, int]
    score_read_at: int | None


# length of a training -> its landmarks; those of the longest training here that is no longer than the run
LANDMARKS = {
    0: Landmarks(290, (260, 2_000), (20, 1_300), None),  # config/regression.yaml: 24,000 steps
    500_000: Landmarks(1_000, (1_000, 40_000), (100, 41_000), 40_000),  # the paper's
}


def _landmarks(run: Run) -> Landmarks:
    return LANDMARKS[max(length for length in LANDMARKS if length <= run.experiment.steps)]


def _llc(run: Run, *, from_step: float = 0, to_step: float | None = None) -> xr.DataArray:
    """Return the LLC of the whole model at the base setting, which is the paper's."""
    return run.curve("llc.llc", from_step=from_step, to_step=to_step, distribution=run.text)


def _loss(run: Run) -> xr.DataArray:
    return run.curve("metrics.loss", distribution=run.text)


def _stage_boundaries(run: Run) -> xr.DataArray:
    """Return the stage boundaries of the LLC by checkpoint: 0 none, 1 possible, 2 determined."""
    return run.curve("stages.at_boundary", setting=run.experiment.setting, distribution=run.text, kind="any")


# --- stages by the LLC


@claim(
    "LLC plateaus divide the training into five stages",
    source=f"{PAPER}, Sec. 6, App. C.1",
    label="stage boundaries of the LLC, possible and determined",
    unit="boundaries",
    experiment="regression",
    at_least=4,
    at_most=4,
    published="5 in seed 1, the paper's four and a flat end; 2, 2, 4, 3 in seeds 0, 2, 3, 4",
)
def lr_stages(run: Run) -> xr.DataArray:
    """Return the number of stage boundaries of the LLC."""
    return count_reaching(_stage_boundaries(run), 1)


@claim(
    "The boundaries are at 1k, 40k, 126k and 320k, within a factor of 1.4",
    source=f"{PAPER}, Sec. 6",
    label="of the published boundaries 1k, 40k, 126k, 320k those that are there",
    unit="boundaries",
    experiment="regression",
    at_least=4,
    reached=END,
    published="4 in seed 1: 1,124, 55,555, 126,262, 318,181; 2, 2, 4, 3 in seeds 0, 2, 3, 4",
)
def lr_boundaries(run: Run) -> xr.DataArray:
    """Return how many of the paper's boundaries the LLC has."""
    return places_reaching(_stage_boundaries(run), 1, BOUNDARIES, NEAR)


@claim(
    "The published rule finds the four boundaries without judgement",
    source=f"{PAPER}, App. A.5",
    label="plateaus by the published rule from step 900 on",
    unit="plateaus",
    experiment="regression",
    at_least=4,
    at_most=4,
    reached=END,
    published="10 in seed 1, 6 or 7 in the others: fails",
)
def smooth_auto(run: Run) -> xr.DataArray:
    """Return the number of plateaus by the published rule, from step 900 on."""
    plateaus = run.curve(
        "stages.published", setting=run.experiment.setting, distribution=run.text, from_step=900
    )
    return count_reaching(plateaus, 1)


@claim(
    "The LLC differs little between seeds",
    source=f"{PAPER}, App. C.1, Fig. C.1",
    label="standard deviation of the LLC over seeds, mean over checkpoints",
    experiment="regression",
    at_most=5,
    published="4.24",
)
def lr_seed_sd(run: Run) -> xr.DataArray:
    """Return the standard deviation of the LLC over seeds, mean over the checkpoints that two seeds have."""
    llc = run.every_seed("llc.llc", distribution=run.text)
    if llc.sizes["seed"] < 2:
        raise NotJudged("needs two seeds, has 1")
    return llc.std("seed", ddof=1).where(llc.count("seed") > 1).mean("step")


@claim(
    "Up to its peak the LLC says more than the loss",
    source="ours: a control",
    label="correlation of the LLC with the loss up to the LLC's peak",
    experiment="regression",
    at_least=-0.95,
    at_most=0.95,
    published="-0.99999: fails, as in every seed",
)
def llc_not_loss_early(run: Run) -> xr.DataArray:
    """Return the correlation of the LLC with the loss while the LLC rises to its peak."""
    first, peak = _landmarks(run).llc_rise
    return pearson(_llc(run, from_step=first, to_step=peak), _loss(run))


@claim(
    "The LLC says more than the loss",
    source="ours: a control",
    label="correlation of the LLC with the loss",
    experiment="regression",
    at_least=-0.95,
    at_most=0.95,
    published="0.343 in seed 1: the LLC's later half is not the loss's",
)
def llc_not_loss(run: Run) -> xr.DataArray:
    """Return the correlation of the LLC with the loss, from 1 % of training on."""
    return pearson(_llc(run, from_step=run.experiment.steps / 100), _loss(run))


@claim(
    "The LLC falls strikingly after its peak",
    source=f"{PAPER}, Sec. 6.3",
    label="fall of the LLC from its peak to its least value after it",
    experiment="regression",
    at_least=0.2,
    published="0.341 in seed 1, 0.255 to 0.297 in the others",
)
def lr_falls(run: Run) -> xr.DataArray:
    """Return the fall of the LLC from its peak to its least value after it, from the second stage on."""
    second_stage, _ = _landmarks(run).second_stage
    return fall_to_minimum(_llc(run, from_step=second_stage))


# --- predictions of nothing but the task prior


@claim(
    "The mean squared prediction is least slightly after the first stage's end, 1,000",
    source=f"{PAPER}, Sec. 6.1",
    label="step of the least mean squared prediction",
    unit="steps",
    experiment="regression",
    at_least=1000,
    at_most=2000,
    reached=END,
    published="1,673 in seed 1, 1,465 or 1,673 in the others",
)
def prior_min(run: Run) -> xr.DataArray:
    """Return the step of the least mean squared prediction."""
    return minimum_step(run.curve("in_context.delta_zero"))


@claim(
    "There it is below the noise variance, 0.125",
    source=f"{PAPER}, Sec. 6.1",
    label="least mean squared prediction",
    unit="squared error",
    experiment="regression",
    at_most=0.125,
    published="0.0130 in seed 1, 0.0066 to 0.0182",
)
def prior_level(run: Run) -> xr.DataArray:
    """Return the least mean squared prediction."""
    return minimum(run.curve("in_context.delta_zero"))


@claim(
    "The first stage ends at the zero predictor, whose loss is 4.125",
    source=f"{PAPER}, Sec. 6.1",
    label="loss at the end of the first stage less the zero predictor's on the same sequences",
    unit="squared error",
    experiment="regression",
    at_least=-0.1,
    at_most=0.1,
    published="0.021 in seed 1, 0.000 to 0.023",
    correction="It was the loss itself, within 0.1 of 4.125. Now it is the difference from the zero "
    "predictor's loss on the same sequences, within the same 0.1, because 2,048 sequences alone move that "
    "loss by 0.09.",
)
def prior_loss(run: Run) -> xr.DataArray:
    """Return the loss at the end of the first stage less that of the zero predictor on the same sequences.

    The zero predictor's loss is not measured, but untrained predictions f know nothing of the answers y.
    So the mean of f y is zero up to sampling, and the untrained model's loss less the mean of f^2 is the
    zero predictor's loss. On 2,048 sequences its standard error is 0.02 to 0.04, which is not in the table.
    """
    loss, square = _loss(run), run.curve("in_context.delta_zero")
    for curve in (loss, square):
        if first := int(curve["step"][0]):
            raise NotJudged(f"needs the untrained model, {curve.name} begins at step {first:,}")
    zero_predictor = loss.sel(step=0, drop=True) - square.sel(step=0, drop=True)
    return value_at(loss, _landmarks(run).first_stage_end) - zero_predictor


PRIOR_CORRECTION = (
    "Step 0 was among the checkpoints. Now it is left out, because the untrained model can be nearest to 0."
)


@claim(
    "One task: predictions come nearer to the mean task's than to 0",
    source=f"{PAPER}, App. C.3.1",
    name="prior_universal_1",
    experiment="regression_1",
    at_most=0.999,
    correction=PRIOR_CORRECTION,
)
@claim(
    "4 tasks: so they do",
    source=f"{PAPER}, App. C.3.1",
    name="prior_universal_4",
    experiment="regression_4",
    at_most=0.999,
    correction=PRIOR_CORRECTION,
)
@claim(
    "16 tasks: so they do",
    source=f"{PAPER}, App. C.3.1",
    name="prior_universal_16",
    experiment="regression_16",
    at_most=0.999,
    correction=PRIOR_CORRECTION,
)
@claim(
    "256 tasks: so they do",
    source=f"{PAPER}, App. C.3.1",
    name="prior_universal_256",
    experiment="regression_256",
    at_most=0.999,
    correction=PRIOR_CORRECTION,
)
@claim(
    "65,536 tasks: so they do",
    source=f"{PAPER}, App. C.3.1",
    name="prior_universal_65536",
    label="least distance from the mean task's prediction over that from 0",
    experiment="regression_65536",
    at_most=0.999,
    correction=PRIOR_CORRECTION,
)
def prior_ratio(run: Run) -> xr.DataArray:
    """Return the least distance from the mean task's prediction over the least from 0, step 0 left out."""
    from_prior = minimum(run.curve("in_context.delta_prior", from_step=1))
    from_zero = minimum(run.curve("in_context.delta_zero", from_step=1))
    return from_prior / from_zero.where(from_zero > 0)


# --- in-context learning


@claim(
    "In-context learning emerges",
    source=f"{PAPER}, Sec. 6.2",
    label="ICL score from pair 1 to 8 at the end of the second stage (in short trainings: at the end)",
    unit="squared error",
    experiment="regression",
    at_most=-2,
    published="-3.48",
)
def icl_emerges(run: Run) -> xr.DataArray:
    """Return the in-context learning score at the end of the second stage."""
    score, step = run.curve("in_context.icl_score"), _landmarks(run).score_read_at
    return last(score) if step is None else value_at(score, step)


@claim(
    "Early in the second stage predictions late in a sequence first get worse",
    source=f"{PAPER}, App. C.3.2",
    label="rise of the late ICL score in the second stage above its value where the stage begins",
    unit="squared error",
    experiment="regression",
    at_least=0.05,
    published="0.091",
)
def icl_late_worse(run: Run) -> xr.DataArray:
    """Return how far the late in-context learning score climbs in the second stage above where it begins."""
    begin, end = _landmarks(run).second_stage
    return climb(run.curve("in_context.icl_late", from_step=begin, to_step=end))


@claim(
    "Late in a sequence the score stays as it is from 23k on",
    source=f"{PAPER}, App. C.3.2",
    label="change of the late ICL score from step 23,000 on",
    unit="squared error",
    experiment="regression",
    at_least=-0.05,
    reached=END,
    published="-0.038",
)
def icl48_stops(run: Run) -> xr.DataArray:
    """Return the change of the late in-context learning score from step 23,000 to the end."""
    return change(run.curve("in_context.icl_late"), 23_000, END)


@claim(
    "Early in it the score goes on falling",
    source=f"{PAPER}, App. C.3.2",
    label="change of the early ICL score from step 23,000 on",
    unit="squared error",
    experiment="regression",
    at_most=-0.1,
    reached=END,
    published="-0.269",
)
def icl14_goes_on(run: Run) -> xr.DataArray:
    """Return the change of the early in-context learning score from step 23,000 to the end."""
    return change(run.curve("in_context.icl_early"), 23_000, END)


# --- out of distribution


def _far_score_kept(run: Run, changed: str, scale: float) -> xr.DataArray:
    """Return the in-context learning score at the end over its best, with inputs or tasks times ``scale``."""
    return kept_of_minimum(run.curve("in_context.far_icl", change=changed, scale=scale))


@claim(
    "From the third stage on inputs × 10 are predicted worse",
    source=f"{PAPER}, Sec. 6.3, App. C.3.3",
    label="ICL score of inputs × 10 at the end over its best",
    experiment="regression",
    at_most=0.7,
    reached=END,
    published="0.168",
)
def ood_falls_10(run: Run) -> xr.DataArray:
    """Return the in-context learning score of inputs x 10 at the end over its best."""
    return _far_score_kept(run, "inputs", 10)


@claim(
    "So are inputs × 5",
    source=f"{PAPER}, Sec. 6.3, App. C.3.3",
    label="ICL score of inputs × 5 at the end over its best",
    experiment="regression",
    at_most=0.7,
    reached=END,
    published="0.454",
)
def ood_falls_5(run: Run) -> xr.DataArray:
    """Return the in-context learning score of inputs x 5 at the end over its best."""
    return _far_score_kept(run, "inputs", 5)


@claim(
    "So are inputs × 3",
    source=f"{PAPER}, Sec. 6.3, App. C.3.3",
    label="ICL score of inputs × 3 at the end over its best",
    experiment="regression",
    at_most=0.7,
    reached=END,
    published="0.928: fails",
)
def ood_falls_3(run: Run) -> xr.DataArray:
    """Return the in-context learning score of inputs x 3 at the end over its best."""
    return _far_score_kept(run, "inputs", 3)


@claim(
    "Tasks × 10 are predicted ever better",
    source=f"{PAPER}, App. C.3.3",
    label="ICL score of tasks × 10 at the end over its best",
    experiment="regression",
    at_least=0.9,
    reached=END,
)
def ood_tasks_ok(run: Run) -> xr.DataArray:
    """Return the in-context learning score of tasks x 10 at the end over its best."""
    return _far_score_kept(run, "tasks", 10)


# --- weights


def _least_embedding_share(run: Run) -> xr.DataArray:
    """Return the smallest share of the squared singular values of W_E at every checkpoint."""
    return run.curve("structure.embedding_share").min("direction")


@claim(
    "The least direction of the token embedding has 2.9 % of its variance",
    source=f"{PAPER}, App. C.4.1",
    label="smallest share of the squared singular values of W_E at the end",
    experiment="regression",
    at_most=0.05,
    published="0.0151; 0.031 at 40,000",
)
def embed_collapse(run: Run) -> xr.DataArray:
    """Return the smallest share of W_E at the end."""
    return last(_least_embedding_share(run))


@claim(
    "From 40k on the least direction of the token embedding loses half of its share",
    source=f"{PAPER}, App. C.4.1",
    label="smallest share of W_E at the end over that at step 40,000",
    experiment="regression",
    at_most=0.6,
    reached=END,
    published="0.482",
)
def embed_halves(run: Run) -> xr.DataArray:
    """Return the smallest share of W_E at the end over that at step 40,000."""
    return ratio_at(_least_embedding_share(run), 40_000, END)


@claim(
    "At 1k it has 3 % already",
    source=f"{PAPER}, Fig. C.5",
    label="smallest share of W_E at step 1,000",
    experiment="regression",
    at_most=0.05,
    reached=END,
    published="0.134: fails, as the text of the paper does say",
)
def embed_start(run: Run) -> xr.DataArray:
    """Return the smallest share of W_E at step 1,000."""
    return value_at(_least_embedding_share(run), 1_000)


@claim(
    "W_pos collapses to few directions",
    source=f"{PAPER}, App. C.4.2",
    label="three largest shares of W_pos at the end over those at the start",
    experiment="regression",
    at_least=1.5,
    published="2.07: 0.35 to 0.72",
)
def pos_collapse(run: Run) -> xr.DataArray:
    """Return the three largest shares of W_pos together, at the end over the start."""
    shares = run.curve("structure.position_top")
    start = value_at(shares, 0)
    return last(shares) / start.where(start != 0)


@claim(
    "The token embedding turns to the directions of W_pos",
    source=f"{PAPER}, App. C.4.2",
    label="change of the share of W_E within four directions of W_pos",
    experiment="regression",
    at_least=0.1,
    published="not known: their cosines are of a rotation",
)
def align(run: Run) -> xr.DataArray:
    """Return the change from start to end of the share of W_E within four directions of W_pos."""
    share = run.curve("structure.alignment_mean", subspace=4)
    return last(share) - value_at(share, 0)


def _collapsed_share(run: Run, norm: str) -> xr.DataArray:
    """Return the share of a layer norm's weights below 0.1 at the end."""
    return last(run.curve("structure.norm_weight_small", norm=norm))


@claim(
    "A large fraction of the last layer norm's weights goes to zero",
    source=f"{PAPER}, Sec. 6.3",
    label="share of the last layer norm's weights below 0.1 at the end",
    experiment="regression",
    at_least=0.5,
)
def ln_collapse(run: Run) -> xr.DataArray:
    """Return the share of the last layer norm's weights below 0.1 at the end."""
    return _collapsed_share(run, "ln_final")


@claim(
    "Then a part of the first attention's layer norm",
    source=f"{PAPER}, Sec. 6.3, App. C.4.4",
    label="share of the first layer norm's weights below 0.1 at the end",
    experiment="regression",
    at_least=0.1,
)
def ln_spreads(run: Run) -> xr.DataArray:
    """Return the share of the first layer norm's weights below 0.1 at the end."""
    return _collapsed_share(run, "blocks.0.ln1")


@claim(
    "A smaller part than of the last layer norm",
    source=f"{PAPER}, Sec. 6.3, App. C.4.4",
    label="share of the first layer norm's weights below 0.1 at the end, less that of the last layer norm",
    experiment="regression",
    at_most=-0.01,
)
def ln_less(run: Run) -> xr.DataArray:
    """Return the first layer norm's share of collapsed weights less the last one's, at the end."""
    return _collapsed_share(run, "blocks.0.ln1") - _collapsed_share(run, "ln_final")


@claim(
    "All layer norms collapse but that of the second MLP",
    source=f"{PAPER}, App. C.4.4",
    label="mean weight of the layer norm before the second MLP at the end",
    experiment="regression",
    at_least=0.8,
    published="1.30; the other four 0.09 to 0.49",
)
def ln_not_mlp2(run: Run) -> xr.DataArray:
    """Return the mean weight of the layer norm before the second MLP at the end."""
    return last(run.curve("structure.norm_weight_mean", norm="blocks.1.ln2"))


# --- attention


@claim(
    "The attention of two or more heads gets hard and constant",
    source=f"{PAPER}, App. C.4.5",
    label="heads and kinds of query with hard, constant attention",
    unit="patterns",
    experiment="regression",
    at_least=2,
)
def heads_hard(run: Run) -> xr.DataArray:
    """Return the number of heads and kinds of query with hard, constant attention at the end."""
    return last(run.curve("structure.hard_patterns"))


@claim(
    "Hard attention is attention that does not vary",
    source=f"{PAPER}, App. C.4.5",
    label="rank correlation of attention's entropy and variability at the end",
    experiment="regression",
    at_least=0.5,
)
def hard_constant(run: Run) -> xr.DataArray:
    """Return the rank correlation of attention's entropy and variability at the end."""
    return last(run.curve("structure.hard_correlation"))


# --- curvature


def _trace(run: Run, *, from_step: float = 0) -> xr.DataArray:
    return run.curve("hessian.hessian_trace", from_step=from_step, distribution=run.text)


def _largest_eigenvalue(run: Run, *, from_step: float = 0) -> xr.DataArray:
    return run.curve("eigenvalues.hessian_eigenvalue", from_step=from_step, distribution=run.text, rank=1)


@claim(
    "The Hessian's trace rises with the LLC up to about 20k",
    source=f"{PAPER}, App. C.2.2",
    label="step of the largest Hessian trace",
    unit="steps",
    experiment="regression",
    at_least=10000,
    at_most=30000,
    reached=END,
    published="12,221",
)
def curv_trace(run: Run) -> xr.DataArray:
    """Return the step of the largest Hessian trace."""
    return peak_step(_trace(run))


@claim(
    "So does its largest eigenvalue",
    source=f"{PAPER}, App. C.2.2",
    label="step of the largest eigenvalue's maximum",
    unit="steps",
    experiment="regression",
    at_least=10000,
    at_most=30000,
    reached=END,
    published="13,954",
)
def curv_eigenvalue(run: Run) -> xr.DataArray:
    """Return the step of the maximum of the largest eigenvalue."""
    return peak_step(_largest_eigenvalue(run))


@claim(
    "Curvature rises again from about 120k",
    source=f"{PAPER}, App. C.2.2",
    label="step from which the largest eigenvalue rises again",
    unit="steps",
    experiment="regression",
    at_least=90000,
    at_most=160000,
    reached=END,
    published="116,161",
)
def curv_turn(run: Run) -> xr.DataArray:
    """Return the step of the least largest eigenvalue from step 40,000 on."""
    return minimum_step(_largest_eigenvalue(run, from_step=40_000))


@claim(
    "So does the Hessian's trace",
    source=f"{PAPER}, App. C.2.2",
    label="step from which the Hessian's trace rises again",
    unit="steps",
    experiment="regression",
    at_least=90000,
    at_most=160000,
    reached=END,
    published="171,717: fails",
)
def curv_turn_trace(run: Run) -> xr.DataArray:
    """Return the step of the least Hessian trace from step 40,000 on."""
    return minimum_step(_trace(run, from_step=40_000))


@claim(
    "The Hessian shows one of the four boundaries",
    source=f"{PAPER}, App. C.2.2",
    label="of the published boundaries those that ln of the Hessian's trace has",
    unit="boundaries",
    experiment="regression",
    at_most=1,
    reached=END,
    published="0: peak at 13,954, trough at 176,767",
)
def hess_misses(run: Run) -> xr.DataArray:
    """Return how many of the paper's boundaries the logarithm of the Hessian's trace has."""
    boundaries = run.curve("hessian_stages.at_boundary", distribution=run.text, kind="any")
    return places_reaching(boundaries, 1, BOUNDARIES, NEAR)


# --- what the LLC depends on


def _dependence(run: Run, variable: str, **labels: Any) -> xr.DataArray:
    """Return the LLC of the whole model with another loss, other data or other noise."""
    return run.curve(f"dependence.{variable}", component="full", distribution=run.text, **labels)


def _largest_change(one: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    """Return the largest |one / other - 1| over common checkpoints; NaN where ``other`` is 0 at one."""
    relative = one / other.where(other != 0) - 1
    if not relative.sizes["step"]:
        raise NotJudged("no checkpoint has both LLCs")
    return abs(relative).max("step", skipna=False)


@claim(
    "LLCs by the likelihood of one prediction per sequence order checkpoints as those by the loss",
    source=f"{PAPER}, App. A.4, Fig. A.1",
    label="rank correlation of the LLC by the loss and by the likelihood",
    experiment="regression",
    at_least=1,
)
def likelihood_same(run: Run) -> xr.DataArray:
    """Return the rank correlation over checkpoints of the LLC by the loss with that by the likelihood."""
    return spearman(_dependence(run, "llc"), _dependence(run, "llc_likelihood"))


@claim(
    "From some number of sequences on the LLC stays as it is",
    source=f"{PAPER}, Fig. D.3",
    label="largest change of the LLC from a quarter of the contexts to all",
    experiment="regression",
    at_most=0.05,
)
def data_size(run: Run) -> xr.DataArray:
    """Return the largest change of the LLC from a quarter of the contexts to all."""
    every = int(run.dataset("dependence")["dataset_size"].max())
    quarter = _dependence(run, "llc_by_dataset_size", dataset_size=every // 4)
    return _largest_change(quarter, _dependence(run, "llc_by_dataset_size", dataset_size=every))


@claim(
    "The size of minibatches does next to nothing to it",
    source=f"{PAPER}, Fig. D.4",
    label="largest change of the LLC from the smallest batches to the largest",
    experiment="regression",
    at_most=0.05,
)
def batch_size(run: Run) -> xr.DataArray:
    """Return the largest change of the LLC from the smallest minibatches to the largest."""
    sizes = run.dataset("dependence")["batch_size"]
    smallest, largest = (
        _dependence(run, "llc_by_batch_size", evaluation="same", batch_size=int(size))
        for size in (sizes.min(), sizes.max())
    )
    return _largest_change(smallest, largest)


@claim(
    "The same noise at all checkpoints smooths the curve and does no more",
    source=f"{PAPER}, Fig. D.5",
    label="mean difference of the LLC with the same noise at all checkpoints and with fresh one, in errors",
    unit="standard errors",
    experiment="regression",
    at_most=2,
)
def seeding(run: Run) -> xr.DataArray:
    """Return the mean difference of the LLC with shared from that with fresh noise, in mean errors."""
    first = int(run.dataset("dependence")["noise_seed"][0])
    labels = {"component": "full", "distribution": run.text, "noise_seed": first}
    name = "dependence.llc_by_noise_seed"
    shared, fresh = (run.curve(name, seeding=each, **labels) for each in ("shared", "fresh"))
    error, other = (run.error(name, seeding=each, **labels) for each in ("shared", "fresh"))
    difference = abs((shared - fresh).mean("step"))
    return difference / ((error**2 + other**2) ** 0.5).mean("step")

"""Claims of arXiv 2402.02364 on the stages of development of language models of one and two layers.

Texts are ours, close to the paper's words, and ``source`` names its section. Thresholds come from the
paper's words and were fixed before a result of this code was seen. ``published`` is what the same statistic
is of the authors' own data (github.com/timaeus-research/icl, branch submission, commit 8a8b588).
docs/stages.md has what was found in their curves.

The LLC is that of the setting by which the experiment tells stages (``run.experiment.setting``), on the
distribution that ``run.text`` names. Claims of our own repeat some of it at the base setting.

A verdict is of seeds: where a claim speaks of some seeds, "half" is what it says.
"""

import xarray as xr

from rllc.analysis.curves import (
    change,
    count_reaching,
    first_step_reaching,
    last,
    minimum,
    minimum_step,
    pearson,
    places_reaching,
    ratio_at,
    rise,
    value_at,
)
from rllc.analysis.stages import ANY, BASE, POSSIBLE
from rllc.claims.claim import claim
from rllc.claims.columns import CONTROL
from rllc.claims.experiment import Experiment
from rllc.claims.run import Run

# Steps of the paper. Claims that name one speak of 50,000 steps, and are not judged on a shorter training.
LM1_END, LM2_END, LM3_END, LM4_END = BOUNDARIES = (900, 6_500, 8_500, 17_000)
END = 50_000
FACTOR = 1.25  # how far from the paper's a boundary may be
LISSAJOUS = 6_400  # checkpoint at which the paper decomposes W_pos
EARLY = 0.01  # share of the training whose checkpoints are in no correlation of the LLC


def two_layers(experiment: Experiment) -> bool:
    """Whether it is a language model of two layers or more."""
    return experiment.task == "language" and experiment.layers > 1


def one_layer(experiment: Experiment) -> bool:
    """Whether it is a language model of one layer."""
    return experiment.task == "language" and experiment.layers == 1


def two_layers_at_another_setting(experiment: Experiment) -> bool:
    """Whether it is such a model whose stages are told by another setting than the base one."""
    return two_layers(experiment) and experiment.setting != BASE


def _llc(run: Run, setting: str, ending: str = "", *, from_step: float = 0) -> xr.DataArray:
    """Return the LLC of a setting, or with an ending that of its control."""
    dataset = "llc" if setting == BASE else f"llc.{setting}"
    return run.curve(f"{dataset}.llc{ending}", from_step=from_step, distribution=run.text)


def _boundaries(run: Run, kind: str = ANY, *, ending: str = "", from_step: float = 0) -> xr.DataArray:
    """Return 0 where no stage boundary of this kind is, 1 where one is possible, 2 where it is determined."""
    setting = run.experiment.setting + ending
    return run.curve(
        "stages.at_boundary", from_step=from_step, setting=setting, distribution=run.text, kind=kind
    )


def _ngram_score(run: Run, n: int) -> xr.DataArray:
    return run.curve("ngrams.ngram_score", n=n, distribution=run.text)


def _position_gain(run: Run) -> xr.DataArray:
    return run.curve("positions.position_gain", distribution=run.text)


def _icl_score(run: Run) -> xr.DataArray:
    return run.curve("metrics.icl_score", distribution=run.text)


def _previous_token(run: Run) -> xr.DataArray:
    """Return the largest previous-token score of layer 0."""
    return run.curve("heads.previous_token", heads=run.heads(layer=0)).max("head")


def _correlation_with_loss(run: Run, setting: str) -> xr.DataArray:
    """Return the correlation of the LLC with the loss from 1 % of training on."""
    early = EARLY * run.experiment.steps
    loss = run.curve("metrics.loss", from_step=early, distribution=run.text)
    return pearson(_llc(run, setting, from_step=early), loss)


def _correlation_with_control(run: Run, setting: str) -> xr.DataArray:
    """Return the correlation of the LLC with its prior-only control from 1 % of training on."""
    early = EARLY * run.experiment.steps
    return pearson(_llc(run, setting, from_step=early), _llc(run, setting, CONTROL, from_step=early))


# --- stages of the LLC


@claim(
    "LLC plateaus divide the two-layer model's training into five stages",
    source="§5, Fig. 1a",
    name="lm_stages",
    at_least=4,
    at_most=4,
    where=two_layers,
    published="5, of which 3 determined",
)
@claim(
    "Every seed has LM1 to LM4",
    source="B.1",
    name="lm_universal_stages",
    label="stage boundaries of the LLC, possible and determined",
    unit="boundaries",
    at_least=3,
    where=two_layers,
    published="not public but for one: 5",
)
def stages(run: Run) -> xr.DataArray:
    """Return the number of stage boundaries of the LLC, possible and determined."""
    return count_reaching(_boundaries(run), POSSIBLE)


@claim(
    "The boundaries are at 900, 6.5k, 8.5k and 17k, within a factor of 1.25",
    source="§5",
    name="lm_boundaries",
    label="of the published boundaries 900, 6.5k, 8.5k, 17k those that are there",
    unit="boundaries",
    at_least=4,
    where=two_layers,
    reached=END,
    published="4: 800, 6,300, 8,900, 18,500",
)
def published_boundaries(run: Run) -> xr.DataArray:
    """Return how many of the paper's boundaries are there, within a factor."""
    return places_reaching(_boundaries(run), POSSIBLE, BOUNDARIES, FACTOR)


@claim(
    "In some seeds (theirs: three of five) LM5 divides once more",
    source="B.1",
    name="lm5_split",
    label="stage boundaries of the LLC after step 21,250",
    unit="boundaries",
    at_least=1,
    where=two_layers,
    reached=END,
    published="not public but for one: 1",
)
def late_boundaries(run: Run) -> xr.DataArray:
    """Return the number of stage boundaries later than any that could be the end of LM4."""
    return count_reaching(_boundaries(run, from_step=LM4_END * FACTOR), POSSIBLE)


@claim(
    "In every seed the LLC falls once between stages",
    source="B.1",
    name="lm_universal_trough",
    label="troughs of the LLC between stages",
    unit="boundaries",
    at_least=1,
    at_most=1,
    where=two_layers,
    published="not public but for one: 1",
)
def troughs(run: Run) -> xr.DataArray:
    """Return the number of boundaries at which the LLC has a trough."""
    return count_reaching(_boundaries(run, "trough"), POSSIBLE)


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
    published="800, after the start to 500",
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
    "The published rule finds the four boundaries without judgement",
    source="A.5",
    name="smooth_auto",
    label="plateaus of the LLC by the published rule",
    unit="plateaus",
    at_least=4,
    at_most=4,
    where=two_layers,
    reached=END,
    published="over 100 at tolerance 8: fails",
)
def published_rule(run: Run) -> xr.DataArray:
    """Return the number of checkpoints that the published rule calls plateaus."""
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
    return change(_llc(run, run.experiment.setting), LM2_END, LM3_END)


# --- what the LLC says beside the loss and the prior


@claim(
    "The LLC says more than the loss",
    source="ours: a control",
    name="llc_not_loss",
    at_least=-0.95,
    at_most=0.95,
    where=two_layers,
    published="-0.987: fails",
)
@claim(
    "The LLC of one layer says more than the loss",
    source="ours: a control",
    name="llc_not_loss_one_layer",
    label="correlation of the LLC with the loss, from 1 % of training on",
    at_least=-0.95,
    at_most=0.95,
    where=one_layer,
    published="-0.977: fails",
)
def llc_loss_correlation(run: Run) -> xr.DataArray:
    """Return the correlation of the LLC with the loss from 1 % of training on."""
    return _correlation_with_loss(run, run.experiment.setting)


@claim(
    "At the base setting the LLC says more than the loss",
    source="ours: a control",
    name="llc_not_loss_local",
    label="correlation of the LLC at the base setting with the loss, from 1 % of training on",
    at_least=-0.95,
    at_most=0.95,
    where=two_layers_at_another_setting,
    published="not measured",
)
def llc_loss_correlation_local(run: Run) -> xr.DataArray:
    """Return the correlation of the LLC at the base setting with the loss from 1 % of training on."""
    return _correlation_with_loss(run, BASE)


@claim(
    "The LLC says more than its prior-only control",
    source="ours: a control",
    name="llc_not_control",
    label="correlation of the LLC with its prior-only control, from 1 % of training on",
    at_least=-0.95,
    at_most=0.95,
    where=two_layers,
    published="not measured",
)
def llc_control_correlation(run: Run) -> xr.DataArray:
    """Return the correlation of the LLC with its prior-only control from 1 % of training on."""
    return _correlation_with_control(run, run.experiment.setting)


@claim(
    "At the base setting the LLC says more than its prior-only control",
    source="ours: a control",
    name="llc_not_control_local",
    label="correlation of the LLC at the base setting with its prior-only control, from 1 % of training on",
    at_least=-0.95,
    at_most=0.95,
    where=two_layers_at_another_setting,
    published="not measured",
)
def llc_control_correlation_local(run: Run) -> xr.DataArray:
    """Return the correlation of the LLC at the base setting with its prior-only control."""
    return _correlation_with_control(run, BASE)


# --- bigrams and n-grams


@claim(
    "The least bigram score is only 0.3 nats above the entropy",
    source="§5.1",
    name="bigram_excess",
    label="least bigram score less its entropy",
    unit="nats/token",
    at_most=0.35,
    where=two_layers,
    published="0.33",
)
def bigram_minimum_excess(run: Run) -> xr.DataArray:
    """Return the least bigram score less the entropy of bigrams."""
    return minimum(run.curve("ngrams.bigram_excess", distribution=run.text))


@claim(
    "Afterwards the predictions leave the bigrams",
    source="Fig. 4a",
    name="bigram_departs",
    label="rise of the bigram score from its least value",
    unit="nats/token",
    at_least=0.2,
    where=two_layers,
    published="1.30",
)
def bigram_departure(run: Run) -> xr.DataArray:
    """Return the bigram score at the end less its least value."""
    return rise(run.curve("ngrams.bigram_score", distribution=run.text))


@claim(
    "The bigram score is least at the same checkpoint with one layer as with two",
    source="B.5",
    name="one_layer_same",
    label="step of the least bigram score",
    unit="steps",
    at_least=0.87,
    at_most=1.15,
    where=one_layer,
    versus="language",
    ratio=True,
    published="1 (step 700 for both)",
)
def bigram_minimum_step(run: Run) -> xr.DataArray:
    """Return the checkpoint of the least bigram score."""
    return minimum_step(run.curve("ngrams.bigram_score", distribution=run.text))


@claim(
    "The 3-gram score rises to several times that of text",
    source="§5.2",
    label="3-gram score at the end",
    at_least=2,
    where=two_layers,
    published="4.05 (3.85 as they align it)",
)
def ngram3(run: Run) -> xr.DataArray:
    """Return the 3-gram score at the end."""
    return last(_ngram_score(run, 3))


@claim(
    "The 4-gram score rises to several times that of text",
    source="§5.2",
    label="4-gram score at the end",
    at_least=2,
    where=two_layers,
    published="3.97 (3.86 as they align it)",
)
def ngram4(run: Run) -> xr.DataArray:
    """Return the 4-gram score at the end."""
    return last(_ngram_score(run, 4))


@claim(
    "The 3-gram score improves much in LM2",
    source="§5.2",
    name="ngram3_in_LM2",
    label="3-gram score at step 6,500 over that at 900",
    at_least=1.5,
    where=two_layers,
    reached=END,
    published="2.7",
)
def ngram3_lm2(run: Run) -> xr.DataArray:
    """Return the 3-gram score at the end of LM2 over that at its beginning."""
    return ratio_at(_ngram_score(run, 3), LM1_END, LM2_END)


@claim(
    "The 4-gram score improves much in LM2",
    source="§5.2",
    name="ngram4_in_LM2",
    label="4-gram score at step 6,500 over that at 900",
    at_least=1.5,
    where=two_layers,
    reached=END,
    published="2.3",
)
def ngram4_lm2(run: Run) -> xr.DataArray:
    """Return the 4-gram score at the end of LM2 over that at its beginning."""
    return ratio_at(_ngram_score(run, 4), LM1_END, LM2_END)


# --- positions


@claim(
    "W_pos does not matter before LM2",
    source="§5.2, B.4.1",
    name="pos_indistinguishable",
    label="what zeros for W_pos cost at step 900",
    unit="nats/token",
    at_most=0.05,
    where=two_layers,
    reached=END,
    published="0.030",
)
def positions_at_900(run: Run) -> xr.DataArray:
    """Return the loss with zeros for W_pos less the loss, at the beginning of LM2."""
    return value_at(_position_gain(run), LM1_END)


@claim(
    "By the end of LM2 it does",
    source="Fig. 4a",
    name="pos_needed",
    label="what zeros for W_pos cost at step 6,500",
    unit="nats/token",
    at_least=0.2,
    where=two_layers,
    reached=END,
    published="0.80",
)
def positions_at_6500(run: Run) -> xr.DataArray:
    """Return the loss with zeros for W_pos less the loss, at the end of LM2."""
    return value_at(_position_gain(run), LM2_END)


@claim(
    "One component explains 94 % of W_pos's variance at step 6,400 (Brownian motion: 61 %)",
    source="B.4.1",
    label="share of W_pos's variance on its first component at step 6,400",
    at_least=0.9,
    where=two_layers,
    reached=END,
    published="0.942 (in the paper)",
)
def lissajous(run: Run) -> xr.DataArray:
    """Return the share of W_pos's variance on its first principal component near the end of LM2."""
    return value_at(run.curve("positions.explained_variance", component=1), LISSAJOUS)


# --- heads, and learning in context


@claim(
    "Previous-token heads begin in LM3",
    source="§5.3",
    name="prev_in_LM3",
    label="layer 0's largest previous-token score at step 8,500 over that at 6,500",
    at_least=1.25,
    where=two_layers,
    reached=END,
    published="1.6",
)
def previous_token_lm3(run: Run) -> xr.DataArray:
    """Return layer 0's largest previous-token score at the end of LM3 over that at its beginning."""
    return ratio_at(_previous_token(run), LM2_END, LM3_END)


@claim(
    "By the end of LM3 they have half of their final score",
    source="§5.3, one reading",
    name="prev_early",
    label="layer 0's largest previous-token score at step 8,500 over that at the end",
    at_least=0.5,
    where=two_layers,
    reached=END,
    published="0.22: fails",
)
def previous_token_share(run: Run) -> xr.DataArray:
    """Return layer 0's largest previous-token score at the end of LM3 over that at step 50,000."""
    return ratio_at(_previous_token(run), END, LM3_END)


@claim(
    "Prefix matching rises in LM4",
    source="§5.4",
    name="prefix_in_LM4",
    label="largest prefix-matching score at step 17,000 over that at 8,500",
    at_least=3,
    where=two_layers,
    reached=END,
    published="7.1",
)
def prefix_matching_lm4(run: Run) -> xr.DataArray:
    """Return the largest prefix-matching score at the end of LM4 over that at its beginning."""
    return ratio_at(run.curve("heads.prefix_matching").max("head"), LM3_END, LM4_END)


@claim(
    "The in-context learning score falls in LM4",
    source="§5.4",
    name="icl_in_LM4",
    label="change of the in-context learning score from step 8,500 to 17,000",
    unit="nats/token",
    at_most=-0.1,
    where=two_layers,
    reached=END,
    published="-0.148",
)
def icl_lm4(run: Run) -> xr.DataArray:
    """Return the change of the in-context learning score in LM4."""
    return change(_icl_score(run), LM3_END, LM4_END)


@claim(
    "One layer learns nothing in context",
    source="implied in §5",
    name="one_layer_no_icl",
    label="in-context learning score at the end",
    unit="nats/token",
    at_least=-0.05,
    where=one_layer,
    published="0.004 (two layers: -0.124)",
)
def final_icl(run: Run) -> xr.DataArray:
    """Return the in-context learning score at the end."""
    return last(_icl_score(run))


# --- the order of behaviours, by the analysis "milestones"


@claim(
    "The bigram score is least at the first boundary",
    source="§5.1",
    name="bigram_min",
    label="log2 of the step of the least bigram score over that of the LLC's first boundary",
    unit="octaves",
    at_least=-0.5,
    at_most=0.5,
    where=two_layers,
    published="-0.19: 700 against 800",
)
def bigram_after_boundary(run: Run) -> xr.DataArray:
    """Return log2 of the step of the least bigram score over that of the LLC's first boundary."""
    return last(run.curve("milestones.bigram_after_boundary"))


@claim(
    "Bigrams, n-grams, previous tokens and induction come in this order",
    source="§5",
    name="order",
    label="whether the least bigram score, half of the rise of 3-grams, of the previous-token and of the "
    "prefix-matching score come in this order",
    at_least=1,
    where=two_layers,
    published="1: 700, 4.8k, 11.6k, 13.2k",
)
def behaviours_in_order(run: Run) -> xr.DataArray:
    """Return 1 where the landmarks of bigrams, 3-grams, previous tokens and induction ascend, else 0."""
    return last(run.curve("milestones.in_order"))


@claim(
    "Induction heads K-compose before their attention changes",
    source="§5.2, B.5",
    name="kcomp_early",
    label="log2 of the step of the onset of K-composition over that of prefix matching",
    unit="octaves",
    at_most=-0.1,
    where=two_layers,
    published="not among the numbers read",
)
def composition_lead(run: Run) -> xr.DataArray:
    """Return log2 of the step of the onset of K-composition over that of prefix matching."""
    return last(run.curve("milestones.composition_lead"))

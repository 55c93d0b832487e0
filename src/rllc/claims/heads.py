"""Claims of arXiv 2410.02984, "Differentiation and Specialization of Attention Heads via the Refined LLC".

Thresholds come from the paper's words; where these are vague ("tight", "similar") the number is ours. All
were fixed before a result of this study was seen, but for a few claims that prototypes had shown at seed 0
(docs/heads.md names them). "Early" is up to the first checkpoint at which a head's prefix-matching score
reaches ``INDUCTION_BEGINS``. Types of heads are those of their attention scores at the last checkpoint.

Claims are about language models of two layers or more.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from rllc.analysis.across_heads import separation, silhouette
from rllc.analysis.curves import (
    PEAK_FROM,
    NotJudged,
    fall,
    fall_to_minimum,
    first_step_reaching,
    last,
    log2_gain,
    log2_ratio,
    mean_departure,
    measured,
    pearson,
    relative_range,
    roughness,
    smooth,
    spearman,
)
from rllc.analysis.head_types import INDUCTION_BEGINS
from rllc.analysis.multigrams import FEWEST, correlation_within
from rllc.analysis.tokens import CLASSES, bracket_head
from rllc.claims.claim import claim as any_claim
from rllc.claims.experiment import Experiment
from rllc.claims.run import Run
from rllc.vocabulary import layer_of

PAPER = "arXiv 2410.02984"
LIKELIHOOD = "rllc.likelihood.rllc"  # at the setting in which the likelihood matters
LM = {"LM1": 900, "LM2": 6_500, "LM3": 8_500, "LM4": 17_000}  # last steps of the paper's stages
METHODS = ("zero", "mean", "resample")
Number = xr.DataArray | float


def several_layers(experiment: Experiment) -> bool:
    """Whether it is a language model with heads of two layers or more."""
    return experiment.task == "language" and experiment.layers > 1


# --- 4.1: heads differentiate by type

claim = partial(any_claim, where=several_layers, family="rLLC by type (4.1)")


def _rllc(
    run: Run, *types: str, variable: str = "rllc.rllc", layer: int | None = None, text: str = ""
) -> xr.DataArray:
    """Return the rLLC (step, head) of heads of these types on a text, by default that of training."""
    heads = run.heads(*types, layer=layer) if types or layer is not None else None
    return run.curve(variable, heads=heads, distribution=text or run.text)


def _between_types(run: Run, values: xr.DataArray) -> xr.DataArray:
    """Return the share of the spread within layers that lies between types, of values (head) at the end."""
    kinds = run.types.sel(head=values["head"]).values
    layers = np.asarray([layer_of(str(head)) for head in values["head"].values])
    return _of_heads(separation, values, kinds, layers, "a type with two heads in a layer that has two types")


def _silhouette(run: Run, values: xr.DataArray) -> xr.DataArray:
    """Return the mean silhouette of heads by their types, of values (head)."""
    kinds = run.types.sel(head=values["head"]).values
    return _of_heads(silhouette, values, kinds, np.zeros(len(kinds)), "two types, one of them with two heads")


def _of_heads(
    function: Callable[..., np.ndarray],
    values: xr.DataArray,
    kinds: np.ndarray,
    layers: np.ndarray,
    needs: str,
) -> xr.DataArray:
    made = xr.apply_ufunc(
        function, values, input_core_dims=[["head"]], kwargs={"types": kinds, "layers": layers}
    )
    if bool(made.isnull().all()):
        raise NotJudged(f"needs {needs}")
    return made


@claim(
    "Heads of one type also end at like refined LLCs",
    source=f"{PAPER}, 4.1",
    label="share of the spread of rLLCs within layers that is between types of heads, at the end",
    at_least=0.5,
)
def types_level(run: Run) -> Number:
    return _between_types(run, last(_rllc(run)))


@claim(
    "The same, likelihood",
    source=f"{PAPER}, 4.1; the setting is ours",
    label="share of the spread of rLLCs within layers that is between types, at the setting with likelihood",
    at_least=0.5,
)
def types_level_likelihood(run: Run) -> Number:
    return _between_types(run, last(_rllc(run, variable=LIKELIHOOD)))


def last_of(values: xr.DataArray) -> xr.DataArray:
    """Return what a dataset has at its last checkpoint."""
    return values.sortby("step").isel(step=-1, drop=True)


def _with_tokens(run: Run, heads: list[str]) -> xr.DataArray:
    """Return the rLLC (head) on the training text at the last checkpoint that has tokens in context."""
    step = int(run.dataset("tokens")["step"].max())
    return run.curve("rllc.rllc", heads=heads, distribution=run.text, to_step=step).isel(step=-1, drop=True)


DRAWN_ANEW = "its error is by redraws of the rLLCs; before, it was taken as exact"


@claim(
    "Heads with a simple algorithm end low: induction",
    source=f"{PAPER}, 4.1, fig 1",
    label="rLLC of induction less n-gram and skip n-gram heads of layer 1",
    at_most=0,
    correction=DRAWN_ANEW,
)
def simple_is_low_induction(run: Run) -> Number:
    kinds = last_of(run.dataset("classification")["token_class"])
    ngrams = [f"multigram ({CLASSES[name]})" for name in ("ngram", "skip_ngram")]
    others = [
        str(head) for head in kinds["head"].values[kinds.isin(ngrams).values] if layer_of(str(head)) == 1
    ]
    if not others:
        raise NotJudged("needs a head of n-grams or skip n-grams in layer 1, has none")
    return _with_tokens(run, run.heads("induction")).mean("head") - _with_tokens(run, others).mean("head")


@claim(
    "Heads with a simple algorithm end low: brackets",
    source=f"{PAPER}, fig 1",
    label="rLLC of the bracket head less other multigram heads of layer 1",
    at_most=0,
    correction=DRAWN_ANEW,
)
def simple_is_low_dyck(run: Run) -> Number:
    best = bracket_head(last_of(run.dataset("tokens")["share"]))
    if best is None:
        raise NotJudged("needs a head with brackets among its tokens in context, has none")
    others = [head for head in run.heads("multigram", layer=layer_of(best)) if head != best]
    if not others:
        raise NotJudged(f"needs another multigram head in layer {layer_of(best)}, has none")
    return _with_tokens(run, [best]).squeeze("head") - _with_tokens(run, others).mean("head")


def _multigram_correlation(run: Run, layer: int | None) -> Number:
    """Return Spearman's correlation of rLLC and number of multigrams over multigram heads.

    It is at the last checkpoint of tokens in context. Ranks are taken within each seed and pooled, so it is
    one number for all seeds.
    """
    counts, levels = [], []
    for seed in run.datasets["tokens"]["seed"].values.tolist() if "tokens" in run.datasets else [run.seed]:
        one = run.like(seed=seed, readings=run.readings)
        known = last(one.curve("tokens.multigrams")).dropna("head")
        counted = known["head"].values.tolist()
        chosen = [head for head in one.heads("multigram", layer=layer, at_least=0) if head in counted]
        if chosen:
            counts.append(known.sel(head=chosen).values)
            levels.append(_with_tokens(one, chosen))
    count = sum(map(len, counts))
    if count < FEWEST:
        where = "" if layer is None else f" in layer {layer}"
        raise NotJudged(f"needs {FEWEST} multigram heads{where}, has {count or 'none'}")
    made = correlation_within(counts, [level.transpose(..., "head").values for level in levels])
    return xr.DataArray(made, dims=[dim for dim in levels[0].dims if dim != "head"])


POOLED = "its error is by redraws of the rLLCs; before, it was taken as exact, and .486 did not reach .5"


@claim(
    "Multigram heads of layer 1 that memorise more have a larger refined LLC",
    source=f"{PAPER}, figs 1, 11",
    label="rank correlation of rLLC and multigrams, layer 1",
    at_least=0.5,
    correction=POOLED,
    shuffle=False,  # of one number of all seeds; multigram_correlation_p is what chance gives
)
def multigram_correlation(run: Run) -> Number:
    return _multigram_correlation(run, 1)


@claim(
    "Few orders of these heads would do as well",
    source=f"{PAPER}, figs 1, 11",
    label="share of orders of the multigram heads of layer 1 with at least that correlation",
    at_most=0.05,
    shuffle=False,  # of one number of all seeds; multigram_correlation_p is what chance gives
)
def multigram_correlation_p(run: Run) -> Number:
    return last(run.curve("classification.multigram_correlation_p"))


@claim(
    "The same over both layers",
    source=f"{PAPER}, fig 11",
    label="rank correlation of rLLC and multigrams, both layers",
    at_least=0.5,
    correction=POOLED,
    shuffle=False,  # of one number of all seeds; multigram_correlation_p is what chance gives
)
def multigram_correlation_both(run: Run) -> Number:
    return _multigram_correlation(run, None)


# --- App. F.5: clusters of heads by their curves. The estimates' errors are in none of them.

claim = partial(any_claim, where=several_layers, family="clusters (F.5)")


@claim(
    "Clusters of heads by their curves are their types (k-Shape)",
    source=f"{PAPER}, 4.1, fig 1",
    label="adjusted Rand index of k-Shape clusters with types of heads, as many as types, mean over scopes",
    at_least=0.5,
)
def types_cluster(run: Run) -> Number:
    return last(run.curve("clusters.rand_types_kshape"))


@claim(
    "The same, by K-means with the shape-based distance, as in the paper",
    source=f"{PAPER}, 4.1, F.5.3",
    label="adjusted Rand index of clusters (K-means, shape-based distance) with types of heads, as many "
    "as types",
    at_least=0.5,
)
def types_cluster_shape(run: Run) -> Number:
    return last(run.curve("clusters.rand_types_shape"))


@claim(
    "Two clusters of layer 1 are induction heads and the rest",
    source=f"{PAPER}, F.5.3",
    label="adjusted Rand index of two clusters of layer 1 with induction heads against the rest, median",
    at_least=0.8,
)
def first_split_layer1(run: Run) -> Number:
    return last(run.curve("clusters.first_split_layer1"))


@claim(
    "Two clusters of layer 0 set previous- and current-token heads apart from most others",
    source=f"{PAPER}, F.5.3",
    label="adjusted Rand index of two clusters of layer 0 with previous- and current-token heads against "
    "the rest",
    at_least=0.5,
)
def first_split_layer0(run: Run) -> Number:
    return last(run.curve("clusters.first_split_layer0"))


@claim(
    "With the most clusters induction heads are in different ones",
    source=f"{PAPER}, F.5.3",
    label="share of algorithms that have induction heads in different clusters",
    at_least=0.5,
)
def induction_split(run: Run) -> Number:
    return last(run.curve("clusters.induction_split"))


@claim(
    "Four algorithms agree tightly",
    source=f"{PAPER}, F.5.4",
    label="adjusted Rand index of two of four algorithms, mean",
    at_least=0.8,
    shuffle=False,
)
def algorithms_agree(run: Run) -> Number:
    return last(run.curve("clusters.algorithms_agree"))


@claim(
    "Standardising curves first leaves clusters largely as they are",
    source=f"{PAPER}, F.5.3",
    label="adjusted Rand index of Euclidean clusters with and without z-scores, mean",
    at_least=0.8,
    shuffle=False,
)
def standardising_harmless(run: Run) -> Number:
    return last(run.curve("clusters.standardizing_keeps"))


@claim(
    "Silhouette, Calinski-Harabasz and Davies-Bouldin do not find the number of types",
    source=f"{PAPER}, F.5.4",
    label="indices, of three, whose best number of clusters is that of types",
    at_most=1,
    correction="it could not fail: indices that pick a number of clusters at random pass too, and the "
    "reason says how often",
    shuffle=False,
)
def indices_useless(run: Run) -> Number:
    last(run.curve("clusters.indices_right"))
    numbers = run.dataset("clusters").sizes["n_clusters"]
    pick = 1 / numbers
    chance = (1 - pick) ** 3 + 3 * pick * (1 - pick) ** 2
    raise NotJudged(
        f"chance passes: three indices that each pick one of {numbers} numbers at random pass in {chance:.0%}"
    )


@claim(
    "Clusters of one training seed are those of others",
    source=f"{PAPER}, App. G",
    label="adjusted Rand index of the first seed's clusters with the types of other seeds' heads, mean",
    at_least=0.5,
)
def transfer(run: Run) -> Number:
    return last(run.curve("transfer.rand_types_mean"))


@claim(
    "In most of them few orders of the heads would do as well",
    source=f"{PAPER}, App. G; the p is ours",
    label="p that most of the other seeds' scopes do not exceed",
    at_most=0.05,
)
def transfer_in_most(run: Run) -> Number:
    return last(run.curve("transfer.p_of_most"))


@claim(
    "Shape-based clusters carry over better than others",
    source=f"{PAPER}, F.5.4",
    label="that index of shape-based clusters less that of the best other algorithm",
    at_least=0,
)
def shape_transfers_best(run: Run) -> Number:
    return last(run.curve("transfer.shape_lead"))


# --- 4.2: heads specialise to data. The paper compares code with the training text, which here is largely
# that code: English stands beside it where it is measured.

claim = partial(any_claim, where=several_layers, family="specialisation (4.2)")


def _refined(run: Run, group: str, against: str) -> Number:
    """Return log2 of the rLLC of a group of heads on code over that on another text, at the end."""
    return last(run.curve("refinement.log2_ratio", head_group=group, against=against))


@claim(
    "Induction heads have a larger refined LLC on code than on the pretraining distribution",
    source=f"{PAPER}, 4.2, Fig. 3",
    label="log2 of the induction heads' rLLC on code over that on the training text, at the end",
    unit="octaves",
    at_least=0,
)
def induction_up_on_code(run: Run) -> Number:
    return _refined(run, "induction", run.text)


@claim(
    "The same, against English",
    source=f"{PAPER}, 4.2, Fig. 3; English is ours",
    label="log2 of the induction heads' rLLC on code over that on English, at the end",
    unit="octaves",
    at_least=0,
)
def induction_up_on_code_english(run: Run) -> Number:
    return _refined(run, "induction", "english")


@claim(
    "Multigram heads have a smaller refined LLC on code than on the pretraining distribution",
    source=f"{PAPER}, 4.2, Fig. 3",
    label="log2 of the multigram heads' rLLC on code over that on the training text, at the end",
    unit="octaves",
    at_most=0,
)
def multigrams_down_on_code(run: Run) -> Number:
    return _refined(run, "multigram", run.text)


@claim(
    "The same, against English",
    source=f"{PAPER}, 4.2, Fig. 3; English is ours",
    label="log2 of the multigram heads' rLLC on code over that on English, at the end",
    unit="octaves",
    at_most=0,
)
def multigrams_down_on_code_english(run: Run) -> Number:
    return _refined(run, "multigram", "english")


@claim(
    "Code raises induction heads more than multigram heads, against the pretraining distribution",
    source=f"{PAPER}, 4.2",
    label="the induction heads' log2 ratio of code to the training text less the multigram heads'",
    unit="octaves",
    at_least=0,
)
def induction_gap(run: Run) -> Number:
    return _refined(run, "induction less multigram", run.text)


@claim(
    "The same, against English",
    source=f"{PAPER}, 4.2; English is ours",
    label="the induction heads' log2 ratio of code to English less the multigram heads'",
    unit="octaves",
    at_least=0,
)
def induction_gap_english(run: Run) -> Number:
    return _refined(run, "induction less multigram", "english")


def _apart(run: Run, text: str) -> xr.DataArray:
    """Return the range of the induction heads' rLLCs over their mean, at the end."""
    level = last(run.curve("rllc.rllc", heads=run.heads("induction", at_least=2), distribution=text))
    return (level.max("head") - level.min("head")) / abs(level.mean("head"))


@claim(
    "Two induction heads end nearly level on the pretraining distribution",
    source=f"{PAPER}, 4.2",
    label="range of the induction heads' rLLCs over their mean, on the training text, at the end",
    at_most=0.1,
)
def induction_equal_on_pile(run: Run) -> Number:
    return _apart(run, run.text)


@claim(
    "Code pulls them apart",
    source=f"{PAPER}, 4.2",
    label="range of the induction heads' rLLCs over their mean, on code over that on the training text, "
    "at the end",
    at_least=2,
)
def induction_apart_on_code(run: Run) -> Number:
    return _apart(run, run.code) / _apart(run, run.text)


@claim(
    "Of two induction heads, the one larger on code acts on punctuation and the like",
    source=f"{PAPER}, 4.2, fig 4",
    label="induction tokens without a letter, head larger on code less the other",
    at_least=0,
    given="induction_apart_on_code",
)
def code_head_syntactic(run: Run) -> Number:
    return last(run.curve("classification.code_head_letterless"))


# --- App. B: tokens in context. A share of a head's tokens has the error of a binomial.

claim = partial(any_claim, where=several_layers, family="tokens in context (App. B)")

BINOMIAL = "its error is that of a binomial of the head's tokens; before, the share was taken as exact"


def _share(run: Run, name: str, heads: int = 1, difference: bool = False) -> Number:
    """Return a share of a head's tokens, or the difference of two, with binomial errors.

    heads  how many it is the mean of
    """
    share = last(run.curve(f"classification.{name}"))
    count = run.settings_of("tokens").get("top", 0) * heads
    if not count:
        return share
    level = share.clip(0, 1) if not difference else xr.full_like(share, 0.5)
    variance = level * (1 - level) * (2 if difference else 1) / count
    return run.with_error(share, np.sqrt(variance), f"classification.{name}")


@claim(
    "Heads that scores call induction or previous-token have induction as largest pattern",
    source=f"{PAPER}, B.2.2",
    label="share of induction and previous-token heads with most induction among their tokens",
    at_least=1,
)
def types_by_tokens(run: Run) -> Number:
    return last(run.curve("classification.types_by_tokens"))


@claim(
    "One head of layer 1 is all but only about brackets (theirs 98 %)",
    source=f"{PAPER}, B.3.2",
    label="largest share of brackets of a head of layer 1",
    at_least=0.9,
    correction=BINOMIAL,
    shuffle=False,
)
def dyck_pure(run: Run) -> Number:
    return _share(run, "dyck_share")


@claim(
    "Several heads are bracket heads by plurality (theirs three)",
    source=f"{PAPER}, B.3.2",
    label="bracket heads by plurality",
    unit="heads",
    at_least=2,
    shuffle=False,
)
def dyck_three(run: Run) -> Number:
    return last(run.curve("classification.dyck_heads"))


@claim(
    "One of them is in layer 0",
    source=f"{PAPER}, B.3.2",
    label="bracket heads of layer 0",
    unit="heads",
    at_least=1,
    shuffle=False,
)
def dyck_three_layer0(run: Run) -> Number:
    return last(run.curve("classification.dyck_heads_layer0"))


@claim(
    "Bracket heads of layer 1 attend to the opener",
    source=f"{PAPER}, B.3.2",
    label="share of brackets at whose opener bracket heads of layer 1 look",
    at_least=0.5,
    shuffle=False,
)
def dyck_attends_opener(run: Run) -> Number:
    return last(run.curve("classification.dyck_attends_opener"))


@claim(
    "The bracket head of layer 0 attends more diffusely",
    source=f"{PAPER}, B.3.2",
    label="largest attention weight of bracket heads, layer 0 less layer 1",
    at_most=0,
    shuffle=False,
)
def dyck0_diffuse(run: Run) -> Number:
    return last(run.curve("classification.dyck_diffuse"))


@claim(
    "One head is mainly about skip n-grams (theirs 43.6 %)",
    source=f"{PAPER}, B.4.2",
    label="largest share of skip n-grams of a head",
    at_least=0.4,
    correction=BINOMIAL,
    shuffle=False,
)
def skip_head(run: Run) -> Number:
    return _share(run, "skip_share")


@claim(
    "Dyck heads have fewest n-grams, skip n-gram heads more, the rest most",
    source=f"{PAPER}, B.5.2",
    label="Kendall's tau of n-grams with the order Dyck, skip n-gram, n-gram heads",
    at_least=0.5,
    shuffle=False,
)
def ngram_order(run: Run) -> Number:
    return last(run.curve("classification.ngram_order"))


@claim(
    "Almost all tokens in context are explained at the end (theirs partly by hand)",
    source=f"{PAPER}, B.1",
    label="smallest share of a head's tokens that four patterns explain",
    at_least=0.9,
    correction=BINOMIAL,
    shuffle=False,
)
def all_explained(run: Run) -> Number:
    return _share(run, "least_explained")


@claim(
    "Previous-token heads begin as n-gram heads",
    source=f"{PAPER}, B.6",
    label="n-gram share of previous-token heads, first step less end",
    at_least=0.1,
    correction=BINOMIAL,
)
def start_as_ngram(run: Run) -> Number:
    return _share(run, "ngram_share_lost", len(run.heads("previous-token")), difference=True)


@claim(
    "The bracket head of layer 0 was none earlier",
    source=f"{PAPER}, 4.3, B.6",
    label="share of brackets of layer 0's bracket head, end less first step",
    at_least=0.1,
    correction=BINOMIAL,
    shuffle=False,
)
def dyck_late(run: Run) -> Number:
    return _share(run, "dyck_share_gained", difference=True)


@claim(
    "The largest pattern of every head exceeds chance",
    source="ours",
    label="smallest ratio of a head's largest share to that by chance",
    at_least=2,
    shuffle=False,
)
def enrichment(run: Run) -> Number:
    return last(run.curve("classification.enrichment"))


# --- B.2.2: induction heads form one after the other; all need two of them.

claim = partial(any_claim, where=several_layers, family="staggered induction (B.2.2)")


def _of_staggered(run: Run, name: str) -> Number:
    run.heads("induction", at_least=2)
    return last(run.curve(f"staggered.{name}"))


@claim(
    "Induction heads form at different times",
    source=f"{PAPER}, B.2.2",
    label="log2 of the latest over the earliest peak of induction heads' rLLCs on code",
    unit="octaves",
    at_least=0.2,
)
def staggered(run: Run) -> Number:
    return _of_staggered(run, "spread")


@claim(
    "Refined LLC and in-context learning under ablation give the same order",
    source=f"{PAPER}, B.2.2, fig 10",
    label="whether the peaks have the order of the falls of the in-context learning score",
    at_least=1,
)
def staggered_same_order(run: Run) -> Number:
    return _of_staggered(run, "same_order")


@claim(
    "Without the others, in-context learning stops falling where a head's refined LLC peaks",
    source=f"{PAPER}, B.2.2",
    label="largest |log2| of the step of 90 % of a head's fall of the score over that of its peak",
    unit="octaves",
    at_most=0.5,
)
def drop_at_peak(run: Run) -> Number:
    return _of_staggered(run, "drop_at_peak")


@claim(
    "The joint refined LLC peaks where plain in-context learning stops falling",
    source=f"{PAPER}, fig 10",
    label="|log2| of the step of 90 % of the plain score's fall over that of the joint peak",
    unit="octaves",
    at_most=0.5,
)
def joint_peak_at_drop_end(run: Run) -> Number:
    return _of_staggered(run, "joint_drop_at_peak")


@claim(
    "Without any induction head little in-context learning remains",
    source="ours, a check",
    label="in-context learning score without induction heads over the plain one, at the end",
    at_most=0.2,
)
def icl_needs_both(run: Run) -> Number:
    return _of_staggered(run, "icl_left")


# --- 4.3: the multigram circuit. From step 50 on: rLLCs of random weights are about 0, and a ratio of these
# says nothing.

claim = partial(any_claim, where=several_layers, family="multigram circuit (4.3)")


def induction_begins(run: Run) -> float:
    """Return the first step at which a head's prefix-matching score reaches ``INDUCTION_BEGINS``."""
    step = float(first_step_reaching(run.curve("heads.prefix_matching").max("head"), INDUCTION_BEGINS))
    if not np.isfinite(step):
        raise NotJudged(f"no head's prefix-matching score reaches {INDUCTION_BEGINS}, where induction begins")
    return step


def _one_layer_ratio(run: Run, heads: list[str] | None = None, to_step: float | None = None) -> xr.DataArray:
    """Return the ratio (step, head) of the rLLC on a one-layer model's predictions to that on text."""
    reach = {"heads": heads, "from_step": PEAK_FROM, "to_step": to_step}
    generated = run.curve("rllc.rllc", distribution="one_layer", **reach)
    return generated / run.curve("rllc.rllc", distribution=run.text, **reach)


@claim(
    "Early on, refined LLCs on the one-layer model's predictions are like those on text",
    source=f"{PAPER}, 4.3, fig 5",
    label="mean |ratio - 1| of rLLCs on the one-layer model to those on text, over heads and early steps",
    at_most=0.25,
)
def l1_alike_early(run: Run) -> Number:
    return mean_departure(_one_layer_ratio(run, to_step=induction_begins(run))).mean("head")


@claim(
    "Afterwards the one-layer model's share falls in all heads",
    source=f"{PAPER}, 4.3, fig 5",
    label="share of heads whose ratio of the one-layer model to text ends below its early mean",
    at_least=1,
    correction="ratios are compared; before, their logarithms, undefined where an rLLC is not positive",
)
def l1_decrease_all(run: Run) -> Number:
    ratio = _one_layer_ratio(run)
    early = ratio.sel(step=slice(None, induction_begins(run)))
    if not early.sizes["step"]:
        raise NotJudged("no checkpoint is measured before induction begins")
    return (last(ratio) <= early.mean("step")).mean("head")


@claim(
    "It falls most in previous-token, current-token, induction heads and multigram heads of layer 0",
    source=f"{PAPER}, 4.3",
    label="gain of that ratio from its early mean to the end: all other heads less multigram heads of "
    "layer 1",
    unit="octaves",
    at_most=0,
)
def l1_decrease_groups(run: Run) -> Number:
    multigram = run.heads("multigram", layer=1)
    others = [head for head in map(str, run.types["head"].values) if head not in multigram]
    if not others:
        raise NotJudged("needs a head beside the multigram heads of layer 1, has none")
    begins = induction_begins(run)
    gains = [
        log2_gain(_one_layer_ratio(run, heads), begins).mean("head", skipna=False)
        for heads in (others, multigram)
    ]
    if any(bool(gain.isnull().all()) for gain in gains):
        raise NotJudged("a ratio of rLLCs is not positive, so its logarithm is not defined")
    return gains[0] - gains[1]


@claim(
    "Ablating the bracket head raises the loss on closing brackets sharply",
    source=f"{PAPER}, fig 6",
    label="loss that ablating the bracket head adds on closing brackets, the smaller of both kinds",
    unit="nats/token",
    at_least=0.5,
)
def dyck_ablation(run: Run) -> Number:
    return last(run.curve("path_patching.ablated_least"))


@claim(
    "At the end nested brackets need what multigram heads of layer 0 tell the bracket head",
    source=f"{PAPER}, fig 6",
    label="loss that patching adds on nested brackets",
    unit="nats/token",
    at_least=0.05,
)
def path_nested(run: Run) -> Number:
    return last(run.curve("path_patching.path", brackets="nested"))


@claim(
    "That begins when roles shift, not before induction",
    source=f"{PAPER}, fig 6",
    label="loss that patching adds on nested brackets at the onset of induction over that at the end",
    at_most=0.25,
)
def path_onset(run: Run) -> Number:
    return last(run.curve("path_patching.path_onset"))


@claim(
    "Of unnested brackets little of it is left at the end",
    source=f"{PAPER}, fig 6",
    label="loss that patching adds on unnested brackets over that of ablating the bracket head",
    at_most=0.2,
)
def path_unnested_small(run: Run) -> Number:
    return last(run.curve("path_patching.path_share", brackets="unnested"))


@claim(
    "In between there was more of it",
    source=f"{PAPER}, fig 6",
    label="largest loss that patching adds on unnested brackets over that at the end",
    at_least=1.5,
)
def path_unnested_transient(run: Run) -> Number:
    return last(run.curve("path_patching.path_transient", brackets="unnested"))


@claim(
    "K-composition of multigram heads of layer 0 with those of layer 1 turns around",
    source=f"{PAPER}, 4.3, fig 7",
    label="share of pairs of multigram heads of both layers whose K-composition turns around",
    at_least=0.9,
)
def kcomp_turnaround(run: Run) -> Number:
    return last(run.curve("kcomposition.turnaround"))


@claim(
    "A layer-0 head's K-composition with all multigram heads of layer 1 moves together",
    source=f"{PAPER}, fig 7",
    label="correlation of a multigram head's K-composition curves with two later multigram heads, mean",
    at_least=0.8,
)
def kcomp_coupled(run: Run) -> Number:
    return last(run.curve("kcomposition.coupled"))


@claim(
    "The current-token head's K-composition with them rises dramatically, then falls as much",
    source=f"{PAPER}, B.6",
    label="peak of the current-token head's K-composition over its early mean or its end, the smaller",
    at_least=1.5,
)
def current_kcomp_spike(run: Run) -> Number:
    run.heads("current-token", layer=0)
    return last(run.curve("kcomposition.current_spike"))


# --- C.1: the whole model's LLC on other texts.

claim = partial(any_claim, where=several_layers, family="other texts (C.1)")


@claim(
    "On texts that are no programs the LLC is a shifted copy of that on the training text",
    source=f"{PAPER}, C.1",
    label="smallest correlation of the LLC on a text that is no program with that on the training text",
    at_least=0.9,
)
def shifted_copies(run: Run) -> Number:
    return last(run.curve("domains.least_correlation"))


@claim(
    "On programming languages it is less so",
    source=f"{PAPER}, C.1",
    label="mean of such correlations less that of programming languages",
    at_least=0,
)
def code_is_exception(run: Run) -> Number:
    return last(run.curve("domains.correlation_gap"))


@claim(
    "On scientific texts the fall in LM3 is deeper",
    source=f"{PAPER}, C.1",
    label="fall of the LLC in LM3 on scientific texts less that on the training text",
    at_least=0,
)
def science_fall(run: Run) -> Number:
    return last(run.curve("domains.science_fall"))


@claim(
    "Critical points lie at the same steps on all texts",
    source=f"{PAPER}, C.1 (theirs 5,500 to 8,000 for 6,500 to 8,500)",
    label="distance of the extrema of LLCs from those on the training text, median",
    unit="octaves",
    at_most=0.25,
)
def boundaries_kept(run: Run) -> Number:
    return last(run.curve("domains.boundary_shift"))


# --- App. D: Hessian and Fisher information.

claim = partial(any_claim, where=several_layers, family="curvature (App. D)")


def _rank(run: Run, kind: str, name: str = "hessian_rank", method: str | None = "chebyshev") -> xr.DataArray:
    """Return the rank of the Hessian on the training text over training."""
    rank = partial(run.curve, f"hessian_rank.{name}", distribution=run.text, rank_range=kind)
    return rank(rank_method=method) if method else rank()


def _trace(run: Run) -> xr.DataArray:
    return run.curve("hessian.hessian_trace", distribution=run.text)


@claim(
    "The rank of the Hessian on a fixed range somewhat resembles its trace",
    source=f"{PAPER}, D.3.2",
    label="rank correlation of the published Hessian rank (fixed range) with the Hessian trace",
    at_least=0.5,
)
def rank_fixed_like_trace(run: Run) -> Number:
    return spearman(_rank(run, "fixed"), _trace(run))


@claim(
    "It changes little for its size",
    source=f"{PAPER}, D.3.2",
    label="range of the published Hessian rank (fixed range) over its mean",
    at_most=0.25,
)
def rank_small_change(run: Run) -> Number:
    return relative_range(_rank(run, "fixed"))


@claim(
    "The fixed and the adaptive range disagree",
    source=f"{PAPER}, D.3.3",
    label="rank correlation of the published Hessian rank on the fixed and on the adaptive range",
    at_most=0.5,
)
def rank_methods_disagree(run: Run) -> Number:
    return spearman(_rank(run, "fixed"), _rank(run, "adaptive"))


@claim(
    "On the adaptive range most of it is what zeros alone count",
    source="ours: a control",
    label="what zeros alone count over the published Hessian rank (adaptive range), mean",
    at_least=0.5,
)
def rank_is_offset(run: Run) -> Number:
    return (_rank(run, "adaptive", "hessian_rank_offset") / _rank(run, "adaptive")).mean("step")


def _late(run: Run, curve: xr.DataArray) -> xr.DataArray:
    """Return log2 of the value at the end of the paper's training over that at the end of LM4."""
    return log2_ratio(curve, LM["LM4"], 50_000)


@claim(
    "After LM4 the Hessian trace rises while the LLC mostly stops",
    source=f"{PAPER}, D.1.2",
    label="rise of the Hessian trace less that of the LLC after LM4",
    unit="octaves",
    at_least=0.1,
    reached=50_000,
)
def trace_keeps_rising(run: Run) -> Number:
    return _late(run, _trace(run)) - _late(run, run.curve("llc.llc", distribution=run.text))


def _follows(run: Run, stages: tuple[int, ...]) -> xr.DataArray:
    """Return the mean rank correlation of the Hessian trace with the LLC within stages of the paper."""
    ends = [0, *LM.values(), None]
    found = []
    for stage in stages:
        reach = {"from_step": ends[stage - 1], "to_step": ends[stage], "distribution": run.text}
        found.append(spearman(run.curve("hessian.hessian_trace", **reach), run.curve("llc.llc", **reach)))
    return sum(found[1:], found[0]) / len(found)


@claim(
    "The Hessian trace moves with the LLC in LM1, LM2 and LM5, less in between",
    source=f"{PAPER}, C.3, D.1",
    label="rank correlation of the Hessian trace with the LLC: the mean of LM1, LM2 and LM5 less that of "
    "LM3 and LM4",
    at_least=0,
    reached=50_000,
)
def trace_follows_llc(run: Run) -> Number:
    return _follows(run, (1, 2, 5)) - _follows(run, (3, 4))


@claim(
    "In LM1, LM2 and LM5 it does",
    source=f"{PAPER}, C.3, D.1",
    label="rank correlation of the Hessian trace with the LLC, mean of LM1, LM2 and LM5",
    at_least=0.5,
    reached=50_000,
)
def trace_follows_llc_outer(run: Run) -> Number:
    return _follows(run, (1, 2, 5))


def _traces_of_heads(run: Run, text: str) -> xr.DataArray:
    return run.curve("hessian.hessian_trace_head", distribution=text)


def _orders_alike(one: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    """Return the rank correlation over heads at the last checkpoint that both have."""
    steps = np.intersect1d(one["step"].values, other["step"].values)
    if not steps.size:
        raise NotJudged("no checkpoint has both")
    at_last, other_at_last = (each.sel(step=steps[-1], drop=True) for each in (one, other))
    return spearman(at_last, other_at_last, "head")


@claim(
    "Final Hessian traces order heads as refined LLCs do (at the published setting almost the same quantity)",
    source=f"{PAPER}, E.3",
    label="rank correlation over heads of the Hessian trace with the rLLC, at the end",
    at_least=0.8,
)
def trace_order(run: Run) -> Number:
    return _orders_alike(_traces_of_heads(run, run.text), _rllc(run))


@claim(
    "The same, likelihood",
    source=f"{PAPER}, E.3; the setting is ours",
    label="rank correlation over heads of the Hessian trace with the rLLC at the setting with "
    "likelihood, at the end",
    at_least=0.8,
)
def trace_order_likelihood(run: Run) -> Number:
    return _orders_alike(_traces_of_heads(run, run.text), _rllc(run, variable=LIKELIHOOD))


def _smoothness(run: Run, variable: str, text: str) -> xr.DataArray:
    """Return the roughness (head) of curves without what noise of the size of their errors gives."""
    return roughness(run.curve(variable, distribution=text), run.error(variable, distribution=text))


def _rougher(one: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    """Return the median over heads of the ratio of two roughnesses."""
    for name, each in (("first", one), ("second", other)):
        if not bool((each.median("head") > 0).any()):
            raise NotJudged(f"noise of the quoted errors alone makes the {name} curves as rough as they are")
    return (one / other.where(other > 0)).median("head")


ROUGH = (
    "what noise of the quoted errors gives is subtracted; before, the noise of 4 probes alone gave the ratio"
)


@claim(
    "Hessian traces of heads are less stable over training than refined LLCs",
    source=f"{PAPER}, D.1.2",
    label="roughness of a head's Hessian trace over that of its rLLC, noise subtracted, median of heads",
    at_least=1,
    correction=ROUGH,
)
def trace_rougher(run: Run) -> Number:
    return _rougher(
        _smoothness(run, "hessian.hessian_trace_head", run.text), _smoothness(run, "rllc.rllc", run.text)
    )


@claim(
    "More so on code",
    source=f"{PAPER}, D.1.2",
    label="roughness of a head's Hessian trace on code over that on the training text, noise subtracted, "
    "median",
    at_least=1,
    correction=ROUGH,
)
def trace_code_rougher(run: Run) -> Number:
    variable = "hessian.hessian_trace_head"
    return _rougher(_smoothness(run, variable, run.code), _smoothness(run, variable, run.text))


def _fisher(run: Run) -> xr.DataArray:
    return run.curve("fisher.fim_trace", distribution=run.text)


@claim(
    "The FIM trace has the Hessian trace's shape",
    source=f"{PAPER}, D.2.2",
    label="correlation of the FIM trace with the Hessian trace over training",
    at_least=0.9,
)
def fim_like_trace(run: Run) -> Number:
    return pearson(_fisher(run), _trace(run))


@claim(
    "It is noisier",
    source=f"{PAPER}, D.2",
    label="roughness of the FIM trace over that of the Hessian trace",
    at_least=1,
)
def fim_noisier(run: Run) -> Number:
    steps = np.intersect1d(measured(_fisher(run))["step"].values, measured(_trace(run))["step"].values)
    return roughness(_fisher(run).sel(step=steps)) / roughness(_trace(run).sel(step=steps))


@claim(
    "In its Gauss-Newton form it is quieter than in the published one",
    source="ours: a control",
    label="standard error of the Gauss-Newton form of the FIM trace over that of the published one, mean",
    at_most=1,
)
def fim_ggn_quieter(run: Run) -> Number:
    own, other = (
        run.curve(f"fisher.{name}", distribution=run.text) for name in ("fim_trace_ggn_se", "fim_trace_se")
    )
    return (own / other).mean("step")


# --- App. E: ablations.

claim = partial(any_claim, where=several_layers, family="ablations (App. E)")


def _costs(run: Run, method: str, *types: str) -> xr.DataArray:
    """Return the loss (step, head) that ablating a head adds on the training text."""
    return run.curve(
        "ablation.ablation", heads=run.heads(*types) if types else None, distribution=run.text, method=method
    )


def _mean_of_methods(values: list[xr.DataArray]) -> xr.DataArray:
    return sum(values[1:], values[0]) / len(values)


def _in_lm4(run: Run, costs: xr.DataArray) -> xr.DataArray:
    """Return log2 of the cost at the end of LM4 over that when induction begins."""
    return log2_ratio(costs, induction_begins(run), LM["LM4"])


@claim(
    "Ablating previous-token heads costs more while induction forms",
    source=f"{PAPER}, E.3",
    label="log2 of the cost of ablating previous-token heads at the end of LM4 over that when induction "
    "begins",
    unit="octaves",
    at_least=0.5,
    reached=50_000,
)
def prev_rises_lm4(run: Run) -> Number:
    each = [_in_lm4(run, _costs(run, method, "previous-token")) for method in METHODS]
    return _mean_of_methods([one.mean("head", skipna=False) for one in each])


@claim(
    "The same to the end of training, over the mean before",
    source=f"{PAPER}, E.3; the steps are ours",
    label="log2 of the cost of ablating previous-token heads at the end over its early mean",
    unit="octaves",
    at_least=0.5,
)
def prev_rises(run: Run) -> Number:
    begins = induction_begins(run)
    each = [log2_gain(_costs(run, method, "previous-token"), begins) for method in METHODS]
    return _mean_of_methods([one.mean("head", skipna=False) for one in each])


@claim(
    "So does ablating the first induction head",
    source=f"{PAPER}, E.3",
    label="log2 of the cost of ablating an induction head at the end of LM4 over that when induction "
    "begins, largest",
    unit="octaves",
    at_least=1,
    reached=50_000,
)
def induction_rises_lm4(run: Run) -> Number:
    each = [_in_lm4(run, _costs(run, method, "induction")) for method in METHODS]
    return _mean_of_methods([one.max("head", skipna=False) for one in each])


@claim(
    "The same to the end of training, over the mean before",
    source=f"{PAPER}, E.3; the steps are ours",
    label="log2 of the cost of ablating an induction head at the end over its early mean, largest",
    unit="octaves",
    at_least=1,
)
def induction_rises(run: Run) -> Number:
    begins = induction_begins(run)
    each = [log2_gain(_costs(run, method, "induction"), begins) for method in METHODS]
    return _mean_of_methods([one.max("head", skipna=False) for one in each])


@claim(
    "Zero, mean and resample ablation give curves of the same shape",
    source=f"{PAPER}, E.3",
    label="rank correlation over training of the costs of two kinds of ablation, mean of heads",
    at_least=0.8,
)
def methods_same_shape(run: Run) -> Number:
    pairs = [("zero", "mean"), ("zero", "resample"), ("mean", "resample")]
    each = [spearman(_costs(run, one), _costs(run, other)) for one, other in pairs]
    return _mean_of_methods([one.mean("head", skipna=False) for one in each])


@claim(
    "What resample ablation costs at the end orders heads as refined LLCs do",
    source=f"{PAPER}, E.3",
    label="rank correlation over heads of the cost of resample ablation with the rLLC, at the end",
    at_least=0.8,
)
def resample_order(run: Run) -> Number:
    return _orders_alike(_costs(run, "resample"), _rllc(run))


@claim(
    "The same, likelihood",
    source=f"{PAPER}, E.3; the setting is ours",
    label="rank correlation over heads of the cost of resample ablation with the rLLC at the setting "
    "with likelihood",
    at_least=0.8,
)
def resample_order_likelihood(run: Run) -> Number:
    return _orders_alike(_costs(run, "resample"), _rllc(run, variable=LIKELIHOOD))


@claim(
    "Of the three kinds resample ablation tells types of heads apart best",
    source=f"{PAPER}, E.4",
    label="share of the spread within layers that is between types, resample less zero or mean ablation",
    at_least=0,
)
def resample_separates(run: Run) -> Number:
    zero, mean, resample = (_between_types(run, last(_costs(run, method))) for method in METHODS)
    return resample - np.maximum(zero, mean)


def _tell_apart(run: Run, values: xr.DataArray) -> xr.DataArray:
    return _silhouette(run, last(values))


def _induction_and_current(run: Run) -> tuple[str, str]:
    run.heads("current-token")
    return "induction", "current-token"


@claim(
    "Refined LLCs tell induction and current-token heads apart better than ablation",
    source=f"{PAPER}, E.4",
    label="silhouette of induction and current-token heads by rLLC less that by mean ablation",
    at_least=0,
)
def lambda_separates(run: Run) -> Number:
    types = _induction_and_current(run)
    return _tell_apart(run, _rllc(run, *types)) - _tell_apart(run, _costs(run, "mean", *types))


@claim(
    "The same, likelihood",
    source=f"{PAPER}, E.4; the setting is ours",
    label="silhouette of induction and current-token heads by rLLC at the setting with likelihood less "
    "mean ablation",
    at_least=0,
)
def lambda_separates_likelihood(run: Run) -> Number:
    types = _induction_and_current(run)
    level = _rllc(run, *types, variable=LIKELIHOOD)
    return _tell_apart(run, level) - _tell_apart(run, _costs(run, "mean", *types))


# --- App. G: every seed.

claim = partial(any_claim, where=several_layers, family="every seed (App. G)")


@claim(
    "Every run has exactly one current-token head",
    source=f"{PAPER}, App. G",
    label="current-token heads at the end",
    unit="heads",
    at_least=1,
    at_most=1,
)
def one_current(run: Run) -> Number:
    return run.count("current-token")


@claim(
    "Every run has as many induction as previous-token heads",
    source=f"{PAPER}, App. G",
    label="induction heads less previous-token heads, at the end",
    unit="heads",
    at_least=0,
    at_most=0,
    given="previous_one_or_two",
)
def induction_equals_previous(run: Run) -> Number:
    return run.count("induction") - run.count("previous-token")


@claim(
    "One or two previous-token heads",
    source=f"{PAPER}, App. G",
    label="previous-token heads at the end",
    unit="heads",
    at_least=1,
    at_most=2,
)
def previous_one_or_two(run: Run) -> Number:
    return run.count("previous-token")


MULTIGRAM = "heads of layer 0 of the type multigram alone; before, all heads of layer 0"


def _from_peak(run: Run, *types: str, layer: int | None = None) -> xr.DataArray:
    """Return the rLLC (step, head) on the training text from the step from which peaks count."""
    return run.curve(
        "rllc.rllc", heads=run.heads(*types, layer=layer), distribution=run.text, from_step=PEAK_FROM
    )


@claim(
    "Multigram heads' refined LLCs begin to fall after LM2 (here: the mean over those of layer 0)",
    source=f"{PAPER}, App. G",
    label="fall of the multigram heads' mean rLLC, layer 0, from its peak to its least value after it",
    at_least=0.05,
    reached=1500,
    correction=MULTIGRAM,
)
def multigrams_fall(run: Run) -> Number:
    return fall_to_minimum(smooth(_from_peak(run, "multigram", layer=0).mean("head")))


@claim(
    "The same, of every multigram head of layer 0 by itself, to the end of training",
    source=f"{PAPER}, App. G",
    label="least fall of the rLLC of a multigram head of layer 0 from its peak to the end",
    at_least=0.05,
    reached=1500,
    correction=MULTIGRAM,
)
def multigrams_fall_each(run: Run) -> Number:
    return fall(smooth(_from_peak(run, "multigram", layer=0))).min("head", skipna=False)


@claim(
    "In every run the mean refined LLC of multigram heads of both layers falls",
    source=f"{PAPER}, App. G",
    label="fall of the multigram heads' mean rLLC from its peak to its least value after it",
    at_least=0.05,
    reached=1500,
)
def multigrams_fall_mean(run: Run) -> Number:
    return fall_to_minimum(smooth(_from_peak(run, "multigram").mean("head")))

"""Classes of heads by their tokens in context: config and spec."""

from collections.abc import Iterator

from rllc.measures.attention_scores.spec import AttentionScores
from rllc.measures.tokens.spec import Tokens
from rllc.study.checks.names import refer
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.roles import HeadTypes
from rllc.study.sampling import BASE_SETTING, setting
from rllc.study.specs import AnalysisSpec, Variable, Work
from rllc.study.values import Name


class Classification(ConfigModel):
    """Classes of heads by their tokens in context; multigrams against the refined LLC."""

    distribution: Name = config_field("of the refined LLC")
    code_distribution: Name | None = config_field(
        "the distribution of code; null: there is none", default=None
    )


def _checks(place: str, work: Work[Classification]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    sampling, tokens = setting(experiment, BASE_SETTING, "heads"), experiment.get(Tokens)
    if not (tokens and experiment.get(AttentionScores) and experiment.get(HeadTypes) and sampling):
        yield (
            f"{place}: heads are classified by tokens, attention_scores, head_types and sampling.heads; "
            "give all four"
        )
        return
    known = sampling.distributions or experiment.distributions
    for name in ("distribution", "code_distribution"):
        if (asked := getattr(section, name)) is not None:
            yield from refer(f"{place}.{name}", asked, known, "distribution of rllc.nc")
    taken = sampling.checkpoints
    for step in tokens.checkpoints:
        if taken is not None and step not in taken:
            yield f"{place}: tokens are measured at step {step}, the refined LLC is not"


def _number(long_name: str, unit: str = "1", *dims: str) -> Variable:
    return Variable(long_name, unit, ("step", *dims))


ANALYSIS = AnalysisSpec(
    name="classification",
    section=Classification,
    about="classes of heads by tokens in context, and multigrams against the refined LLC",
    function="rllc.analysis.classification:classification",
    variables={
        "token_class": _number("what the head is by attention scores and tokens in context", "1", "head"),
        "explained": _number("share of its tokens that the paper's patterns explain", "1", "head"),
        "multigram_spearman": _number(
            "rank correlation over multigram heads of refined LLC and multigrams", "1", "scope"
        ),
        "multigram_spearman_low": _number(
            "2.5 % quantile of multigram_spearman for the errors of both", "1", "scope"
        ),
        "multigram_spearman_high": _number(
            "97.5 % quantile of multigram_spearman for the errors of both", "1", "scope"
        ),
        "multigram_spearman_p": _number(
            "share of orders of the heads with at least this correlation", "1", "scope"
        ),
        "multigram_spearman_heads": _number("multigram heads", "1", "scope"),
        "multigram_correlation": _number(
            "the rank correlation in layer 1, seeds pooled as ranks; of five heads or more"
        ),
        "multigram_correlation_p": _number("share of orders within seeds with at least this correlation"),
        "multigram_correlation_both": _number("the rank correlation over both layers, seeds pooled as ranks"),
        "types_by_tokens": _number("share of induction and previous-token heads with most induction"),
        "dyck_share": _number("largest share of brackets of a head of layer 1"),
        "dyck_heads": _number("bracket heads, where a layer has eight heads"),
        "dyck_heads_layer0": _number("bracket heads of layer 0, where a layer has eight heads"),
        "dyck_attends_opener": _number("share of brackets at whose opener bracket heads of layer 1 look"),
        "dyck_diffuse": _number("largest attention weight of bracket heads, layer 0 less layer 1"),
        "dyck_share_gained": _number("share of brackets of bracket heads of layer 0, less the first step's"),
        "skip_share": _number("largest share of skip n-grams of a head"),
        "ngram_order": _number("Kendall's tau of n-grams with the order Dyck, skip n-gram, n-gram heads"),
        "ngram_share_lost": _number("n-gram share of previous-token heads at the first step, less now"),
        "least_explained": _number("smallest explained share of a head"),
        "enrichment": _number("smallest ratio of a head's largest share to that by chance"),
        "code_head_letterless": _number(
            "induction tokens without a letter, induction head that is larger on code less the other"
        ),
        "induction_less_ngram": _number(
            "refined LLC of induction heads minus that of n-gram and skip n-gram heads of layer 1"
        ),
        "dyck_less_others": _number(
            "refined LLC of layer 1's bracket head minus that of its other multigram heads"
        ),
        **{
            f"{name}_prior_only": _number(f"{name.replace('_', ' ')}, of the control without loss gradient")
            for name in (
                "multigram_correlation",
                "multigram_correlation_p",
                "multigram_correlation_both",
                "induction_less_ngram",
                "dyck_less_others",
            )
        },
    },
    reads=("tokens", "attention_scores", "rllc"),
    checks=_checks,
    stream="classification",
)

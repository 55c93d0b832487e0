"""How K-composition of multigram heads moves over training: config and spec."""

from collections.abc import Iterator

from rllc.measures.attention_scores.spec import AttentionScores
from rllc.study.config_model import ConfigModel
from rllc.study.roles import HeadTypes
from rllc.study.specs import AnalysisSpec, Variable, Work


class Kcomposition(ConfigModel):
    """How K-composition of multigram heads of both layers moves over training, for claims."""


def _checks(place: str, work: Work[Kcomposition]) -> Iterator[str]:
    experiment = work.experiment
    if not experiment.get(AttentionScores) or not experiment.get(HeadTypes) or experiment.model.n_layers < 2:
        yield (
            f"{place}: it is of types of heads in two layers; give attention_scores and head_types, or set "
            "it to null"
        )


ANALYSIS = AnalysisSpec(
    name="kcomposition",
    section=Kcomposition,
    about="how K-composition of multigram heads of both layers moves over training",
    function="rllc.analysis.kcomposition:kcomposition",
    variables={
        "turnaround": Variable("share of pairs of multigram heads whose K-composition turns", "1", ("step",)),
        "turnaround_se": Variable(
            "standard error of that share by the spread of pairs at the first step", "1", ("step",)
        ),
        "null": Variable("mean K-composition of all pairs at the first step", "1", ("step",)),
        "null_se": Variable("standard error over pairs of that mean", "1", ("step",)),
        "coupled": Variable(
            "correlation of a multigram head's K-composition curves with two later ones", "1", ("step",)
        ),
        "coupled_less_induction": Variable(
            "coupled minus its value with two induction heads", "1", ("step",)
        ),
        "current_spike": Variable(
            "peak of the current-token head's K-composition over its early mean or its end",
            "1",
            ("step",),
        ),
    },
    requires=("circuits",),
    reads=("attention_scores",),
    checks=_checks,
    local=True,
)

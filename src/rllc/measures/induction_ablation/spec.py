"""In-context learning without some of the induction heads: config and spec."""

from collections.abc import Iterator
from typing import Any

from pydantic import model_validator

from rllc.measures.metrics.spec import Metrics
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.contexts import in_whole_batches
from rllc.study.roles import thresholds, typed
from rllc.study.specs import FigureSpec, MeasureSpec, Variable, Work
from rllc.study.values import Count, Distinct, Name, Step
from rllc.units import NATS


class InductionAblation(ConfigModel):
    """In-context learning without some of the induction heads, at the positions that ``metrics`` has."""

    checkpoints: Distinct[Step] | None = config_field(
        "where it is measured; null: everywhere", unit="steps", min_length=1, default=None
    )
    contexts: int = config_field(
        "held-out contexts, a multiple of batch_size; those of metrics, if as many", ge=2
    )
    batch_size: Count = config_field("contexts at once")
    distributions: Distinct[Name] | None = config_field(
        "null: all of the experiment's", min_length=1, default=None
    )

    @model_validator(mode="after")
    def _whole_batches(self) -> "InductionAblation":
        in_whole_batches(self.contexts, self.batch_size)
        return self


def _settings(work: Work[InductionAblation]) -> dict[str, Any]:
    section, metrics = work.section, work.experiment.need(Metrics)
    own = section.model_dump(exclude={"checkpoints", "distributions"})
    return {**own, "early": metrics.icl_early, "late": metrics.icl_late, **thresholds(work)}


def _checks(place: str, work: Work[InductionAblation]) -> Iterator[str]:
    metrics = work.experiment.get(Metrics)
    yield from typed(place, work)
    if metrics is None or metrics.icl_early is None:
        yield f"{place}: the score is that of metrics; give metrics with icl_early and icl_late"


MEASURE = MeasureSpec(
    name="induction_ablation",
    section=InductionAblation,
    about="in-context learning score without some of the induction heads",
    kernel="rllc.measures.induction_ablation.kernel:induction_ablation",
    variables={
        "icl_score": Variable(
            "loss late in the context minus loss early, with heads ablated", NATS, ("ablated",)
        ),
        "icl_score_se": Variable(
            "standard error over contexts of icl_score", NATS, ("ablated",), over="contexts"
        ),
        "icl_left": Variable("score with heads ablated over the plain one", "1", ("ablated",)),
        "icl_left_se": Variable(
            "standard error over contexts of icl_left", "1", ("ablated",), over="contexts"
        ),
    },
    settings=_settings,
    checks=_checks,
    requires=("heads", "positions", "tokens"),
    after=("attention_scores",),
    figures={
        "rllc_fig10_staggered_induction": FigureSpec(
            "rllc.figures.heads.staggered:rllc_fig10_staggered_induction",
            ("induction_ablation", "rllc"),
            ("attention_scores", "components", "metrics"),
            behind=("stages",),
        )
    },
)

"""Stages of development: config and spec."""

import math
from collections.abc import Iterator
from typing import Any

from rllc.measures.hessian.spec import Hessian
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.sampling import settings
from rllc.study.specs import AnalysisSpec, Variable, Work
from rllc.study.tasks import TASKS, Regression, RegressionTokens
from rllc.study.values import Count, Positive
from rllc.units import NATS

CELL = ("setting", "distribution")


ALONG = ("step", *CELL)


ALONG_HESSIAN = ("step", "distribution")


BOUNDARIES = (
    "boundary_step", "boundary_first", "boundary_last", "boundary_low", "boundary_high", "boundary_kind",
    "boundary_determined", "support",
)  # fmt: skip


COUNTS = ("boundary_count", "determined_count")


CURVES = (
    "llc_smooth", "llc_smooth_se", "llc_slope", "llc_slope_se", "published", "loss", "sampled_loss",
    "llc_of_loss",
)  # fmt: skip


FLATNESS = 0.08
FLATNESS_IS = "tolerance: a slope below this share of the curve's range, per e-fold of steps, is flat"
PAPER = "arXiv 2402.02364, App. A.5, without a number"


class Stages(ConfigModel):
    """Stage boundaries of every LLC curve, and its correlation with the loss."""

    from_step: Count = config_field("earlier checkpoints are left out", unit="steps", default=1)
    flatness: Positive = config_field(FLATNESS_IS, source=PAPER, default=FLATNESS)
    tolerance: Positive = config_field(
        "of the published rule, which is kept for comparison: a minimum of |slope| below this is a plateau",
        unit="per e-fold of steps", source="arXiv 2402.02364, code: 8 (regression)", default=8.0,
    )  # fmt: skip


class HessianStages(ConfigModel):
    """Stage boundaries of the logarithm of the Hessian's trace."""

    from_step: Count = config_field("earlier checkpoints are left out", unit="steps", default=1)
    flatness: Positive = config_field(FLATNESS_IS, source=PAPER, default=FLATNESS)


def _settings(work: Work[Stages]) -> dict[str, Any]:
    """With the loss of predictions that know nothing: uniform ones of tokens, 0 of numbers."""
    tokens = work.tokenizer
    vocabulary = getattr(tokens, "vocabulary", None)
    chance, guess = vocabulary and math.log(vocabulary), "uniform predictions"
    first = work.distributions.get(next(iter(work.experiment.distributions), ""))
    if isinstance(first, Regression) and isinstance(tokens, RegressionTokens):
        chance, guess = tokens.dimension + first.noise_variance, "predictions of 0"
    unit = TASKS[work.experiment.task].unit
    return {**work.section.model_dump(), "chance": chance, "guess": guess, "unit": unit}


def _checks(place: str, work: Work[Stages]) -> Iterator[str]:
    if not any(setting.full for setting in settings(work.experiment).values()):
        yield f"{place}: boundaries are read off LLC curves; give sampling.full, or set `stages: null`"


def _of_hessian(place: str, work: Work[HessianStages]) -> Iterator[str]:
    if work.experiment.get(Hessian) is None:
        yield f"{place}: boundaries are read off hessian.nc; give hessian, or set `hessian_stages: null`"


ANALYSES = (
    AnalysisSpec(
        name="stages",
        section=Stages,
        about="boundaries of stages in the LLC curves, and whether these curves mirror the loss",
        function="rllc.analysis.stages:stages",
        variables={name: Variable("", "", ALONG) for name in CURVES}
        | {"at_boundary": Variable("", "", (*ALONG, "kind"))}
        | {name: Variable("", "", (*CELL, "boundary")) for name in BOUNDARIES}
        | {name: Variable("", "", (*CELL, "flatness")) for name in COUNTS}
        | {name: Variable("", "", CELL) for name in ("llc_loss_correlation", "error_scale")},
        uses=("llc", "llc.*"),
        settings=_settings,
        checks=_checks,
        stream="stages",
        local=True,
    ),
    AnalysisSpec(
        name="hessian_stages",
        section=HessianStages,
        about="boundaries of stages in the logarithm of the Hessian's trace, by the same rule",
        function="rllc.analysis.hessian_stages:hessian_stages",
        variables={
            "trace_smooth": Variable(
                "Hessian trace, its logarithm smoothed by a Gaussian process", NATS, ALONG_HESSIAN
            ),
            "at_boundary": Variable(
                "stage boundary at the checkpoint: 0 none, 1 possible, 2 determined",
                "1",
                (*ALONG_HESSIAN, "kind"),
            ),
        },
        reads=("hessian",),
        checks=_of_hessian,
        stream="hessian_stages",
        local=True,
    ),
)

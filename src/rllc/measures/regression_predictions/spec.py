"""Predictions of in-context linear regression: config and spec."""

from typing import Any

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.contexts import by_block
from rllc.study.cost import START, Cost
from rllc.study.regression import SQUARES, figure, law, of_the_task
from rllc.study.specs import FigureSpec, MeasureSpec, Variable, Work
from rllc.study.values import STAGE, Distinct, Positive


class RegressionPredictions(ConfigModel):
    """Predictions by pair, in distribution and out of it."""

    sequences: int = config_field("sequences, the same at all checkpoints", ge=2, source=f"{STAGE}: 2,048")
    middle: int = config_field(
        "pair between the early and the late part", ge=2, source=f"{STAGE}, App. C.3.2: 4", default=4
    )
    scales: Distinct[Positive] = config_field(
        "inputs, or tasks, are multiplied by each of these", min_length=1, source=f"{STAGE}, Fig. C.4",
        default=[0.3, 1.0, 3.0, 5.0, 10.0, 30.0, 100.0],
    )  # fmt: skip


def _settings(work: Work[RegressionPredictions]) -> dict[str, Any]:
    training = work.experiment.own_training.model_dump()
    schedule = ("learning_rate", "steps", "warmup", "schedule", "end_rate")
    return {
        **work.section.model_dump(),
        "law": law(work),
        "schedule": {name: training[name] for name in schedule},
    }


def _cost(work: Work[RegressionPredictions]) -> Cost:
    passes = len(work.steps) * 2 * len(work.section.scales)
    return Cost(START + passes * work.forward(work.section.sequences, None), 1500)


def _pair(long_name: str, over: str = "") -> Variable:
    return Variable(long_name, SQUARES, ("k",), over=over)


def _gap(name: str, of: str) -> dict[str, Variable]:
    return {
        name: Variable(f"in-context learning score: squared error at {of}", SQUARES),
        f"{name}_se": Variable(f"standard error over sequences of {name}", SQUARES, over="sequences"),
        **_blocks(name, "in-context learning score"),
    }


def _blocks(name: str, what: str) -> dict[str, Variable]:
    return {f"{name}_by_block": by_block(what, SQUARES, of="sequences")}


MEASURE = MeasureSpec(
    name="regression_predictions",
    section=RegressionPredictions,
    about="predictions of in-context linear regression by pair, in distribution and out of it",
    kernel="rllc.measures.regression_predictions.kernel:regression_predictions",
    variables={
        "mse": _pair("mean squared error of the prediction at pair k"),
        "mse_se": _pair("standard error over sequences of mse", over="sequences"),
        "prediction_square": _pair("mean square of the prediction at pair k"),
        "ridge_mse": _pair("mean squared error of the Bayes predictor on the same sequences"),
        **_gap("icl_early", "the middle pair minus that at the first"),
        **_gap("icl_late", "the last pair minus that at the middle one"),
        **_gap("icl_score", "the last pair minus that at the first"),
        "loss_over_zero": Variable("loss minus that of the zero predictor on the same sequences", SQUARES),
        "loss_over_zero_se": Variable(
            "standard error over sequences of loss_over_zero", SQUARES, over="sequences"
        ),
        **_blocks("loss_over_zero", "loss minus the zero predictor's"),
        "delta_zero": Variable("mean square of the predictions", SQUARES),
        **_blocks("delta_zero", "mean square of the predictions"),
        "delta_prior": Variable("mean squared difference from what the mean task predicts", SQUARES),
        **_blocks("delta_prior", "mean squared difference from what the mean task predicts"),
        "delta_ridge": Variable("mean squared difference from ridge regression", SQUARES),
        "delta_dmmse": Variable(
            "mean squared difference from the Bayes predictor of finitely many tasks",
            SQUARES,
            optional="where tasks are finitely many",
        ),
        "far_loss": Variable(
            "loss where inputs or tasks are times g, over g^2", SQUARES, ("change", "scale")
        ),
        "far_icl": Variable(
            "in-context learning score (last pair minus first) where inputs or tasks are times g, over g^2",
            SQUARES,
            ("change", "scale"),
        ),
        "far_prediction": Variable(
            "mean absolute prediction where inputs or tasks are times g", "1", ("change", "scale")
        ),
        "cumulative_rate": Variable("sum of the learning rates of all updates so far", "1"),
    },
    settings=_settings,
    cost=_cost,
    checks=of_the_task,
    per_distribution=False,
    stream="in_context",
    stream_of_seed=False,
    figures={
        "stage_fig1b_lr": figure(
            "stages:stage_fig1b_lr", "metrics", "llc", uses=("llc.*", "regression_predictions", "stages")
        ),
        "regression_published_curves": figure(
            "comparison:regression_published_curves",
            "metrics",
            "llc",
            "regression_predictions",
            uses=("hessian", "structure"),
        ),
        "stage_fig6a": figure("behaviour:stage_fig6a", "regression_predictions"),
        "stage_figC2": FigureSpec(
            "rllc.figures.regression.pools:stage_figC2",
            ("regression_predictions",),
            (),
            "regression",
            several=True,
        ),
        "stage_figC3": figure("behaviour:stage_figC3", "regression_predictions"),
        "stage_figC4": figure("behaviour:stage_figC4", "regression_predictions"),
        "regression_sampled_loss": figure(
            "stages:regression_sampled_loss",
            "metrics",
            "llc",
            "structure",
            uses=("llc.*", "regression_predictions", "stages"),
        ),
    },
)

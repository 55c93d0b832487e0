"""In-context linear regression and the transformers that learn it: sections, rows and figures."""

from collections.abc import Iterator
from typing import Any

from rllc.study import tasks
from rllc.study.cost import START, Cost
from rllc.study.rows import FigureRow, Measure, Variable, Work
from rllc.study.section import Section, key
from rllc.study.tasks import RegressionTokens
from rllc.study.values import STAGE, Distinct, Positive

SQUARES = "squared error"


class InContext(Section):
    """Predictions by pair, in distribution and out of it."""

    sequences: int = key("sequences, the same at all checkpoints", ge=2, source=f"{STAGE}: 2,048")
    middle: int = key(
        "pair between the early and the late part", ge=2, source=f"{STAGE}, App. C.3.2: 4", default=4
    )
    scales: Distinct[Positive] = key(
        "inputs, or tasks, are multiplied by each of these", min_length=1, source=f"{STAGE}, Fig. C.4",
        default=[0.3, 1.0, 3.0, 5.0, 10.0, 30.0, 100.0],
    )  # fmt: skip


class Structure(Section):
    """Spectra and layer norms of the weights, and attention."""

    sequences: int = key("sequences that attention is a mean over", ge=2)


def _law(work: Work[InContext | Structure]) -> dict[str, Any]:
    """Arguments of the generator of what the experiment is trained on."""
    trained = work.distributions[work.experiment.own_training.distribution]
    return tasks.settings(trained, work.tokens)


def _predictions(work: Work[InContext]) -> dict[str, Any]:
    training = work.experiment.own_training.model_dump()
    schedule = ("learning_rate", "steps", "warmup", "schedule", "end_rate")
    return {
        **work.section.model_dump(),
        "law": _law(work),
        "schedule": {name: training[name] for name in schedule},
    }


def _of_the_task(place: str, work: Work[InContext | Structure]) -> Iterator[str]:
    if work.experiment.task != "regression":
        yield f"{place}: the task {work.experiment.task} predicts no regression; set it to null"
        return
    tokens, middle = work.known_tokens, getattr(work.section, "middle", 2)
    if isinstance(tokens, RegressionTokens) and middle >= tokens.length:
        yield f"{place}.middle: pair {middle} of {tokens.length}; give one before the last"


def _of_the_family(place: str, work: Work[Structure]) -> Iterator[str]:
    yield from _of_the_task(place, work)
    if work.experiment.model.family != "in_context":
        family = work.experiment.model.family
        yield f"{place}: reads the weights of the family in_context, not {family}; set it to null"


def _predictions_cost(work: Work[InContext]) -> Cost:
    passes = len(work.steps) * 2 * len(work.section.scales)
    return Cost(START + passes * work.forward(work.section.sequences, None), 1500)


def _structure_cost(work: Work[Structure]) -> Cost:
    passes = 2 * len(work.steps)
    return Cost(START + passes * work.forward(work.section.sequences, None), 1200)


def _pair(long_name: str) -> Variable:
    return Variable(long_name, SQUARES, ("k",))


def _gap(name: str, of: str) -> dict[str, Variable]:
    return {
        name: Variable(f"in-context learning score: squared error at {of}", SQUARES),
        f"{name}_se": Variable("its standard error over sequences", SQUARES),
    }


def _attention(of: str, *dims: str) -> Variable:
    return Variable(of, "1", ("head", *(dims or ("query",))))


def _norm(word: str, several: str) -> dict[str, Variable]:
    of = {
        "mean": "mean of the {}",
        "sd": "standard deviation of the {}",
        "small": "share below 0.1 among the {}",
    }
    return {
        f"norm_{word}_{name}": Variable(long.format(f"{several} of a layer norm"), "1", ("norm",))
        for name, long in of.items()
    }


def _figure(function: str, *needs: str, uses: tuple[str, ...] = ("stages",)) -> FigureRow:
    return FigureRow(f"rllc.figures.regression.{function}", needs, uses, "regression")


ROWS = (
    Measure(
        name="in_context",
        section=InContext,
        about="predictions of in-context linear regression by pair, in distribution and out of it",
        kernel="rllc.measures.in_context:in_context",
        variables={
            "mse": _pair("mean squared error of the prediction at pair k"),
            "mse_se": _pair("its standard error over sequences"),
            "prediction_square": _pair("mean square of the prediction at pair k"),
            "ridge_mse": _pair("mean squared error of the Bayes predictor on the same sequences"),
            **_gap("icl_early", "the middle pair less that at the first"),
            **_gap("icl_late", "the last pair less that at the middle one"),
            **_gap("icl_score", "the last pair less that at the first"),
            "delta_zero": Variable("mean square of the predictions", SQUARES),
            "delta_prior": Variable("mean squared difference from what the mean task predicts", SQUARES),
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
                "the same of the in-context learning score, last pair less first",
                SQUARES,
                ("change", "scale"),
            ),
            "far_prediction": Variable("mean absolute prediction there", "1", ("change", "scale")),
            "cumulative_rate": Variable("sum of the learning rates of all updates so far", "1"),
        },
        settings=_predictions,
        cost=_predictions_cost,
        checks=_of_the_task,
        per_distribution=False,
        stream="in_context",
        stream_of_seed=False,
        figures={
            "stage_fig1b_lr": _figure(
                "stages:stage_fig1b_lr", "metrics", "llc", uses=("llc.*", "in_context", "stages")
            ),
            "regression_published_curves": _figure(
                "comparison:regression_published_curves",
                "metrics",
                "llc",
                "in_context",
                uses=("hessian", "structure"),
            ),
            "stage_fig6a": _figure("behaviour:stage_fig6a", "in_context"),
            "stage_figC2": FigureRow(
                "rllc.figures.regression.pools:stage_figC2", ("in_context",), (), "regression", several=True
            ),
            "stage_figC3": _figure("behaviour:stage_figC3", "in_context"),
            "stage_figC4": _figure("behaviour:stage_figC4", "in_context"),
            "regression_sampled_loss": _figure(
                "stages:regression_sampled_loss",
                "metrics",
                "llc",
                "structure",
                uses=("llc.*", "in_context", "stages"),
            ),
        },
    ),
    Measure(
        name="structure",
        section=Structure,
        about="embeddings, layer norms, unembedding and attention of a model of regression",
        kernel="rllc.measures.structure:structure",
        variables={
            "embedding_share": Variable("squared singular values of W_E over their sum", "1", ("direction",)),
            "position_share": Variable("the same of W_pos", "1", ("position_direction",)),
            "embedding_rank": Variable("exp of the entropy of the shares of W_E", "1"),
            "position_rank": Variable("the same of W_pos", "1"),
            "alignment": Variable(
                "share of the length of a row of W_E within the first directions of W_pos",
                "1",
                ("subspace", "coordinate"),
            ),
            "alignment_mean": Variable("the same, mean over rows", "1", ("subspace",)),
            "position_top": Variable("the three largest shares of W_pos together", "1"),
            **_norm("weight", "weights"),
            **_norm("bias", "biases"),
            "unembed_norm_weight": Variable("weight of the last layer norm", "1", ("channel",)),
            "unembed_norm_bias": Variable("bias of the last layer norm", "1", ("channel",)),
            "unembed_weight": Variable("component 0 of W_U", "1", ("channel",)),
            "unembed_bias": Variable("component 0 of b_U", "1"),
            "effective_weight": Variable("component 0 of W_U times the norm's weight", "1", ("channel",)),
            "effective_bias": Variable("component 0 of W_U times the norm's bias", "1", ("channel",)),
            "attention_entropy": _attention("entropy of attention over the log of the number of keys"),
            "attention_variability": _attention("how much attention differs between sequences"),
            "attention_self": _attention("attention to the query's own vector"),
            "attention_previous": _attention("attention to the vector before"),
            "attention_inputs": _attention("attention to all inputs"),
            "attention_answers": _attention("attention to all answers"),
            "attention_mean": _attention("mean attention over sequences", "query", "key"),
            "hard_patterns": Variable("heads and kinds of query whose attention is hard and constant", "1"),
            "hard_correlation": Variable("rank correlation of attention's entropy and variability", "1"),
            "weight_count": Variable("numbers in a weight", "1", ("weight",)),
            "residual_factor": Variable("what the residual stream is multiplied by in a block", "1"),
        },
        settings=lambda work: {**work.section.model_dump(), "law": _law(work)},
        cost=_structure_cost,
        checks=_of_the_family,
        per_distribution=False,
        stream="structure",
        stream_of_seed=False,
        figures={
            "stage_fig6b": _figure(
                "structure:stage_fig6b", "structure", uses=("hessian", "eigenvalues", "stages")
            ),
            "stage_figC5": _figure("structure:stage_figC5", "structure"),
            "stage_figC6": _figure("structure:stage_figC6", "structure"),
            "stage_figC7": _figure("structure:stage_figC7", "structure"),
            "stage_figC8": _figure("attention:stage_figC8", "structure"),
            "stage_figC9": _figure("attention:stage_figC9", "structure"),
            "stage_figD2": _figure("architecture:stage_figD2", "structure", uses=()),
            "stage_figC10": _figure("attention:stage_figC10", "structure", uses=()),
        },
    ),
)

"""What the specs of measures of in-context linear regression share."""

from collections.abc import Iterator
from typing import Any

from rllc.study import tasks
from rllc.study.config_model import ConfigModel
from rllc.study.specs import FigureSpec, Work
from rllc.study.tasks import RegressionTokens

SQUARES = "squared error"


def law(work: Work[ConfigModel]) -> dict[str, Any]:
    """Return the arguments of the generator of the sequences that the experiment is trained on."""
    trained = work.distributions[work.experiment.own_training.distribution]
    return tasks.settings(trained, work.tokenizer)


def of_the_task(place: str, work: Work[ConfigModel]) -> Iterator[str]:
    """Yield what is wrong with the section where the task is no regression, or has too few pairs."""
    if work.experiment.task != "regression":
        yield f"{place}: the task {work.experiment.task} predicts no regression; set it to null"
        return
    tokenizer, middle = work.tokenizer_section, getattr(work.section, "middle", 2)
    if isinstance(tokenizer, RegressionTokens) and middle >= tokenizer.length:
        yield f"{place}.middle: pair {middle} of {tokenizer.length}; give one before the last"


def figure(function: str, *needs: str, uses: tuple[str, ...] = ("stages",)) -> FigureSpec:
    """Return the spec of a figure of ``rllc.figures.regression``."""
    return FigureSpec(f"rllc.figures.regression.{function}", needs, uses, "regression")

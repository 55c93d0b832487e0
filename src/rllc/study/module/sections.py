"""Config sections of torch modules of the user. Imports no torch."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

from rllc import components
from rllc.module_source import source_digest
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.load import Load
from rllc.study.values import Count


class Module(ConfigModel):
    """A torch module of yours, which maps tokens to logits."""

    family: Literal["module"] = config_field("torch modules of yours")
    build: str = config_field(
        "function that returns the module: file.py:function from the root of the repository, or "
        "package.module:function"
    )
    options: dict[str, Any] = config_field("keyword arguments of this function", default={})
    vocabulary: Count = config_field("logits of a prediction, padding included")
    context: Count = config_field("longest context", unit="tokens")
    weights: Count = config_field(
        "about how many weights it has, for the forecast of time and memory alone",
        default=10_000_000,
        exclude=True,  # no result depends on it
    )

    @property
    def n_layers(self) -> int:
        """Return 0: no layer of the module is known."""
        return 0


class ModuleInitial(ConfigModel):
    """The law of the initial weights: that of the function ``build``, under a seed."""


def check_component(model: Module, component: str) -> str | None:
    """Return why a label names no component of the model; None: it may. Names are compared in the job."""
    try:
        parsed = components.parse(component)
    except ValueError as error:
        return str(error)
    if [part for part in parsed.parts if part.kind != "weights"]:
        return (
            f"component {component!r} is not in a module of yours, whose parts have no known names: write "
            '"full" or "weights:<regular expression>"'
        )
    return None


def check_tokens(model: Module, tokens: Any) -> Iterator[str]:
    """Yield the problems between a model and its tokens."""
    if tokens.context > model.context:
        yield f"context: {model.context} positions cannot hold the blocks of {tokens.context} tokens"
    if tokens.vocabulary > model.vocabulary:
        yield f"vocabulary: {model.vocabulary} logits cannot hold the {tokens.vocabulary} tokens"


def facts(model: Module, tokens: Any) -> dict[str, Any]:
    """Return the digest of the user's files, on which every result depends. Raises ValueError."""
    return {"source": _planned(model.build, Path.cwd())}


@cache
def _planned(build: str, _relative_to: Path) -> str:
    """Return the digest, the same for all jobs of a plan."""
    return source_digest(build)


def operations(model: Module, load: Load) -> float:
    """Return the floating-point operations of a forward pass: every weight takes part once per token."""
    return 2.0 * load.batch_size * load.length * model.weights

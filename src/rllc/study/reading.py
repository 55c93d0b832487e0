"""From the merged YAML to a checked ``Study``, or one error that lists everything wrong with it."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from rllc.study.checks.experiments import experiment_problems
from rllc.study.checks.figures import claim_problems, figure_problems
from rllc.study.checks.names import refer
from rllc.study.datasets import summarised
from rllc.study.distributions import Predictions, TextTokens
from rllc.study.families import FAMILIES
from rllc.study.figures import FIGURES, OF_CLAIMS, VALIDATION
from rllc.study.measures.sampling import BASE_SETTING
from rllc.study.overlays import Unlike, resolved, with_own_figures
from rllc.study.section import nearest
from rllc.study.study import Figure, Study
from rllc.study.tasks import TASKS, TOKENS

# of the study, in results
FOLDERS = ("figures", "corpora", "blocks", "tokenizers", "validation", "logs", "benchmarks")
# that pydantic puts into the place of a problem: table -> how many places behind it, and which
TAGS = {
    "distributions": (2, {source for row in TASKS.values() for source in row.sources}),
    "tokenizers": (2, set(TOKENS)),
    "checkpoints": (1, {"train", "import"}),
    "model": (1, set(FAMILIES)),
}


class ConfigError(ValueError):
    """The config cannot be used; the message says which keys, why, and what would do."""


def read(config: dict[str, Any], *, checked: bool = False) -> Study:
    """Check the whole config. An entry of a table that an overlay sets to null is removed, and with an
    experiment, its ``calibration`` or ``validation`` the figures of what it would have made.

    checked  this very config was read before (by the main process of a job's run): names and values are not
             compared across sections again

    Raises ConfigError naming every unknown, missing, mistyped or out-of-range key, and every name that
    refers to nothing.
    """
    try:
        study = Study.model_validate(with_own_figures(resolved(config), config))
    except Unlike as error:
        raise ConfigError(_message([str(error)])) from None
    except ValidationError as error:
        raise ConfigError(_message(_explain(problem) for problem in error.errors())) from None
    study = study.model_copy(update={"figures": dict(_wanted(study))})
    problems = [] if checked else list(_dangling(study))
    if problems:
        raise ConfigError(_message(problems))
    return study


def _wanted(study: Study) -> Iterator[tuple[str, Figure]]:
    """The figures, without those of a target whose section is null."""
    for name, figure in study.figures.items():
        drawn = FIGURES.get(figure.draws or name)
        experiment = study.experiments.get(figure.experiment or "")
        silent = {"calibrate": experiment and not experiment.calibration, VALIDATION: not study.validation}
        judged = drawn is None or drawn.needs != OF_CLAIMS or summarised(study)
        if drawn is None or (judged and not silent.get(drawn.target)):
            yield name, figure


def _message(problems: Iterable[str]) -> str:
    return "the config cannot be used:\n" + "\n".join(f"  - {problem}" for problem in problems)


def _place(loc: tuple[str | int, ...]) -> str:
    """Where a problem is, without the tags that pydantic adds for unions: the user wrote none."""
    kept = [
        str(part)
        for i, part in enumerate(loc)
        if not any(part in tags and i >= n and loc[i - n] == name for name, (n, tags) in TAGS.items())
    ]
    return ".".join(kept) or "config"


def _explain(problem: Any) -> str:
    place = _place(problem["loc"])
    text, given = problem["msg"].removeprefix("Value error, "), problem["input"]
    if problem["type"] == "union_tag_invalid":
        tag, known = problem["ctx"]["tag"], re.findall(r"'(\w+)'", problem["ctx"]["expected_tags"])
        what = problem["ctx"]["discriminator"].strip("'_()")
        return f"{place}.{what}: there is no {what} '{tag}'{nearest(tag, known)}"
    if problem["type"] == "missing":
        return f"{place}: missing; give it a value (config/README.md says what it means)"
    if isinstance(given, str) and re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", given):
        return (
            f"{place}: YAML reads {given} as text; write it with a decimal point and a signed exponent, "
            "such as 1.0e-3 or 3.0e+3"
        )
    shown = f" (given: {given!r})" if isinstance(given, str | int | float | bool) else ""
    return f"{place}: {text[0].lower() + text[1:]}{shown}"


def _dangling(study: Study) -> Iterator[str]:
    """Names that refer to nothing, and values that contradict each other across sections."""
    for name, distribution in study.distributions.items():
        place = f"distributions.{name}"
        if distribution.source == "mixture":
            readable = [
                n for n, d in study.distributions.items() if d.source in ("installed", "files", "hub")
            ]
            for part in distribution.weights:
                yield from refer(f"{place}.weights", part, readable, "distribution of text")
        if isinstance(distribution, Predictions):
            texts = [n for n, d in study.distributions.items() if d.source != "model"]
            yield from refer(f"{place}.contexts", distribution.contexts, texts, "distribution of text")
            yield from refer(f"{place}.experiment", distribution.experiment, study.experiments, "experiment")
            teacher = study.experiments.get(distribution.experiment)
            if teacher and distribution.seed not in teacher.seeds:
                yield f"{place}.seed: {distribution.experiment} has the seeds {teacher.seeds}"
    for name, tokenizer in study.tokenizers.items():
        if isinstance(tokenizer, TextTokens) and tokenizer.corpus is not None:
            texts = [n for n, d in study.distributions.items() if d.source != "model"]
            yield from refer(f"tokenizers.{name}.corpus", tokenizer.corpus, texts, "distribution of text")
    for name, experiment in study.experiments.items():
        yield from experiment_problems(study, f"experiments.{name}", name, experiment)
        if BASE_SETTING in experiment.settings:
            yield f"experiments.{name}.settings: '{BASE_SETTING}' is the base setting's name; take another"
        if name in FOLDERS:
            yield f"experiments.{name}: '{name}' is a folder of the study in `results`; take another name"
    yield from figure_problems(study)
    yield from claim_problems(study)

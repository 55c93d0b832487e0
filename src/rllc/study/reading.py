"""From the merged YAML to a checked ``Study``, or one error that lists everything wrong with it."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from rllc.study.checks.experiments import experiment_problems
from rllc.study.checks.figures import figure_problems
from rllc.study.checks.labels import label_problems
from rllc.study.checks.names import refer
from rllc.study.claims import claim_problems, judged
from rllc.study.config_model import ConfigError, Problem
from rllc.study.datasets import is_text
from rllc.study.distributions import Predictions, TextTokens
from rllc.study.figures import FIGURES, OF_CLAIMS, SUMMARY, VALIDATION
from rllc.study.overlays import resolved, with_own_figures
from rllc.study.problems import explained, unstorable
from rllc.study.sampling import BASE_SETTING
from rllc.study.study import Figure, Study
from rllc.study.tasks import TASKS

# folders of the study in `results`
FOLDERS = ("figures", "corpora", "blocks", "tokenizers", "validation", "partial", "logs", "benchmarks")


def read(config: dict[str, Any], *, checked: bool = False) -> Study:
    """Return the checked study.

    Entries that an overlay sets to null are removed. If an experiment, its ``calibration`` or ``validation``
    is removed, so are its figures.

    checked  the main process has checked this config: do not compare names and values across sections again

    Raises ConfigError, which names every unknown, missing, mistyped or out-of-range key, and every name that
    refers to nothing.
    """
    if problems := [Problem(each, "unstorable") for each in unstorable(config)]:
        raise ConfigError(*problems)
    try:
        study = Study.model_validate(with_own_figures(resolved(config), config))
    except ValidationError as error:
        raise ConfigError(*explained(error)) from None
    study = study.model_copy(update={"figures": dict(_wanted(study))})
    if found := [] if checked else list(_dangling(study)):
        raise ConfigError(*found)
    return study


def _wanted(study: Study) -> Iterator[tuple[str, Figure]]:
    """Yield the figures, without those of targets whose section is null and of claims without experiments."""
    about = list(judged(study))
    sorters = [e for e in about if TASKS[study.experiments[e].task].figures]
    for name, figure in study.figures.items():
        drawn = FIGURES.get(figure.draws or name)
        experiment = study.experiments.get(figure.experiment or "")
        silent = {"calibrate": experiment and not experiment.calibration, VALIDATION: not study.validation}
        of = sorters if name == SUMMARY or figure.draws == SUMMARY else about
        of_claims = drawn is not None and drawn.needs == OF_CLAIMS
        if of_claims and (works := figure.options.get("works")) and not {*map(str, works)} & {*study.claims}:
            continue
        if drawn is None or ((of or not of_claims) and not silent.get(drawn.target)):
            yield name, figure


def _dangling(study: Study) -> Iterator[str]:
    """Yield the problems of names that refer to nothing, and of values that contradict each other."""
    texts = [name for name, d in study.distributions.items() if is_text(d) and d.source != "model"]
    for name, distribution in study.distributions.items():
        place = f"distributions.{name}"
        if distribution.source == "mixture":
            readable = [each for each in texts if study.distributions[each].source != "mixture"]
            for part in distribution.weights:
                yield from refer(f"{place}.weights", part, readable, "distribution of text")
        if isinstance(distribution, Predictions):
            yield from refer(f"{place}.contexts", distribution.contexts, texts, "distribution of text")
            yield from refer(f"{place}.experiment", distribution.experiment, study.experiments, "experiment")
            teacher = study.experiments.get(distribution.experiment)
            if teacher and distribution.seed not in teacher.seeds:
                yield f"{place}.seed: {distribution.experiment} has the seeds {teacher.seeds}"
    for name, tokenizer in study.tokenizers.items():
        if isinstance(tokenizer, TextTokens) and tokenizer.corpus is not None:
            yield from refer(f"tokenizers.{name}.corpus", tokenizer.corpus, texts, "distribution of text")
    for name, experiment in study.experiments.items():
        yield from experiment_problems(study, f"experiments.{name}", name, experiment)
        if BASE_SETTING in experiment.sampling_variants:
            yield (
                f"experiments.{name}.sampling_variants: '{BASE_SETTING}' is the name of the base setting; "
                "take another"
            )
        if name in FOLDERS:
            yield f"experiments.{name}: '{name}' is a folder of the study in `results`; take another name"
    yield from figure_problems(study)
    yield from claim_problems(study)
    yield from label_problems(study)

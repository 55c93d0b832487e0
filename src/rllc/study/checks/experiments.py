"""Checks of an experiment: names that refer to nothing, and sections that contradict each other."""

import math
from collections.abc import Iterator
from typing import Any

from rllc.study.checks.measures import measure_problems
from rllc.study.checks.names import refer
from rllc.study.distributions import Predictions
from rllc.study.families import family_of, missing_capabilities
from rllc.study.study import Experiment, Study
from rllc.study.tasks import TASKS


def experiment_problems(study: Study, place: str, name: str, experiment: Experiment) -> Iterator[str]:
    yield from refer(f"{place}.tokenizer", experiment.tokenizer, study.tokenizers, "tokenizer")
    tokenizer = study.tokenizers.get(experiment.tokenizer)
    yield from _task(study, place, experiment, tokenizer)
    for distribution in experiment.distributions:
        yield from refer(f"{place}.distributions", distribution, study.distributions, "distribution")
        entry = study.distributions.get(distribution)
        if isinstance(entry, Predictions):
            teacher = study.experiments.get(entry.experiment)
            if entry.experiment == name:
                yield f"{place}.distributions: '{distribution}' would make {name} its own teacher"
            elif teacher and teacher.tokenizer != experiment.tokenizer:
                yield f"{place}.distributions: the teacher of '{distribution}' reads another tokenizer"
            elif teacher and teacher.model.family != experiment.model.family:
                yield f"{place}.distributions: the teacher of '{distribution}' is of another family of models"
            for reason in missing_capabilities(teacher.model, ("predictions",)) if teacher else ():
                yield f"{place}.distributions: '{distribution}' has no teacher: {reason}"
    chunks = experiment.checkpoints.chunks
    if chunks != sorted(set(chunks)) or chunks[:1] != [0]:
        yield f"{place}.checkpoints.chunks: {chunks} must start at 0 and rise"
    yield from _sources(place, experiment)
    if experiment.checkpoints.source == "train":
        yield from _trained(study, place, experiment)
    yield from measure_problems(study, place, experiment)


def _sources(place: str, experiment: Experiment) -> Iterator[str]:
    """Yield the problems of where checkpoints come from."""
    checkpoints, family = experiment.checkpoints, family_of(experiment.model)
    if checkpoints.source not in family.sources:
        yield (
            f"{place}.checkpoints.source: checkpoints of the family {experiment.model.family} cannot come "
            f"from {checkpoints.source!r}; expected {' or '.join(map(repr, family.sources))}"
        )
    elif checkpoints.source != "train" and len(experiment.seeds) > 1:
        if "{seed}" not in (checkpoints.path or ""):
            yield f"{place}.checkpoints.path: all seeds would read one folder; put `{{seed}}` into it"
    elif checkpoints.source == "train" and getattr(experiment.model, "path", None) is not None:
        yield f"{place}.model.path: a model that is trained here is made from `config`; give that instead"


def _task(study: Study, place: str, experiment: Experiment, tokenizer: Any) -> Iterator[str]:
    """Yield the problems of a task with its tokens and its distributions."""
    task, family = TASKS[experiment.task], family_of(experiment.model)
    if tokenizer and not isinstance(tokenizer, task.tokens):
        name = experiment.tokenizer
        yield f"{place}.tokenizer: '{name}' is not of {task.about}, which {experiment.task} reads"
    elif task.makes not in family.reads:
        yield (
            f"{place}.model.family: {experiment.model.family} reads {' or '.join(family.reads)}, and "
            f"{experiment.task} makes {task.makes}"
        )
    elif tokenizer:
        for problem in family.check_tokenizer(experiment.model, tokenizer):
            yield f"{place}.model.{problem} (tokenizer '{experiment.tokenizer}')"
    for distribution in experiment.distributions:
        entry = study.distributions.get(distribution)
        if entry and entry.source not in task.sources:
            yield (
                f"{place}.distributions: '{distribution}' is of source {entry.source}, which the task "
                f"{experiment.task} cannot read; it reads {', '.join(task.sources)}"
            )


def _trained(study: Study, place: str, experiment: Experiment) -> Iterator[str]:
    training, checkpoints = experiment.training, experiment.checkpoints
    family = family_of(experiment.model)
    needed = ("training", "initial") if family.initial.model_fields else ("training",)
    for section in needed:
        if getattr(experiment, section) is None:
            yield f"{place}.{section}: missing; checkpoints that are trained here need it"
    if training is None or checkpoints.source != "train":
        return
    sources = {*TASKS[experiment.task].sources} - {"model"}
    known = [name for name, entry in study.distributions.items() if entry.source in sources]
    what = f"distribution that {experiment.task} is trained on"
    yield from refer(f"{place}.training.distribution", training.distribution, known, what)
    tokens = study.tokenizers.get(experiment.tokenizer)
    if tokens and training.batch_size > (tokens.train_blocks or math.inf):
        yield (
            f"{place}.training.batch_size: {training.batch_size} of at most {tokens.train_blocks} contexts; "
            "lower it, or raise the tokenizer's train_blocks"
        )
    if experiment.initial is not None:
        for problem in family.check_initial(experiment.model, experiment.initial):
            yield f"{place}.initial.{problem}"
    if training.late_layers_ramp and not family.ramps:
        yield (
            f"{place}.training.late_layers_ramp: the layers of the family {experiment.model.family} learn at "
            "one rate; set it to 0"
        )
    for step in checkpoints.extra:
        if step > training.steps:
            yield f"{place}.checkpoints.extra: step {step} is after the last step, {training.steps}"

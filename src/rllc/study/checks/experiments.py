"""An experiment: names that refer to nothing, and sections that contradict each other."""

from collections.abc import Iterator
from typing import Any

from rllc.study.checks.measures import measure_problems
from rllc.study.checks.names import refer
from rllc.study.distributions import ListTokens, Model, SumTokens, TextTokens
from rllc.study.study import Experiment, Study

# task -> the section of its tokenizer, and the sources that it reads
TASKS = {
    "language": (TextTokens, ("installed", "files", "hub", "mixture", "model"), "text (vocabulary, context)"),
    "sorting": (ListTokens, ("lists",), "lists (numbers, length)"),
    "cumulative_sum": (SumTokens, ("sums",), "sums (largest, length)"),
}


def experiment_problems(study: Study, place: str, name: str, experiment: Experiment) -> Iterator[str]:
    yield from refer(f"{place}.tokenizer", experiment.tokenizer, study.tokenizers, "tokenizer")
    tokenizer = study.tokenizers.get(experiment.tokenizer)
    yield from _task(study, place, experiment, tokenizer)
    if tokenizer and tokenizer.context > experiment.model.n_ctx:
        yield (
            f"{place}.model.n_ctx: {experiment.model.n_ctx} positions cannot hold the blocks of "
            f"{tokenizer.context} tokens that tokenizer '{experiment.tokenizer}' makes"
        )
    for distribution in experiment.distributions:
        yield from refer(f"{place}.distributions", distribution, study.distributions, "distribution")
        entry = study.distributions.get(distribution)
        if isinstance(entry, Model):
            teacher = study.experiments.get(entry.experiment)
            if entry.experiment == name:
                yield f"{place}.distributions: '{distribution}' would make {name} its own teacher"
            elif teacher and teacher.tokenizer != experiment.tokenizer:
                yield f"{place}.distributions: the teacher of '{distribution}' reads another tokenizer"
    if len(set(experiment.seeds)) < len(experiment.seeds):
        yield f"{place}.seeds: {experiment.seeds} holds a seed twice"
    chunks = experiment.checkpoints.chunks
    if chunks != sorted(set(chunks)) or chunks[:1] != [0]:
        yield f"{place}.checkpoints.chunks: {chunks} must start at 0 and rise"
    if experiment.checkpoints.source == "train":
        yield from _trained(study, place, experiment)
    yield from measure_problems(study, place, experiment)


def _task(study: Study, place: str, experiment: Experiment, tokenizer: Any) -> Iterator[str]:
    """A task, its tokens and its distributions belong together."""
    section, sources, told = TASKS[experiment.task]
    if tokenizer and not isinstance(tokenizer, section):
        yield f"{place}.tokenizer: '{experiment.tokenizer}' is not of {told}, which {experiment.task} reads"
    trained = [experiment.training.distribution] if experiment.training else []
    for distribution in dict.fromkeys([*experiment.distributions, *trained]):
        entry = study.distributions.get(distribution)
        if entry and entry.source not in sources:
            yield (
                f"{place}.distributions: '{distribution}' is of source {entry.source}, which the task "
                f"{experiment.task} cannot read; it reads {', '.join(sources)}"
            )


def _trained(study: Study, place: str, experiment: Experiment) -> Iterator[str]:
    training, checkpoints = experiment.training, experiment.checkpoints
    for section in ("training", "initial"):
        if getattr(experiment, section) is None:
            yield f"{place}.{section}: missing; checkpoints that are trained here need it"
    if training is None:
        return
    known = [n for n, d in study.distributions.items() if d.source != "model"]
    what = "distribution to train on" if experiment.task != "language" else "distribution of text"
    yield from refer(f"{place}.training.distribution", training.distribution, known, what)
    for step in checkpoints.extra:
        if step > training.steps:
            yield f"{place}.checkpoints.extra: step {step} is after the last step, {training.steps}"

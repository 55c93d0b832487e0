"""An experiment: names that refer to nothing, and sections that contradict each other."""

from collections.abc import Iterator
from typing import Any

from rllc.study.checks.calibrations import calibration_problems
from rllc.study.checks.names import in_model, refer
from rllc.study.datasets import distributions
from rllc.study.distributions import Model
from rllc.study.families import family_of, lacking
from rllc.study.sampling import Samplings
from rllc.study.study import Experiment, Study
from rllc.study.tasks import TASKS

# section of an experiment -> what it asks of the model
ASKS = {
    "ablation": ("heads",), "patterns": ("attention",), "circuits": ("circuits",), "calibration": ("heads",),
    "metrics.accuracy": ("tokens",), "metrics.icl_early": ("positions",),
}  # fmt: skip


def experiment_problems(study: Study, place: str, name: str, experiment: Experiment) -> Iterator[str]:
    yield from refer(f"{place}.tokenizer", experiment.tokenizer, study.tokenizers, "tokenizer")
    tokenizer = study.tokenizers.get(experiment.tokenizer)
    yield from _task(study, place, experiment, tokenizer)
    if lacks := list(_lacks(place, experiment)):
        yield from lacks
        return
    for distribution in experiment.distributions:
        yield from refer(f"{place}.distributions", distribution, study.distributions, "distribution")
        entry = study.distributions.get(distribution)
        if isinstance(entry, Model):
            teacher = study.experiments.get(entry.experiment)
            if entry.experiment == name:
                yield f"{place}.distributions: '{distribution}' would make {name} its own teacher"
            elif teacher and teacher.tokenizer != experiment.tokenizer:
                yield f"{place}.distributions: the teacher of '{distribution}' reads another tokenizer"
            elif teacher and teacher.model.family != experiment.model.family:
                yield f"{place}.distributions: the teacher of '{distribution}' is of another family of models"
            for reason in lacking(teacher.model, ("predictions",)) if teacher else ():
                yield f"{place}.distributions: '{distribution}' has no teacher: {reason}"
    if len(set(experiment.seeds)) < len(experiment.seeds):
        yield f"{place}.seeds: {experiment.seeds} holds a seed twice"
    chunks = experiment.checkpoints.chunks
    if chunks != sorted(set(chunks)) or chunks[:1] != [0]:
        yield f"{place}.checkpoints.chunks: {chunks} must start at 0 and rise"
    if experiment.checkpoints.source == "train":
        yield from _trained(study, place, experiment)
    for kind, sampling in _samplings(experiment):
        where = f"{place}.{kind}"
        if tokenizer and sampling.scored_positions and sampling.scored_positions > tokenizer.predictions:
            yield (
                f"{where}.scored_positions: {sampling.scored_positions} of the {tokenizer.predictions} "
                "predictions of a context; null scores them all"
            )
        if sampling.keep_traces and kind.startswith("settings."):
            yield f"{where}.keep_traces: traces are gathered for the base setting only; take it out here"
        for component in sampling.components or []:
            yield from in_model(f"{where}.components", component, experiment)
    subsets = {kind: sampling.distributions for kind, sampling in _samplings(experiment)}
    subsets |= {
        measure: getattr(experiment, measure).distributions
        for measure in ("hessian", "ablation")
        if getattr(experiment, measure) is not None
    }
    for measure, subset in subsets.items():
        for distribution in subset or []:
            yield from refer(
                f"{place}.{measure}.distributions",
                distribution,
                experiment.distributions,
                "distribution of this experiment",
            )
    yield from _contradictions(place, experiment, tokenizer)
    if experiment.calibration is not None:
        yield from calibration_problems(f"{place}.calibration", experiment, tokenizer)


def _task(study: Study, place: str, experiment: Experiment, tokenizer: Any) -> Iterator[str]:
    """A task, its tokens and its distributions belong together; sorting has circuits, text has patterns."""
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
        for problem in family.misfits(experiment.model, tokenizer):
            yield f"{place}.model.{problem} (tokenizer '{experiment.tokenizer}')"
    trained = [experiment.training.distribution] if experiment.training else []
    for distribution in dict.fromkeys([*experiment.distributions, *trained]):
        entry = study.distributions.get(distribution)
        if entry and entry.source not in task.sources:
            yield (
                f"{place}.distributions: '{distribution}' is of source {entry.source}, which the task "
                f"{experiment.task} cannot read; it reads {', '.join(task.sources)}"
            )
    if experiment.circuits and (experiment.task != "sorting" or experiment.model.n_layers != 1):
        yield f"{place}.circuits: full circuits are of one layer that sorts; set `circuits: null`"
    if experiment.patterns and experiment.task != "language":
        yield f"{place}.patterns: attention scores are measured on text tokens; set `patterns: null`"
    if experiment.metrics and experiment.metrics.accuracy:
        taught = [d for d in experiment.distributions if isinstance(study.distributions.get(d), Model)]
        if taught:
            yield f"{place}.metrics.accuracy: targets of {', '.join(taught)} are probabilities; leave it out"


def _lacks(place: str, experiment: Experiment) -> Iterator[str]:
    """What the experiment asks of its model and its family cannot give."""
    samplings = {"sampling.heads": experiment.sampling and experiment.sampling.heads}
    samplings |= {f"settings.{name}.heads": setting.heads for name, setting in experiment.settings.items()}
    for name, asks in ASKS.items():
        section, _, part = name.partition(".")
        asked = getattr(experiment, section)
        if part:
            asked = getattr(asked, part, None)
        for reason in lacking(experiment.model, asks) if asked else ():
            yield f"{place}.{name}: {reason}; set it to null"
    for name, sampling in samplings.items():
        for reason in lacking(experiment.model, ("heads",)) if sampling else ():
            yield f"{place}.{name}: {reason}; set it to null"
    if experiment.checkpoints.source == "import":
        for reason in lacking(experiment.model, ("import",)):
            yield f"{place}.checkpoints.source: {reason}"


def _contradictions(place: str, experiment: Experiment, tokenizer: Any) -> Iterator[str]:
    metrics = experiment.metrics
    for name in ("icl_early", "icl_late") if metrics and metrics.icl_early and tokenizer else ():
        first, end = getattr(metrics, name)
        if not first < end <= tokenizer.predictions:
            yield (
                f"{place}.metrics.{name}: {[first, end]} is no range of the {tokenizer.predictions} "
                "predictions of a context"
            )
    if experiment.patterns and experiment.patterns.length > experiment.model.n_ctx:
        yield f"{place}.patterns.length: {experiment.patterns.length} exceeds n_ctx {experiment.model.n_ctx}"
    if experiment.clustering:
        for distribution in experiment.clustering.distributions:
            curves = distributions(experiment, "rllc")
            yield from refer(
                f"{place}.clustering.distributions", distribution, curves, "distribution of rllc.nc"
            )
        if not (experiment.sampling and experiment.sampling.heads):
            yield f"{place}.clustering: clusters are made of rLLC curves; give sampling.heads"
        heads = family_of(experiment.model).heads(experiment.model)
        for k in experiment.clustering.n_clusters:
            if not 2 <= k < heads:
                yield f"{place}.clustering.n_clusters: {k} clusters of {heads} heads; give 2 to {heads - 1}"
    if experiment.head_types and not experiment.patterns:
        yield f"{place}.head_types: types are read off attention scores; give patterns"
    measured = [m for m in ("sampling", "hessian", "ablation", "metrics") if getattr(experiment, m)]
    if measured and not experiment.distributions:
        yield f"{place}.distributions: {', '.join(measured)} need at least one"


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


def _samplings(experiment: Experiment) -> Iterator[tuple[str, Any]]:
    settings: dict[str, Samplings | None] = {"sampling": experiment.sampling}
    settings |= {f"settings.{name}": setting for name, setting in experiment.settings.items()}
    for name, setting in settings.items():
        for kind in ("heads", "full", "other") if setting else ():
            sampling = getattr(setting, kind)
            if sampling is not None:
                yield f"{name}.{kind}", sampling

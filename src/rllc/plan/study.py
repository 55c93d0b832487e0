"""From the merged YAML to a checked ``Study``, or one error that lists everything wrong with it."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from rllc.config.claims import refuse_unknown
from rllc.config.distributions import ListTokens, Model, SumTokens, TextTokens
from rllc.config.sampling import Samplings
from rllc.config.section import nearest
from rllc.config.study import Experiment, Figure, Study
from rllc.plan.figures import ANIMATIONS, FIGURES, OF_CLAIMS, VALIDATION, options
from rllc.plan.layout import BASE_SETTING
from rllc.plan.overlays import Unlike, resolved, with_own_figures
from rllc.plan.products import (
    calibrated,
    calibration_distributions,
    datasets,
    distributions,
    statistics,
    summarised,
    validated,
)
from rllc.plan.steps import steps

# of the study, in results
FOLDERS = ("figures", "corpora", "blocks", "tokenizers", "validation", "logs", "benchmarks")
OF_DISTRIBUTIONS = ("distribution", "distributions", "natural", "generated")  # options of figures


TAGS = {
    "installed", "files", "hub", "mixture", "model", "lists", "sums", "train", "import",
    "vocabulary", "numbers", "largest",
}  # fmt: skip
# task -> the section of its tokenizer, and the sources that it reads
TASKS = {
    "language": (TextTokens, ("installed", "files", "hub", "mixture", "model"), "text (vocabulary, context)"),
    "sorting": (ListTokens, ("lists",), "lists (numbers, length)"),
    "cumulative_sum": (SumTokens, ("sums",), "sums (largest, length)"),
}


class ConfigError(ValueError):
    """The config cannot be used; the message says which keys, why, and what would do."""


def read(config: dict[str, Any]) -> Study:
    """Check the whole config. An entry of a table that an overlay sets to null is removed, and with an
    experiment, its ``calibration`` or ``validation`` the figures of what it would have made.

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
    problems = list(_dangling(study))
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
    after = {
        "distributions": 2,
        "tokenizers": 2,
        "checkpoints": 1,
    }  # a tag follows so many places behind these
    kept = [
        str(part)
        for i, part in enumerate(loc)
        if not (part in TAGS and any(i >= n and loc[i - n] == name for name, n in after.items()))
    ]
    return ".".join(kept) or "config"


def _explain(problem: Any) -> str:
    place = _place(problem["loc"])
    text, given = problem["msg"].removeprefix("Value error, "), problem["input"]
    if problem["type"] == "union_tag_invalid":
        tag, known = problem["ctx"]["tag"], re.findall(r"'(\w+)'", problem["ctx"]["expected_tags"])
        return f"{place}.source: there is no source '{tag}'{nearest(tag, known)}"
    if problem["type"] == "missing":
        return f"{place}: missing; give it a value (config/README.md says what it means)"
    if isinstance(given, str) and re.fullmatch(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+", given):
        return (
            f"{place}: YAML reads {given} as text; write it with a decimal point and a signed exponent, "
            "such as 1.0e-3 or 3.0e+3"
        )
    shown = f" (given: {given!r})" if isinstance(given, str | int | float | bool) else ""
    return f"{place}: {text[0].lower() + text[1:]}{shown}"


def _refer(place: str, name: str, table: Iterable[str], what: str) -> Iterator[str]:
    table = list(table)
    if name not in table:
        yield f"{place}: no {what} is called '{name}'{nearest(name, table)}"


def _dangling(study: Study) -> Iterator[str]:
    """Names that refer to nothing, and values that contradict each other across sections."""
    for name, distribution in study.distributions.items():
        place = f"distributions.{name}"
        if distribution.source == "mixture":
            readable = [
                n for n, d in study.distributions.items() if d.source in ("installed", "files", "hub")
            ]
            for part in distribution.weights:
                yield from _refer(f"{place}.weights", part, readable, "distribution of text")
        if isinstance(distribution, Model):
            texts = [n for n, d in study.distributions.items() if d.source != "model"]
            yield from _refer(f"{place}.contexts", distribution.contexts, texts, "distribution of text")
            yield from _refer(f"{place}.experiment", distribution.experiment, study.experiments, "experiment")
            teacher = study.experiments.get(distribution.experiment)
            if teacher and distribution.seed not in teacher.seeds:
                yield f"{place}.seed: {distribution.experiment} has the seeds {teacher.seeds}"
    for name, tokenizer in study.tokenizers.items():
        if isinstance(tokenizer, TextTokens) and tokenizer.corpus is not None:
            texts = [n for n, d in study.distributions.items() if d.source != "model"]
            yield from _refer(f"tokenizers.{name}.corpus", tokenizer.corpus, texts, "distribution of text")
    for name, experiment in study.experiments.items():
        yield from _experiment(study, f"experiments.{name}", name, experiment)
        if BASE_SETTING in experiment.settings:
            yield f"experiments.{name}.settings: '{BASE_SETTING}' is the base setting's name; take another"
        if name in FOLDERS:
            yield f"experiments.{name}: '{name}' is a folder of the study in `results`; take another name"
    yield from _figures(study)
    yield from _claims(study)


def _claims(study: Study) -> Iterator[str]:
    """Names that refer to nothing, and claims about what an experiment does not measure."""
    try:
        refuse_unknown(study.statistics, study.claims, study.experiments)
    except ValueError as error:
        yield str(error)
        return
    for name, claim in study.claims.items():
        for experiment in (claim.experiment, claim.versus):
            if experiment and claim.statistic not in statistics(study, study.experiments[experiment]):
                read = study.statistics[claim.statistic].of.rpartition(".")[0]
                yield f"claims.{name}: reads {read}.nc, which '{experiment}' does not declare"


def _figures(study: Study) -> Iterator[str]:
    for name, animation in study.animations.items():
        place = f"animations.{name}"
        yield from _refer(f"{place}.draws", animation.draws, ANIMATIONS, "animation")
        yield from _refer(f"{place}.experiment", animation.experiment, study.experiments, "experiment")
        experiment = study.experiments.get(animation.experiment)
        if experiment and animation.draws in ANIMATIONS:
            for needed in ANIMATIONS[animation.draws].needs:
                if needed not in datasets(experiment):
                    yield f"{place}: needs {needed}.nc, which '{animation.experiment}' does not declare"
            known = options(ANIMATIONS[animation.draws])
            for option in animation.options:
                if option not in known:
                    hint = nearest(option, known)
                    yield f"{place}.options: '{animation.draws}' has no option '{option}'{hint}"
    for name, figure in study.figures.items():
        place, drawn = f"figures.{name}", figure.draws or name
        yield from _refer(f"{place}.draws", drawn, FIGURES, "figure")
        if drawn in FIGURES and (FIGURES[drawn].target == VALIDATION or FIGURES[drawn].needs == OF_CLAIMS):
            yield from _of_study(study, place, figure, drawn)
            continue
        if figure.experiment is None:
            yield f"{place}.experiment: missing; name the experiment whose datasets it reads"
            continue
        yield from _refer(f"{place}.experiment", figure.experiment, study.experiments, "experiment")
        experiment = study.experiments.get(figure.experiment)
        if experiment and drawn in FIGURES:
            made = [*datasets(experiment), *calibrated(experiment), "corpus"]
            for needed in FIGURES[drawn].needs:
                if needed not in made:
                    yield f"{place}: needs {needed}.nc, which '{figure.experiment}' does not declare"
            yield from _options(f"{place}.options", figure, drawn, experiment)


def _of_study(study: Study, place: str, figure: Figure, drawn: str) -> Iterator[str]:
    """Figures of the validation and of the claims have no experiment; the former need their family."""
    what = FIGURES[drawn].target if FIGURES[drawn].target == VALIDATION else "claims"
    if figure.experiment is not None:
        yield f"{place}.experiment: '{drawn}' draws the {what}, which is of no experiment; take it out"
    for needed in FIGURES[drawn].needs:
        if needed not in validated(study) and FIGURES[drawn].target == VALIDATION:
            yield f"{place}: needs validation/{needed}.nc; give validation.{needed}"
    known = options(FIGURES[drawn]) if figure.options else []
    for name in figure.options:
        if name not in known:
            hint = nearest(name, known) if known else "; it has none"
            yield f"{place}.options: '{drawn}' has no option '{name}'{hint}"


def _options(place: str, figure: Figure, drawn: str, experiment: Experiment) -> Iterator[str]:
    """Options that the drawing function does not take, and distributions that its datasets do not have."""
    known = options(FIGURES[drawn]) if figure.options else []
    needs = FIGURES[drawn].needs
    present = [n for n in experiment.distributions if all(n in _held(experiment, d) for d in needs)]
    files = " and ".join(f"{needed}.nc" for needed in needs)
    for name, value in figure.options.items():
        if name not in known:
            hint = nearest(name, known) if known else "; it has none"
            yield f"{place}: '{drawn}' has no option '{name}'{hint}"
        elif name in OF_DISTRIBUTIONS and value is not None:
            if isinstance(value, list) != (name == "distributions"):
                yield f"{place}.{name}: give {'a list' if name == 'distributions' else 'one name'}"
                continue
            for distribution in value if isinstance(value, list) else [value]:
                yield from _refer(
                    f"{place}.{name}", distribution, present, f"distribution of {figure.experiment}'s {files}"
                )


def _held(experiment: Experiment, dataset: str) -> list[str]:
    """The distributions of a dataset, whichever target makes it."""
    if dataset in calibrated(experiment):
        return calibration_distributions(experiment, dataset)
    return distributions(experiment, dataset)


def _experiment(study: Study, place: str, name: str, experiment: Experiment) -> Iterator[str]:
    yield from _refer(f"{place}.tokenizer", experiment.tokenizer, study.tokenizers, "tokenizer")
    tokenizer = study.tokenizers.get(experiment.tokenizer)
    yield from _task(study, place, experiment, tokenizer)
    if tokenizer and tokenizer.context > experiment.model.n_ctx:
        yield (
            f"{place}.model.n_ctx: {experiment.model.n_ctx} positions cannot hold the blocks of "
            f"{tokenizer.context} tokens that tokenizer '{experiment.tokenizer}' makes"
        )
    for distribution in experiment.distributions:
        yield from _refer(f"{place}.distributions", distribution, study.distributions, "distribution")
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
            yield from _component(f"{where}.components", component, experiment)
    subsets = {kind: sampling.distributions for kind, sampling in _samplings(experiment)}
    subsets |= {
        measure: getattr(experiment, measure).distributions
        for measure in ("hessian", "ablation")
        if getattr(experiment, measure) is not None
    }
    for measure, subset in subsets.items():
        for distribution in subset or []:
            yield from _refer(
                f"{place}.{measure}.distributions",
                distribution,
                experiment.distributions,
                "distribution of this experiment",
            )
    yield from _contradictions(place, experiment, tokenizer)
    if experiment.calibration is not None:
        yield from _calibration(f"{place}.calibration", experiment, tokenizer)


def _task(study: Study, place: str, experiment: Experiment, tokenizer: Any) -> Iterator[str]:
    """A task, its tokens and its distributions belong together; sorting has circuits, text has patterns."""
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
    if experiment.circuits and (experiment.task != "sorting" or experiment.model.n_layers != 1):
        yield f"{place}.circuits: full circuits are of one layer that sorts; set `circuits: null`"
    if experiment.patterns and experiment.task != "language":
        yield f"{place}.patterns: attention scores are measured on text tokens; set `patterns: null`"
    if experiment.metrics and experiment.metrics.accuracy:
        taught = [d for d in experiment.distributions if isinstance(study.distributions.get(d), Model)]
        if taught:
            yield f"{place}.metrics.accuracy: targets of {', '.join(taught)} are probabilities; leave it out"


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
            yield from _refer(
                f"{place}.clustering.distributions", distribution, curves, "distribution of rllc.nc"
            )
        if not (experiment.sampling and experiment.sampling.heads):
            yield f"{place}.clustering: clusters are made of rLLC curves; give sampling.heads"
        heads = experiment.model.n_layers * experiment.model.n_heads
        for k in experiment.clustering.n_clusters:
            if not 2 <= k < heads:
                yield f"{place}.clustering.n_clusters: {k} clusters of {heads} heads; give 2 to {heads - 1}"
    if experiment.head_types and not experiment.patterns:
        yield f"{place}.head_types: types are read off attention scores; give patterns"
    measured = [m for m in ("sampling", "hessian", "ablation", "metrics") if getattr(experiment, m)]
    if measured and not experiment.distributions:
        yield f"{place}.distributions: {', '.join(measured)} need at least one"


def _calibration(place: str, experiment: Experiment, tokenizer: Any) -> Iterator[str]:
    section, dependence = experiment.calibration, experiment.calibration.dependence
    for seed in section.seeds or []:
        if seed not in experiment.seeds:
            yield f"{place}.seeds: there is no seed {seed}; the experiment has {experiment.seeds}"
    parts = {place: section} | ({f"{place}.dependence": dependence} if dependence else {})
    known = _scheduled(experiment)
    for where, part in parts.items():
        for distribution in part.distributions or []:
            yield from _refer(
                f"{where}.distributions", distribution, experiment.distributions,
                "distribution of this experiment",
            )  # fmt: skip
        for step in part.checkpoints if known else []:
            if step not in known:
                near = min(known, key=lambda each: abs(each - step))
                yield (
                    f"{where}.checkpoints: step {step} is not measured; the nearest that is: {near} "
                    "(without a calibration, set `calibration: null`)"
                )
    for kind in ("heads", "full"):
        base = getattr(experiment.sampling, kind, None)
        if dependence and base and (base.sampler != "sgld" or base.thinning > 1):
            yield (
                f"{place}.dependence: it varies plain SGLD without thinning; sampling.{kind} has sampler "
                f"{base.sampler} and thinning {base.thinning}. Set `dependence: null`, or change these"
            )
        sweep = getattr(section, kind)
        for component in (sweep.components or []) if sweep else []:
            yield from _sampled_component(f"{place}.{kind}.components", component, experiment, "heads")
        if sweep and tokenizer and (sweep.scored_positions or 0) > tokenizer.predictions:
            yield (
                f"{place}.{kind}.scored_positions: {sweep.scored_positions} of the {tokenizer.predictions} "
                "predictions of a context; null scores them all"
            )
    for component in dependence.components if dependence else []:
        where = f"{place}.dependence.components"
        yield from _sampled_component(where, component, experiment, "heads", "full")
        kind = "full" if component == "full" else "heads"
        base = getattr(experiment.sampling, kind) if experiment.sampling else None
        if base is None:
            yield f"{place}.dependence: '{component}' is varied around sampling.{kind}, which is missing"
            continue
        for size in dependence.dataset_sizes:
            if size % base.batch_size:
                yield (
                    f"{place}.dependence.dataset_sizes: {size} is no multiple of sampling.{kind}.batch_size, "
                    f"{base.batch_size}"
                )
            elif size > dependence.draws * base.batch_size:
                yield (
                    f"{place}.dependence.dataset_sizes: {size} contexts are more than "
                    f"{dependence.draws} draws of {base.batch_size} see"
                )


def _scheduled(experiment: Experiment) -> list[int]:
    """The steps that have checkpoints; none where that is not known (others say why)."""
    if experiment.checkpoints.source == "train" and experiment.training is None:
        return []
    try:
        return steps(experiment)
    except ValueError:
        return []


def _sampled_component(place: str, component: str, experiment: Experiment, *kinds: str) -> Iterator[str]:
    """A head or ``full``, as far as ``kinds`` allows, that the model has."""
    kind = "full" if component == "full" else "heads"
    if kind not in kinds or not (kind == "full" or re.fullmatch(r"\d+:\d+", component)):
        told = " or ".join({"heads": "a head L:H", "full": "full"}[each] for each in kinds)
        yield f"{place}: '{component}' is not {told}"
    else:
        yield from _component(place, component, experiment)


def _trained(study: Study, place: str, experiment: Experiment) -> Iterator[str]:
    training, checkpoints = experiment.training, experiment.checkpoints
    for section in ("training", "initial"):
        if getattr(experiment, section) is None:
            yield f"{place}.{section}: missing; checkpoints that are trained here need it"
    if training is None:
        return
    known = [n for n, d in study.distributions.items() if d.source != "model"]
    what = "distribution to train on" if experiment.task != "language" else "distribution of text"
    yield from _refer(f"{place}.training.distribution", training.distribution, known, what)
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


def _component(place: str, component: str, experiment: Experiment) -> Iterator[str]:
    model = experiment.model
    for part in component.split("+"):
        match = re.fullmatch(r"(\d+):(\d+)|layer:(\d+)|embedding|full", part)
        if match is None:
            yield f"{place}: '{component}' is none of L:H, L:H+L:H, layer:L, embedding, full"
            return
        layer = match[1] or match[3]
        if (layer and int(layer) >= model.n_layers) or (match[2] and int(match[2]) >= model.n_heads):
            yield f"{place}: '{part}' is not in a model of {model.n_layers} layers x {model.n_heads} heads"

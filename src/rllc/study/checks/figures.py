"""Checks of figures and animations: their datasets must be made, and their options must be known."""

from collections.abc import Iterator

from rllc.study.checks.names import refer
from rllc.study.config_model import like
from rllc.study.datasets import datasets, distributions, validated
from rllc.study.families import missing_capabilities
from rllc.study.figure_options import listed, misfit, options
from rllc.study.figures import ANIMATIONS, FIGURES, OF_CLAIMS, VALIDATION
from rllc.study.sampling import BASE_SETTING
from rllc.study.specs import FigureSpec
from rllc.study.study import Animation, Experiment, Figure, Study

# options of figures; a table is by distribution
OF_DISTRIBUTIONS = ("distribution", "distributions", "natural", "generated", "families")


def figure_problems(study: Study) -> Iterator[str]:
    """Yield the problems of every figure and animation."""
    for name, animation in study.animations.items():
        place = f"animations.{name}"
        yield from refer(f"{place}.draws", animation.draws, ANIMATIONS, "animation")
        if spec := ANIMATIONS.get(animation.draws):
            yield from _of_experiment(study, place, animation, spec, animation.draws)
    for name, figure in study.figures.items():
        place, drawn = f"figures.{name}", figure.draws or name
        yield from refer(f"{place}.draws", drawn, FIGURES, "figure")
        if spec := FIGURES.get(drawn):
            of_study = spec.target == VALIDATION or spec.needs == OF_CLAIMS
            check = _of_study if of_study else _of_experiment
            yield from check(study, place, figure, spec, drawn)
            if figure.stages and not spec.behind:
                yield f"{place}.stages: {drawn} has no stages behind its panels; leave it out"


def _of_study(study: Study, place: str, figure: Figure, spec: FigureSpec, drawn: str) -> Iterator[str]:
    """Yield the problems of figures of the validation and of the claims, which have no experiment."""
    if figure.beside:
        yield f"{place}.beside: '{drawn}' is of no experiment; take it out"
    if figure.experiment is not None:
        what = spec.target if spec.target == VALIDATION else "claims"
        yield f"{place}.experiment: '{drawn}' draws the {what}, which is of no experiment; take it out"
    for needed in spec.needs:
        if needed not in validated(study) and spec.target == VALIDATION:
            yield f"{place}: needs validation/{needed}.nc; give validation.{needed}"
    yield from _unknown(place, figure, spec, drawn)


def _of_experiment(
    study: Study, place: str, figure: Figure | Animation, spec: FigureSpec, drawn: str
) -> Iterator[str]:
    """Yield the problems of a figure's datasets and distributions, which its experiment must have."""
    yield from _unknown(place, figure, spec, drawn)
    if figure.experiment is None:
        yield f"{place}.experiment: missing; name the experiment whose datasets it reads"
        return
    yield from refer(f"{place}.experiment", figure.experiment, study.experiments, "experiment")
    yield from _beside(study, place, figure, spec, drawn)
    if experiment := study.experiments.get(figure.experiment):
        made = [*datasets(experiment), *datasets(experiment, "calibrate"), "corpus"]
        for needed in spec.needs:
            if needed not in made:
                yield f"{place}: needs {needed}.nc, which '{figure.experiment}' does not declare"
        if getattr(figure, "stages", False):
            for needed in spec.behind:
                if needed not in made:
                    yield f"{place}.stages: needs {needed}.nc, which '{figure.experiment}' does not declare"
        for reason in missing_capabilities(experiment.model, spec.requires):
            yield f"{place}: {reason}; take the figure out"
        yield from _distributions(f"{place}.options", figure, spec, drawn, experiment)
        if len(experiment.seeds) < spec.seeds and not figure.options.keys() & {"seed", "seeds"}:
            yield (
                f"{place}: '{drawn}' is of training seed number {spec.seeds}, and '{figure.experiment}' has "
                f"{experiment.seeds}; give more seeds, or take the figure out"
            )
        setting = figure.options.get("setting")
        if isinstance(setting, str) and "setting" in options(spec):
            parts = [name.partition(".") for name in made]
            read = (
                *spec.needs,
                *(["llc"] if "stages" in spec.uses else []),
            )  # stages are those of LLC curves
            known = [BASE_SETTING, *(after for base, dot, after in parts if dot and base in read)]
            yield from refer(f"{place}.options.setting", setting, known, f"sampling setting of {drawn}")
        layers = [*range(getattr(experiment.model, "n_layers", 0))]  # some families have no layers
        of = {"seed": experiment.seeds, "seeds": experiment.seeds, "layer": layers}
        for name, known in of.items():
            value = figure.options.get(name)
            for one in value if isinstance(value, list) else [value]:
                if one is not None and one not in known:
                    yield f"{place}.options.{name}: there is no {name.rstrip('s')} {one}; it has {known}"


def _beside(
    study: Study, place: str, figure: Figure | Animation, spec: FigureSpec, drawn: str
) -> Iterator[str]:
    """Yield the problems of further experiments, which only figures of several experiments may have."""
    others = getattr(figure, "beside", [])
    if others and not spec.several:
        yield f"{place}.beside: '{drawn}' draws one experiment; take it out"
    if figure.experiment in others:
        yield f"{place}.beside: '{figure.experiment}' is the experiment itself; name others"
    for other in others:
        yield from refer(f"{place}.beside", other, study.experiments, "experiment")
        asked = spec.others or spec.needs
        made = datasets(study.experiments[other]) if other in study.experiments else asked
        for needed in asked:
            if needed not in made:
                yield f"{place}.beside: needs {needed}.nc, which '{other}' does not declare"


def _unknown(place: str, figure: Figure | Animation, spec: FigureSpec, drawn: str) -> Iterator[str]:
    """Yield the problems of options, or their values, that the drawing function does not accept."""
    known = options(spec) if figure.options else {}
    for name, value in figure.options.items():
        if name not in known:
            right = ", ".join(f"{option.name} ({option.kind})" for option in listed(spec))
            close = f"; did you mean '{like(name, known)[0]}'?" if like(name, known) else "."
            hint = (
                f"{close} Its options: {right}. docs/figures.md has those of all"
                if known
                else "; it has none"
            )
            yield f"{place}.options: '{drawn}' has no option '{name}'{hint}"
        elif words := misfit(spec, name, value):
            yield f"{place}.options.{name}: give {words}"


def _distributions(
    place: str, figure: Figure | Animation, spec: FigureSpec, drawn: str, experiment: Experiment
) -> Iterator[str]:
    """Yield the problems of distributions that the datasets of a figure do not have."""
    told = {name: default for name, default in options(spec).items() if name in OF_DISTRIBUTIONS}
    made = [distributions(experiment, dataset) for dataset in spec.needs] if told else []
    present = [name for name in experiment.distributions if all(name in each for each in made)]
    files = f"{figure.experiment}'s {' and '.join(f'{needed}.nc' for needed in spec.needs)}"
    for name, default in told.items():
        value = figure.options.get(name)
        if value is not None:
            for distribution in value if isinstance(value, list | dict) else [value]:
                yield from refer(f"{place}.{name}", distribution, present, f"distribution of {files}")
        elif name not in figure.options and isinstance(default, str) and default not in present:
            yield (
                f"{place}.{name}: '{drawn}' draws the distribution '{default}' if it is not told another, "
                f"and {files} is not measured on it; expected one of {', '.join(present)}, "
                "or no such figure (null)"
            )

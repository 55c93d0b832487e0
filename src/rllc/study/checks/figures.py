"""Figures, animations and claims: what they read must be made, and what they are told must be known."""

from collections.abc import Iterator

from rllc.study.checks.names import refer
from rllc.study.claims import refuse_unknown
from rllc.study.datasets import (
    datasets,
    distributions,
    statistics,
    validated,
)
from rllc.study.figures import ANIMATIONS, FIGURES, OF_CLAIMS, VALIDATION, options
from rllc.study.section import nearest
from rllc.study.study import Experiment, Figure, Study

OF_DISTRIBUTIONS = ("distribution", "distributions", "natural", "generated")  # options of figures


def claim_problems(study: Study) -> Iterator[str]:
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


def figure_problems(study: Study) -> Iterator[str]:
    for name, animation in study.animations.items():
        place = f"animations.{name}"
        yield from refer(f"{place}.draws", animation.draws, ANIMATIONS, "animation")
        yield from refer(f"{place}.experiment", animation.experiment, study.experiments, "experiment")
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
        yield from refer(f"{place}.draws", drawn, FIGURES, "figure")
        if drawn in FIGURES and (FIGURES[drawn].target == VALIDATION or FIGURES[drawn].needs == OF_CLAIMS):
            yield from _of_study(study, place, figure, drawn)
            continue
        if figure.experiment is None:
            yield f"{place}.experiment: missing; name the experiment whose datasets it reads"
            continue
        yield from refer(f"{place}.experiment", figure.experiment, study.experiments, "experiment")
        experiment = study.experiments.get(figure.experiment)
        if experiment and drawn in FIGURES:
            made = [*datasets(experiment), *datasets(experiment, "calibrate"), "corpus"]
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
    known, needs = options(FIGURES[drawn]), FIGURES[drawn].needs
    present = [n for n in experiment.distributions if all(n in distributions(experiment, d) for d in needs)]
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
                yield from refer(
                    f"{place}.{name}", distribution, present, f"distribution of {figure.experiment}'s {files}"
                )
    for name, value in known.items():
        absent = isinstance(value, str) and value not in present
        if name in OF_DISTRIBUTIONS and name not in figure.options and absent:
            yield (
                f"{place}.{name}: '{drawn}' draws the distribution '{value}' if it is not told another, and "
                f"{figure.experiment}'s {files} is not measured on it; expected one of {', '.join(present)}, "
                "or no such figure (null)"
            )

"""What estimates depend on, beside the sampler's settings: spec."""

from collections.abc import Iterator
from typing import Any

from rllc.study import sampling
from rllc.study.calibration import Calibration, Dependence, head_or_full
from rllc.study.config_model import ConfigModel
from rllc.study.cost import START, Cost
from rllc.study.families import missing_capabilities
from rllc.study.recommendation import GRID, KINDS
from rllc.study.setup import Setup
from rllc.study.specs import MeasureSpec, Variable, Work


def _varied(experiment: Setup) -> dict[str, ConfigModel | None]:
    calibration = experiment.get(Calibration)
    return {"dependence": calibration and calibration.dependence}


def _base(experiment: Setup, kind: str) -> sampling.Sampling:
    """Return the base setting of a kind of component. Raises ValueError where it is not sampled."""
    if (base := sampling.setting(experiment, sampling.BASE_SETTING, kind)) is None:
        raise ValueError(f"sampling.{kind} is missing, around which settings are varied")
    return base


def _settings(work: Work[Dependence]) -> dict[str, Any]:
    """What is varied, and the base setting of each kind of component that it is varied around."""
    base = (*GRID, "batch_size", "scored_positions", "divergence_factor")
    kinds = {"full" if component == "full" else "heads" for component in work.section.components}
    settings = {kind: _base(work.experiment, kind) for kind in sorted(kinds)}
    return work.section.model_dump(exclude={"checkpoints", "seeds", "distributions"}) | {
        "settings": {kind: {name: getattr(each, name) for name in base} for kind, each in settings.items()}
    }


def _cost(work: Work[Dependence]) -> Cost:
    """Every data set size, minibatch size and seed, for every component."""
    section, seconds = work.section, 0.0
    for component in section.components:
        base = _base(work.experiment, "full" if component == "full" else "heads")
        sizes = 1 + section.likelihood + len(section.dataset_sizes) + 2 * len(section.noise_seeds)
        sizes += 2.2 * sum(section.batch_sizes) / base.batch_size
        one = work.forward(base.batch_size, base.scored_positions)
        seconds += len(work.steps) * sizes * 3 * section.chains * section.draws * one
    return Cost(START + seconds, 1200)


def _checks(place: str, work: Work[Dependence]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    for kind in KINDS:
        base = sampling.setting(experiment, sampling.BASE_SETTING, kind)
        if base and (base.sampler != "sgld" or base.thinning > 1):
            yield (
                f"{place}: it varies plain SGLD without thinning; sampling.{kind} has sampler "
                f"{base.sampler} and thinning {base.thinning}. Set `dependence: null`, or change these"
            )
    for reason in missing_capabilities(experiment.model, ("positions",)) if section.likelihood else ():
        yield f"{place}.likelihood: {reason}"
    for component in section.components:
        yield from head_or_full(f"{place}.components", component, experiment, *KINDS)
        kind = "full" if component == "full" else "heads"
        base = sampling.setting(experiment, sampling.BASE_SETTING, kind)
        if base is None:
            yield f"{place}: '{component}' is varied around sampling.{kind}, which is missing"
            continue
        for size in section.dataset_sizes:
            if size % base.batch_size:
                yield (
                    f"{place}.dataset_sizes: {size} is no multiple of sampling.{kind}.batch_size, "
                    f"{base.batch_size}"
                )
            elif size > section.draws * base.batch_size:
                yield (
                    f"{place}.dataset_sizes: {size} contexts are more than "
                    f"{section.draws} draws of {base.batch_size} see"
                )


def _variables() -> dict[str, Variable]:
    """Variables of the dependence; the kernel gives their long names."""
    component, trace = ("component",), ("component", "chain", "draw")
    dims = {
        "llc": component,
        "llc_likelihood": component,
        "llc_by_dataset_size": ("dataset_size", *component),
        "llc_by_batch_size": ("evaluation", "batch_size", *component),
        "llc_by_noise_seed": ("seeding", "noise_seed", *component),
    }
    errors = {f"{name}_se": each for name, each in dims.items()}
    every = {**dims, **errors, "paired_loss": trace, "paired_loss_likelihood": trace}
    return {
        name: Variable("", "", each, optional="where asked for" if "likelihood" in name else "")
        for name, each in every.items()
    }


MEASURE = MeasureSpec(
    name="dependence",
    about="estimates at the base setting with other data set sizes, minibatch sizes and noise",
    kernel="rllc.measures.dependence.kernel:dependence",
    variables=_variables(),
    sections=_varied,
    settings=_settings,
    cost=_cost,
    checks=_checks,
    stream="sgld",
    target="calibrate",
)

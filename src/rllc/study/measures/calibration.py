"""Calibration of the sampler: sweeps of its settings, what estimates depend on, and the rule that chooses."""

import re
from collections.abc import Iterator
from typing import Any, Self

from pydantic import model_validator

from rllc.study.checks.names import in_model
from rllc.study.cost import HEAD, START, Cost
from rllc.study.families import missing_capabilities
from rllc.study.measures import sampling
from rllc.study.measures.recommendation import GRID, KINDS, Rule
from rllc.study.rows import Analysis, Finish, Measure, Variable, Work
from rllc.study.section import Section, key
from rllc.study.setup import Setup
from rllc.study.values import BurnIn, Count, Distinct, Name, OfControl, Positive, Seed, Step

STAGE = "arXiv 2402.02364"


class Sweep(Section):
    """A grid of settings for one kind of component: every step_size x n_beta x localization."""

    components: Distinct[str] | None = key(
        "only for the kind `heads`: which heads, e.g. `1:0`; null: all", min_length=1, default=None
    )
    step_size: Distinct[Positive] = key("step sizes tried", min_length=1, source=f"{STAGE}, App. D.3.3")
    n_beta: Distinct[Positive] = key("inverse temperatures times sample size tried", min_length=1)
    localization: Distinct[Positive] = key(
        "strengths of the pull tried; pairs with step_size x localization of 4 or more are left out",
        min_length=1,
    )
    chains: int = key("chains per setting, same noise and minibatches in all", ge=2)
    draws: Count = key("draws per chain, burn-in included")
    burn_in: BurnIn = key("draws left out of the estimate")
    batch_size: Count = key("contexts per minibatch")
    scored_positions: Count | None = key("as in sampling")
    control_chains: OfControl[Count] = key("chains of the gradient-off control and of the centred one")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if min(self.step_size) * min(self.localization) >= 4:
            raise ValueError("no pair has step_size x localization under 4; every setting would be unstable")
        return self


class Dependence(Section):
    """How estimates at the base setting (`sampling`) depend on the data, the minibatches and the noise."""

    checkpoints: Distinct[Step] = key("steps measured", unit="steps", min_length=1)
    seeds: Distinct[Seed] | None = key("null: those of the calibration", min_length=1, default=None)
    distributions: Distinct[Name] | None = key("null: those of the calibration", min_length=1, default=None)
    components: Distinct[str] = key("heads, e.g. `1:0`, and `full`", min_length=1)
    chains: int = key("chains per estimate", ge=2)
    draws: Count = key("draws per chain, burn-in included")
    burn_in: BurnIn = key("draws left out of the estimate")
    dataset_sizes: Distinct[Count] = key(
        "distinct contexts that minibatches are drawn from: multiples of the base setting's batch_size",
        unit="contexts", min_length=1, source=f"{STAGE}, Fig. D.3",
    )  # fmt: skip
    batch_sizes: Distinct[Count] = key(
        "minibatch sizes", unit="contexts", min_length=1, source=f"{STAGE}, Fig. D.4"
    )
    noise_seeds: Distinct[Seed] = key("seeds of the noise", min_length=1, source=f"{STAGE}, Fig. D.5")
    likelihood: bool = key(
        "also with the loss of one prediction of each context, drawn at random, which is a log likelihood of "
        "independent observations",
        source=f"{STAGE}, App. A.4",
        default=False,
    )


class Calibration(Section):
    """`snakemake calibrate`: makes calibration.nc, dependence.nc, recommendation.nc and their figures."""

    checkpoints: Distinct[Step] = key("steps swept", unit="steps", min_length=1)
    seeds: Distinct[Seed] | None = key("null: all of the experiment's", min_length=1, default=None)
    distributions: Distinct[Name] | None = key("null: all of the experiment's", min_length=1, default=None)
    heads: Sweep | None = key("every listed head alone", default=None)
    full: Sweep | None = key("the whole model", default=None)
    probes: int = key("Rademacher probes of the Hessian trace of each component", ge=2)
    dependence: Dependence | None = key("null: not measured", default=None)
    rule: Rule = key("thresholds of the recommendation", default=Rule())

    @model_validator(mode="before")
    @classmethod
    def _where_dependence_is_measured(cls, data: Any) -> Any:
        """Seeds and distributions that the dependence leaves open are those of the sweeps."""
        if not isinstance(data, dict) or not isinstance(data.get("dependence"), dict):
            return data
        where = {name: data.get(name) for name in ("seeds", "distributions")}
        given = {
            name: value
            for name, value in data["dependence"].items()
            if value is not None or name not in where
        }
        return {**data, "dependence": where | given}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.heads is None and self.full is None:
            raise ValueError("give a sweep for `heads`, for `full`, or for both")
        if self.full is not None and self.full.components is not None:
            raise ValueError("`components` is for the kind `heads`; take it out of `full`")
        return self


def _swept(experiment: Setup) -> dict[str, Section | None]:
    return {"calibration": experiment.get(Calibration)}


def _varied(experiment: Setup) -> dict[str, Section | None]:
    calibration = experiment.get(Calibration)
    return {"dependence": calibration and calibration.dependence}


def _rule(experiment: Setup) -> Rule | None:
    calibration = experiment.get(Calibration)
    return calibration and calibration.rule


def _base(experiment: Setup, kind: str) -> sampling.Sampling:
    """Return the base setting of a kind of component. Raises ValueError where it is not sampled."""
    if (base := sampling.setting(experiment, sampling.BASE_SETTING, kind)) is None:
        raise ValueError(f"sampling.{kind} is missing, around which settings are varied")
    return base


def _sweep_settings(work: Work[Calibration]) -> dict[str, Any]:
    """The sweeps, without the rule that reads them. A chain has diverged where it has at the base setting."""
    settings = work.section.model_dump(include={*KINDS, "probes"})
    for kind in KINDS:
        if settings[kind]:
            base = sampling.setting(work.experiment, sampling.BASE_SETTING, kind)
            factor = base.divergence_factor if base else sampling.DIVERGENCE_FACTOR
            settings[kind]["divergence_factor"] = factor
    return settings


def _dependence_settings(work: Work[Dependence]) -> dict[str, Any]:
    """What is varied, and the base setting of each kind of component that it is varied around."""
    base = (*GRID, "batch_size", "scored_positions", "divergence_factor")
    kinds = {"full" if component == "full" else "heads" for component in work.section.components}
    settings = {kind: _base(work.experiment, kind) for kind in sorted(kinds)}
    return work.section.model_dump(exclude={"checkpoints", "seeds", "distributions"}) | {
        "settings": {kind: {name: getattr(each, name) for name in base} for kind, each in settings.items()}
    }


def _sweep_cost(work: Work[Calibration]) -> Cost:
    """Every setting of the sweeps, their controls, and the curvature of every component."""
    section, steps = work.section, len(work.steps)
    seconds, largest = 0.0, 0.0
    for kind in KINDS:
        sweep = getattr(section, kind)
        if sweep is None:
            continue
        size = (sweep.batch_size, sweep.scored_positions)
        pairs = sum(a * b < 4 for a in sweep.step_size for b in sweep.localization)
        count = len(sweep.components or range(work.heads)) if kind == "heads" else 1
        each = 3 * len(sweep.n_beta) * (sweep.chains + sweep.control_chains + 1) + sweep.control_chains
        passes = sweep.draws * pairs * each
        curvature = 8 * section.probes * 2 * count + sweep.draws
        share = HEAD if kind == "heads" else 1.0
        seconds += steps * (passes * count * share + curvature) * work.forward(*size)
        largest = max(largest, work.logits(*size))
    return Cost(START + seconds, 1200 + 20 * largest, 1e6 * steps)


def _dependence_cost(work: Work[Dependence]) -> Cost:
    """Every data set size, minibatch size and seed, for every component."""
    section, seconds = work.section, 0.0
    for component in section.components:
        base = _base(work.experiment, "full" if component == "full" else "heads")
        sizes = 1 + section.likelihood + len(section.dataset_sizes) + 2 * len(section.noise_seeds)
        sizes += 2.2 * sum(section.batch_sizes) / base.batch_size
        one = work.forward(base.batch_size, base.scored_positions)
        seconds += len(work.steps) * sizes * 3 * section.chains * section.draws * one
    return Cost(START + seconds, 1200)


def _sweep_checks(place: str, work: Work[Calibration]) -> Iterator[str]:
    for reason in missing_capabilities(work.experiment.model, ("heads",)) if work.section.heads else ():
        yield f"{place}.heads: {reason}; set it to null"
    for kind in KINDS:
        sweep = getattr(work.section, kind)
        for component in (sweep.components or []) if sweep else []:
            yield from _head_or_full(f"{place}.{kind}.components", component, work.experiment, "heads")


def _dependence_checks(place: str, work: Work[Dependence]) -> Iterator[str]:
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
        yield from _head_or_full(f"{place}.components", component, experiment, *KINDS)
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


def _rule_settings(work: Work[Rule]) -> dict[str, Any]:
    """The thresholds, and where the experiment's own settings lie on the grid: kind -> setting -> values."""
    known = {
        kind: {
            name: {part: getattr(each, part) for part in GRID}
            for name in sampling.settings(work.experiment)
            if (each := sampling.setting(work.experiment, name, kind)) is not None
        }
        for kind in KINDS
    }
    return {"rule": work.section.model_dump(), "known": known}


def _varied_variables() -> dict[str, Variable]:
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


def _head_or_full(place: str, component: str, experiment: Setup, *kinds: str) -> Iterator[str]:
    """A problem where a component is no head or ``full``, as far as ``kinds`` allows, that the model has."""
    kind = "full" if component == "full" else "heads"
    if kind not in kinds or not (kind == "full" or re.fullmatch(r"\d+:\d+", component)):
        words = " or ".join({"heads": "a head L:H", "full": "full"}[each] for each in kinds)
        yield f"{place}: '{component}' is not {words}"
    else:
        yield from in_model(place, component, experiment)


ROWS = (
    Measure(
        name="calibration",
        about="a grid of sampling settings with its controls, and the curvature at the checkpoint",
        kernel="rllc.measures.calibration:calibration",
        variables={},
        sections=_swept,
        settings=_sweep_settings,
        cost=_sweep_cost,
        checks=_sweep_checks,
        stream="sgld",
        target="calibrate",
        finish=Finish(function="rllc.analysis.regime:quantities", variables={}),
    ),
    Measure(
        name="dependence",
        about="estimates at the base setting with other data set sizes, minibatch sizes and noise",
        kernel="rllc.measures.dependence:dependence",
        variables=_varied_variables(),
        sections=_varied,
        settings=_dependence_settings,
        cost=_dependence_cost,
        checks=_dependence_checks,
        stream="sgld",
        target="calibrate",
    ),
)
ANALYSES = (
    Analysis(
        name="recommendation",
        about="the setting that the rule chooses for each kind of component, or that none is good",
        function="rllc.analysis.calibration:recommendation",
        variables={},
        reads=("calibration",),
        of=_rule,
        settings=_rule_settings,
        local=True,
        megabytes=1000,
        target="calibrate",
    ),
)

"""Sampling settings: sections, and what the specs of the measures that sample share."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import model_validator

from rllc.sampler_config import DIVERGENCE_FACTOR, SamplerConfig
from rllc.study.checks.names import in_model, refer
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.cost import HEAD, START, Cost
from rllc.study.roles import ROLES, thresholds, typed
from rllc.study.setup import Setup
from rllc.study.specs import EXTENT, MeasureSpec, Variable, Work
from rllc.study.values import RLLC, BurnIn, Count, Distinct, Name, OfControl, Positive, Step

BASE_SETTING = "sampling"  # the section `sampling:`; others are named under `sampling_variants:`
DATASETS = {"heads": "rllc", "full": "llc", "other": "components"}  # kind of component -> dataset


class SamplerOptions(ConfigModel):
    """Constants of a sampler that differ from its defaults. Those here are of rmsprop; sgld has none."""

    decay: float | None = config_field(
        "memory of the mean squared gradient; null: 0.99", ge=0, lt=1, default=None, source="arXiv 1512.07666"
    )
    stabilizer: Positive | None = config_field(
        "what is added to the root mean squared gradient; null: 0.1", default=None
    )

    def given(self) -> dict[str, float]:
        """Return those that are not left to the defaults, by name."""
        return self.model_dump(exclude_none=True)


class Sampling(ConfigModel):
    """One SGLD setting for one kind of component."""

    step_size: Positive = config_field("SGLD step size epsilon", source=f"{RLLC}, App. F.2: 1e-3")
    n_beta: Positive = config_field("inverse temperature times sample size", source=f"{RLLC}, App. F.2: 30")
    localization: float = config_field(
        "precision gamma of the Gaussian prior centred at the checkpoint",
        ge=0,
        source=f"{RLLC}, App. F.2: 200",
    )
    chains: int = config_field("independent chains", ge=2)
    reference_norm: Positive | None = config_field(
        "the step is multiplied by (norm of all weights / this)^2: a control, where the norm changes over "
        "training; null: the step is as given",
        default=None,
    )
    scale_localization: bool = config_field(
        "with reference_norm: the localization is divided by what the step is multiplied by, so that the "
        "region sampled is in proportion to the norm also where chains have time to relax",
        default=False,
    )
    draws: Count = config_field("draws per chain, burn-in included")
    burn_in: BurnIn = config_field("draws left out of the estimate")
    thinning: Count = config_field(
        "moves from one draw to the next, each on a minibatch of its own", default=1
    )
    sampler: Literal["sgld", "rmsprop"] = config_field(
        "rmsprop: preconditioned SGLD, whose law is that of sgld only to first order",
        source="arXiv 1512.07666",
        default="sgld",
    )
    sampler_options: SamplerOptions | None = config_field(
        "constants of the sampler; null: its defaults. sgld has none", default=None
    )
    batch_size: Count = config_field("contexts per minibatch")
    scored_positions: Count | None = config_field(
        "positions per context that enter the loss, drawn anew per minibatch; null: all"
    )
    init_batches: Count = config_field("minibatches of the papers' baseline loss")
    control_chains: OfControl[Count] = config_field("chains of the prior-only control")
    drift_free_chains: OfControl[Step] = config_field(
        "chains of the drift-free control, whose force is the gradient less that at the checkpoint: no "
        "drift, no heating by minibatches; 0: none",
        default=0,
    )
    antithetic_pairs: Step = config_field(
        "antithetic pairs per kept draw, which stand for the prior-only control: by it the variance of the "
        "estimate is reduced (docs/estimator.md); an even number; 0: none, the plain estimate",
        default=0,
    )
    seeded: bool = config_field(
        "the same noise at every step: differences between late steps have half the error, but the errors "
        "along a curve are then alike, and its smoothness says nothing",
        source="arXiv 2402.02364, App. D.5",
        default=False,
    )
    distributions: Distinct[Name] | None = config_field(
        "null: all of the experiment's", min_length=1, default=None
    )
    checkpoints: Distinct[Step] | None = config_field(
        "steps sampled; null: all of the experiment's", unit="steps", min_length=1, default=None
    )
    components: Distinct[str] | None = config_field(
        "only for the kind `other`: which, e.g. `1:0+1:1`, `layer:1`, or a type of heads, e.g. `induction`: "
        "in each seed all heads together that have it at the last checkpoint; needs head_types",
        default=None,
    )
    divergence_factor: Positive = config_field(
        "a chain whose loss ends above this many times the loss at the checkpoint, and grows, has diverged",
        default=DIVERGENCE_FACTOR,
    )
    keep_traces: bool = config_field(
        "also write the loss of every draw to traces.nc; under `sampling` only", default=False
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.drift_free_chains and self.sampler != "sgld":
            raise ValueError(
                f"drift_free_chains are chains of the sampler sgld, not {self.sampler}; leave them out"
            )
        if self.antithetic_pairs and self.control_chains != self.chains:
            raise ValueError(
                f"pairs need the control of every chain: control_chains {self.control_chains}, chains "
                f"{self.chains}; make them equal, or set antithetic_pairs: 0"
            )
        if self.antithetic_pairs or self.sampler_options:
            SamplerConfig.of(self.plain())
        if self.scale_localization and self.reference_norm is None:
            raise ValueError(
                "scale_localization is by the norm over reference_norm: give that, or leave it out"
            )
        curvature = self.step_size * self.localization
        if curvature >= 4:
            raise ValueError(
                f"step_size x localization = {curvature:g} is unstable even without a loss; keep it under 4"
            )
        return self

    def plain(self, exclude: Collection[str] = ()) -> dict[str, Any]:
        """Return the section as plain data; without ``sampler_options`` where none is given."""
        own = self.model_dump(exclude={*exclude, "sampler_options"})
        return own | ({"sampler_options": self.sampler_options.given()} if self.sampler_options else {})


class Samplings(ConfigModel):
    """A setting per kind of component; a kind that is null is not sampled."""

    heads: Sampling | None = config_field("every attention head alone", default=None)
    full: Sampling | None = config_field("the whole model", default=None)
    other: Sampling | None = config_field("the components it lists", default=None)

    @model_validator(mode="after")
    def _only_other_lists_components(self) -> Self:
        for kind in ("heads", "full"):
            section = getattr(self, kind)
            if section is not None and section.components is not None:
                raise ValueError(f"`components` is for the kind `other`; take it out of `{kind}`")
        if self.other is not None and not self.other.components:
            raise ValueError("sampling of kind `other` needs `components: [...]`")
        for component in (self.other.components or ()) if self.other else ():
            if component == "full" or re.fullmatch(r"\d+:\d+", component):
                kind = "full" if component == "full" else "heads"
                raise ValueError(f"`other` lists '{component}', which the kind `{kind}` samples; take it out")
        return self


def settings(experiment: Setup) -> dict[str, Samplings]:
    """All sampling settings that an experiment declares, the base setting first."""
    base = experiment.get(Samplings)
    return ({BASE_SETTING: base} if base else {}) | experiment.several(Samplings)


def setting(experiment: Setup, name: str, kind: str) -> Sampling | None:
    """The section of a setting and kind of component, if the experiment declares it."""
    return getattr(settings(experiment).get(name), kind, None)


def sampled(kind: str) -> Callable[[Setup], Mapping[str, ConfigModel | None]]:
    """The datasets of a kind of component: ``rllc`` at the base setting, ``rllc.<setting>`` at others."""
    return lambda experiment: {
        DATASETS[kind] + ("" if name == BASE_SETTING else f".{name}"): getattr(each, kind)
        for name, each in settings(experiment).items()
    }


def _cost(kind: str) -> Callable[[Work[Sampling]], Cost]:
    def cost(work: Work[Sampling]) -> Cost:
        """All components, chains and draws, with the control and its pairs."""
        section = work.section
        size = (section.batch_size, section.scored_positions)
        components = {"heads": lambda: work.heads, "other": lambda: len(section.components or ())}
        count = components.get(kind, lambda: 1)()
        each = 3 * section.chains + section.control_chains
        each += 3 * (section.drift_free_chains + 1) if section.drift_free_chains else 0
        of_pairs = 2 * section.antithetic_pairs * (section.draws - section.burn_in)
        passes = (section.draws * section.thinning * each + of_pairs) * count
        one = (HEAD if kind == "heads" else 1.0) * work.forward(*size)
        memory = 900 + 10 * work.logits(*size)
        return Cost(START + len(work.steps) * passes * one, memory)

    return cost


def by_type(section: Sampling) -> bool:
    """Whether a component is a type of heads."""
    return not {*ROLES}.isdisjoint(section.components or ())


def _settings(work: Work[Sampling]) -> dict[str, Any]:
    """The section, and what types of heads are where it names one."""
    own = work.section.plain(exclude=EXTENT)
    return {**own, **thresholds(work)} if by_type(work.section) else own


def _checks(place: str, work: Work[Sampling]) -> Iterator[str]:
    if work.section.keep_traces and ".sampling_variants." in place:
        yield f"{place}.keep_traces: traces are gathered for the base setting only; take it out here"
    place = f"{place}.components"
    if by_type(work.section):
        yield from typed(place, work)
    for component in work.section.components or []:
        if re.fullmatch("[A-Za-z_-]+", component):
            known = (*ROLES, "embedding")
            yield from refer(place, component, known, "type of heads or component")
        else:
            yield from in_model(place, component, work.experiment)


def estimates(name: str, *dims: str) -> dict[str, Variable]:
    """Variables of estimates called ``name``; ``rllc.estimator`` gives their long names."""
    each = (
        name, f"{name}_se", f"{name}_init", f"{name}_prior_only", f"{name}_prior_only_se", "rhat", "ess",
        "drift", "drift_se", "half_length_change", "half_length_change_se", "equilibrated_variance",
        "equilibrated_mean", "acceptance", "acceptance_null", "quality",
    )  # fmt: skip
    long = (
        "geweke", "heidelberger_welch_start", "heidelberger_welch_p", "heidelberger_welch_halfwidth",
        "raftery_lewis_factor",
    )  # fmt: skip
    optional = (
        f"{name}_drift_free", f"{name}_drift_free_se", f"{name}_se_control", f"{name}_se_data",
        "control_coefficient", "variance_reduction",
    )  # fmt: skip
    asked = {variable: Variable("", "", dims, optional="where asked for") for variable in optional}
    reduced = Variable("", "", (*dims, "chain"), optional="where asked for")
    return (
        {variable: Variable("", "", dims) for variable in each}
        | asked
        | {"init_loss": Variable("", "")}
        | {variable: Variable("", "", (*dims, "chain")) for variable in (f"{name}_chain", "status")}
        | {variable: Variable("", "", (*dims, "chain"), optional="of long chains") for variable in long}
        | {f"{name}_reduced_chain": reduced}
    )


def sampling_spec(kind: str, about: str, variables: dict[str, Variable], **more: Any) -> MeasureSpec:
    """Return the spec of the measure that samples a kind of component; ``more`` are further fields of it."""
    return MeasureSpec(
        name=f"sample_{kind}",
        about=about,
        kernel=f"rllc.measures.sample_{kind}.kernel:{kind}",
        variables=variables,
        sections=sampled(kind),
        datasets=rf"{DATASETS[kind]}(\.\w+)?",
        cost=_cost(kind),
        settings=_settings,
        checks=_checks,
        stream="sgld",
        recorded_as="sampling",
        **more,
    )

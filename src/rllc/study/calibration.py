"""Calibration of the sampler: its sections, and what the checks of its measures share."""

from collections.abc import Iterator
from typing import Any, Self

from pydantic import model_validator

from rllc import components
from rllc.study.checks.names import in_model
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.recommendation import Rule
from rllc.study.setup import Setup
from rllc.study.values import BurnIn, Count, Distinct, Name, OfControl, Positive, Seed, Step

STAGE = "arXiv 2402.02364"


class Sweep(ConfigModel):
    """A grid of settings for one kind of component: every step_size x n_beta x localization."""

    components: Distinct[str] | None = config_field(
        "only for the kind `heads`: which heads, e.g. `1:0`; null: all", min_length=1, default=None
    )
    step_size: Distinct[Positive] = config_field(
        "step sizes tried", min_length=1, source=f"{STAGE}, App. D.3.3"
    )
    n_beta: Distinct[Positive] = config_field("inverse temperatures times sample size tried", min_length=1)
    localization: Distinct[Positive] = config_field(
        "strengths of the pull tried; pairs with step_size x localization of 4 or more are left out",
        min_length=1,
    )
    chains: int = config_field("chains per setting, same noise and minibatches in all", ge=2)
    draws: Count = config_field("draws per chain, burn-in included")
    burn_in: BurnIn = config_field("draws left out of the estimate")
    batch_size: Count = config_field("contexts per minibatch")
    scored_positions: Count | None = config_field("as in sampling")
    control_chains: OfControl[Count] = config_field(
        "chains of the prior-only control and of the drift-free one"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if min(self.step_size) * min(self.localization) >= 4:
            raise ValueError("no pair has step_size x localization under 4; every setting would be unstable")
        return self


class Dependence(ConfigModel):
    """How estimates at the base setting (`sampling`) depend on the data, the minibatches and the noise."""

    checkpoints: Distinct[Step] = config_field("steps measured", unit="steps", min_length=1)
    seeds: Distinct[Seed] | None = config_field("null: those of the calibration", min_length=1, default=None)
    distributions: Distinct[Name] | None = config_field(
        "null: those of the calibration", min_length=1, default=None
    )
    components: Distinct[str] = config_field("heads, e.g. `1:0`, and `full`", min_length=1)
    chains: int = config_field("chains per estimate", ge=2)
    draws: Count = config_field("draws per chain, burn-in included")
    burn_in: BurnIn = config_field("draws left out of the estimate")
    dataset_sizes: Distinct[Count] = config_field(
        "distinct contexts that minibatches are drawn from: multiples of the base setting's batch_size",
        unit="contexts", min_length=1, source=f"{STAGE}, Fig. D.3",
    )  # fmt: skip
    batch_sizes: Distinct[Count] = config_field(
        "minibatch sizes", unit="contexts", min_length=1, source=f"{STAGE}, Fig. D.4"
    )
    noise_seeds: Distinct[Seed] = config_field(
        "seeds of the noise", min_length=1, source=f"{STAGE}, Fig. D.5"
    )
    likelihood: bool = config_field(
        "also with the loss of one prediction of each context, drawn at random, which is a log likelihood of "
        "independent observations",
        source=f"{STAGE}, App. A.4",
        default=False,
    )


class Calibration(ConfigModel):
    """`snakemake calibrate`: makes calibration.nc, dependence.nc, recommendation.nc and their figures."""

    checkpoints: Distinct[Step] = config_field("steps swept", unit="steps", min_length=1)
    seeds: Distinct[Seed] | None = config_field("null: all of the experiment's", min_length=1, default=None)
    distributions: Distinct[Name] | None = config_field(
        "null: all of the experiment's", min_length=1, default=None
    )
    heads: Sweep | None = config_field("every listed head alone", default=None)
    full: Sweep | None = config_field("the whole model", default=None)
    probes: int = config_field("Rademacher probes of the Hessian trace of each component", ge=2)
    dependence: Dependence | None = config_field("null: not measured", default=None)
    rule: Rule = config_field("thresholds of the recommendation", default=Rule())

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


def head_or_full(place: str, component: str, experiment: Setup, *kinds: str) -> Iterator[str]:
    """Yield a problem where a component is no head or ``full``, as ``kinds`` allows, that the model has."""
    try:
        kind = components.kind(component)
    except ValueError:
        kind = "unknown"
    if kind not in kinds:
        words = " or ".join({"heads": "a head L:H, or a group", "full": "full"}[each] for each in kinds)
        yield f"{place}: '{component}' is not {words}"
    else:
        yield from in_model(place, component, experiment)

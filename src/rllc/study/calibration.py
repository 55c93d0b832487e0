"""Calibration of the sampler: sweeps of its settings, what estimates depend on, and the rule that chooses."""

from pydantic import model_validator

from rllc.analysis.rule import THRESHOLDS
from rllc.study.section import Section, key
from rllc.study.values import Count, Name, Positive, Seed, Share, Step

STAGE = "arXiv 2402.02364"


class Sweep(Section):
    """A grid of settings for one kind of component: every step_size x n_beta x localization."""

    components: list[str] | None = key(
        "only for the kind `heads`: which heads, e.g. `1:0`; null: all", default=None
    )
    step_size: list[Positive] = key("step sizes tried", min_length=1, source=f"{STAGE}, App. D.3.3")
    n_beta: list[Positive] = key("inverse temperatures times sample size tried", min_length=1)
    localization: list[Positive] = key(
        "strengths of the pull tried; pairs with step_size x localization of 4 or more are left out",
        min_length=1,
    )
    chains: int = key("chains per setting, same noise and minibatches in all", ge=2)
    draws: Count = key("draws per chain, burn-in included")
    burn_in: Step = key("draws left out of the estimate")
    batch_size: Count = key("contexts per minibatch")
    scored_positions: Count | None = key("as in sampling")
    control_chains: Count = key("chains of the gradient-off control")

    @model_validator(mode="after")
    def _consistent(self) -> "Sweep":
        if self.burn_in >= self.draws:
            raise ValueError(f"burn_in {self.burn_in} leaves none of the {self.draws} draws")
        if self.control_chains > self.chains:
            raise ValueError(f"control_chains {self.control_chains} exceeds chains {self.chains}")
        for name in ("step_size", "n_beta", "localization"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ValueError(f"{name} lists a value twice: {values}")
        if min(self.step_size) * min(self.localization) >= 4:
            raise ValueError("no pair has step_size x localization under 4; every setting would be unstable")
        return self


class Dependence(Section):
    """How estimates at the base setting (`sampling`) depend on the data, the minibatches and the noise."""

    checkpoints: list[Step] = key("steps measured", unit="steps", min_length=1)
    distributions: list[Name] | None = key("null: all of the calibration's", default=None)
    components: list[str] = key("heads, e.g. `1:0`, and `full`", min_length=1)
    chains: int = key("chains per estimate", ge=2)
    draws: Count = key("draws per chain, burn-in included")
    burn_in: Step = key("draws left out of the estimate")
    dataset_sizes: list[Count] = key(
        "distinct contexts that minibatches are drawn from: multiples of the base setting's batch_size",
        unit="contexts", min_length=1, source=f"{STAGE}, Fig. D.3",
    )  # fmt: skip
    batch_sizes: list[Count] = key(
        "minibatch sizes", unit="contexts", min_length=1, source=f"{STAGE}, Fig. D.4"
    )
    noise_seeds: list[Seed] = key("seeds of the noise", min_length=1, source=f"{STAGE}, Fig. D.5")

    @model_validator(mode="after")
    def _consistent(self) -> "Dependence":
        if self.burn_in >= self.draws:
            raise ValueError(f"burn_in {self.burn_in} leaves none of the {self.draws} draws")
        return self


class Rule(Section):
    """When a setting is recommended; docs/calibration.md says what each word means."""

    min_share: float = key(
        "a criterion holds for a setting where it holds in this share of its cells",
        gt=0, le=1, default=THRESHOLDS["min_share"],
    )  # fmt: skip
    max_loss_rise: Positive = key(
        "local: mean loss rise at most this", unit="nats/token", default=THRESHOLDS["max_loss_rise"]
    )
    max_drift: Positive = key(
        "equilibrated: drift within two standard errors, or at most this share of the estimate",
        default=THRESHOLDS["max_drift"],
    )
    max_rhat: float = key("equilibrated: R-hat at most this", gt=1, default=THRESHOLDS["max_rhat"])
    min_relaxed: Share = key(
        "equilibrated: share of its stationary variance that a chain without loss has after burn-in",
        default=THRESHOLDS["min_relaxed"],
    )
    min_acceptance: Share = key(
        "small_steps: mean acceptance of the moves at least this share of that of a constant loss",
        default=THRESHOLDS["min_acceptance"],
    )
    max_widening: Positive = key(
        "small_steps: 1 / (1 - step_size localization / 4) - 1 at most this",
        default=THRESHOLDS["max_widening"],
    )
    min_shrinkage: Share = key(
        "likelihood: 1 - (on - drift term)/off at least this", default=THRESHOLDS["min_shrinkage"]
    )
    max_drift_term: Positive = key(
        "small_drift: the drift term of a centre that is no minimum at most this share of the estimate",
        default=THRESHOLDS["max_drift_term"],
    )


class Calibration(Section):
    """`snakemake calibrate`: makes calibration.nc, dependence.nc, recommendation.nc and their figures."""

    checkpoints: list[Step] = key("steps swept", unit="steps", min_length=1)
    seeds: list[Seed] | None = key("null: all of the experiment's", default=None)
    distributions: list[Name] | None = key("null: all of the experiment's", default=None)
    heads: Sweep | None = key("every listed head alone", default=None)
    full: Sweep | None = key("the whole model", default=None)
    probes: int = key("Rademacher probes of the Hessian trace of each component", ge=2)
    dependence: Dependence | None = key("null: not measured", default=None)
    rule: Rule = key("thresholds of the recommendation", default=Rule())

    @model_validator(mode="after")
    def _consistent(self) -> "Calibration":
        if self.heads is None and self.full is None:
            raise ValueError("give a sweep for `heads`, for `full`, or for both")
        if self.full is not None and self.full.components is not None:
            raise ValueError("`components` is for the kind `heads`; take it out of `full`")
        return self

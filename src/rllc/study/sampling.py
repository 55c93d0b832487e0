"""SGLD settings."""

import re
from typing import Literal

from pydantic import model_validator

from rllc.study.section import Section, key
from rllc.study.values import RLLC, Count, Name, Positive, Step

DIVERGENCE_FACTOR = 5.0


class Sampling(Section):
    """One SGLD setting for one kind of component."""

    step_size: Positive = key("SGLD step size epsilon", source=f"{RLLC}, App. F.2: 1e-3")
    n_beta: Positive = key("inverse temperature times sample size", source=f"{RLLC}, App. F.2: 30")
    localization: float = key(
        "strength gamma of the pull to the checkpoint", ge=0, source=f"{RLLC}, App. F.2: 200"
    )
    chains: int = key("independent chains", ge=2)
    reference_norm: Positive | None = key(
        "the step is multiplied by (norm of all weights / this)^2: a control, where the norm changes over "
        "training; null: the step is as given",
        default=None,
    )
    draws: Count = key("draws per chain, burn-in included")
    burn_in: Step = key("draws left out of the estimate")
    thinning: Count = key("moves from one draw to the next, each on a minibatch of its own", default=1)
    sampler: Literal["sgld", "rmsprop"] = key(
        "rmsprop: preconditioned SGLD, whose law is that of sgld only to first order; on heads it is slower",
        source="arXiv 1512.07666",
        default="sgld",
    )
    batch_size: Count = key("contexts per minibatch")
    scored_positions: Count | None = key(
        "positions per context that enter the loss, drawn anew per minibatch; null: all"
    )
    init_batches: Count = key("minibatches of the papers' baseline loss")
    control_chains: Count = key("chains of the gradient-off control")
    seeded: bool = key(
        "the same noise at every step: differences between late steps have half the error, but the errors "
        "along a curve are then alike, and its smoothness says nothing",
        source="arXiv 2402.02364, App. D.5",
        default=False,
    )
    distributions: list[Name] | None = key("null: all of the experiment's", default=None)
    components: list[str] | None = key(
        "only for the kind `other`: which, e.g. `1:0+1:1`, `layer:1`", default=None
    )
    divergence_factor: Positive = key(
        "a chain whose loss ends above this many times the loss at the checkpoint, and grows, has diverged",
        default=DIVERGENCE_FACTOR,
    )
    keep_traces: bool = key(
        "also write the loss of every draw to traces.nc; under `sampling` only", default=False
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Sampling":
        if self.burn_in >= self.draws:
            raise ValueError(f"burn_in {self.burn_in} leaves none of the {self.draws} draws")
        if self.control_chains > self.chains:
            raise ValueError(f"control_chains {self.control_chains} exceeds chains {self.chains}")
        curvature = self.step_size * self.localization
        if curvature >= 4:
            raise ValueError(
                f"step_size x localization = {curvature:g} is unstable even without a loss; keep it under 4"
            )
        return self


class Samplings(Section):
    """A setting per kind of component; a kind that is null is not sampled."""

    heads: Sampling | None = key("every attention head alone", default=None)
    full: Sampling | None = key("the whole model", default=None)
    other: Sampling | None = key("the components it lists", default=None)

    @model_validator(mode="after")
    def _only_other_lists_components(self) -> "Samplings":
        for kind in ("heads", "full"):
            section = getattr(self, kind)
            if section is not None and section.components is not None:
                raise ValueError(f"`components` is for the kind `other`; take it out of `{kind}`")
        if self.other is not None and not self.other.components:
            raise ValueError("sampling of kind `other` needs `components: [...]`")
        for component in self.other.components if self.other else ():
            if component == "full" or re.fullmatch(r"\d+:\d+", component):
                kind = "full" if component == "full" else "heads"
                raise ValueError(f"`other` lists '{component}', which the kind `{kind}` samples; take it out")
        return self

"""Config of the validation of the estimator: models with known answers, and their sampling."""

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, model_validator

from rllc.study.config_model import ConfigModel, config_field
from rllc.study.values import BurnIn, Count, Distinct, Positive

FURMAN = "arXiv 2402.03698"
PotentialName = Literal[
    "sum_2_2_2", "sum_2_2_0", "sum_2_4_4", "sum_2_2", "sum_4_4", "crossing_2_2", "crossing_2_4",
    "crossing_4_4", "crossing_2_6", "two_wells_at_0", "two_wells_at_1",
]  # fmt: skip
POTENTIAL_NAMES = get_args(PotentialName)


def _ascending(pair: list[int]) -> list[int]:
    if pair[0] > pair[1]:
        raise ValueError(f"{pair} is not smallest and largest: give them in that order")
    return pair


Ascending = Annotated[list[Count], AfterValidator(_ascending)]


class Chains(ConfigModel):
    """Chains of a validation. Replicas are independent copies of a model in one loss, sampled together."""

    replicas: Count = config_field("copies of each model in a chain")
    chains: int = config_field("independent chains", ge=2)
    draws: Count = config_field("draws per chain, burn-in included")
    burn_in: BurnIn = config_field("draws left out of the estimate")


class Wells(Chains):
    """Quadratic wells: the answer for the discretised chain is a closed form."""

    dimensions: Distinct[Count] = config_field(
        "numbers of coordinates; half of them are frozen in a second case", min_length=1
    )
    condition: float = config_field("largest over smallest curvature", ge=1)
    n_beta: Distinct[Positive] = config_field("inverse temperatures times sample size", min_length=1)
    localization: Distinct[Positive] = config_field("strengths of the pull", min_length=1)
    relative_step: float = config_field(
        "step_size times the largest n_beta h + localization; unstable from 4 on", gt=0, lt=4
    )


class Toys(Chains):
    """Toy potentials and normal crossings: the answer at finite n_beta is an integral."""

    names: Distinct[PotentialName] = config_field(
        "which of rllc.validation.truths.potentials", min_length=1, source="arXiv 2402.02364, App. A.1"
    )
    n_beta: Distinct[Positive] = config_field("inverse temperatures times sample size", min_length=1)
    localization: Distinct[Positive] = config_field("strengths of the pull", min_length=1)
    relative_step: float = config_field(
        "step_size times (n_beta h + localization), h a curvature that 99.9 % of the posterior stays below",
        gt=0, lt=4,
    )  # fmt: skip
    relaxations: Positive = config_field("length of a chain in units of 2 / (step_size localization) moves")
    max_moves: Count = config_field("but at most so long", unit="moves")


class Networks(Chains):
    """Linear networks of random shape at a balanced point: the learning coefficient is known."""

    models: Count = config_field("how many, with random widths and a random rank above 0")
    widths: Ascending = config_field(
        "smallest and largest width", min_length=2, max_length=2, source=f"{FURMAN}: 5 to 3,000"
    )
    n_beta: Distinct[Positive] = config_field(
        "inverse temperatures times sample size", min_length=1, source=f"{FURMAN}: n / log n at n = 1e5, 1e6"
    )
    localization_per_width: Positive = config_field(
        "strength of the pull over the mean width", source=f"{FURMAN}: a strength of 1 at all widths"
    )
    relative_step: float = config_field(
        "step_size times (n_beta h + localization), h the largest curvature at the centre", gt=0, lt=4
    )
    batch_size: Count | None = config_field(
        "random inputs per minibatch; null: the expected loss", source=f"{FURMAN}: 500"
    )
    thinning: Count = config_field("moves per draw")


class AroundZero(ConfigModel):
    """Reduced-rank regression of true rank 0 around weights 0, where the answer is an integral."""

    sizes: Distinct[list[Count]] = config_field(
        "inputs, outputs, hidden of each model; inputs or hidden at most 2", min_length=1
    )
    n_beta: Distinct[Positive] = config_field("inverse temperatures times sample size", min_length=1)
    localization: Positive = config_field("strength of the pull")
    replicas: Count = config_field("copies of each model in a chain")

    @model_validator(mode="after")
    def _has_an_integral(self) -> "AroundZero":
        for sizes in self.sizes:
            if len(sizes) != 3 or min(sizes[0], sizes[2]) > 2:
                raise ValueError(
                    f"{sizes} is invalid: expected inputs, outputs, hidden, with inputs or hidden at most 2"
                )
        return self


class ReducedRank(Networks):
    """Reduced-rank regression: two layers."""

    at_zero: AroundZero = config_field("small models whose answer is also known at finite n_beta")


class DeepLinear(Networks):
    """Deep linear networks."""

    layers: Ascending = config_field(
        "smallest and largest number of layers", min_length=2, max_length=2, source=f"{FURMAN}: 2 to 40"
    )


class Validation(ConfigModel):
    """`snakemake validation`: the estimator against exact truths; makes validation/*.nc and their figures."""

    quadratic: Wells | None = config_field("null: left out", default=None)
    potentials: Toys | None = config_field("null: left out", default=None)
    reduced_rank: ReducedRank | None = config_field("null: left out", default=None)
    deep_linear: DeepLinear | None = config_field("null: left out", default=None)

"""Types of values that several sections share."""

from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo

T = TypeVar("T")


def _different(values: list[T]) -> list[T]:
    if len({*map(repr, values)}) < len(values):
        twice = next(value for i, value in enumerate(values) if value in values[:i])
        raise ValueError(f"lists {f'{twice:g}' if isinstance(twice, float) else twice} twice")
    return values


def _under_draws(burn_in: int, info: ValidationInfo) -> int:
    if burn_in >= (draws := info.data.get("draws", burn_in + 1)):  # absent if it is invalid
        raise ValueError(f"burn_in {burn_in} leaves none of the {draws} draws; lower it or raise draws")
    return burn_in


def _up_to_chains(count: int, info: ValidationInfo) -> int:
    if count > (chains := info.data.get("chains", count)):
        raise ValueError(f"{info.field_name} {count} exceeds chains {chains}")
    return count


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Count = Annotated[int, Field(ge=1)]
Step = Annotated[int, Field(ge=0)]
Distinct = Annotated[list[T], AfterValidator(_different)]  # a list without repeated entries
BurnIn = Annotated[Step, AfterValidator(_under_draws)]  # of a section with `draws` before it
OfControl = Annotated[T, AfterValidator(_up_to_chains)]  # chains; of one with `chains` before it
Seed = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]

RLLC = "arXiv 2410.02984"  # the source of most published values
STAGE = "arXiv 2402.02364"  # of those of in-context linear regression

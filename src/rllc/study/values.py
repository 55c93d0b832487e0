"""Kinds of values that several sections use."""

from typing import Annotated

from pydantic import Field, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Count = Annotated[int, Field(ge=1)]
Step = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]

RLLC = "arXiv 2410.02984"  # the source of most published values

"""Claims on the whole model's LLC on other texts (C.1)."""

from functools import partial

from rllc.analysis.curves import last
from rllc.claims.claim import claim as any_claim
from rllc.claims.heads.curves import PAPER, Number, several_layers
from rllc.claims.run import Run

ORDER = 7  # place of these claims among those of the work

claim = partial(any_claim, where=several_layers, family="other texts (C.1)")


@claim(
    "On texts that are not programs, the LLC is a shifted copy of that on the training text",
    source=f"{PAPER}, C.1",
    label="smallest correlation of the LLC on a text that is not a program with that on the training text",
    at_least=0.9,
)
def shifted_copies(run: Run) -> Number:
    return last(run.curve("domains.least_correlation"))


@claim(
    "On programming languages, the LLC is less similar to that on the training text",
    source=f"{PAPER}, C.1",
    label="mean correlation of the LLC with that on the training text: other texts less programming "
    "languages",
    at_least=0,
)
def code_is_exception(run: Run) -> Number:
    return last(run.curve("domains.correlation_gap"))


@claim(
    "On scientific texts, the LLC's fall in LM3 is deeper",
    source=f"{PAPER}, C.1",
    label="fall of the LLC in LM3 on scientific texts less that on the training text",
    at_least=0,
)
def science_fall(run: Run) -> Number:
    return last(run.curve("domains.science_fall"))


@claim(
    "Critical points lie at the same steps on all texts",
    source=f"{PAPER}, C.1 (theirs 5,500 to 8,000 for 6,500 to 8,500)",
    label="distance of the extrema of LLCs from those on the training text, median",
    unit="octaves",
    at_most=0.25,
)
def boundaries_kept(run: Run) -> Number:
    return last(run.curve("domains.boundary_shift"))

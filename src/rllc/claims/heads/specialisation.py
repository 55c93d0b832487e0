"""Claims on heads that specialise to data (4.2).

The paper compares code with the training text, which here is largely that code. English stands beside it
where it is measured.
"""

from functools import partial

import xarray as xr

from rllc.analysis.curves import last
from rllc.claims.claim import claim as any_claim
from rllc.claims.heads.curves import PAPER, Number, several_layers
from rllc.claims.run import Run

ORDER = 3  # place of these claims among those of the work

claim = partial(any_claim, where=several_layers, family="specialisation (4.2)")


def _refined(run: Run, group: str, against: str) -> Number:
    """Return log2 of the rLLC of a group of heads on code over that on another text, at the end."""
    return last(run.curve("refinement.log2_ratio", head_group=group, against=against))


@claim(
    "Induction heads have a larger refined LLC on code than on the pretraining distribution",
    source=f"{PAPER}, 4.2, Fig. 3",
    label="log2 of the induction heads' rLLC on code over that on the training text, at the end",
    unit="octaves",
    at_least=0,
)
def induction_up_on_code(run: Run) -> Number:
    return _refined(run, "induction", run.text)


@claim(
    "Induction heads have a larger refined LLC on code than on English",
    source=f"{PAPER}, 4.2, Fig. 3; English is ours",
    label="log2 of the induction heads' rLLC on code over that on English, at the end",
    unit="octaves",
    at_least=0,
)
def induction_up_on_code_english(run: Run) -> Number:
    return _refined(run, "induction", "english")


@claim(
    "Multigram heads have a smaller refined LLC on code than on the pretraining distribution",
    source=f"{PAPER}, 4.2, Fig. 3",
    label="log2 of the multigram heads' rLLC on code over that on the training text, at the end",
    unit="octaves",
    at_most=0,
)
def multigrams_down_on_code(run: Run) -> Number:
    return _refined(run, "multigram", run.text)


@claim(
    "Multigram heads have a smaller refined LLC on code than on English",
    source=f"{PAPER}, 4.2, Fig. 3; English is ours",
    label="log2 of the multigram heads' rLLC on code over that on English, at the end",
    unit="octaves",
    at_most=0,
)
def multigrams_down_on_code_english(run: Run) -> Number:
    return _refined(run, "multigram", "english")


@claim(
    "Relative to the pretraining distribution, code raises refined LLCs of induction heads "
    "more than those of multigram heads",
    source=f"{PAPER}, 4.2",
    label="log2 ratio of rLLCs on code to those on the training text, induction less multigram heads",
    unit="octaves",
    at_least=0,
)
def induction_gap(run: Run) -> Number:
    return _refined(run, "induction less multigram", run.text)


@claim(
    "Relative to English, code raises refined LLCs of induction heads more than those of multigram heads",
    source=f"{PAPER}, 4.2; English is ours",
    label="log2 ratio of rLLCs on code to those on English, induction less multigram heads",
    unit="octaves",
    at_least=0,
)
def induction_gap_english(run: Run) -> Number:
    return _refined(run, "induction less multigram", "english")


def _apart(run: Run, text: str) -> xr.DataArray:
    """Return the range of the induction heads' rLLCs over their mean, at the end."""
    level = last(run.curve("rllc.rllc", heads=run.heads("induction", at_least=2), distribution=text))
    return (level.max("head") - level.min("head")) / abs(level.mean("head"))


@claim(
    "Two induction heads end at nearly the same refined LLC on the pretraining distribution",
    source=f"{PAPER}, 4.2",
    label="range of the induction heads' rLLCs divided by their mean, on the training text, at the end",
    at_most=0.1,
)
def induction_equal_on_pile(run: Run) -> Number:
    return _apart(run, run.text)


@claim(
    "Code separates the refined LLCs of two induction heads",
    source=f"{PAPER}, 4.2",
    label="range of the induction heads' rLLCs divided by their mean: on code divided by that on "
    "the training text, at the end",
    at_least=2,
)
def induction_apart_on_code(run: Run) -> Number:
    return _apart(run, run.code) / _apart(run, run.text)


@claim(
    "Of two induction heads, the one with the larger refined LLC on code acts on punctuation "
    "and similar tokens",
    source=f"{PAPER}, 4.2, fig 4",
    label="induction tokens without a letter, head larger on code less the other",
    at_least=0,
    given="induction_apart_on_code",
)
def code_head_syntactic(run: Run) -> Number:
    return last(run.curve("classification.code_head_letterless"))

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
    "The same, against English",
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
    "The same, against English",
    source=f"{PAPER}, 4.2, Fig. 3; English is ours",
    label="log2 of the multigram heads' rLLC on code over that on English, at the end",
    unit="octaves",
    at_most=0,
)
def multigrams_down_on_code_english(run: Run) -> Number:
    return _refined(run, "multigram", "english")


@claim(
    "Code raises induction heads more than multigram heads, against the pretraining distribution",
    source=f"{PAPER}, 4.2",
    label="the induction heads' log2 ratio of code to the training text less the multigram heads'",
    unit="octaves",
    at_least=0,
)
def induction_gap(run: Run) -> Number:
    return _refined(run, "induction less multigram", run.text)


@claim(
    "The same, against English",
    source=f"{PAPER}, 4.2; English is ours",
    label="the induction heads' log2 ratio of code to English less the multigram heads'",
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
    "Two induction heads end nearly level on the pretraining distribution",
    source=f"{PAPER}, 4.2",
    label="range of the induction heads' rLLCs over their mean, on the training text, at the end",
    at_most=0.1,
)
def induction_equal_on_pile(run: Run) -> Number:
    return _apart(run, run.text)


@claim(
    "Code pulls them apart",
    source=f"{PAPER}, 4.2",
    label="range of the induction heads' rLLCs over their mean, on code over that on the training text, "
    "at the end",
    at_least=2,
)
def induction_apart_on_code(run: Run) -> Number:
    return _apart(run, run.code) / _apart(run, run.text)


@claim(
    "Of two induction heads, the one larger on code acts on punctuation and the like",
    source=f"{PAPER}, 4.2, fig 4",
    label="induction tokens without a letter, head larger on code less the other",
    at_least=0,
    given="induction_apart_on_code",
)
def code_head_syntactic(run: Run) -> Number:
    return last(run.curve("classification.code_head_letterless"))

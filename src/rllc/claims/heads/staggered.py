"""Claims on induction heads that form one after the other (B.2.2).

All of them need two induction heads.
"""

from functools import partial

from rllc.analysis.curves import last
from rllc.claims.claim import claim as any_claim
from rllc.claims.heads.curves import PAPER, Number, several_layers
from rllc.claims.run import Run

ORDER = 5  # place of these claims among those of the work

claim = partial(any_claim, where=several_layers, family="staggered induction (B.2.2)")


def _of_staggered(run: Run, name: str) -> Number:
    run.heads("induction", at_least=2)
    return last(run.curve(f"staggered.{name}"))


@claim(
    "Induction heads form at different times",
    source=f"{PAPER}, B.2.2",
    label="log2 of the latest peak step divided by the earliest, of induction heads' rLLCs on code",
    unit="octaves",
    at_least=0.2,
)
def staggered(run: Run) -> Number:
    return _of_staggered(run, "spread")


@claim(
    "Peaks of refined LLCs and falls of the in-context learning score under ablation have the same order",
    source=f"{PAPER}, B.2.2, fig 10",
    label="whether the peaks have the order of the falls of the in-context learning score",
    at_least=1,
)
def staggered_same_order(run: Run) -> Number:
    return _of_staggered(run, "same_order")


@claim(
    "With all other induction heads removed, the in-context learning score stops falling "
    "where a head's refined LLC peaks",
    source=f"{PAPER}, B.2.2",
    label="|log2| of the step at 90 % of the score's fall divided by the step of the head's peak, largest",
    unit="octaves",
    at_most=0.5,
)
def drop_at_peak(run: Run) -> Number:
    return _of_staggered(run, "drop_at_peak")


@claim(
    "The joint refined LLC of induction heads peaks where the plain in-context learning score stops falling",
    source=f"{PAPER}, fig 10",
    label="|log2| of the step at 90 % of the plain score's fall divided by the step of the joint peak",
    unit="octaves",
    at_most=0.5,
)
def joint_peak_at_drop_end(run: Run) -> Number:
    return _of_staggered(run, "joint_drop_at_peak")


@claim(
    "Without any induction head, little in-context learning remains",
    source="ours, a check",
    label="in-context learning score without induction heads divided by the plain score, at the end",
    at_most=0.2,
)
def icl_needs_both(run: Run) -> Number:
    return _of_staggered(run, "icl_left")

"""Claims on tokens in context (App. B).

A share of a head's tokens has the error of a binomial.
"""

from functools import partial

import numpy as np
import xarray as xr

from rllc.analysis.curves import last
from rllc.analysis.tokens import largest_pattern
from rllc.claims.claim import claim as any_claim
from rllc.claims.heads.curves import PAPER, Number, several_layers
from rllc.claims.run import Run

ORDER = 4  # place of these claims among those of the work

claim = partial(any_claim, where=several_layers, family="tokens in context (App. B)")
PLURALITY = (
    "A pattern is a head's plurality if its share is above the next by two binomial errors. Before, the "
    "largest share was enough, however small."
)
BINOMIAL = "The error is binomial, over the head's tokens. Before, the share was taken as exact."


def _share(run: Run, name: str, heads: int = 1, difference: bool = False) -> Number:
    """Return a share of a head's tokens, or the difference of two, with binomial errors.

    heads  number of heads that the share is a mean of
    """
    share = last(run.curve(f"classification.{name}"))
    count = run.settings_of("tokens").get("top", 0) * heads
    if not count:
        return share
    level = share.clip(0, 1) if not difference else xr.full_like(share, 0.5)
    variance = level * (1 - level) * (2 if difference else 1) / count
    return run.with_error(share, np.sqrt(variance), f"classification.{name}")


@claim(
    "In heads typed as induction or previous-token, induction is the commonest pattern",
    source=f"{PAPER}, B.2.2",
    label="share of induction and previous-token heads whose commonest pattern is induction",
    at_least=1,
)
def types_by_tokens(run: Run) -> Number:
    return last(run.curve("classification.types_by_tokens"))


@claim(
    "The tokens in context of one head of layer 1 are almost all brackets (paper: 98 %)",
    source=f"{PAPER}, B.3.2",
    label="largest share of brackets in the tokens of a head of layer 1",
    at_least=0.9,
    correction=BINOMIAL,
    shuffle=False,
)
def dyck_pure(run: Run) -> Number:
    return _share(run, "dyck_share")


@claim(
    "Several heads are bracket heads by plurality (paper: three)",
    source=f"{PAPER}, B.3.2",
    label="number of bracket heads by plurality",
    unit="heads",
    at_least=2,
    correction=PLURALITY,
    shuffle=False,
)
def dyck_three(run: Run) -> Number:
    return last(run.curve("classification.dyck_heads"))


@claim(
    "One of the bracket heads is in layer 0",
    source=f"{PAPER}, B.3.2",
    label="number of bracket heads in layer 0",
    unit="heads",
    at_least=1,
    correction=PLURALITY,
    shuffle=False,
)
def dyck_three_layer0(run: Run) -> Number:
    return last(run.curve("classification.dyck_heads_layer0"))


@claim(
    "Bracket heads of layer 1 attend to the opening bracket",
    source=f"{PAPER}, B.3.2",
    label="share of brackets at which bracket heads of layer 1 attend to the opener",
    at_least=0.5,
    correction=PLURALITY,
    shuffle=False,
)
def dyck_attends_opener(run: Run) -> Number:
    return last(run.curve("classification.dyck_attends_opener"))


@claim(
    "The bracket head of layer 0 attends more diffusely than those of layer 1",
    source=f"{PAPER}, B.3.2",
    label="largest attention weight of bracket heads, layer 0 less layer 1",
    at_most=0,
    correction=PLURALITY,
    shuffle=False,
)
def dyck0_diffuse(run: Run) -> Number:
    return last(run.curve("classification.dyck_diffuse"))


@claim(
    "One head is mainly about skip n-grams (paper: 43.6 %)",
    source=f"{PAPER}, B.4.2",
    label="largest share of skip n-grams in the tokens of a head",
    at_least=0.4,
    correction=BINOMIAL,
    shuffle=False,
)
def skip_head(run: Run) -> Number:
    return _share(run, "skip_share")


@claim(
    "Bracket heads have fewest n-grams, skip n-gram heads more, the others most",
    source=f"{PAPER}, B.5.2",
    label="Kendall's tau of the share of n-grams with the order bracket, skip n-gram, n-gram heads",
    at_least=0.5,
    correction=PLURALITY,
    shuffle=False,
)
def ngram_order(run: Run) -> Number:
    return last(run.curve("classification.ngram_order"))


@claim(
    "Four patterns explain almost all tokens in context at the end (paper: partly by hand)",
    source=f"{PAPER}, B.1",
    label="smallest share of a head's tokens that four patterns explain",
    at_least=0.9,
    correction=BINOMIAL,
    shuffle=False,
)
def all_explained(run: Run) -> Number:
    return _share(run, "least_explained")


@claim(
    "Previous-token heads begin as n-gram heads",
    source=f"{PAPER}, B.6",
    label="n-gram share of previous-token heads, first step less end",
    at_least=0.1,
    correction=BINOMIAL,
)
def start_as_ngram(run: Run) -> Number:
    return _share(run, "ngram_share_lost", len(run.heads("previous-token")), difference=True)


@claim(
    "The bracket head of layer 0 was not a bracket head earlier",
    source=f"{PAPER}, 4.3, B.6",
    label="share of brackets of layer 0's bracket head, end less first step",
    at_least=0.1,
    correction=f"{BINOMIAL} {PLURALITY}",
    shuffle=False,
)
def dyck_late(run: Run) -> Number:
    return _share(run, "dyck_share_gained", difference=True)


@claim(
    "The commonest pattern of every head is more frequent than at random positions",
    source="ours",
    label="smallest ratio of a head's largest share to that at random positions",
    at_least=2,
    correction="The errors of both shares are binomial. Before, they were taken as exact.",
    shuffle=False,
)
def enrichment(run: Run) -> Number:
    smallest = last(run.curve("classification.enrichment"))
    count = run.settings_of("tokens").get("top", 0)
    if not count:
        return smallest
    tokens = run.dataset("tokens").sortby("step").isel(step=-1)
    is_largest = tokens["pattern"] == largest_pattern(tokens)
    ratios: list[xr.DataArray] = []
    for head in tokens["head"].values.tolist():
        found, by_chance = (
            tokens[name].sel(head=head).where(is_largest.sel(head=head)).sum("pattern")
            for name in ("share", "share_chance")
        )
        if by_chance > 0:  # the ratio to 0 is not the smallest
            above, below = (
                run.with_error(share, np.sqrt(share * (1 - share) / count), f"tokens.{name} {head}")
                for share, name in ((found, "share"), (by_chance, "share_chance"))
            )
            below = below.clip(min=0.5 / count)  # redraws of at least half a token
            ratios.append((above / below).reset_coords(drop=True))
    return xr.concat(ratios, "head").min("head") if ratios else smallest

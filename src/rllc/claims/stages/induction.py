"""Claims on previous-token and induction heads, and on learning in context."""

import xarray as xr

from rllc.analysis.curves import change, last, ratio_at
from rllc.claims.claim import claim
from rllc.claims.run import Run
from rllc.claims.stages.curves import END, LM2_END, LM3_END, LM4_END, one_layer, two_layers

ORDER = 5  # place of these claims among those of the work


def _previous_token(run: Run) -> xr.DataArray:
    """Return the largest previous-token score of layer 0."""
    return run.curve("attention_scores.previous_token", heads=run.heads(layer=0)).max("head")


def _icl_score(run: Run) -> xr.DataArray:
    return run.curve("metrics.icl_score", distribution=run.text)


@claim(
    "Previous-token heads begin in LM3",
    source="§5.3",
    name="prev_in_LM3",
    label="layer 0's largest previous-token score at step 8,500 over that at 6,500",
    at_least=1.25,
    where=two_layers,
    reached=END,
    published="1.6",
)
def previous_token_lm3(run: Run) -> xr.DataArray:
    """Return layer 0's largest previous-token score at the end of LM3 over that at its beginning."""
    return ratio_at(_previous_token(run), LM2_END, LM3_END)


@claim(
    "By the end of LM3, previous-token heads have half of their final score",
    source="§5.3, one reading",
    name="prev_early",
    label="layer 0's largest previous-token score at step 8,500 over that at the end",
    at_least=0.5,
    where=two_layers,
    reached=END,
    published="0.22: fails",
)
def previous_token_share(run: Run) -> xr.DataArray:
    """Return layer 0's largest previous-token score at the end of LM3 over that at step 50,000."""
    return ratio_at(_previous_token(run), END, LM3_END)


@claim(
    "Prefix matching rises in LM4",
    source="§5.4",
    name="prefix_in_LM4",
    label="largest prefix-matching score at step 17,000 over that at 8,500",
    at_least=3,
    where=two_layers,
    reached=END,
    published="7.1",
)
def prefix_matching_lm4(run: Run) -> xr.DataArray:
    """Return the largest prefix-matching score at the end of LM4 over that at its beginning."""
    return ratio_at(run.curve("attention_scores.prefix_matching").max("head"), LM3_END, LM4_END)


@claim(
    "The in-context learning score falls in LM4",
    source="§5.4",
    name="icl_in_LM4",
    label="change of the in-context learning score from step 8,500 to 17,000",
    unit="nats/token",
    at_most=-0.1,
    where=two_layers,
    reached=END,
    published="-0.148",
)
def icl_lm4(run: Run) -> xr.DataArray:
    """Return the change of the in-context learning score in LM4."""
    return change(_icl_score(run), LM3_END, LM4_END)


@claim(
    "A one-layer model learns nothing in context",
    source="implied in §5",
    name="one_layer_no_icl",
    label="in-context learning score at the end",
    unit="nats/token",
    at_least=-0.05,
    where=one_layer,
    published="0.004 (two layers: -0.124)",
)
def final_icl(run: Run) -> xr.DataArray:
    """Return the in-context learning score at the end."""
    return last(_icl_score(run))

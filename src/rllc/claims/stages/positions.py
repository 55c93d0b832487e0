"""Claims on the positional embedding W_pos."""

import xarray as xr

from rllc.analysis.curves import value_at
from rllc.claims.claim import claim
from rllc.claims.run import Run
from rllc.claims.stages.curves import END, LM1_END, LM2_END, two_layers

ORDER = 4  # place of these claims among those of the work

LISSAJOUS = 6_400  # checkpoint at which the paper decomposes W_pos


def _position_gain(run: Run) -> xr.DataArray:
    return run.curve("positions.position_gain", distribution=run.text)


@claim(
    "W_pos does not matter before LM2",
    source="§5.2, B.4.1",
    name="pos_indistinguishable",
    label="rise of the loss with zeros for W_pos, at step 900",
    unit="nats/token",
    at_most=0.05,
    where=two_layers,
    reached=END,
    published="0.030",
)
def positions_at_900(run: Run) -> xr.DataArray:
    """Return the loss with zeros for W_pos less the loss, at the beginning of LM2."""
    return value_at(_position_gain(run), LM1_END)


@claim(
    "By the end of LM2, W_pos matters",
    source="Fig. 4a",
    name="pos_needed",
    label="rise of the loss with zeros for W_pos, at step 6,500",
    unit="nats/token",
    at_least=0.2,
    where=two_layers,
    reached=END,
    published="0.80",
)
def positions_at_6500(run: Run) -> xr.DataArray:
    """Return the loss with zeros for W_pos less the loss, at the end of LM2."""
    return value_at(_position_gain(run), LM2_END)


@claim(
    "One component explains 94 % of W_pos's variance at step 6,400 (Brownian motion: 61 %)",
    source="B.4.1",
    label="share of W_pos's variance on its first component at step 6,400",
    at_least=0.9,
    where=two_layers,
    reached=END,
    published="0.942 (in the paper)",
)
def lissajous(run: Run) -> xr.DataArray:
    """Return the share of W_pos's variance on its first principal component near the end of LM2."""
    return value_at(run.curve("positions.explained_variance", component=1), LISSAJOUS)

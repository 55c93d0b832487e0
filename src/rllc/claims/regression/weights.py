"""Claims on the weights of the embeddings and layer norms."""

import xarray as xr

from rllc.analysis.curves import last, ratio_at, value_at
from rllc.claims.claim import claim
from rllc.claims.regression.curves import END, PAPER
from rllc.claims.run import Run

ORDER = 5  # place of these claims among those of the work


def _least_embedding_share(run: Run) -> xr.DataArray:
    """Return the smallest share of the squared singular values of W_E at every checkpoint."""
    return run.curve("structure.embedding_share").min("direction")


@claim(
    "The least direction of the token embedding has 2.9 % of its variance",
    source=f"{PAPER}, App. C.4.1",
    label="smallest share of the squared singular values of W_E at the end",
    experiment="regression",
    at_most=0.05,
    published="0.0151; 0.031 at 40,000",
)
def embed_collapse(run: Run) -> xr.DataArray:
    """Return the smallest share of W_E at the end."""
    return last(_least_embedding_share(run))


@claim(
    "From 40k on the least direction of the token embedding loses half of its share",
    source=f"{PAPER}, App. C.4.1",
    label="smallest share of W_E at the end divided by that at step 40,000",
    experiment="regression",
    at_most=0.6,
    reached=END,
    published="0.482",
)
def embed_halves(run: Run) -> xr.DataArray:
    """Return the smallest share of W_E at the end over that at step 40,000."""
    return ratio_at(_least_embedding_share(run), 40_000, END)


@claim(
    "At step 1,000, the least direction of the token embedding already has 3 % of its variance",
    source=f"{PAPER}, Fig. C.5",
    label="smallest share of W_E at step 1,000",
    experiment="regression",
    at_most=0.05,
    reached=END,
    published="0.134: fails; the paper's text agrees with this number",
)
def embed_start(run: Run) -> xr.DataArray:
    """Return the smallest share of W_E at step 1,000."""
    return value_at(_least_embedding_share(run), 1_000)


@claim(
    "W_pos collapses to few directions",
    source=f"{PAPER}, App. C.4.2",
    label="three largest shares of W_pos at the end divided by those at the start",
    experiment="regression",
    at_least=1.5,
    published="2.07: 0.35 to 0.72",
)
def pos_collapse(run: Run) -> xr.DataArray:
    """Return the three largest shares of W_pos together, at the end over the start."""
    shares = run.curve("structure.position_top")
    start = value_at(shares, 0)
    return last(shares) / start.where(start != 0)


@claim(
    "The token embedding turns towards the directions of W_pos",
    source=f"{PAPER}, App. C.4.2",
    label="change of the share of W_E within four directions of W_pos",
    experiment="regression",
    at_least=0.1,
    published="not known: their cosines use a rotation, not a projection",
)
def align(run: Run) -> xr.DataArray:
    """Return the change from start to end of the share of W_E within four directions of W_pos."""
    share = run.curve("structure.alignment_mean", subspace=4)
    return last(share) - value_at(share, 0)


def _collapsed_share(run: Run, norm: str) -> xr.DataArray:
    """Return the share of a layer norm's weights below 0.1 at the end."""
    return last(run.curve("structure.norm_weight_small", norm=norm))


@claim(
    "A large fraction of the last layer norm's weights goes to zero",
    source=f"{PAPER}, Sec. 6.3",
    label="share of the last layer norm's weights below 0.1 at the end",
    experiment="regression",
    at_least=0.5,
)
def ln_collapse(run: Run) -> xr.DataArray:
    """Return the share of the last layer norm's weights below 0.1 at the end."""
    return _collapsed_share(run, "ln_final")


@claim(
    "Then a part of the weights of the first attention's layer norm goes to zero",
    source=f"{PAPER}, Sec. 6.3, App. C.4.4",
    label="share of the first layer norm's weights below 0.1 at the end",
    experiment="regression",
    at_least=0.1,
)
def ln_spreads(run: Run) -> xr.DataArray:
    """Return the share of the first layer norm's weights below 0.1 at the end."""
    return _collapsed_share(run, "blocks.0.ln1")


@claim(
    "Fewer weights of the first attention's layer norm go to zero than of the last layer norm",
    source=f"{PAPER}, Sec. 6.3, App. C.4.4",
    label="share of the first layer norm's weights below 0.1 at the end, less that of the last layer norm",
    experiment="regression",
    at_most=-0.01,
)
def ln_less(run: Run) -> xr.DataArray:
    """Return the first layer norm's share of collapsed weights less the last one's, at the end."""
    return _collapsed_share(run, "blocks.0.ln1") - _collapsed_share(run, "ln_final")


@claim(
    "All layer norms collapse except that of the second MLP (its mean weight)",
    source=f"{PAPER}, App. C.4.4",
    label="mean weight of the layer norm before the second MLP at the end",
    experiment="regression",
    at_least=0.8,
    published="1.30; the other four 0.09 to 0.49",
)
def ln_not_mlp2(run: Run) -> xr.DataArray:
    """Return the mean weight of the layer norm before the second MLP at the end."""
    return last(run.curve("structure.norm_weight_mean", norm="blocks.1.ln2"))

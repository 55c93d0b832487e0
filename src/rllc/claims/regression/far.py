"""Claims on inputs and tasks out of distribution."""

import xarray as xr

from rllc.analysis.curves import kept_of_minimum
from rllc.claims.claim import claim
from rllc.claims.regression.curves import END, PAPER
from rllc.claims.run import Run

ORDER = 4  # place of these claims among those of the work


def _far_score_kept(run: Run, changed: str, scale: float) -> xr.DataArray:
    """Return the in-context learning score at the end over its best, with inputs or tasks times ``scale``."""
    return kept_of_minimum(run.curve("regression_predictions.far_icl", change=changed, scale=scale))


@claim(
    "From the third stage on, inputs × 10 are predicted worse",
    source=f"{PAPER}, Sec. 6.3, App. C.3.3",
    label="ICL score of inputs × 10 at the end divided by its best",
    experiment="regression",
    at_most=0.7,
    reached=END,
    published="0.168",
)
def ood_falls_10(run: Run) -> xr.DataArray:
    """Return the in-context learning score of inputs x 10 at the end over its best."""
    return _far_score_kept(run, "inputs", 10)


@claim(
    "From the third stage on, inputs × 5 are predicted worse",
    source=f"{PAPER}, Sec. 6.3, App. C.3.3",
    label="ICL score of inputs × 5 at the end divided by its best",
    experiment="regression",
    at_most=0.7,
    reached=END,
    published="0.454",
)
def ood_falls_5(run: Run) -> xr.DataArray:
    """Return the in-context learning score of inputs x 5 at the end over its best."""
    return _far_score_kept(run, "inputs", 5)


@claim(
    "From the third stage on, inputs × 3 are predicted worse",
    source=f"{PAPER}, Sec. 6.3, App. C.3.3",
    label="ICL score of inputs × 3 at the end divided by its best",
    experiment="regression",
    at_most=0.7,
    reached=END,
    published="0.928: fails",
)
def ood_falls_3(run: Run) -> xr.DataArray:
    """Return the in-context learning score of inputs x 3 at the end over its best."""
    return _far_score_kept(run, "inputs", 3)


@claim(
    "Tasks × 10 are predicted better and better",
    source=f"{PAPER}, App. C.3.3",
    label="ICL score of tasks × 10 at the end divided by its best",
    experiment="regression",
    at_least=0.9,
    reached=END,
)
def ood_tasks_ok(run: Run) -> xr.DataArray:
    """Return the in-context learning score of tasks x 10 at the end over its best."""
    return _far_score_kept(run, "tasks", 10)

"""Claims on inputs and tasks out of distribution."""

import xarray as xr

from rllc.analysis.curves import growth, kept_of_minimum, ratio_at
from rllc.claims.claim import claim
from rllc.claims.regression.curves import BOUNDARIES, END, PAPER
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


# Substages of Fig. C.4. The loss is divided by the squared factor.


def _far(run: Run, variable: str, changed: str, scale: float, *, from_step: float = 0) -> xr.DataArray:
    """Return the loss or the mean |prediction| with inputs or tasks times ``scale``."""
    name = f"regression_predictions.{variable}"
    return run.curve(name, change=changed, scale=scale, from_step=from_step)


@claim(
    "From 1k to 4k predictions of inputs × 10 shrink rapidly: they halve",
    source=f"{PAPER}, App. C.3.3",
    label="mean |prediction| of inputs × 10 at step 4,000 divided by that at step 1,000",
    experiment="regression",
    at_most=0.5,
    reached=END,
)
def ood_predictions_shrink(run: Run) -> xr.DataArray:
    """Return the mean |prediction| of inputs x 10 at step 4,000 over that at step 1,000."""
    return ratio_at(_far(run, "far_prediction", "inputs", 10), 1_000, 4_000)


@claim(
    "From 4k to 23k the model recovers on inputs × 10: the loss falls by a tenth or more",
    source=f"{PAPER}, App. C.3.3",
    label="loss of inputs × 10 at step 23,000 divided by that at step 4,000",
    experiment="regression",
    at_most=0.9,
    reached=END,
)
def ood_recovers(run: Run) -> xr.DataArray:
    """Return the loss of inputs x 10 at step 23,000 over that at step 4,000."""
    return ratio_at(_far(run, "far_loss", "inputs", 10), 4_000, 23_000)


@claim(
    "From 4k to 23k the loss of inputs × 100 stays nearly constant, within a tenth",
    source=f"{PAPER}, App. C.3.3",
    label="loss of inputs × 100 at step 23,000 divided by that at step 4,000",
    experiment="regression",
    at_least=0.9,
    at_most=1.1,
    reached=END,
)
def ood_extreme_stays(run: Run) -> xr.DataArray:
    """Return the loss of inputs x 100 at step 23,000 over that at step 4,000."""
    return ratio_at(_far(run, "far_loss", "inputs", 100), 4_000, 23_000)


@claim(
    "From 75k to 130k inputs × 10 are predicted worse, by a tenth or more",
    source=f"{PAPER}, App. C.3.3",
    label="loss of inputs × 10 at step 130,000 divided by that at step 75,000",
    experiment="regression",
    at_least=1.1,
    reached=END,
)
def ood_worsens(run: Run) -> xr.DataArray:
    """Return the loss of inputs x 10 at step 130,000 over that at step 75,000."""
    return ratio_at(_far(run, "far_loss", "inputs", 10), 75_000, 130_000)


@claim(
    "In the last stage the loss of inputs × 10 is roughly constant, within a fifth",
    source=f"{PAPER}, App. C.3.3",
    label="loss of inputs × 10 at the end divided by that at step 320,000",
    experiment="regression",
    at_least=0.8,
    at_most=1.2,
    reached=END,
)
def ood_settles(run: Run) -> xr.DataArray:
    """Return the loss of inputs x 10 at the end over that at step 320,000."""
    return ratio_at(_far(run, "far_loss", "inputs", 10), BOUNDARIES[-1], END)


@claim(
    "From 23k on tasks × 10 are predicted better all the time",
    source=f"{PAPER}, App. C.3.3",
    label="rank correlation of the loss of tasks × 10 with the step, from step 23,000",
    experiment="regression",
    at_most=-0.8,
    reached=END,
)
def ood_tasks_improve(run: Run) -> xr.DataArray:
    """Return Spearman's correlation of the loss of tasks x 10 with the step, from step 23,000 on."""
    return growth(_far(run, "far_loss", "tasks", 10, from_step=23_000))

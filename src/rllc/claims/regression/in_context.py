"""Claims on in-context learning."""

import xarray as xr

from rllc.analysis.curves import change, climb, last, value_at
from rllc.claims.claim import claim
from rllc.claims.regression.curves import END, PAPER, landmarks
from rllc.claims.run import Run

ORDER = 3  # place of these claims among those of the work


@claim(
    "In-context learning emerges",
    source=f"{PAPER}, Sec. 6.2",
    label="ICL score from pair 1 to 8 at the end of the second stage (in short trainings: at the end)",
    unit="squared error",
    experiment="regression",
    at_most=-2,
    published="-3.48",
)
def icl_emerges(run: Run) -> xr.DataArray:
    """Return the in-context learning score at the end of the second stage."""
    score, step = run.curve("regression_predictions.icl_score"), landmarks(run).score_read_at
    return last(score) if step is None else value_at(score, step)


@claim(
    "Early in the second stage, predictions late in a sequence first get worse",
    source=f"{PAPER}, App. C.3.2",
    label="rise of the late ICL score in the second stage above its value where the stage begins",
    unit="squared error",
    experiment="regression",
    at_least=0.05,
    published="0.091",
)
def icl_late_worse(run: Run) -> xr.DataArray:
    """Return how far the late in-context learning score climbs in the second stage above where it begins."""
    begin, end = landmarks(run).second_stage
    return climb(run.curve("regression_predictions.icl_late", from_step=begin, to_step=end))


@claim(
    "Late in a sequence, the score does not change from 23k on",
    source=f"{PAPER}, App. C.3.2",
    label="change of the late ICL score from step 23,000 on",
    unit="squared error",
    experiment="regression",
    at_least=-0.05,
    reached=END,
    published="-0.038",
)
def icl48_stops(run: Run) -> xr.DataArray:
    """Return the change of the late in-context learning score from step 23,000 to the end."""
    return change(run.curve("regression_predictions.icl_late"), 23_000, END)


@claim(
    "Early in a sequence, the score goes on falling after 23k",
    source=f"{PAPER}, App. C.3.2",
    label="change of the early ICL score from step 23,000 on",
    unit="squared error",
    experiment="regression",
    at_most=-0.1,
    reached=END,
    published="-0.269",
)
def icl14_goes_on(run: Run) -> xr.DataArray:
    """Return the change of the early in-context learning score from step 23,000 to the end."""
    return change(run.curve("regression_predictions.icl_early"), 23_000, END)

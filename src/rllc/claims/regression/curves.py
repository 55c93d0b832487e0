"""Steps and curves that several claims on the regression read."""

from typing import NamedTuple

import xarray as xr

from rllc.claims.run import Run

PAPER = "arXiv 2402.02364"
END = 499_999  # last checkpoint of the paper's training
BOUNDARIES = (1_000, 40_000, 126_000, 320_000)  # of stages in the paper's training
FACTOR = 1.25  # how far from the paper's a boundary of the LLC may be, as in claims on the language model
NEAR = 1.4  # a boundary of the Hessian within this factor counts as the LLC's


class Landmarks(NamedTuple):
    """Steps at which a training is read.

    first_stage_end  where predictions are those of the zero predictor
    second_stage     first and last step of the second stage
    llc_rise         first and last step of the rise of the LLC to its peak
    score_read_at    where the in-context learning score is read; None: the last checkpoint
    """

    first_stage_end: int
    second_stage: tuple[int, int]
    llc_rise: tuple[int, int]
    score_read_at: int | None


# Length of a training -> its landmarks. A run has those of the longest one that is no longer than itself.
LANDMARKS = {
    0: Landmarks(290, (260, 2_000), (20, 1_300), None),  # config/regression.yaml: 24,000 steps
    500_000: Landmarks(1_000, (1_000, 40_000), (100, 41_000), 40_000),  # the paper's
}


def landmarks(run: Run) -> Landmarks:
    """Return the steps at which a training of this length is read."""
    return LANDMARKS[max(length for length in LANDMARKS if length <= run.experiment.steps)]


def llc_curve(run: Run, *, from_step: float = 0, to_step: float | None = None) -> xr.DataArray:
    """Return the LLC of the whole model at the base setting, which is the paper's."""
    return run.curve("llc.llc", from_step=from_step, to_step=to_step, distribution=run.text)


def loss_curve(run: Run) -> xr.DataArray:
    """Return the loss on the training distribution."""
    return run.curve("metrics.loss", distribution=run.text)

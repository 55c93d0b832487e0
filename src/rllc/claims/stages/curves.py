"""Steps, curves and kinds of model that several claims on stages read."""

import xarray as xr

from rllc.analysis.stages import BASE
from rllc.claims.experiment import Experiment
from rllc.claims.run import Run

# Steps of the paper. Claims that name one speak of 50,000 steps, and are not judged on a shorter training.
LM1_END, LM2_END, LM3_END, LM4_END = BOUNDARIES = (900, 6_500, 8_500, 17_000)
END = 50_000
PAPER_BEGINS = 100  # first of the paper's checkpoints after step 0, which are 100 steps apart
FACTOR = 1.25  # how far from the paper's a boundary may be


def two_layers(experiment: Experiment) -> bool:
    """Return whether it is a language model of two layers or more."""
    return experiment.task == "language" and experiment.layers > 1


def one_layer(experiment: Experiment) -> bool:
    """Return whether it is a language model of one layer."""
    return experiment.task == "language" and experiment.layers == 1


def two_layers_at_another_setting(experiment: Experiment) -> bool:
    """Return whether stages of a model of two layers or more are told by another than the base setting."""
    return two_layers(experiment) and experiment.setting != BASE


def llc_curve(run: Run, setting: str, ending: str = "", *, from_step: float = 0) -> xr.DataArray:
    """Return the LLC of a setting; with the ending ``CONTROL``, that of its prior-only control."""
    dataset = "llc" if setting == BASE else f"llc.{setting}"
    return run.curve(f"{dataset}.llc{ending}", from_step=from_step, distribution=run.text)

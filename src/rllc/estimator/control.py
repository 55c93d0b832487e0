"""A control and its estimate: they have the same setting, batches and loss at the centre, or are refused."""

from typing import Any

import torch
import xarray as xr
from torch import Tensor

from rllc.estimator.samplers.deterministic import TOLERANCE
from rllc.setting import Setting

FREE = {"chains", "gradient", "centred", "pairs"}  # what a control may have otherwise


def known_at_center(control_of: Any, setting: Setting) -> tuple[Tensor, float]:
    """Losses at the centre [draw], and their mean over the init batches, as the estimate has them.

    Raises ValueError where it is no estimate, is a control itself, or has another setting than ``setting``.
    """
    if not isinstance(control_of, xr.Dataset) or not {"loss_at_center", "init_loss"} <= set(control_of):
        raise ValueError(f"control_of is a {type(control_of).__name__}: expected what the estimate returned")
    own = {name: value for name, value in setting.facts().items() if name not in FREE}
    for name, value in {**own, "gradient": 1, "centred": 0}.items():
        if control_of.attrs.get(name) != value:
            raise ValueError(
                f"control_of has {name} {control_of.attrs.get(name)}, expected was {value}: give an estimate "
                "with the gradient, and its own setting but for chains"
            )
    return torch.from_numpy(control_of["loss_at_center"].values), float(control_of["init_loss"])


def check_center(here: Tensor, known: Tensor) -> None:
    """Raises ValueError where the loss of a batch at the centre is not what the estimate has."""
    if not torch.isclose(here.double().cpu(), known.cpu(), rtol=TOLERANCE, atol=0.0):
        raise ValueError(
            f"control_of has the loss {known.item():.6g} at the centre where its control has "
            f"{here.item():.6g}: expected the same loss, weights and batches"
        )

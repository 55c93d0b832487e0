"""Whether an LLC curve says more than the loss curve."""

import numpy as np
import xarray as xr

FIRST = 0.01  # share of training from which on the LLC is compared with the loss


def against_loss(llc: xr.DataArray, loss: xr.DataArray, *, n_beta: float) -> xr.Dataset:
    """Whether an LLC curve (step) is a loss curve turned over.

    Chains that leave the checkpoint for one and the same loss c have the estimate n_beta (c - loss), which
    falls where the loss rises and says nothing else. ``sampled_loss`` = loss + llc / n_beta is what they came
    to, its median over the checkpoints from 1 % of training on is c, and ``llc_loss_correlation`` is over the
    same; NaN with fewer than 3.
    """
    sampled = loss + llc / n_beta
    late = (llc["step"] >= FIRST * llc["step"].max()) & np.isfinite(llc) & np.isfinite(loss)
    enough = int(late.sum()) >= 3
    alike = np.corrcoef(llc.values[late.values], loss.values[late.values])[0, 1] if enough else np.nan
    return xr.Dataset(
        {
            "loss": loss,
            "sampled_loss": sampled,
            "llc_of_loss": n_beta * (sampled.where(late).median("step") - loss),
            "llc_loss_correlation": alike,
        }
    )

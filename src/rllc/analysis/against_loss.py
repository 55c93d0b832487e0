"""Test whether an LLC curve contains more information than the loss curve."""

import numpy as np
import xarray as xr

FIRST = 0.01  # share of training after which the LLC is compared with the loss


def against_loss(llc: xr.DataArray, loss: xr.DataArray, *, n_beta: float) -> xr.Dataset:
    """Return variables that show whether an LLC curve (step) is only the inverted loss curve.

    If chains end at the same loss c from every checkpoint, the estimate is n_beta (c - loss). It then falls
    where the loss rises and has no other information. ``sampled_loss`` = loss + llc / n_beta is the loss that
    the chains reach. c is its median over the checkpoints from 1 % of training on. ``llc_loss_correlation``
    uses the same checkpoints. NaN with fewer than 3.
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

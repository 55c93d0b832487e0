"""What an estimate of a sweep is made of: curvature, likelihood, and drift from a sloping centre."""

import numpy as np
import xarray as xr

from rllc.analysis.comparison import curvature_prediction, shrinkage
from rllc.vocabulary import NATS, describe

VARIABLES = {
    "loss_rise": ("mean loss of the draws above the loss at the checkpoint", NATS),
    "shrinkage": ("1 - on/off: 0 where the localization alone speaks, towards 1 the likelihood", "1"),
    "shrinkage_without_drift": ("1 - (estimate - drift term) / off: what curvature alone takes away", "1"),
    "curvature_prediction": ("n_beta / (2 localization) tr H", "1"),
    "curvature_ratio": ("estimate over n_beta / (2 localization) tr H", "1"),
    "drift_prediction": ("what walking down the slope at the centre adds to the estimate", "1"),
    "drift_ratio": ("|drift term| over |estimate|", "1"),
    "relative_error": ("standard error over |estimate|", "1"),
}


def quantities(calibration: xr.Dataset) -> xr.Dataset:
    """What a setting's estimate is made of, on the grid (and seed, step, component, distribution).

    With p = n_beta h + localization, |g|^2 = ``gradient_square`` and h = ``gradient_curvature`` =
    g.Hg / |g|^2, the curvature along the slope g of a centre that is no minimum::

        loss_rise                = llc / n_beta
        shrinkage                = 1 - llc / llc_gradient_off
        curvature_prediction     = n_beta / (2 localization) tr H of the component's block
        drift_prediction         = -n_beta^2 |g|^2 / p (1 - n_beta h / (2 p))
        shrinkage_without_drift  = 1 - (llc - drift_prediction) / llc_gradient_off

    The drift term is what the mean of a chain in equilibrium gains by walking down g: n_beta times the loss
    of a quadratic at -n_beta g / p. Where n_beta h is far below localization it is -n_beta^2 |g|^2 / p; where
    it is far above, half of that. It lowers an estimate as curvature does, so shrinkage alone cannot tell the
    two apart. NaN where p is not positive (no equilibrium). Ratios to the estimate beside.
    """
    llc, n_beta, pull = calibration["llc"], calibration["n_beta"], calibration["localization"]
    off = calibration["llc_gradient_off"]
    curvature = curvature_prediction(calibration["hessian_trace"], n_beta=n_beta, localization=pull)
    holds = n_beta * calibration["gradient_curvature"] + pull
    holds = holds.where(holds > 0)
    half = 1.0 - n_beta * calibration["gradient_curvature"] / (2.0 * holds)
    drift = -(n_beta**2) * calibration["gradient_square"] / holds * half
    table = xr.Dataset(
        {
            "loss_rise": llc / n_beta,
            "shrinkage": shrinkage(llc, off),
            "shrinkage_without_drift": shrinkage(llc - drift, off),
            "curvature_prediction": curvature,
            "curvature_ratio": llc / curvature.where(curvature != 0),
            "drift_prediction": drift,
            "drift_ratio": np.abs(drift) / np.abs(llc.where(llc != 0)),
            "relative_error": calibration["llc_se"] / np.abs(llc.where(llc != 0)),
        }
    )
    return describe(table.transpose(*llc.dims).drop_attrs(deep=False), VARIABLES)

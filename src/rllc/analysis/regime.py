"""What an estimate of a sweep is made of: curvature, likelihood, and the drift from a sloping centre."""

import numpy as np
import xarray as xr

from rllc.analysis.comparison import curvature_prediction, shrinkage
from rllc.analysis.rule import THRESHOLDS
from rllc.vocabulary import NATS, describe

MEANINGS = ("curvature", "posterior mean", "drift")
WALKED = 0.5  # of the centred control, as for the caution drift_dominated
VARIABLES = {
    "loss_rise": ("mean loss of the draws above the loss at the checkpoint", NATS),
    "shrinkage": ("1 - on/off: 0 where the localization alone speaks, towards 1 the likelihood", "1"),
    "shrinkage_without_drift": ("1 - centred/off: what curvature alone takes away", "1"),
    "curvature_prediction": ("n_beta / (2 localization) tr H", "1"),
    "curvature_ratio": ("estimate over n_beta / (2 localization) tr H", "1"),
    "drift_ratio": ("|estimate - centred control| over |estimate|", "1"),
    "walked_share": ("|estimate - centred control| over |centred control|", "1"),
    "relative_error": ("standard error over |estimate|", "1"),
    "exponent": ("d ln(estimate) / d ln(n_beta): 1 for a linear response, a curvature; 0 for an LLC", "1"),
}


def quantities(calibration: xr.Dataset) -> xr.Dataset:
    """What a setting's estimate is made of, on the grid (and seed, step, component, distribution)::

        loss_rise                = llc / n_beta
        shrinkage                = 1 - llc / llc_gradient_off
        shrinkage_without_drift  = 1 - llc_centred / llc_gradient_off
        curvature_prediction     = n_beta / (2 localization) tr H of the component's block
        drift_ratio              = |llc_walked| / |llc|
        walked_share             = |llc_walked| / |llc_centred|
        exponent                 = d ln llc_centred / d ln n_beta, between neighbours on the grid

    ``llc_walked``, the estimate less its centred control, is what chains gain by walking down the slope of a
    checkpoint that is no minimum, as far as they walked, and what the noise of minibatches adds. It lowers an
    estimate as curvature does, so shrinkage alone cannot tell the two apart. The exponent is NaN where an
    estimate is not positive, and on a grid of one n_beta.
    """
    llc, centred, n_beta = calibration["llc"], calibration["llc_centred"], calibration["n_beta"]
    off, pull = calibration["llc_gradient_off"], calibration["localization"]
    curvature = curvature_prediction(calibration["hessian_trace"], n_beta=n_beta, localization=pull)
    table = xr.Dataset(
        {
            "loss_rise": llc / n_beta,
            "shrinkage": shrinkage(llc, off),
            "shrinkage_without_drift": shrinkage(centred, off),
            "curvature_prediction": curvature,
            "curvature_ratio": llc / curvature.where(curvature != 0),
            "drift_ratio": np.abs(calibration["llc_walked"]) / np.abs(llc.where(llc != 0)),
            "walked_share": np.abs(calibration["llc_walked"]) / np.abs(centred.where(centred != 0)),
            "relative_error": calibration["llc_se"] / np.abs(llc.where(llc != 0)),
            "exponent": _exponent(centred),
        }
    )
    return describe(table.transpose(*llc.dims).drop_attrs(deep=False), VARIABLES)


def meaning(
    without_drift: xr.DataArray,
    walked_share: xr.DataArray,
    *,
    min_shrinkage: float = THRESHOLDS["min_shrinkage"],
) -> xr.DataArray:
    """What estimates are, as a place in ``MEANINGS``, NaN where it is not known::

        drift           walked_share > ``WALKED``: what chains walked down the slope at the checkpoint
        curvature       else, without_drift < min_shrinkage: n_beta times the mean loss rise under the
                        localization's Gaussian, which the loss does not shape
        posterior mean  else: n_beta times the mean loss rise under what loss and localization make together

    without_drift  1 - centred/off
    walked_share   |on - centred| / |centred|

    On a quadratic of one curvature the exponent in n_beta is 1 - without_drift, so that the two say the same:
    1 and 0 for a linear response, 0 and 1 for an LLC.
    """
    kind = xr.where(walked_share > WALKED, 2.0, xr.where(without_drift < min_shrinkage, 0.0, 1.0))
    return kind.where(without_drift.notnull() & walked_share.notnull()).rename("meaning")


def _exponent(llc: xr.DataArray) -> xr.DataArray:
    if llc.sizes["n_beta"] < 2:
        return xr.full_like(llc, np.nan)
    logarithms = xr.ufuncs.log(llc.where(llc > 0)).assign_coords(n_beta=np.log(llc["n_beta"]))
    return logarithms.differentiate("n_beta").assign_coords(n_beta=llc["n_beta"])

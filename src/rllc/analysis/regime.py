"""Decompose an estimate of a sweep: curvature, likelihood, and drift from a centre with a slope."""

import numpy as np
import xarray as xr

from rllc.analysis.comparison import curvature_prediction, shrinkage
from rllc.analysis.rule import THRESHOLDS
from rllc.vocabulary import NATS, describe

MEANINGS = ("curvature", "posterior mean", "drift")
WALKED = 0.5  # share of the drift-free control, as for the caution drift_dominated
VARIABLES = {
    "loss_rise": ("mean loss of the draws above the loss at the checkpoint", NATS),
    "shrinkage": ("1 - estimate/prior-only: 0 where the prior alone decides, towards 1 the likelihood", "1"),
    "shrinkage_without_drift": ("1 - drift-free/prior-only: reduction by the loss without drift", "1"),
    "curvature_prediction": ("n_beta / (2 localization) tr H", "1"),
    "curvature_ratio": ("estimate over n_beta / (2 localization) tr H", "1"),
    "drift_ratio": ("|estimate - drift-free control| over |estimate|", "1"),
    "walked_share": ("|estimate - drift-free control| over |drift-free control|", "1"),
    "relative_error": ("standard error over |estimate|", "1"),
    "exponent": ("d ln(drift-free control) / d ln(n_beta): 1 for a curvature, 0 for an LLC", "1"),
}


def quantities(calibration: xr.Dataset) -> xr.Dataset:
    """Return the parts of each estimate, on the grid (and seed, step, component, distribution)::

        loss_rise                = llc / n_beta
        shrinkage                = 1 - llc / llc_prior_only
        shrinkage_without_drift  = 1 - llc_drift_free / llc_prior_only
        curvature_prediction     = n_beta / (2 localization) tr H of the component's block
        drift_ratio              = |llc_walked| / |llc|
        walked_share             = |llc_walked| / |llc_drift_free|
        exponent                 = d ln llc_drift_free / d ln n_beta, between neighbours on the grid

    ``llc_walked`` is the estimate minus its drift-free control. It holds the chains' drift down the slope of
    a checkpoint that is not a minimum, as far as they went, and the effect of minibatch noise. Like
    curvature, it lowers an estimate, so shrinkage alone cannot distinguish the two. The exponent is NaN where
    an estimate is not positive, and on a grid with one n_beta.
    """
    llc, drift_free, n_beta = calibration["llc"], calibration["llc_drift_free"], calibration["n_beta"]
    off, pull = calibration["llc_prior_only"], calibration["localization"]
    curvature = curvature_prediction(calibration["hessian_trace"], n_beta=n_beta, localization=pull)
    table = xr.Dataset(
        {
            "loss_rise": llc / n_beta,
            "shrinkage": shrinkage(llc, off),
            "shrinkage_without_drift": shrinkage(drift_free, off),
            "curvature_prediction": curvature,
            "curvature_ratio": llc / curvature.where(curvature != 0),
            "drift_ratio": np.abs(calibration["llc_walked"]) / np.abs(llc.where(llc != 0)),
            "walked_share": np.abs(calibration["llc_walked"]) / np.abs(drift_free.where(drift_free != 0)),
            "relative_error": calibration["llc_se"] / np.abs(llc.where(llc != 0)),
            "exponent": _exponent(drift_free),
        }
    )
    return describe(table.transpose(*llc.dims).drop_attrs(deep=False), VARIABLES)


def meaning(
    without_drift: xr.DataArray,
    walked_share: xr.DataArray,
    *,
    min_shrinkage: float = THRESHOLDS["min_shrinkage"],
) -> xr.DataArray:
    """Return the meaning of estimates, as an index into ``MEANINGS``; NaN where unknown::

        drift           walked_share > ``WALKED``: the chains' drift down the slope at the checkpoint
        curvature       else, without_drift < min_shrinkage: n_beta times the mean loss rise under the
                        Gaussian prior, hardly changed by the loss
        posterior mean  else: n_beta times the mean loss rise under the localized posterior

    without_drift  1 - drift-free/prior-only
    walked_share   |on - drift_free| / |drift_free|

    On a quadratic with one curvature, the exponent in n_beta is 1 - without_drift, so both agree: 1 and 0 for
    a linear response, 0 and 1 for an LLC.
    """
    kind = xr.where(walked_share > WALKED, 2.0, xr.where(without_drift < min_shrinkage, 0.0, 1.0))
    return kind.where(without_drift.notnull() & walked_share.notnull()).rename("meaning")


def _exponent(llc: xr.DataArray) -> xr.DataArray:
    if llc.sizes["n_beta"] < 2:
        return xr.full_like(llc, np.nan)
    logarithms = xr.ufuncs.log(llc.where(llc > 0)).assign_coords(n_beta=np.log(llc["n_beta"]))
    return logarithms.differentiate("n_beta").assign_coords(n_beta=llc["n_beta"])

"""Estimates against their controls: the change by the loss gradient, and the prediction from curvature."""

import xarray as xr

from rllc.analysis.comparison import curvature_prediction, shrinkage
from rllc.analysis.recorded import recorded
from rllc.figures.drawing import Datasets


def predicted(rllc: xr.Dataset, datasets: Datasets) -> xr.DataArray | None:
    """Return n_beta / (2 localization) tr H of each head at the setting of ``rllc``.

    None if the trace is unknown, or the setting has no localization or has a reference norm.
    """
    values, hessian = recorded(rllc, "sampling"), datasets.get("hessian", {})
    pulled = values.get("n_beta") and values.get("localization") and values.get("reference_norm") is None
    if "hessian_trace_head" not in hessian or not pulled:
        return None
    trace = hessian["hessian_trace_head"].reindex_like(rllc["rllc"])
    return curvature_prediction(trace, n_beta=values["n_beta"], localization=values["localization"])


def change_by_gradient(rllc: xr.Dataset) -> xr.DataArray:
    """Return ``1 - on / off`` of every cell, over the chains with a control, which shares their noise."""
    return shrinkage(over_shared_chains(rllc, "control"), rllc["rllc_prior_only"])


def over_shared_chains(rllc: xr.Dataset, kind: str) -> xr.DataArray:
    """Return estimates over the chains that share their noise with a control.

    kind  control (prior-only) or drift_free

    With antithetic pairs, the prior-only control covers every pair, so all chains are used.
    """
    made = recorded(rllc, "sampling")
    count = made.get(f"{kind}_chains")
    if count is None or "rllc_chain" not in rllc or (kind == "control" and made.get("antithetic_pairs")):
        return rllc["rllc"]
    return rllc["rllc_chain"].isel(chain=slice(int(count))).mean("chain")

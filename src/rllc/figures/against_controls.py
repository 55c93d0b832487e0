"""Estimates against their controls: how much of them is the loss, and what curvature alone predicts."""

import numpy as np
import xarray as xr

from rllc.analysis.comparison import curvature_prediction, shrinkage
from rllc.figures import captions
from rllc.figures.drawing import Datasets
from rllc.figures.inputs import distribution_labels

LISTED = 5  # distributions that are each named


def localization_dominance(rllc: xr.Dataset, datasets: Datasets, *, limit: float = 0.05) -> list[str]:
    """Says where the estimate is nearly its control, or nearly n_beta / (2 localization) tr H; else nothing.

    Over the cells of ``rllc``: the control differs from the estimate by at most ``limit`` in the median
    cell (single cells differ by their Monte Carlo error); the curvature prediction by at most 0.25 in eight
    of ten. Of several distributions the control's part in each is said, whatever it is.
    """
    sentences = []
    if "rllc_gradient_off" in rllc and rllc["rllc_gradient_off"].notnull().any():
        change = np.abs(change_by_gradient(rllc))
        median, most = change.quantile([0.5, 0.9]).values
        if change.sizes.get("distribution", 1) > 1:
            sentences.append(_by_distribution(change, limit))
        elif median <= limit:
            sentences.append(
                f"Without the loss gradient the estimates change by {median:.1%} in the median cell and by "
                f"at most {most:.1%} in nine of ten: the sampler feels the localization, hardly the loss."
            )
    prediction = predicted(rllc, datasets)
    if prediction is not None and prediction.notnull().any():
        low, high = (prediction / rllc["rllc"]).quantile([0.1, 0.9]).values
        if low >= 0.75 and high <= 1.25:
            sentences.append(
                f"n_beta / (2 localization) tr H is {low:.2f} to {high:.2f} times the estimate in eight of "
                "ten cells: with the Hessian trace it is nearly one measurement, not two."
            )
    return sentences


def _by_distribution(change: xr.DataArray, limit: float) -> str:
    """By how much the estimates on each distribution change; of many, the least and the most changed."""
    medians = change.median([dim for dim in change.dims if dim != "distribution"])
    labels = distribution_labels(change)
    values = {labels[name]: float(medians.sel(distribution=name)) for name in labels}
    order = sorted((label for label in values if np.isfinite(values[label])), key=values.get)
    shown = [label for label in values if label in order] if len(order) <= LISTED else [order[0], order[-1]]
    link = ", " if len(order) <= LISTED else " to "
    said = link.join(f"{values[label]:.1%} on {label}" for label in shown)
    near = any(values[label] <= limit for label in order)
    meant = (
        f" Up to {limit:.0%}, on your own text too, they say how curved the loss there is." if near else ""
    )
    return f"Without the loss gradient estimates change by a median of {said}.{meant}"


def predicted(rllc: xr.Dataset, datasets: Datasets) -> xr.DataArray | None:
    """n_beta / (2 localization) tr H of each head at the setting of ``rllc``; None where it is not known, or
    nothing pulls."""
    values, hessian = captions.sampling(rllc), datasets.get("hessian", {})
    pulled = values.get("n_beta") and values.get("localization") and values.get("reference_norm") is None
    if "hessian_trace_head" not in hessian or not pulled:
        return None
    trace = hessian["hessian_trace_head"].reindex_like(rllc["rllc"])
    return curvature_prediction(trace, n_beta=values["n_beta"], localization=values["localization"])


def change_by_gradient(rllc: xr.Dataset) -> xr.DataArray:
    """``1 - on / off`` of every cell, over the chains that have a control, whose noise it shares."""
    return shrinkage(over_shared_chains(rllc, "control"), rllc["rllc_gradient_off"])


def over_shared_chains(rllc: xr.Dataset, kind: str) -> xr.DataArray:
    """Estimates over the chains whose noise a control has; of ``kind`` control (gradient off) or centred.

    With pairs all have one that is in the estimate, and the control is of its law.
    """
    made = captions.sampling(rllc)
    count = made.get(f"{kind}_chains")
    if count is None or "rllc_chain" not in rllc or (kind == "control" and made.get("pairs")):
        return rllc["rllc"]
    return rllc["rllc_chain"].isel(chain=slice(int(count))).mean("chain")

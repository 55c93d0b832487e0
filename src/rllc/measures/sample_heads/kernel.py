"""Refined LLCs of all heads, each with its control. Apart from the generic path, which needs none of this."""

from typing import Any

import xarray as xr

from rllc.estimator.dispatch import estimator
from rllc.estimator.with_controls import Estimate, by_head
from rllc.measures.data import Data, Measurement
from rllc.measures.sampling import sampled
from rllc.models.model import Model
from rllc.models.weights import Weights


def heads(data: Data, **sampling: Any) -> Measurement:
    """SGLD in the weights of one head at a time, all heads on the same minibatches."""

    def of_heads(weights: Weights, model: Model, **given: Any) -> Estimate:
        return estimator(weights, model, model.heads, **given)

    of_components = sampled(data, of_heads, name="rllc", **sampling)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        return by_head(of_components(weights, model, step))

    return measure

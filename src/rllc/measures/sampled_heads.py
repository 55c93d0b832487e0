"""Refined LLCs of all heads, each with its control. Apart from the generic path, which needs none of this."""

from typing import Any

from rllc.estimator.choice import estimator
from rllc.estimator.rllc import by_head
from rllc.measures.data import Data, Measurement
from rllc.measures.sampling import sampled


def heads(data: Data, **sampling: Any) -> Measurement:
    """SGLD in the weights of one head at a time, all heads on the same minibatches."""

    def of_heads(weights, model, **given):
        return estimator(weights, model, model.heads, **given)

    of_components = sampled(data, of_heads, name="rllc", **sampling)

    def measure(weights, model, step):
        return by_head(of_components(weights, model, step))

    return measure

"""LLC of the whole model, with its control."""

from typing import Any

from rllc.measures.data import Data, Measurement
from rllc.measures.sampling import of_components, sampled


def full(data: Data, **sampling: Any) -> Measurement:
    """SGLD in all weights: the LLC of the whole model."""
    measure = sampled(data, of_components(["full"]), name="llc", **sampling)
    return lambda *at: measure(*at).squeeze("component", drop=True)

"""Which of the two estimators samples a transformer's components.

Jobs that never take the fast path do not import this: an edit of it leaves their results as they are.
"""

from collections.abc import Sequence
from typing import Any

import xarray as xr

from rllc.estimator.fast_heads import estimate_heads
from rllc.estimator.llc import estimate_components
from rllc.estimator.samplers.admissible import Loss
from rllc.estimator.with_controls import Estimate
from rllc.models.model import Model
from rllc.models.transformer import Architecture
from rllc.models.weights import Weights
from rllc.sampler_config import SamplerConfig


def estimator(
    weights: Weights, model: Model, labels: Sequence[str], *, loss: Loss | None = None, **given: Any
) -> Estimate:
    """The estimator of the components ``labels``: the fast path for heads, else the generic one.

    loss   another loss than the model's; it takes the generic estimator
    given  arguments in advance; ``setting`` and those not given are left
    """
    components = {label: model.masks(label) for label in labels}
    heads = loss is None and set(labels) <= set(model.heads)
    architecture: Architecture | None = getattr(model, "architecture", None) if heads else None
    loss = model.loss if loss is None else loss

    def estimate(*, setting: SamplerConfig, **rest: Any) -> xr.Dataset:
        if architecture is not None:
            return estimate_heads(weights, architecture, heads=labels, setting=setting, **given, **rest)
        return estimate_components(loss, weights, components=components, setting=setting, **given, **rest)

    return estimate

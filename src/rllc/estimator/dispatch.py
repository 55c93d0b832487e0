"""Choose the estimator of a transformer's components: the fast path for heads, or the generic one.

Jobs that never use the fast path do not import this module, so an edit here leaves their results up to date.
"""

from collections.abc import Sequence
from typing import Any

import xarray as xr

from rllc.estimator.fast_heads import estimate_heads
from rllc.estimator.llc import component_losses, estimate_components
from rllc.estimator.samplers.admissible import Loss
from rllc.estimator.with_controls import Estimate
from rllc.models.model import Model
from rllc.models.transformer import Architecture
from rllc.models.weights import Weights
from rllc.sampler_config import SamplerConfig


def estimator(
    weights: Weights, model: Model, labels: Sequence[str], *, loss: Loss | None = None, **given: Any
) -> Estimate:
    """Return the estimator of the components ``labels``: the fast path for heads, else the generic one.

    loss   a loss other than the model's; it needs the generic estimator
    given  arguments bound in advance; the estimator takes ``setting`` and the others
    """
    components = {label: model.masks(label) for label in labels}
    heads = loss is None and set(labels) <= set(model.heads)
    architecture: Architecture | None = getattr(model, "architecture", None) if heads else None
    loss, losses = component_losses(model, weights, components) if loss is None else (loss, None)

    def estimate(*, setting: SamplerConfig, **rest: Any) -> xr.Dataset:
        if architecture is not None:
            return estimate_heads(weights, architecture, heads=labels, setting=setting, **given, **rest)
        return estimate_components(
            loss, weights, components=components, losses=losses, setting=setting, **given, **rest
        )

    return estimate

"""LLCs of components under a sampling setting, each with its control: what the sampling measures share."""

from collections.abc import Callable
from functools import partial
from typing import Any

import xarray as xr

from rllc.estimator.llc import component_losses, estimate_components
from rllc.estimator.with_controls import Estimate, step_at, with_control
from rllc.measures.data import Data, Measurement
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.sampler_config import SamplerConfig


def other(data: Data, *, components: list[str], **sampling: Any) -> Measurement:
    """SGLD in the weights of each of the components listed."""
    return sampled(data, of_components(components), name="rllc", **sampling)


def of_components(labels: list[str]) -> Callable[..., Estimate]:
    """Return the estimator of these components, which ``sampled`` calls."""

    def estimator(weights: Weights, model: Model, **given: Any) -> Estimate:
        components = {label: model.masks(label) for label in labels}
        loss, losses = component_losses(model, weights, components)
        return partial(estimate_components, loss, weights, components=components, losses=losses, **given)

    return estimator


def sampled(data: Data, estimator: Callable[..., Estimate], *, name: str, **sampling: Any) -> Measurement:
    """Estimates under a sampling setting, called ``name``, with their control.

    estimator  ``estimator(weights, model, batches=, init_batches=)`` gives what ``with_control`` calls
    """
    common = {"batch_size": sampling["batch_size"], "scored": sampling["scored_positions"]}
    batches = {
        "batches": data.batches("draws", count=sampling["draws"] * sampling["thinning"], **common),
        "init_batches": data.batches("init", count=sampling["init_batches"], **common),
    }
    if sampling[
        "antithetic_pairs"
    ]:  # minibatches of their own: the estimate depends less on those of the chains
        count = (sampling["draws"] - sampling["burn_in"]) * sampling["antithetic_pairs"] // 2
        batches["pair_batches"] = data.batches("pairs", count=count, **common)
    extent = {each: sampling[each] for each in ("control_chains", "drift_free_chains", "keep_traces")}
    pull, scaled = sampling["localization"], sampling["scale_localization"]

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        seed = data.seed(step, seeded=sampling["seeded"])
        step_size = step_at(
            weights, step_size=sampling["step_size"], reference_norm=sampling["reference_norm"]
        )
        scale = step_size / sampling["step_size"] if scaled else 1.0
        setting = SamplerConfig.of(sampling, seed=seed, step_size=step_size, localization=pull / scale)
        return with_control(estimator(weights, model, **batches), setting=setting, name=name, **extent)

    return measure

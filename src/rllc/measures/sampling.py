"""LLCs of heads, of the whole model and of other components, each with its control."""

from functools import partial
from typing import Any

from rllc.estimator.llc import estimate
from rllc.estimator.refined import estimate_heads
from rllc.estimator.rllc import by_head, step_at, with_control
from rllc.measures.data import Data, Measurement

KERNEL = ("n_beta", "localization", "step_size", "draws", "burn_in", "thinning", "divergence_factor")
EXTENT = ("chains", "control_chains", "keep_traces")


def heads(data: Data, **sampling: Any) -> Measurement:
    """SGLD in the weights of one head at a time, all heads on the same minibatches."""

    def measure(weights, model, step):
        if sampling["sampler"] == "sgld":
            of_heads = partial(estimate_heads, weights, model.architecture)
        else:  # the fast path has plain SGLD only
            masks = {head: model.masks(head) for head in model.heads}
            of_heads = partial(estimate, model.loss, weights, components=masks, sampler=sampling["sampler"])
        estimator = partial(of_heads, **{**kernel, **_here(data, weights, step, sampling)})
        return by_head(with_control(estimator, name="rllc", **extent))

    kernel, extent = _arguments(data, sampling)
    return measure


def full(data: Data, **sampling: Any) -> Measurement:
    """SGLD in all weights."""

    def measure(weights, model, step):
        estimator = _estimator(data, weights, model, step, {"full": None}, kernel, sampling)
        return with_control(estimator, name="llc", **extent).squeeze("component", drop=True)

    kernel, extent = _arguments(data, sampling)
    return measure


def other(data: Data, **sampling: Any) -> Measurement:
    """SGLD in the weights of each of the components listed."""

    def measure(weights, model, step):
        components = {name: model.masks(name) for name in sampling["components"]}
        estimator = _estimator(data, weights, model, step, components, kernel, sampling)
        return with_control(estimator, name="rllc", **extent)

    kernel, extent = _arguments(data, sampling)
    return measure


def _estimator(data, weights, model, step, components, kernel, sampling):
    of = {**kernel, **_here(data, weights, step, sampling), "sampler": sampling["sampler"]}
    return partial(estimate, model.loss, weights, components=components, **of)


def _here(data: Data, weights, step: int, sampling: dict[str, Any]) -> dict[str, Any]:
    """What differs between checkpoints."""
    size = {name: sampling[name] for name in ("step_size", "reference_norm")}
    return {"seed": data.seed(step, seeded=sampling["seeded"]), "step_size": step_at(weights, **size)}


def _arguments(data: Data, sampling: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What an estimator is given (batches included), and what ``with_control`` is."""
    common = {"batch_size": sampling["batch_size"], "scored": sampling["scored_positions"]}
    kernel = {name: sampling[name] for name in KERNEL}
    kernel["batches"] = data.batches("draws", count=sampling["draws"] * sampling["thinning"], **common)
    kernel["init_batches"] = data.batches("init", count=sampling["init_batches"], **common)
    return kernel, {name: sampling[name] for name in EXTENT}

"""The refined LLC of a checkpoint with all that is reported beside it: baselines, control, diagnostics.

Heads, the whole model and other components differ only in the estimator that is handed in.
"""

import re
from collections.abc import Callable
from dataclasses import replace

import xarray as xr

from rllc.estimator.control import with_controls
from rllc.models.weights import Weights, weight_norm
from rllc.sampler_config import SamplerConfig
from rllc.vocabulary import NATS, describe, head_coords

Estimate = Callable[..., xr.Dataset]  # (setting=, ..) -> what summary.summarise returns

TRACES = {
    "trace_loss": ("minibatch loss of each draw, before the move", NATS),
    "trace_paired_loss": ("the same minus the loss at the checkpoint on the same minibatch", NATS),
}


def with_control(
    estimate: Estimate,
    *,
    setting: SamplerConfig,
    name: str,
    control_chains: int,
    centred_chains: int = 0,
    keep_traces: bool,
) -> xr.Dataset:
    """One checkpoint's estimate and its gradient-off control, in the variables of the results contract.

    estimate        ``estimate(setting=, control_of=)`` with everything else given
    name            ``rllc`` or ``llc``: prefix of the variables
    control_chains  chains of the control; they have the noise of the first chains of the estimate, and the
                    two are compared over these. With ``setting.pairs`` it has all of them
    centred_chains  chains of the centred control, likewise; 0: none
    keep_traces     also ``trace_loss`` and ``trace_paired_loss`` (component, chain, draw)

    Returns, with (component) or (component, chain) as in ``summary.summarise``: the estimate under
    ``name``, its diagnostics, ``{name}_gradient_off`` and its error, where asked for ``{name}_centred`` and
    its error, and ``verdict``, which now also says what the controls do of the estimate. With
    ``setting.pairs`` also ``{name}_se_control``, ``{name}_se_data``, ``coupling`` and ``variance_removed``
    (``reduced.VARIABLES``).
    """
    on = estimate(setting=setting, **({"report_control": True} if setting.pairs else {}))
    controls = {}
    if not setting.pairs:  # else the estimate has made it, of all its chains
        changed = replace(setting, chains=control_chains)
        controls["gradient_off"] = estimate(setting=changed, control_of=on)
    if centred_chains:
        changed = replace(setting, chains=centred_chains, centred=True, pairs=0)
        controls["centred"] = estimate(setting=changed, control_of=on)
    dataset = with_controls(on, **controls).drop_dims("draw").drop_vars("llc_gradient_off_chain")
    own = [str(each) for each in dataset if str(each).startswith("llc")]
    dataset = dataset.rename({each: each.replace("llc", name) for each in own})
    if keep_traces:
        dataset["trace_loss"] = on["loss"]
        dataset["trace_paired_loss"] = on["loss"] - on["loss_at_center"]
    if name == "rllc":
        for variable in dataset.data_vars.values():
            long_name = variable.attrs.get("long_name", "")
            refined = long_name.replace("local learning", "refined local learning").replace("LLC", "rLLC")
            variable.attrs["long_name"] = re.sub(r"\bllc(?=_|\b)", name, refined)
    return describe(dataset, TRACES).drop_attrs(deep=False)


def step_at(weights: Weights, *, step_size: float, reference_norm: float | None) -> float:
    """The step at a checkpoint: ``step_size``, or that times (norm of all weights / ``reference_norm``)^2.

    A control. Layer norm makes a loss nearly invariant to the weights' scale, so that one step size moves a
    small model further than a large one; with a step in proportion to the squared norm both move as far
    relative to their size.
    """
    if reference_norm is None:
        return step_size
    return step_size * (weight_norm(weights) / reference_norm) ** 2


def by_head(dataset: xr.Dataset) -> xr.Dataset:
    """Components that are heads become the dim ``head``, with its layer and index."""
    labels = [str(label) for label in dataset["component"].values]
    return dataset.rename(component="head").assign_coords(head_coords(labels))

"""Estimate the refined LLC of a checkpoint with its baselines, controls and diagnostics.

Heads, the whole model and other components differ only in the estimator passed in.
"""

import re
from collections.abc import Callable
from dataclasses import replace

import xarray as xr

from rllc.estimator.control import with_controls
from rllc.models.weights import Weights, weight_norm
from rllc.sampler_config import SamplerConfig
from rllc.vocabulary import NATS, describe, head_coords

Estimate = Callable[..., xr.Dataset]  # (setting=, ..) -> the dataset of results.summarise

TRACES = {
    "trace_loss": ("minibatch loss of each draw, before the move", NATS),
    "trace_paired_loss": ("loss of each draw minus the loss at the checkpoint on the same minibatch", NATS),
}


def with_control(
    estimate: Estimate,
    *,
    setting: SamplerConfig,
    name: str,
    control_chains: int,
    drift_free_chains: int = 0,
    keep_traces: bool,
) -> xr.Dataset:
    """Return one checkpoint's estimate and its controls, in the variables of the results contract.

    estimate        ``estimate(setting=, control_of=)`` with all other arguments bound
    name            ``rllc`` or ``llc``: prefix of the variables
    control_chains  chains of the control. They use the noise of the estimate's first chains, and the
                    comparison is over these chains. With ``setting.antithetic_pairs`` the control has all
                    chains
    drift_free_chains  chains of the drift-free control, used likewise; 0: no drift-free control
    keep_traces     also ``trace_loss`` and ``trace_paired_loss`` (component, chain, draw)

    Returns, with (component) or (component, chain) as in ``results.summarise``: the estimate under
    ``name``, its diagnostics, ``{name}_prior_only`` and its error, with ``drift_free_chains`` also
    ``{name}_drift_free`` and its error, and ``quality``, which also includes the flags from the controls.
    With ``setting.antithetic_pairs`` also ``{name}_se_control``, ``{name}_se_data``, ``control_coefficient``
    and ``variance_reduction`` (``control_variate.VARIABLES``).
    """
    on = estimate(setting=setting, **({"report_control": True} if setting.antithetic_pairs else {}))
    controls = {}
    if not setting.antithetic_pairs:  # with pairs, the estimate already holds the control of all its chains
        changed = replace(setting, chains=control_chains)
        controls["prior_only"] = estimate(setting=changed, control_of=on)
    if drift_free_chains:
        changed = replace(setting, chains=drift_free_chains, drift_free=True, antithetic_pairs=0)
        controls["drift_free"] = estimate(setting=changed, control_of=on)
    dataset = with_controls(on, **controls).drop_dims("draw").drop_vars("llc_prior_only_chain")
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
    """Return the step at a checkpoint: ``step_size`` times (norm of all weights / ``reference_norm``)^2.

    Without ``reference_norm`` it is ``step_size``. This scaling is a control. Layer norm makes a loss nearly
    invariant to the scale of the weights, so one step size moves small weights further than large ones. With
    a step proportional to the squared norm, both move equally far relative to their size.
    """
    if reference_norm is None:
        return step_size
    return step_size * (weight_norm(weights) / reference_norm) ** 2


def by_head(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with ``component`` renamed to ``head``, with layer and index of each head."""
    labels = [str(label) for label in dataset["component"].values]
    return dataset.rename(component="head").assign_coords(head_coords(labels))

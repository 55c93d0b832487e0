"""What calibrates the sampler: a grid of settings with its controls, and the curvature at the centre.

The sweep is given an estimator (``estimator.dispatch.estimator``), so that heads and the whole model differ
in nothing here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from rllc.estimator.diagnostics.quality import judge_against_controls
from rllc.estimator.dispatch import estimator
from rllc.estimator.samplers.admissible import Loss, mean_center_loss
from rllc.estimator.with_controls import Estimate
from rllc.measures.data import Data, Measurement
from rllc.measures.hessian.kernel import hessian_traces
from rllc.models.model import Model
from rllc.models.weights import Masks, Weights
from rllc.quality import MISSING, QUALITY_DTYPE, quality_attributes
from rllc.sampler_config import SamplerConfig
from rllc.vocabulary import NATS, STATUS, describe, status_attributes

GRID = ("localization", "n_beta", "step_size")
SCALARS = (
    "llc", "llc_se", "rhat", "ess", "drift", "drift_se", "half_length_change", "half_length_change_se",
    "equilibrated_variance", "equilibrated_mean", "acceptance", "acceptance_null",
)  # fmt: skip
ABSENT = {"status": STATUS.index("missing"), "quality": MISSING}  # what stands for a setting not sampled
VARIABLES = {
    "llc": ("(refined) local learning coefficient, mean over the ok chains", "1"),
    "llc_se": ("Monte Carlo standard error given these minibatches", "1"),
    "llc_prior_only": ("control: the same estimate without the gradient term in the sampler", "1"),
    "llc_prior_only_se": ("Monte Carlo standard error of the control", "1"),
    "llc_drift_free": ("control: the same estimate with the gradient less that at the checkpoint", "1"),
    "llc_drift_free_se": ("Monte Carlo standard error of the drift-free control", "1"),
    "llc_walked": ("the estimate less its drift-free control, over the chains that both have", "1"),
    "paired_loss": ("minibatch loss of a draw minus the loss at the checkpoint on the same minibatch", NATS),
    "loss_at_center": ("mean loss at the checkpoint over the draws' minibatches", NATS),
    "hessian_trace": ("trace of the component's block of the Hessian of the loss", NATS),
    "hessian_trace_se": ("standard error over probes of the Hessian trace", NATS),
}


def calibration(data: Data, *, probes: int, **sweeps: Any) -> Measurement:
    """Every setting of the grids, on the same minibatches and with the same noise, and the centre."""
    fixed = ("chains", "draws", "burn_in", "divergence_factor", "control_chains")

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        seed, estimates, centers = data.seed(step), [], []
        for kind, section in sweeps.items():
            if section is None:
                continue
            size = {"batch_size": section["batch_size"], "scored": section["scored_positions"]}
            batches = data.batches("draws", count=section["draws"], **size)
            labels = ["full"] if kind == "full" else section["components"] or model.heads
            components = {label: model.masks(label) for label in labels}
            centers.append(
                at_center(model.loss, weights, batches, components=components, seed=seed, probes=probes)
            )
            grid, rest = ({name: section[name] for name in names} for names in (GRID, fixed))
            estimate = estimator(weights, model, labels, batches=batches)
            estimates.append(sweep(estimate, grid=grid, seed=seed, **rest))
        parts = [joined(estimates), xr.concat(centers, "component")]
        return describe(xr.merge(parts, combine_attrs="override").drop_attrs(deep=False), VARIABLES)

    return measure


def sweep(
    estimate: Estimate, *, grid: Mapping[str, Sequence[float]], control_chains: int, **fixed: Any
) -> xr.Dataset:
    """Estimates on a grid of settings, all with the same noise and minibatches.

    estimate  ``estimate(setting=)`` with the rest given
    grid      values of ``n_beta``, ``localization`` and ``step_size``
    fixed     the other fields of ``rllc.sampler_config.SamplerConfig``

    The control has no gradient, so its loss does not depend on n_beta: it is sampled once per
    (localization, step_size) and scaled. The drift-free control is sampled in every cell, with as many
    chains. Pairs with step_size * localization >= 4 are unstable even without a loss and are not sampled:
    NaN, status "missing".

    Returns ``llc``, ``llc_se``, their controls, ``llc_walked``, ``rhat``, ``ess``, ``drift``, ``drift_se``,
    ``half_length_change``, ``half_length_change_se``, ``equilibrated_variance``, ``equilibrated_mean``,
    ``acceptance``, ``acceptance_null``, ``quality`` (component, localization, n_beta, step_size),
    ``llc_chain``, ``status`` (.., chain) and ``paired_loss`` (.., chain, draw; float32, burn-in included).
    """
    values = {name: np.unique(np.asarray(grid[name], dtype=np.float64)) for name in GRID}
    cells = {}
    for pull, step in product(values["localization"].tolist(), values["step_size"].tolist()):
        if step * pull >= 4:
            continue
        base = SamplerConfig(n_beta=1.0, localization=pull, step_size=step, **fixed)
        off = estimate(setting=replace(base, chains=control_chains, gradient=False))
        for nb in values["n_beta"].tolist():
            on = estimate(setting=replace(base, n_beta=nb))
            setting = replace(base, n_beta=nb, chains=control_chains, drift_free=True)
            drift_free = estimate(setting=setting, control_of=on)
            controls = {
                "llc_prior_only": nb * off["llc"],
                "llc_prior_only_se": nb * off["llc_se"],
                "llc_drift_free": drift_free["llc"],
                "llc_drift_free_se": drift_free["llc_se"],
                "llc_walked": (on["llc_chain"] - drift_free["llc_chain"]).mean("chain"),
                "quality": judge_against_controls(on, nb * off["llc_chain"], drift_free["llc_chain"]),
            }
            cells[pull, nb, step] = _kept(on).assign(controls)
    if not cells:
        raise ValueError("every pair has step_size x localization of 4 or more: lower the step sizes")
    index = pd.MultiIndex.from_tuples(cells, names=GRID)
    stacked = xr.concat(cells.values(), pd.Index(range(len(cells)), name="cell"))
    stacked = stacked.assign_coords(xr.Coordinates.from_pandas_multiindex(index, "cell"))
    absent = {name: ABSENT.get(str(name), np.nan) for name in stacked.data_vars}
    table = stacked.unstack("cell", fill_value=absent).reindex(values, fill_value=absent)
    return table.transpose("component", *GRID, ...)


def _kept(on: xr.Dataset) -> xr.Dataset:
    """Of one setting: what the sweep keeps."""
    rise = (on["loss"] - on["loss_at_center"]).astype(np.float32)
    return on[[*SCALARS, "llc_chain", "status"]].assign(paired_loss=rise).drop_attrs(deep=False)


def joined(sweeps: Sequence[xr.Dataset]) -> xr.Dataset:
    """Sweeps of different components as one, on the union of their grids; what was not tried is missing."""
    union = {
        name: np.unique(np.concatenate([each[name].values for each in sweeps]))
        for name in (*GRID, "chain", "draw")
    }
    fill = {name: ABSENT.get(str(name), np.nan) for name in sweeps[0].data_vars}
    spread = [one.reindex(union, fill_value=fill) for one in sweeps]
    whole = xr.concat(spread, "component", data_vars="minimal", join="exact", combine_attrs="override")
    whole["status"] = whole["status"].astype(np.int8).assign_attrs(status_attributes())
    whole["quality"] = whole["quality"].astype(QUALITY_DTYPE).assign_attrs(quality_attributes())
    return whole


def at_center(
    loss: Loss,
    weights: Weights,
    batches: Sequence[Any],
    *,
    components: Mapping[str, Masks | None],
    probes: int,
    seed: int,
) -> xr.Dataset:
    """Curvature of every component at the checkpoint, and the loss there over the draws' own minibatches.

    components  boolean masks by weight name of each head (labels L:H); None is every weight ("full")
    probes      of Hutchinson's estimate of tr H, on the component's coordinates; H is the mean over as many
                minibatches

    Returns ``hessian_trace``, ``hessian_trace_se`` (component) and ``loss_at_center`` (the same for all).
    """
    level = mean_center_loss(loss, weights, batches)
    heads = {component: own for component, own in components.items() if own is not None}
    few = [batches[i] for i in range(min(probes, len(batches)))]
    traces = hessian_traces(loss, weights, few, heads=heads, probes=probes, seed=seed, masked=True)
    names = ("hessian_trace", "hessian_trace_se")
    variables = {name: ("component", _by_component(traces, name, components)) for name in names}
    return xr.Dataset(
        {**variables, "loss_at_center": ("component", np.full(len(components), level))},
        coords={"component": np.asarray(list(components), dtype=object)},
    )


def _by_component(traces: xr.Dataset, name: str, components: Iterable[str]) -> np.ndarray:
    heads = {str(head): i for i, head in enumerate(traces["head"].values)}
    block = traces[name.replace("trace", "trace_head", 1)].values
    return np.array([block[heads[c]] if c in heads else float(traces[name]) for c in components])

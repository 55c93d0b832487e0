"""What calibrates the sampler: a grid of settings with its controls, and the centre's gradient and curvature.

The sweep is given an estimator (``estimator.choice.estimator``), so that heads and the whole model differ in
nothing here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from torch import Tensor

from rllc.estimator.choice import estimator
from rllc.estimator.rllc import Estimate
from rllc.estimator.samplers.admissible import Loss
from rllc.estimator.samplers.batches import to_device
from rllc.measures.data import Data, Measurement
from rllc.measures.hessian import hessian_times, hessian_traces
from rllc.measures.traces import form_of
from rllc.models.weights import Masks, Weights
from rllc.setting import Setting
from rllc.verdicts import MISSING, verdict_attributes
from rllc.vocabulary import NATS, STATUS, describe, status_attributes

GRID = ("localization", "n_beta", "step_size")
SCALARS = ("llc", "llc_se", "rhat", "ess", "drift", "drift_se", "acceptance", "acceptance_null", "verdict")
ABSENT = {"status": STATUS.index("missing"), "verdict": MISSING}  # what stands for a setting not sampled
VARIABLES = {
    "llc": ("(refined) local learning coefficient, mean over the ok chains", "1"),
    "llc_se": ("Monte Carlo standard error given these minibatches", "1"),
    "llc_gradient_off": ("control: the same estimate without the gradient term in the sampler", "1"),
    "llc_gradient_off_se": ("Monte Carlo standard error of the control", "1"),
    "paired_loss": ("minibatch loss of a draw minus the loss at the checkpoint on the same minibatch", NATS),
    "relaxed": ("share of its stationary variance that the control has at the first kept draw", "1"),
    "loss_at_center": ("mean loss at the checkpoint over the draws' minibatches", NATS),
    "hessian_trace": ("trace of the component's block of the Hessian of the loss", NATS),
    "hessian_trace_se": ("standard error over probes of the Hessian trace", NATS),
    "gradient_square": ("squared norm of the component's mean gradient, without the minibatch noise", NATS),
    "gradient_curvature": ("curvature of the loss along the component's mean gradient", NATS),
}


def calibration(data: Data, *, probes: int, **sweeps: Any) -> Measurement:
    """Every setting of the grids, on the same minibatches and with the same noise, and the centre."""
    fixed = ("chains", "draws", "burn_in", "divergence_factor", "control_chains")

    def measure(weights, model, step):
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
    fixed     the other fields of ``rllc.setting.Setting``

    The control has no gradient, so its loss does not depend on n_beta: it is sampled once per
    (localization, step_size) and scaled. Pairs with step_size * localization >= 4 are unstable even without
    a loss and are not sampled: NaN, status "missing".

    Returns ``llc``, ``llc_se``, their control, ``rhat``, ``ess``, ``drift``, ``drift_se``, ``acceptance``,
    ``acceptance_null``, ``verdict`` (component, localization, n_beta, step_size), ``llc_chain``, ``status``
    (.., chain), ``paired_loss`` (.., chain, draw; float32, burn-in included) and ``relaxed`` (localization,
    step_size).
    """
    values = {name: np.unique(np.asarray(grid[name], dtype=np.float64)) for name in GRID}
    cells = {}
    for pull, step in product(values["localization"].tolist(), values["step_size"].tolist()):
        if step * pull >= 4:
            continue
        base = Setting(n_beta=1.0, localization=pull, step_size=step, **fixed)
        off = estimate(setting=replace(base, chains=control_chains, gradient=False))
        for nb in values["n_beta"].tolist():
            cell = _kept(estimate(setting=replace(base, n_beta=nb)))
            control = {"llc_gradient_off": nb * off["llc"], "llc_gradient_off_se": nb * off["llc_se"]}
            cells[pull, nb, step] = cell.assign(control)
    if not cells:
        raise ValueError("every pair has step_size x localization of 4 or more: lower the step sizes")
    index = pd.MultiIndex.from_tuples(cells, names=GRID)
    stacked = xr.concat(cells.values(), pd.Index(range(len(cells)), name="cell"))
    stacked = stacked.assign_coords(xr.Coordinates.from_pandas_multiindex(index, "cell"))
    absent = {name: ABSENT.get(str(name), np.nan) for name in stacked.data_vars}
    table = stacked.unstack("cell", fill_value=absent).reindex(values, fill_value=absent)
    table = table.transpose("component", *GRID, ...)
    return table.assign(relaxed=_relaxed(values, base))


def _relaxed(values: Mapping[str, np.ndarray], setting: Setting) -> xr.DataArray:
    """Share of the localization's stationary variance that a chain without loss has at the first kept draw.

    1 - (1 - step_size localization / 2)^(2 moves), exact for the control.
    """
    moves = setting.burn_in * setting.thinning
    grid = xr.Dataset(coords={name: values[name] for name in ("localization", "step_size")})
    share = 1.0 - (1.0 - grid["localization"] * grid["step_size"] / 2.0) ** (2 * moves)
    return share.where(grid["localization"] * grid["step_size"] < 4)


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
    # ``relaxed`` for each component, since kinds differ in burn-in
    each = [one.assign(relaxed=one["relaxed"].expand_dims(component=one["component"])) for one in sweeps]
    spread = [one.reindex(union, fill_value=fill) for one in each]
    whole = xr.concat(spread, "component", data_vars="minimal", join="exact", combine_attrs="override")
    whole["status"] = whole["status"].astype(np.int8).assign_attrs(status_attributes())
    whole["verdict"] = whole["verdict"].astype(np.int16).assign_attrs(verdict_attributes())
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
    """Curvature and gradient of every component at the checkpoint w*, over the draws' own minibatches.

    With g_i the component's gradient on minibatch i of k, and g their mean::

        gradient_square    = (|sum g_i|^2 - sum |g_i|^2) / (k (k - 1))      unbiased for |E g_i|^2
        gradient_curvature = g . H g / |g|^2
        hessian_trace      = tr H of the component's block (Hutchinson, probes on its own coordinates)

    g is the slope down which chains drift where w* is no minimum of this loss, h = gradient_curvature the
    scale on which that ends. ``gradient_square`` can be negative where the gradient is not told from 0;
    ``gradient_curvature`` is along the mean with its noise. H of both is the mean over the first ``probes``
    minibatches.

    components  boolean masks by weight name of each head (labels L:H); None is every weight ("full")

    Returns ``hessian_trace``, ``hessian_trace_se``, ``gradient_square``, ``gradient_curvature`` (component)
    and ``loss_at_center`` (the same for all). Raises ValueError with fewer than two minibatches.
    """
    if len(batches) < 2:
        raise ValueError(f"{len(batches)} minibatches: expected at least 2 to tell a gradient from its noise")
    chosen = {
        c: {name: mask.to(weights[name].device) for name, mask in (own or _everything(weights)).items()}
        for c, own in components.items()
    }
    total = {name: torch.zeros_like(w) for name, w in weights.items()}
    noise = dict.fromkeys(chosen, 0.0)
    level = 0.0
    for i in range(len(batches)):
        value, slope = _gradient(loss, weights, batches[i])
        level += value / len(batches)
        for name, w in slope.items():
            total[name] += w
        for component, own in chosen.items():
            noise[component] += _inner(slope, slope, own)
    count = len(batches)
    square = {c: (_inner(total, total, m) - noise[c]) / (count * (count - 1)) for c, m in chosen.items()}
    heads = {component: own for component, own in components.items() if own is not None}
    few = [batches[i] for i in range(min(probes, count))]
    traces = hessian_traces(loss, weights, few, heads=heads, probes=probes, seed=seed, masked=True)
    trace, trace_se = (_by_component(traces, name, chosen) for name in ("hessian_trace", "hessian_trace_se"))
    return xr.Dataset(
        {
            "hessian_trace": ("component", trace),
            "hessian_trace_se": ("component", trace_se),
            "gradient_square": ("component", np.array(list(square.values()))),
            "gradient_curvature": ("component", _along(loss, weights, few, total, chosen)),
            "loss_at_center": ("component", np.full(len(chosen), level)),
        },
        coords={"component": np.asarray(list(chosen), dtype=object)},
    )


def _by_component(traces: xr.Dataset, name: str, chosen: Mapping[str, Masks]) -> np.ndarray:
    heads = {str(head): i for i, head in enumerate(traces["head"].values)}
    block = traces[name.replace("trace", "trace_head", 1)].values
    return np.array([block[heads[c]] if c in heads else float(traces[name]) for c in chosen])


def _along(
    loss: Loss, weights: Weights, batches: Sequence[Any], slope: Weights, chosen: Mapping[str, Masks]
) -> np.ndarray:
    """g . H g / |g|^2 of every component, mean over the minibatches."""
    curvature = np.zeros(len(chosen))
    for batch in batches:
        form = form_of(hessian_times(loss, weights, batch))
        for row, own in enumerate(chosen.values()):
            along = {name: slope[name] * mask for name, mask in own.items()}
            size = _inner(along, along, own)
            curvature[row] += (form(along) / size if size else np.nan) / len(batches)
    return curvature


def _gradient(loss: Loss, weights: Weights, batch: Any) -> tuple[float, dict[str, Tensor]]:
    leaves = {name: w.detach().requires_grad_() for name, w in weights.items()}
    value = loss(leaves, to_device(batch, next(iter(weights.values())).device))
    slopes = torch.autograd.grad(value, list(leaves.values()), materialize_grads=True)
    return float(value.detach()), dict(zip(leaves, slopes, strict=True))


def _inner(a: Weights, b: Weights, own: Masks) -> float:
    return sum(float((a[name] * b[name] * mask).sum(dtype=torch.float64)) for name, mask in own.items())


def _everything(weights: Weights) -> dict[str, Tensor]:
    return {name: torch.ones_like(w, dtype=torch.bool) for name, w in weights.items()}

"""The local learning coefficient of any loss at any weights, by SGLD around them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.measures import diagnostics
from rllc.measures.sgld import Loss, Weights, center_loss, coordinates, sample, to_device
from rllc.vocabulary import NATS, describe, status_attributes

VARIABLES = {
    "llc": ("local learning coefficient, mean over the ok chains", "1"),
    "llc_se": ("Monte Carlo standard error of the LLC given these batches, without data-sampling error", "1"),
    "llc_init": ("LLC with the init batches' mean loss at the centre as baseline", "1"),
    "llc_chain": ("local learning coefficient of one chain", "1"),
    "rhat": ("rank-normalised split R-hat of the paired trace", "1"),
    "ess": ("effective sample size of the mean of the paired trace", "1"),
    "loss": ("minibatch loss of each draw, before the move", NATS),
    "loss_at_center": ("loss at the centre on the minibatch of the draw", NATS),
    "init_loss": ("mean loss at the centre over the init batches", NATS),
}
SAMPLERS = {"sgld": sample}
BASELINES = ("paired", "init")
DIVERGENCE_FACTOR = 5.0


def estimate(
    loss: Loss,
    weights: Weights,
    batches: Sequence[Any],
    *,
    components: Mapping[str, Mapping[str, Tensor] | None],
    n_beta: float,
    localization: float,
    step_size: float,
    chains: int,
    draws: int,
    burn_in: int = 0,
    seed: int = 0,
    baseline: str = "paired",
    init_batches: Sequence[Any] | None = None,
    sampler: str = "sgld",
    gradient: bool = True,
    device: str | torch.device | None = None,
    max_memory: int | None = None,
    divergence_factor: float = DIVERGENCE_FACTOR,
) -> xr.Dataset:
    """The (refined) local learning coefficient of every component, around the weights w*.

    Each chain starts at w* and moves the component's coordinates, and only these, by (measures/sgld.py)::

        w <- w - (step_size/2) (n_beta grad L_batch(w) + localization (w - w*)) + sqrt(step_size) N(0, I)
        llc = n_beta * mean over chains and draws >= burn_in of (loss_t - baseline_t)

    (Lau et al. 2023, arXiv 2308.12108; refined: arXiv 2410.02984, sec. 2.2.) The loss of draw t is taken
    before the move, so draw 0 is at w*, and counts when ``burn_in`` is 0.

    loss          ``loss(weights, batch) -> `` scalar tensor: mean loss of the batch, torch.func-compatible
    weights       the centre w*, by name
    batches       draw t of every chain and component uses ``batches[t % len(batches)]``, fetched once per
                  draw. With fewer batches than draws the result is the LLC of that finite set.
    components    boolean masks by weight name, for each component; a weight not named is frozen; None in
                  place of masks selects everything
    n_beta        inverse temperature times sample size: what multiplies the mean loss
    localization  strength of the pull to w*
    step_size     epsilon
    burn_in       draws at the start of each chain that enter no estimate
    seed          chain c of a component uses the normals of the stream (seed, component, c): its draws do
                  not depend on the other components, on the number of chains, or on order
    baseline      "paired": the loss at w* on the same minibatch; "init": the mean loss at w* over
                  ``init_batches`` (the papers')
    gradient      False drops the gradient's term: the control, same noise and batches
    device        where to compute (None: where the weights are)
    max_memory    bytes that chains' positions may hold at once; the result does not depend on it
    divergence_factor  see ``summarise``

    Returns ``llc``, ``llc_se``, ``llc_init``, ``rhat``, ``ess`` (component), ``llc_chain``, ``status``
    (component, chain), ``loss`` (component, chain, draw; burn-in included), ``loss_at_center`` (draw),
    ``init_loss`` (NaN without init batches).

    Raises ValueError where an argument is out of range, a mask does not fit, there is nothing to sample, or
    the loss at w* is not a finite scalar.
    """
    check_setting(
        n_beta=n_beta, localization=localization, step_size=step_size, chains=chains, draws=draws,
        burn_in=burn_in, baseline=baseline, batches=batches, init_batches=init_batches,
        max_memory=max_memory, divergence_factor=divergence_factor,
    )  # fmt: skip
    if sampler not in SAMPLERS:
        raise ValueError(f"unknown sampler {sampler!r}: expected one of {', '.join(SAMPLERS)}")
    if not weights or not components:
        raise ValueError("nothing to sample: expected at least one weight and one component")
    weights = {name: w.detach() if device is None else w.detach().to(device) for name, w in weights.items()}
    selected = {name: coordinates(weights, masks, component=name) for name, masks in components.items()}
    setting = {
        "n_beta": n_beta, "localization": localization, "step_size": step_size, "chains": chains,
        "draws": draws, "seed": seed, "gradient": gradient,
    }  # fmt: skip
    traces, at_center = SAMPLERS[sampler](
        loss, weights, batches, components=selected, max_memory=max_memory, **setting
    )
    return summarise(
        traces.cpu().numpy(),
        at_center.cpu().numpy(),
        components=list(components),
        sizes=[part.size for part in selected.values()],
        init_loss=mean_center_loss(loss, weights, init_batches),
        burn_in=burn_in,
        baseline=baseline,
        divergence_factor=divergence_factor,
        setting={**setting, "sampler": sampler},
    )


def summarise(
    loss: np.ndarray,
    loss_at_center: np.ndarray,
    *,
    components: Sequence[str],
    sizes: Sequence[int],
    setting: Mapping[str, Any],
    burn_in: int = 0,
    baseline: str = "paired",
    init_loss: float = float("nan"),
    divergence_factor: float = DIVERGENCE_FACTOR,
) -> xr.Dataset:
    """From loss traces to the labelled estimate (the variables of ``estimate``).

    With r_t = loss_t - loss_at_center_t on the draws kept, over the chains that are ok::

        llc = n_beta * mean(r)      llc_se = n_beta * sd(r) / sqrt(ess(r))

    sd over all chains and draws together. A chain is diverged (measures/diagnostics.py) where its rise ends
    above ``divergence_factor`` times the loss at the centre and still grows. A loss at the centre below
    1 / n_beta, as of a noiseless fit, is no scale; there sizes / n_beta is, twice the rise of a regular
    model in equilibrium. A chain that is not ok has NaN in ``llc_chain`` and enters no mean; what follows a
    nonfinite loss is NaN in ``loss``.

    loss            [component, chain, draw]
    loss_at_center  [draw]
    sizes           number of coordinates of each component
    setting         ``n_beta``, and whatever else the attributes should hold
    """
    n_beta = setting["n_beta"]
    loss = np.where(np.cumsum(~np.isfinite(loss), axis=-1) > 0, np.nan, loss)
    rise = loss - loss_at_center
    level = abs(float(np.mean(loss_at_center)))
    scale = np.full(len(sizes), level) if n_beta * level >= 1 else np.asarray(sizes) / n_beta
    status = diagnostics.chain_status(loss, rise, scale=scale[:, None], divergence_factor=divergence_factor)
    ok = status == diagnostics.OK
    kept = rise[..., burn_in:]
    above_init = np.where(ok, loss[..., burn_in:].mean(-1), np.nan) - init_loss
    by_chain = n_beta * (np.where(ok, kept.mean(-1), np.nan) if baseline == "paired" else above_init)
    sound = [kept[i, ok[i]] for i in range(len(components))]  # [ok chain, draw] each
    ess = np.array([diagnostics.ess(trace) for trace in sound])
    sd = np.array([trace.std(ddof=1) if trace.size > 1 else np.nan for trace in sound])
    dataset = xr.Dataset(
        {
            "llc": ("component", _mean_over_chains(by_chain)),
            "llc_se": ("component", n_beta * sd / np.sqrt(ess)),
            "llc_init": ("component", n_beta * _mean_over_chains(above_init)),
            "llc_chain": (("component", "chain"), by_chain),
            "rhat": ("component", np.array([diagnostics.rhat(trace) for trace in sound])),
            "ess": ("component", ess),
            "status": (("component", "chain"), status, status_attributes()),
            "loss": (("component", "chain", "draw"), loss),
            "loss_at_center": ("draw", loss_at_center),
            "init_loss": ((), init_loss),
        },
        coords={
            "component": np.asarray(components, dtype=object),
            "chain": np.arange(loss.shape[1]),
            "draw": np.arange(loss.shape[2]),
        },
        attrs={
            **{key: int(value) if isinstance(value, bool) else value for key, value in setting.items()},
            "burn_in": burn_in,
            "baseline": baseline,
            "divergence_factor": divergence_factor,
        },
    )
    return describe(dataset, VARIABLES)


def mean_center_loss(loss: Loss, weights: Weights, batches: Sequence[Any] | None) -> float:
    """Mean over ``batches`` of the loss at the centre; NaN without batches."""
    if batches is None:
        return float("nan")
    device = next(iter(weights.values())).device
    each = [center_loss(loss, weights, to_device(batches[i], device)) for i in range(len(batches))]
    return float(torch.stack(each).double().mean())


def check_setting(
    *,
    n_beta: float,
    localization: float,
    step_size: float,
    chains: int,
    draws: int,
    burn_in: int,
    baseline: str,
    batches: Sequence[Any],
    init_batches: Sequence[Any] | None,
    max_memory: int | None,
    divergence_factor: float,
) -> None:
    """Raises ValueError, saying what was expected, where an argument of ``estimate`` is out of range."""
    positive = {"n_beta": n_beta, "step_size": step_size, "divergence_factor": divergence_factor}
    for name, value in positive.items():
        if not 0 < value < float("inf"):
            raise ValueError(f"{name} is {value}: expected a positive finite number")
    if not 0 <= localization < float("inf"):
        raise ValueError(f"localization is {localization}: expected 0 (no pull) or more, finite")
    if chains < 1 or draws < 1:
        raise ValueError(f"{chains} chains of {draws} draws: expected at least one of each")
    if not 0 <= burn_in < draws:
        raise ValueError(
            f"burn_in {burn_in} leaves none of the {draws} draws, or is negative: expected 0 to {draws - 1}"
        )
    if baseline not in BASELINES:
        raise ValueError(f"unknown baseline {baseline!r}: expected one of {', '.join(BASELINES)}")
    if not len(batches):
        raise ValueError("there are no batches: expected at least one")
    if init_batches is not None and not len(init_batches):
        raise ValueError("init_batches is empty: give at least one batch, or None")
    if baseline == "init" and init_batches is None:
        raise ValueError('baseline "init" needs init_batches: give them, or use baseline "paired"')
    if max_memory is not None and max_memory < 1:
        raise ValueError(f"max_memory is {max_memory}: expected a number of bytes, or None")


def _mean_over_chains(by_chain: np.ndarray) -> np.ndarray:
    """Mean of the chains that are not NaN: [component, chain] -> [component]; NaN where all are."""
    sound = ~np.isnan(by_chain)
    with np.errstate(invalid="ignore"):
        return np.where(sound, by_chain, 0.0).sum(-1) / sound.sum(-1)

"""Run the samplers and turn their traces into an estimate.

The estimate is one labelled dataset of means, errors, diagnostics and quality.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr

from rllc.estimator.control import known_at_center, with_controls
from rllc.estimator.control_variate import looked_at, reduced
from rllc.estimator.diagnostics import geweke, heidelberger_welch, raftery_lewis
from rllc.estimator.diagnostics.acceptance import acceptance_null
from rllc.estimator.diagnostics.drift import drift, half_length_change
from rllc.estimator.diagnostics.equilibration import equilibrated
from rllc.estimator.diagnostics.mixing import ess, rhat
from rllc.estimator.diagnostics.quality import judge
from rllc.estimator.diagnostics.status import OK, chain_status
from rllc.estimator.samplers.admissible import Loss, mean_center_loss, placed
from rllc.estimator.samplers.batches import check_batches
from rllc.estimator.samplers.chains import Traces
from rllc.estimator.samplers.pairs import Pairs, check_further
from rllc.models.weights import Weights
from rllc.sampler_config import COUNT, SamplerConfig, truth
from rllc.vocabulary import NATS, describe, status_attributes

BYTES = COUNT._replace(expected="a number of bytes, 1 or more, or None")
VARIABLES = {
    "llc": ("local learning coefficient, mean over the ok chains", "1"),
    "llc_se": ("Monte Carlo standard error of the LLC, from the ESS; excludes the choice of data", "1"),
    "llc_init": ("LLC with init_loss instead of loss_at_center as baseline", "1"),
    "llc_chain": ("local learning coefficient of one chain", "1"),
    "rhat": ("rank-normalised split R-hat of the rise, loss minus loss_at_center", "1"),
    "ess": ("effective sample size of the mean rise", "1"),
    "drift": ("drift of the LLC: mean over the last half of kept draws minus that over the first", "1"),
    "drift_se": ("Monte Carlo standard error of the drift given these batches", "1"),
    "half_length_change": ("LLC minus the LLC of the first half of the chains, with half the burn-in", "1"),
    "half_length_change_se": ("Monte Carlo standard error of half_length_change given these batches", "1"),
    "equilibrated_variance": (
        "share of the equilibrium variance that draws reach in a flat direction, by the setting", "1",
    ),
    "equilibrated_mean": (
        "share of the way to the equilibrium mean that draws cover in a flat direction, by the setting", "1",
    ),
    "acceptance": ("mean Metropolis acceptance probability of the moves to kept draws", "1"),
    "acceptance_null": ("acceptance expected for a constant loss, at the same dimension and setting", "1"),
    "geweke": ("Geweke's z: first 10 % of a chain's kept draws against the last 50 %", "1"),
    "heidelberger_welch_start": (
        "share of a chain's kept draws dropped until Heidelberger and Welch's test passes", "1"
    ),
    "heidelberger_welch_p": ("p value of the last Heidelberger-Welch test of stationarity", "1"),
    "heidelberger_welch_halfwidth": ("95 % half-width of the mean of the stationary part, over |mean|", "1"),
    "raftery_lewis_factor": (
        "Raftery and Lewis' dependence factor: draws needed over draws needed if independent", "1"
    ),
    "loss": ("minibatch loss of each draw, before the move", NATS),
    "loss_at_center": ("loss at the centre on the minibatch of the draw", NATS),
    "init_loss": ("mean loss at the centre over the init batches", NATS),
}  # fmt: skip


class Prepared(NamedTuple):
    """Functions that sample the components, after the components were checked.

    chains  ``chains(names, setting=, max_memory=)`` returns the traces of the components ``names``
    pairs   ``pairs(names, setting=, further=)`` returns their antithetic pairs
    sizes   component -> number of its coordinates
    """

    chains: Callable[..., Traces]
    pairs: Callable[..., Pairs]
    sizes: Mapping[str, int]


def estimated(
    loss: Loss,
    weights: Weights,
    batches: Sequence[Any],
    *,
    prepare: Callable[[Weights, torch.Tensor | None], Prepared],
    setting: SamplerConfig,
    init_batches: Sequence[Any] | None = None,
    device: str | torch.device | None = None,
    max_memory: int | None = None,
    control_of: xr.Dataset | None = None,
    pair_batches: Sequence[Any] | None = None,
    report_control: bool = False,
) -> xr.Dataset:
    """Check the arguments, sample, and return the estimate.

    prepare  ``prepare(weights, at_center)`` checks the components and returns the functions that sample them.
             ``at_center`` [draw]: losses at the centre, reused from the estimate that this run is a control
             of; None for an estimate

    Other arguments, and errors, are those of ``llc.estimate``.
    """
    check_batches(setting, batches, init_batches=init_batches)
    check_further(setting, pair_batches)
    max_memory = None if max_memory is None else int(BYTES.of("max_memory", max_memory))
    report_control = truth("report_control", report_control)
    weights = placed(weights, device)
    at_center, init_loss = None, float("nan")
    unread = 0  # number of burn-in draws whose losses are not computed
    if control_of is not None:
        at_center, init_loss = known_at_center(control_of, setting)
        if setting.antithetic_pairs:
            raise ValueError(
                f"antithetic_pairs is {setting.antithetic_pairs} for a control: expected 0, since pairs are "
                "for estimates; leave it out when control_of is given"
            )
        if not setting.drift_free:
            setting, unread = replace(setting, gradient=False), setting.burn_in
    if report_control and (control_of is not None or setting.drift_free or not setting.gradient):
        raise ValueError(
            "report_control is set for a control: set report_control=False, or make an estimate with "
            "gradient=True, drift_free=False and no control_of"
        )
    samplers = prepare(weights, at_center)
    if control_of is None:
        init_loss = mean_center_loss(loss, weights, init_batches)
    names = list(samplers.sizes)
    traces = samplers.chains(names, setting=setting, max_memory=max_memory)
    estimate = summarise(traces, sizes=samplers.sizes, setting=setting, init_loss=init_loss, unread=unread)
    if not (setting.antithetic_pairs or report_control):
        return estimate

    def sample_control(some: Sequence[str], control_setting: SamplerConfig) -> Traces:
        stride = control_setting.thinning // estimate.attrs["thinning"]
        at_draws = torch.from_numpy(estimate["loss_at_center"].values[::stride].copy())
        return prepare(weights, at_draws).chains(some, setting=control_setting, max_memory=max_memory)

    def summarise_control(some: Sequence[str], control_traces: Traces) -> xr.Dataset:
        sizes = {name: samplers.sizes[name] for name in some}
        return summarise(
            control_traces, sizes=sizes, setting=looked_at(setting, 1), init_loss=init_loss,
            unread=setting.burn_in,
        )  # fmt: skip

    if not setting.antithetic_pairs:
        control_traces = sample_control(names, looked_at(setting, 1))
        return with_controls(estimate, summarise_control(names, control_traces))
    estimate = reduced(
        estimate, sample_control, summarise_control,
        partial(samplers.pairs, setting=setting, further=pair_batches), setting=setting,
        own_minibatch=len(batches) > setting.moves, report_control=report_control,
    )  # fmt: skip
    return with_controls(estimate)


def summarise(
    traces: Traces,
    *,
    sizes: Mapping[str, int],
    setting: SamplerConfig,
    init_loss: float = float("nan"),
    unread: int = 0,
) -> xr.Dataset:
    """Return the labelled estimate from traces.

    r_t = loss_t - loss_at_center_t is the rise of the loss. On the kept draws of the ok chains::

        llc = n_beta * mean(r)      llc_se = n_beta * sd(r) / sqrt(ess(r))

    sd is over all chains and draws together. With the baseline "init", llc uses loss_t - ``init_loss``
    instead of r_t; ``llc_se``, R-hat and ESS still use r_t.

    A chain has diverged (diagnostics/status.py) if its rise at the end exceeds ``divergence_factor`` times
    the mean loss at the centre and still grows. If that loss is below 1 / n_beta, as after a noiseless fit,
    the scale is sizes / n_beta instead: twice the equilibrium rise d / (2 n_beta) of a regular model with d
    coordinates. Chains that are not ok are excluded from all means. They are NaN in every variable except
    ``status`` and ``loss``. ``loss`` is NaN from the first nonfinite value on.

    traces     loss and acceptance [component, chain, draw], loss at the centre [draw]
    sizes      component -> number of its coordinates
    setting    the sampler settings, recorded in the attributes. Burn-in draws enter ``status`` and
               ``half_length_change``, but no mean and no other diagnostic
    init_loss  mean loss at the centre over the init batches
    unread     number of burn-in draws whose losses were not computed; ``status`` ignores them

    Returns ``VARIABLES``, ``status`` and ``quality``. Their dims are (component), or (component, chain) for
    quantities of single chains; those of ``loss`` are (component, chain, draw), those of ``loss_at_center``
    (draw); ``init_loss`` has none. A test of single chains is included if there are enough draws: 82 for
    Geweke's, 20 for Heidelberger and Welch's, 937 for Raftery and Lewis'.
    """
    n_beta, burn_in = setting.n_beta, setting.burn_in
    dimensions = list(sizes.values())
    loss, at_center = (values.cpu().numpy() for values in (traces.loss, traces.at_center))
    lost = ~np.isfinite(loss)
    lost[..., :unread] = False
    loss = np.where(np.cumsum(lost, axis=-1) > 0, np.nan, loss)
    rise = loss - at_center
    center_loss = abs(float(np.mean(at_center)))
    is_scale = n_beta * center_loss >= 1
    scale = np.full(len(sizes), center_loss) if is_scale else np.asarray(dimensions) / n_beta
    status = chain_status(
        loss[..., unread:], rise[..., unread:], scale=scale[:, None],
        divergence_factor=setting.divergence_factor,
    )  # fmt: skip
    ok = status == OK
    kept = np.where(ok[..., None], rise[..., burn_in:], np.nan)
    above_init = np.where(ok, loss[..., burn_in:].mean(-1), np.nan) - init_loss
    llc_chain = n_beta * (kept.mean(-1) if setting.baseline == "paired" else above_init)
    accepted = np.where(ok[..., None], traces.acceptance.cpu().numpy(), np.nan)[..., burn_in:]
    dataset = xr.Dataset(
        {
            "llc": ("component", mean_of_finite(llc_chain)),
            "llc_init": ("component", n_beta * mean_of_finite(above_init)),
            "llc_chain": (("component", "chain"), llc_chain),
            **_pooled_statistics([trace[rows] for trace, rows in zip(kept, ok, strict=True)], n_beta),
            **_equilibration(np.where(ok[..., None], rise, np.nan), setting),
            **_single_chain_tests(kept),
            **_acceptance(accepted, dimensions, setting),
            "status": (("component", "chain"), status, status_attributes()),
            "loss": (("component", "chain", "draw"), loss),
            "loss_at_center": ("draw", at_center),
            "init_loss": ((), init_loss),
        },
        coords={
            "component": np.asarray(list(sizes), dtype=object),
            "chain": np.arange(loss.shape[1]),
            "draw": np.arange(loss.shape[2]),
        },
        attrs=setting.facts(),
    )
    dataset["quality"] = judge(dataset, level=center_loss if is_scale else float("nan"))
    return describe(dataset, VARIABLES)


def mean_of_finite(values: np.ndarray) -> np.ndarray:
    """Return the mean over the last dim of the values that are not NaN; NaN where all are NaN."""
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(present, values, 0.0).sum(-1) / present.sum(-1)


def _pooled_statistics(ok_traces: Sequence[np.ndarray], n_beta: float) -> dict[str, tuple[str, np.ndarray]]:
    """Return llc_se, R-hat, ESS and drift of each component, from the rises [ok chain, draw] of each."""
    effective = np.array([ess(trace) for trace in ok_traces])
    sd = np.array([trace.std(ddof=1) if trace.size > 1 else np.nan for trace in ok_traces])
    drifts, errors = n_beta * np.array([drift(trace) for trace in ok_traces]).T
    return {
        "llc_se": ("component", n_beta * sd / np.sqrt(effective)),
        "rhat": ("component", np.array([rhat(trace) for trace in ok_traces])),
        "ess": ("component", effective),
        "drift": ("component", drifts),
        "drift_se": ("component", errors),
    }


def _equilibration(rise: np.ndarray, setting: SamplerConfig) -> dict[str, tuple[str, np.ndarray]]:
    """Return the four variables of equilibration. rise is [component, chain, draw], burn-in included."""
    ok_traces = [trace[~np.isnan(trace).all(1)] for trace in rise]
    changes = np.array([half_length_change(trace, burn_in=setting.burn_in) for trace in ok_traces])
    shares = equilibrated(setting)
    values = {
        "half_length_change": setting.n_beta * changes[:, 0],
        "half_length_change_se": setting.n_beta * changes[:, 1],
        "equilibrated_variance": np.full(len(rise), shares.variance),
        "equilibrated_mean": np.full(len(rise), shares.mean),
    }
    return {name: ("component", value) for name, value in values.items()}


def _single_chain_tests(kept: np.ndarray) -> dict[str, tuple[tuple[str, str], np.ndarray]]:
    """Return the single-chain tests that ``kept`` [component, chain, draw] has enough draws for."""
    draws, values = kept.shape[-1], {}
    if draws >= geweke.LEAST_DRAWS:
        values["geweke"] = geweke.geweke(kept)
    if draws >= heidelberger_welch.LEAST_DRAWS:
        tested = heidelberger_welch.heidelberger_welch(kept)._asdict()
        values |= {f"heidelberger_welch_{name}": value for name, value in tested.items()}
    if draws >= raftery_lewis.LEAST_DRAWS:
        values["raftery_lewis_factor"] = raftery_lewis.raftery_lewis(kept)
    return {name: (("component", "chain"), value) for name, value in values.items()}


def _acceptance(
    accepted: np.ndarray, sizes: Sequence[int], setting: SamplerConfig
) -> dict[str, tuple[str, np.ndarray]]:
    """Return the mean acceptance of each component, and the acceptance expected for a constant loss.

    accepted  [component, chain, draw]
    sizes     number of coordinates of each component
    """
    expected = np.full((accepted.shape[0], accepted.shape[2]), np.nan)
    recorded = np.isfinite(accepted).any(1)
    if recorded.any():
        chain = {name: getattr(setting, name) for name in ("draws", "localization", "step_size", "thinning")}
        nulls = {size: acceptance_null(size=size, **chain)[setting.burn_in :] for size in set(sizes)}
        expected = np.where(recorded, np.stack([nulls[size] for size in sizes]), np.nan)
    return {
        "acceptance": ("component", mean_of_finite(accepted.reshape(len(accepted), -1))),
        "acceptance_null": ("component", mean_of_finite(expected)),
    }

"""Turn traces into an estimate: means, errors, diagnostics and quality in one labelled dataset."""

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
    "llc_se": ("Monte Carlo standard error of the LLC, from the ESS; it holds no data-sampling error", "1"),
    "llc_init": ("LLC with the init batches' mean loss at the centre as baseline", "1"),
    "llc_chain": ("local learning coefficient of one chain", "1"),
    "rhat": ("rank-normalised split R-hat of the paired trace", "1"),
    "ess": ("effective sample size of the mean of the paired trace", "1"),
    "drift": ("drift of the LLC: last half of the kept draws less the first", "1"),
    "drift_se": ("Monte Carlo standard error of the drift given these batches", "1"),
    "half_length_change": ("what the LLC gained since chains were half as long", "1"),
    "half_length_change_se": ("Monte Carlo standard error of that gain given these batches", "1"),
    "equilibrated_variance": (
        "share of the variance in equilibrium that the localization alone makes, by setting", "1",
    ),
    "equilibrated_mean": (
        "share of the way to a new mean that the localization alone makes, by setting", "1",
    ),
    "acceptance": ("mean Metropolis acceptance probability of the moves to kept draws", "1"),
    "acceptance_null": ("the same for a constant loss, at this dimension and setting", "1"),
    "geweke": ("Geweke's z: first 10 % of a chain's kept draws against the last 50 %", "1"),
    "heidelberger_welch_start": (
        "share of a chain's kept draws dropped until Heidelberger and Welch's test passes", "1"
    ),
    "heidelberger_welch_p": ("p value of Heidelberger and Welch's test of stationarity, the last made", "1"),
    "heidelberger_welch_halfwidth": ("95 % half-width of the mean of what passed, over its size", "1"),
    "raftery_lewis_factor": (
        "Raftery and Lewis' dependence factor: draws needed over draws needed if independent", "1"
    ),
    "loss": ("minibatch loss of each draw, before the move", NATS),
    "loss_at_center": ("loss at the centre on the minibatch of the draw", NATS),
    "init_loss": ("mean loss at the centre over the init batches", NATS),
}  # fmt: skip


class Prepared(NamedTuple):
    """The functions that sample checked components.

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
    """Check the arguments, sample, and return the estimate. Arguments and errors as in ``llc.estimate``.

    prepare  ``prepare(weights, at_center)`` checks the components and returns the functions that sample them.
             ``at_center``: for a control, its estimate's losses at the centre by draw; else None
    """
    check_batches(setting, batches, init_batches=init_batches)
    check_further(setting, pair_batches)
    max_memory = None if max_memory is None else int(BYTES.of("max_memory", max_memory))
    report_control = truth("report_control", report_control)
    weights = placed(weights, device)
    at_center, init_loss, unread = None, float("nan"), 0
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
            "report_control is set for a control: expected gradient=True, drift_free=False and no "
            "control_of; or set report_control=False"
        )
    run, pairs, sizes = prepare(weights, at_center)
    if control_of is None:
        init_loss = mean_center_loss(loss, weights, init_batches)
    traces = run(list(sizes), setting=setting, max_memory=max_memory)
    estimate = summarise(traces, sizes=sizes, setting=setting, init_loss=init_loss, unread=unread)
    if not (setting.antithetic_pairs or report_control):
        return estimate

    def control(names: Sequence[str], setting: SamplerConfig) -> Traces:
        stride = setting.thinning // estimate.attrs["thinning"]
        at_draws = torch.from_numpy(estimate["loss_at_center"].values[::stride].copy())
        return prepare(weights, at_draws).chains(names, setting=setting, max_memory=max_memory)

    def summarised(names: Sequence[str], traces: Traces) -> xr.Dataset:
        own = {"sizes": {name: sizes[name] for name in names}, "init_loss": init_loss}
        return summarise(traces, setting=looked_at(setting, 1), unread=setting.burn_in, **own)

    if not setting.antithetic_pairs:
        names = list(sizes)
        return with_controls(estimate, summarised(names, control(names, looked_at(setting, 1))))
    estimate = reduced(
        estimate, control, summarised, partial(pairs, setting=setting, further=pair_batches), setting=setting,
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

    With r_t = loss_t - loss_at_center_t on the kept draws, over the ok chains::

        llc = n_beta * mean(r)      llc_se = n_beta * sd(r) / sqrt(ess(r))

    sd is over all chains and draws together. A chain has diverged (diagnostics/status.py) where its rise ends
    above ``divergence_factor`` times the loss at the centre and still grows. A loss at the centre below
    1 / n_beta, as after a noiseless fit, cannot serve as scale. Then the scale is sizes / n_beta, twice the
    rise of a regular model in equilibrium. A chain that is not ok is NaN in every variable except ``status``
    and ``loss``, and enters no mean. After a nonfinite value, ``loss`` is NaN.

    traces     loss and acceptance [component, chain, draw], loss at the centre [draw]
    sizes      component -> number of its coordinates
    setting    the sampler settings, recorded in the attributes. Burn-in draws enter no mean and no
               diagnostic except ``status`` and ``half_length_change``. With the baseline "init", llc uses
               loss minus ``init_loss``
    init_loss  mean loss at the centre over the init batches
    unread     draws at the start, within burn-in, whose losses may be unknown; ``status`` ignores them

    Returns ``VARIABLES``, ``status`` and ``quality``: (component), for single chains (component, chain);
    ``loss`` (component, chain, draw), ``loss_at_center`` (draw), ``init_loss``. A test of single chains is
    included where there are enough draws: 82 for Geweke's, 20 for Heidelberger and Welch's, 937 for Raftery
    and Lewis'.
    """
    n_beta, burn_in = setting.n_beta, setting.burn_in
    coordinates = list(sizes.values())
    loss, at_center = (values.cpu().numpy() for values in (traces.loss, traces.at_center))
    lost = ~np.isfinite(loss)
    lost[..., :unread] = False
    loss = np.where(np.cumsum(lost, axis=-1) > 0, np.nan, loss)
    rise = loss - at_center
    level = abs(float(np.mean(at_center)))
    meaningful = n_beta * level >= 1
    scale = np.full(len(sizes), level) if meaningful else np.asarray(coordinates) / n_beta
    status = chain_status(
        loss[..., unread:], rise[..., unread:], scale=scale[:, None],
        divergence_factor=setting.divergence_factor,
    )  # fmt: skip
    ok = status == OK
    kept = np.where(ok[..., None], rise[..., burn_in:], np.nan)
    above_init = np.where(ok, loss[..., burn_in:].mean(-1), np.nan) - init_loss
    by_chain = n_beta * (kept.mean(-1) if setting.baseline == "paired" else above_init)
    accepted = np.where(ok[..., None], traces.acceptance.cpu().numpy(), np.nan)[..., burn_in:]
    dataset = xr.Dataset(
        {
            "llc": ("component", mean_of_finite(by_chain)),
            "llc_init": ("component", n_beta * mean_of_finite(above_init)),
            "llc_chain": (("component", "chain"), by_chain),
            **_over_chains([trace[sound] for trace, sound in zip(kept, ok, strict=True)], n_beta),
            **_relaxation(np.where(ok[..., None], rise, np.nan), setting),
            **_by_chain(kept),
            **_acceptance(accepted, coordinates, setting),
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
    dataset["quality"] = judge(dataset, level=level if meaningful else float("nan"))
    return describe(dataset, VARIABLES)


def mean_of_finite(values: np.ndarray) -> np.ndarray:
    """Return the mean over the last dim of the values that are not NaN; NaN where all are NaN."""
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(present, values, 0.0).sum(-1) / present.sum(-1)


def _over_chains(sound: Sequence[np.ndarray], n_beta: float) -> dict[str, tuple[str, np.ndarray]]:
    """Return statistics over all ok chains of each component; each item is [ok chain, draw]."""
    effective = np.array([ess(trace) for trace in sound])
    sd = np.array([trace.std(ddof=1) if trace.size > 1 else np.nan for trace in sound])
    drifts, errors = n_beta * np.array([drift(trace) for trace in sound]).T
    return {
        "llc_se": ("component", n_beta * sd / np.sqrt(effective)),
        "rhat": ("component", np.array([rhat(trace) for trace in sound])),
        "ess": ("component", effective),
        "drift": ("component", drifts),
        "drift_se": ("component", errors),
    }


def _relaxation(rise: np.ndarray, setting: SamplerConfig) -> dict[str, tuple[str, np.ndarray]]:
    """Return whether chains equilibrated, by the setting and by the trace [chain, draw], burn-in included."""
    sound = [trace[~np.isnan(trace).all(1)] for trace in rise]
    gained = np.array([half_length_change(trace, burn_in=setting.burn_in) for trace in sound])
    known = equilibrated(setting)
    values = {
        "half_length_change": setting.n_beta * gained[:, 0],
        "half_length_change_se": setting.n_beta * gained[:, 1],
        "equilibrated_variance": np.full(len(rise), known.variance),
        "equilibrated_mean": np.full(len(rise), known.mean),
    }
    return {name: ("component", value) for name, value in values.items()}


def _by_chain(kept: np.ndarray) -> dict[str, tuple[tuple[str, str], np.ndarray]]:
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
    """Return each component's mean acceptance and its null, from ``accepted`` [component, chain, draw]."""
    expected = np.full(accepted.shape[::2], np.nan)  # [component, draw]
    recorded = np.isfinite(accepted).any(1)
    if recorded.any():
        law = {name: getattr(setting, name) for name in ("draws", "localization", "step_size", "thinning")}
        nulls = {size: acceptance_null(size=size, **law)[setting.burn_in :] for size in set(sizes)}
        expected = np.where(recorded, np.stack([nulls[size] for size in sizes]), np.nan)
    return {
        "acceptance": ("component", mean_of_finite(accepted.reshape(len(accepted), -1))),
        "acceptance_null": ("component", mean_of_finite(expected)),
    }

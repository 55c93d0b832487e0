"""Estimate the local learning coefficient of any loss at any weights, by SGLD around them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
import xarray as xr
from torch import Tensor

from rllc.estimator.control import check_center
from rllc.estimator.results import Prepared, estimated
from rllc.estimator.samplers.admissible import Loss, center_loss, check_mean, check_tensors
from rllc.estimator.samplers.batches import to_device
from rllc.estimator.samplers.chains import Traces
from rllc.estimator.samplers.coordinates import coordinates
from rllc.estimator.samplers.deterministic import check_deterministic
from rllc.estimator.samplers.sample import sample, sample_pairs
from rllc.models.weights import Masks, Weights
from rllc.sampler_config import DIVERGENCE_FACTOR, SamplerConfig, shown, truth


def estimate(
    loss: Loss,
    weights: Weights,
    batches: Sequence[Any],
    *,
    components: Mapping[str, Masks | None],
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
    sampler_options: Mapping[str, float] | None = None,
    thinning: int = 1,
    antithetic_pairs: int = 0,
    pair_batches: Sequence[Any] | None = None,
    gradient: bool = True,
    drift_free: bool = False,
    vectorize: bool = False,
    device: str | torch.device | None = None,
    max_memory: int | None = None,
    divergence_factor: float = DIVERGENCE_FACTOR,
    control_of: xr.Dataset | None = None,
    report_control: bool = False,
) -> xr.Dataset:
    """Return the (refined) local learning coefficient of every component, around the weights w*.

    Each chain starts at w* and moves only the component's coordinates (samplers/sgld.py)::

        w <- w - (step_size/2) (n_beta grad L_batch(w) + localization (w - w*)) + sqrt(step_size) N(0, I)
        llc = n_beta * mean over chains and draws >= burn_in of (loss_t - baseline_t)

    (Lau et al. 2023, arXiv 2308.12108; refined: arXiv 2410.02984, sec. 2.2.) The loss of draw t is taken
    before the move, so draw 0 is at w* and enters the estimate when ``burn_in`` is 0.

    loss          ``loss(weights, batch) -> `` scalar tensor: mean loss of the batch, torch.func-compatible.
                  It may depend on these two arguments only, so put a torch module in eval mode
    weights       the centre w*, by name; selected weights are float32 or float64
    batches       move m of every chain and component uses ``batches[m % len(batches)]``, fetched once per
                  move in each pass (``max_memory``), the first once more to check the loss. With fewer
                  batches than moves, the result is the LLC of this finite set
    components    boolean masks by weight name, for each component. A weight without a mask is frozen. None
                  instead of masks selects all weights
    n_beta        inverse temperature times the number of samples: the factor of the mean loss
    localization  precision of the Gaussian prior centred at w*
    step_size     step size (epsilon)
    draws         positions recorded per chain, the first at w*
    burn_in       draws at the start of each chain that do not enter the estimate
    seed          chain c of a component uses the normals of the stream (seed, component, c). So its draws do
                  not depend on the other components, the number of chains, or their order
    baseline      "paired": the loss at w* on the same minibatch; "init": the mean loss at w* over
                  ``init_batches`` (as in the papers)
    sampler       "sgld", or "rmsprop": preconditioned (samplers/rmsprop.py describes its distribution)
    sampler_options  constants of the sampler that differ from the default: rmsprop has ``decay`` and
                  ``stabilizer``
    thinning      moves per draw
    antithetic_pairs  antithetic pairs per kept draw and component. They give the mean of the prior-only
                  control, which reduces the variance of the estimate (control_variate.py). Without
                  ``pair_batches`` the expectation stays the same. An even number, for sgld with four chains
                  or more. 0: no pairs, the plain estimate
    pair_batches  minibatches for the pairs, one for every two pairs, from the same source as ``batches``. The
                  estimate then depends less on the choice of ``batches``. None: the pairs use the chains'
                  batches, and the result describes these batches only
    gradient      False drops the gradient term: the control, with the same noise and batches
    drift_free    subtract the gradient at w*: the force is grad L_batch(w) - grad L_batch(w*). w* is then
                  critical on every batch. This removes the drift from a w* that is not a minimum and, to
                  leading order, the effect of minibatch noise. It costs one more gradient per move and
                  component
    vectorize     evaluate all chains of a component in one call of the loss (``torch.func.vmap``). The draws
                  agree up to rounding. Many times faster for a tiny loss, where Python dominates the time
    device        where to compute (None: on the weights' device)
    max_memory    maximum bytes for the chains' vectors; further chains run in another pass over the batches.
                  The result does not depend on it (with ``vectorize``: up to rounding)
    divergence_factor  see ``results.summarise``
    control_of    the estimate that this control belongs to. Give the same arguments, but ``gradient=False``
                  or ``drift_free=True``, ``antithetic_pairs=0``, and any number of chains. Its losses at w*
                  are reused. Without the gradient, ``loss`` is NaN in the burn-in, where it is not needed
    report_control  also make the prior-only control of every component, at a third of the estimate's cost,
                  and use it for the quality. False: with ``antithetic_pairs``, make it only for components
                  that gain from it (judged by a few of its draws); without ``antithetic_pairs``, make no
                  control

    Returns ``llc``, ``llc_se``, ``llc_init``, ``rhat``, ``ess``, ``drift``, ``drift_se``,
    ``half_length_change``, ``half_length_change_se``, ``equilibrated_variance``, ``equilibrated_mean``,
    ``acceptance``, ``acceptance_null``, ``quality`` (component); ``llc_chain``, ``status``, ``geweke``,
    ``heidelberger_welch_start``, ``_p`` and ``_halfwidth``, ``raftery_lewis_factor`` (component, chain);
    ``loss`` (component, chain, draw; burn-in included), ``loss_at_center`` (draw), ``init_loss`` (NaN without
    init batches): ``results.VARIABLES`` describes each. The attributes hold the setting. With
    ``report_control`` also ``llc_prior_only``, ``llc_prior_only_se`` (component) and ``llc_prior_only_chain``
    (component, chain). ``quality`` can have ``prior_dominated`` only where the control was made. Its
    attribute ``judged_against`` names the control, or is "no control". ``control.with_controls`` adds
    controls later. With ``antithetic_pairs`` also ``control_variate.VARIABLES``: ``llc_se_control``,
    ``llc_se_data``, ``llc_prior_only``, ``llc_prior_only_se``, ``control_coefficient``,
    ``variance_reduction`` (component), ``llc_prior_only_chain``, ``llc_reduced_chain`` (component, chain).

    Raises ValueError, with the argument and the expected value, in these cases:

    - a number is missing or out of range, batches are not a sequence or differ in kind, a weight is not
      finite, a mask does not fit, or there is nothing to sample
    - the loss is not a finite scalar at w*, is a sum over the batch instead of a mean, gives another number
      when evaluated again (twice on the first batch), would change its inputs in place (detected before it
      happens), or does not read the weights of a component (detected from gradients, so not without them)
    - ``control_of`` has another setting, or another loss of the first batch at w*
    - ``report_control`` is set for a control
    - ``antithetic_pairs`` is odd, is set for a control, another sampler or fewer than four chains, or has too
      few ``pair_batches``

    The loss x^2 of one weight has LLC 1/2. With finite ``n_beta`` and a localization, the exact value is
    n_beta / (2 n_beta + localization):

    >>> def loss(weights, batch):
    ...     return weights["x"].square().sum() + 0 * batch
    >>> found = estimate(
    ...     loss, {"x": torch.zeros(1)}, [torch.zeros(())],
    ...     components={"x": None}, n_beta=100.0, localization=50.0, step_size=1e-3, chains=8, draws=2000,
    ...     burn_in=500, vectorize=True,
    ... )  # fmt: skip
    >>> bool(abs(found["llc"].item() - 100 / 250) < 4 * found["llc_se"].item() + 0.03)
    True
    """
    options = {} if sampler_options is None else sampler_options
    setting = SamplerConfig(
        n_beta=n_beta, localization=localization, step_size=step_size, chains=chains, draws=draws,
        burn_in=burn_in, thinning=thinning, antithetic_pairs=antithetic_pairs, seed=seed, gradient=gradient,
        drift_free=drift_free, baseline=baseline, sampler=sampler, sampler_options=options,
        divergence_factor=divergence_factor,
    )  # fmt: skip
    return estimate_components(
        loss, weights, batches, components=components, setting=setting, init_batches=init_batches,
        vectorize=vectorize, device=device, max_memory=max_memory, control_of=control_of,
        pair_batches=pair_batches, report_control=report_control,
    )  # fmt: skip


def component_losses(
    model: Any, weights: Weights, components: Mapping[str, Masks | None]
) -> tuple[Loss, Mapping[str, Loss] | None]:
    """Return the loss of a model and the faster ones of components, where the model knows any."""
    around = getattr(model, "losses_around", None)
    return (model.loss, None) if around is None else around(weights, components)


def estimate_components(
    loss: Loss,
    weights: Weights,
    batches: Sequence[Any],
    *,
    components: Mapping[str, Masks | None],
    setting: SamplerConfig,
    losses: Mapping[str, Loss] | None = None,
    vectorize: bool = False,
    **rest: Any,
) -> xr.Dataset:
    """Return ``estimate`` at a setting; ``rest`` are arguments of ``results.estimated``.

    losses  component -> a faster loss, equal to ``loss`` where only its coordinates differ from w*
    """
    if not callable(loss):
        raise ValueError(f"loss is {shown(loss)}: expected a function of the weights and a batch")
    if setting.gradient and torch.is_inference_mode_enabled():
        raise ValueError(
            "the estimate needs gradients, and torch.inference_mode() allows none: call it outside of that "
            "block (inside torch.no_grad() it works)"
        )
    check_tensors(weights)
    if not isinstance(components, Mapping) or not components:
        raise ValueError(
            f"components is {shown(components)}, there is nothing to sample: expected a dict from component "
            "names to boolean masks by weight name, or to None for all weights"
        )
    if len(set(map(str, components))) < len(components):
        raise ValueError(f"components {list(components)} read the same as text: give each a different name")
    vectorize = truth("vectorize", vectorize)

    def prepare(weights: Weights, at_center: Tensor | None) -> Prepared:
        selected = {name: coordinates(weights, masks, component=name) for name, masks in components.items()}
        device = next(iter(weights.values())).device
        batch = to_device(batches[0], device)
        evaluate = partial(center_loss, loss, weights, batch, name="batches[0]")
        if at_center is None:
            check_deterministic(evaluate, device)
            check_mean(loss, weights, batch)
        else:
            check_center(evaluate()[None], at_center[:1])

        def chains(names: Sequence[str], **how: Any) -> Traces:
            some = {name: selected[name] for name in names}
            given = {
                "components": some,
                "losses": losses,
                "vectorize": vectorize,
                "at_center": at_center,
            }
            return sample(loss, weights, batches, **given, **how)

        return Prepared(
            chains,
            partial(
                sample_pairs, loss, weights, batches, components=selected, losses=losses, vectorize=vectorize
            ),
            {name: part.size for name, part in selected.items()},
        )

    return estimated(loss, weights, batches, prepare=prepare, setting=setting, **rest)

"""The local learning coefficient of any loss at any weights, by SGLD around them."""

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
    pairs: int = 0,
    pair_batches: Sequence[Any] | None = None,
    gradient: bool = True,
    centred: bool = False,
    vectorize: bool = False,
    device: str | torch.device | None = None,
    max_memory: int | None = None,
    divergence_factor: float = DIVERGENCE_FACTOR,
    control_of: xr.Dataset | None = None,
    report_control: bool = False,
) -> xr.Dataset:
    """The (refined) local learning coefficient of every component, around the weights w*.

    Each chain starts at w* and moves the component's coordinates, and only these, by (samplers/sgld.py)::

        w <- w - (step_size/2) (n_beta grad L_batch(w) + localization (w - w*)) + sqrt(step_size) N(0, I)
        llc = n_beta * mean over chains and draws >= burn_in of (loss_t - baseline_t)

    (Lau et al. 2023, arXiv 2308.12108; refined: arXiv 2410.02984, sec. 2.2.) The loss of draw t is taken
    before the move, so draw 0 is at w*, and counts when ``burn_in`` is 0.

    loss          ``loss(weights, batch) -> `` scalar tensor: mean loss of the batch, torch.func-compatible; a
                  function of these two alone, so with a torch module in eval mode
    weights       the centre w*, by name, float32 or float64 where selected
    batches       move m of every chain and component uses ``batches[m % len(batches)]``, fetched once per
                  move (the first once more, to check the loss). With fewer batches than moves the result is
                  the LLC of that finite set.
    components    boolean masks by weight name, for each component; a weight not named is frozen; None in
                  place of masks selects everything
    n_beta        inverse temperature times sample size: what multiplies the mean loss
    localization  strength of the pull to w*
    step_size     epsilon
    draws         positions recorded per chain, the first of them w*
    burn_in       draws at the start of each chain that enter no estimate
    seed          chain c of a component uses the normals of the stream (seed, component, c): its draws do
                  not depend on the other components, on the number of chains, or on order
    baseline      "paired": the loss at w* on the same minibatch; "init": the mean loss at w* over
                  ``init_batches`` (the papers')
    sampler       "sgld", or "rmsprop": preconditioned (samplers/rmsprop.py says what its law is)
    sampler_options  constants of the sampler where they are not the default: rmsprop has ``decay`` and
                  ``stabilizer``
    thinning      moves per draw
    pairs         antithetic pairs per kept draw and component, which stand for the gradient-off control: by
                  it the variance of the estimate is reduced (reduced.py), with the same expectation. For sgld
                  and four chains or more; an even number; 0: none, the plain estimate
    pair_batches  minibatches that the pairs read, one for every two, of the same source as ``batches``: the
                  estimate then depends less on which ``batches`` are. None: those of the chains, and the
                  result is of these alone
    gradient      False drops the gradient's term: the control, same noise and batches
    centred       the force is grad L_batch(w) - grad L_batch(w*): w* is then critical on every batch, so the
                  estimate has neither the drift of a w* that is no minimum nor, to leading order, what the
                  noise of minibatches adds; one gradient at w* more per move and component
    vectorize     all chains of a component in one call of the loss (``torch.func.vmap``): the same draws to
                  rounding, many times faster where the loss is tiny and Python is what takes the time
    device        where to compute (None: where the weights are)
    max_memory    bytes that the chains' vectors may take; the result does not depend on it (with
                  ``vectorize`` but for rounding)
    divergence_factor  see ``summary.summarise``
    control_of    an estimate whose control this is: the same arguments, but without the gradient or
                  ``centred``, and with any number of chains. What it found at w* is not computed again;
                  without the gradient ``loss`` is NaN in the burn-in, where nothing reads it.
    report_control  also make the gradient-off control of every component, at a third of the estimate's cost,
                  and judge the estimate by it. False: with ``pairs`` only of components that it helps, by a
                  look at few of its draws; without, no control

    Returns ``llc``, ``llc_se``, ``llc_init``, ``rhat``, ``ess``, ``drift``, ``drift_se``, ``growth``,
    ``growth_se``, ``relaxed``, ``relaxed_mean``, ``acceptance``, ``acceptance_null``, ``verdict``
    (component); ``llc_chain``, ``status``, ``geweke``, ``heidelberger_welch_start``, ``_p`` and
    ``_halfwidth``, ``raftery_lewis_factor`` (component, chain); ``loss`` (component, chain, draw; burn-in
    included), ``loss_at_center`` (draw), ``init_loss`` (NaN without init batches): ``summary.VARIABLES``
    says what each is. Attributes are the setting. With ``report_control`` also ``llc_gradient_off``,
    ``llc_gradient_off_se`` (component) and ``llc_gradient_off_chain`` (component, chain).
    ``verdict`` says ``prior_dominated`` only where the control was made; its attribute ``judged_against``
    names the control, or says "no control". ``control.with_controls`` judges by controls made later.
    With ``pairs`` also ``reduced.VARIABLES``: ``llc_se_control``, ``llc_se_data``, ``llc_gradient_off``,
    ``llc_gradient_off_se``, ``coupling``, ``variance_removed`` (component), ``llc_gradient_off_chain``,
    ``llc_reduced_chain`` (component, chain).

    Raises ValueError, naming the argument and what was expected: where a number is none or out of range,
    batches are no sequence or not of one kind, a weight is not finite, a mask does not fit, there is nothing
    to sample; where the loss is not a finite scalar at w*, is a sum over the batch instead of a mean, is
    another number when evaluated again (twice on the first batch), changes what it reads (found before it
    does), or does not read the weights of a component (found by its gradients: not without them); where
    ``control_of`` has another setting, or another loss of the first batch at w*; where ``report_control`` is
    asked of a control; where ``pairs`` is odd, is
    asked of a control, of another sampler or of fewer than four chains, or has too few ``pair_batches``.

    The loss x^2 of one weight has the LLC 1/2. With a finite ``n_beta`` and a localization the exact value is
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
        burn_in=burn_in, thinning=thinning, pairs=pairs, seed=seed, gradient=gradient, centred=centred,
        baseline=baseline, sampler=sampler, sampler_options=options, divergence_factor=divergence_factor,
    )  # fmt: skip
    return estimate_components(
        loss, weights, batches, components=components, setting=setting, init_batches=init_batches,
        vectorize=vectorize, device=device, max_memory=max_memory, control_of=control_of,
        pair_batches=pair_batches, report_control=report_control,
    )  # fmt: skip


def estimate_components(
    loss: Loss,
    weights: Weights,
    batches: Sequence[Any],
    *,
    components: Mapping[str, Masks | None],
    setting: SamplerConfig,
    vectorize: bool = False,
    **rest: Any,
) -> xr.Dataset:
    """``estimate`` at a setting; the rest are arguments of ``summary.estimated``."""
    if not callable(loss):
        raise ValueError(f"loss is {shown(loss)}: expected a function of the weights and a batch")
    if setting.gradient and torch.is_inference_mode_enabled():
        raise ValueError(
            "the estimate needs gradients, and torch.inference_mode() allows none: call it outside of that "
            "block (torch.no_grad() is no obstacle)"
        )
    check_tensors(weights)
    if not isinstance(components, Mapping) or not components:
        raise ValueError(
            f"components is {shown(components)}, there is nothing to sample: expected boolean masks by "
            "weight name, or None for all weights, for each component by name"
        )
    if len(set(map(str, components))) < len(components):
        raise ValueError(f"components {list(components)} read the same: expected a name for each")
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
            check_center(evaluate(), at_center[0])

        def chains(names: Sequence[str], **how: Any) -> Traces:
            some = {name: selected[name] for name in names}
            given = {"components": some, "vectorize": vectorize, "at_center": at_center}
            return sample(loss, weights, batches, **given, **how)

        return Prepared(
            chains,
            partial(sample_pairs, loss, weights, batches, components=selected, vectorize=vectorize),
            {name: part.size for name, part in selected.items()},
        )

    return estimated(loss, weights, batches, prepare=prepare, setting=setting, **rest)

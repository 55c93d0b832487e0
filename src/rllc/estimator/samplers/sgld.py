"""Stochastic gradient Langevin dynamics on the selected coordinates of a dict of weights.

One move, on the flat vector w of the n selected coordinates (arXiv 2410.02984, App. F; the sign and the
factor of localization are those of the authors' code)::

    w <- w - (step_size/2) (n_beta grad L_batch(w) + localization (w - w*)) + sqrt(step_size) N(0, I)

The loss of a draw is the minibatch loss whose gradient is used, before the move: draw 0 is at w*.
"""

from typing import NamedTuple

from torch import Tensor
from torch.linalg import vecdot

from rllc.estimator.diagnostics.acceptance import acceptance
from rllc.estimator.samplers.chains import State
from rllc.sampler_config import SamplerConfig

CONTROL_READS_GRADIENT = False


class Departure(NamedTuple):
    """What the acceptance probability of a move needs from where it began; all per chain.

    pull    [chain, n]: n_beta gradient + localization (w - center)
    noise   [chain, n]
    energy  [chain]: n_beta (loss - loss at the centre) + localization/2 |w - center|^2
    """

    pull: Tensor
    noise: Tensor
    energy: Tensor


def advance(
    setting: SamplerConfig, state: State, departure: Departure | None
) -> tuple[Tensor | None, Departure | None]:
    """Move the chains; also the acceptance probability of the move that led to this draw.

    None without the gradient.
    """
    n_beta, localization, step_size = setting.n_beta, setting.localization, setting.step_size
    accepted = pull = energy = None
    if state.gradient is not None and (state.records or state.records_next):
        assert state.loss is not None and state.at_center is not None
        offset = state.positions - state.center
        # vecdot sums pairwise: |offset|^2 is far larger than its change by a move, a plain sum is too rough
        energy = (
            n_beta * (state.loss.double() - state.at_center)
            + localization / 2 * vecdot(offset, offset).double()
        )
        pull = offset.mul_(localization).add_(state.gradient, alpha=n_beta)
        if state.records and departure is not None:
            accepted = acceptance(
                old_pull=departure.pull, new_pull=pull, noise=departure.noise,
                energy_rise=energy - departure.energy, step_size=step_size,
            )  # fmt: skip
    noise = next(state.noise)
    move(
        state.positions, center=state.center, gradient=state.gradient, noise=noise,
        n_beta=n_beta, localization=localization, step_size=step_size,
    )  # fmt: skip
    if state.records_next and pull is not None and energy is not None:
        return accepted, Departure(pull, noise, energy)
    return accepted, None


def move(
    w: Tensor,
    *,
    center: Tensor,
    gradient: Tensor | None,
    noise: Tensor,
    n_beta: float,
    localization: float,
    step_size: float,
) -> Tensor:
    """One SGLD move, in place::

        w - (step_size/2) (n_beta gradient + localization (w - center)) + sqrt(step_size) noise

    All tensors [..., n]; ``gradient`` None drops its term (the control).
    """
    w.lerp_(center, step_size * localization / 2)
    if gradient is not None:
        w.sub_(gradient, alpha=step_size * n_beta / 2)
    return w.add_(noise, alpha=step_size**0.5)

"""Stochastic gradient Langevin dynamics on the selected coordinates of a dict of weights.

One move, on the flat vector w of the n selected coordinates (arXiv 2410.02984, App. F; the sign and the
factor of localization are those of the authors' code)::

    w <- w - (step_size/2) (n_beta grad L_batch(w) + localization (w - w*)) + sqrt(step_size) N(0, I)

The loss of a draw is the minibatch loss before the move; the move uses its gradient. Draw 0 is at w*.
"""

from typing import NamedTuple

from torch import Tensor
from torch.linalg import vecdot

from rllc.estimator.diagnostics.acceptance import acceptance
from rllc.estimator.samplers.chains import State
from rllc.sampler_config import SamplerConfig

CONTROL_READS_GRADIENT = False


class Departure(NamedTuple):
    """The quantities at the start of a move that its acceptance probability needs, per chain.

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
    """Move the chains in place. Return the acceptance probabilities and the departure of this move.

    The probabilities [chain] are those of the move that led to this draw. They are None without the gradient,
    between two draws and at draw 0. The departure is None without the gradient, or where this move leads to
    no draw.
    """
    n_beta, localization, step_size = setting.n_beta, setting.localization, setting.step_size
    accepted = pull = energy = None
    if state.gradient is not None and (state.records or state.records_next):
        assert state.loss is not None and state.at_center is not None
        offset = state.positions - state.center
        # vecdot sums pairwise: a plain sum is too inexact for the small change of |offset|^2 by a move
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
    """Make one SGLD move of ``w`` in place, and return it::

        w - (step_size/2) (n_beta gradient + localization (w - center)) + sqrt(step_size) noise

    All tensors [..., n]; ``gradient`` None drops its term (the control).
    """
    w.lerp_(center, step_size * localization / 2)
    if gradient is not None:
        w.sub_(gradient, alpha=step_size * n_beta / 2)
    return w.add_(noise, alpha=step_size**0.5)

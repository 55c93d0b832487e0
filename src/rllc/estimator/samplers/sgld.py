"""Stochastic gradient Langevin dynamics on the selected coordinates of a dict of weights.

One move, on the flat vector w of the n selected coordinates (arXiv 2410.02984, App. F; the sign and the
factor of localization are those of the authors' code)::

    w <- w - (step_size/2) (n_beta grad L_batch(w) + localization (w - w*)) + sqrt(step_size) N(0, I)

The loss of a draw is the minibatch loss whose gradient is used, before the move: draw 0 is at w*.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from torch import Tensor
from torch.linalg import vecdot

from rllc.estimator.diagnostics.acceptance import acceptance
from rllc.estimator.samplers.admissible import Loss, to_device
from rllc.estimator.samplers.chains import Here, Traces, noise_stream, walk
from rllc.estimator.samplers.coordinates import Coordinates, Weights, coordinates

__all__ = ["Loss", "Traces", "Weights", "coordinates", "move", "noise_stream", "sample", "to_device"]


class Departure(NamedTuple):
    """What the acceptance probability of a move needs from where it began; all per chain.

    pull    [chain, n]: n_beta gradient + localization (w - center)
    noise   [chain, n]
    energy  [chain]: n_beta (loss - loss at the centre) + localization/2 |w - center|^2
    """

    pull: Tensor
    noise: Tensor
    energy: Tensor


def sample(
    loss: Loss,
    weights: Weights,
    batches: Sequence[Any],
    *,
    components: Mapping[str, Coordinates],
    n_beta: float,
    localization: float,
    step_size: float,
    chains: int,
    draws: int,
    seed: int,
    thinning: int = 1,
    gradient: bool = True,
    vectorize: bool = False,
    max_memory: int | None = None,
    unread: int = 0,
    at_center: Tensor | None = None,
) -> Traces:
    """Traces of SGLD chains started at ``weights``; arguments and errors as in ``chains.walk``.

    loss      ``loss(weights, batch)``, scalar
    gradient  False drops the gradient's term, and the acceptance probabilities with it
    """
    return walk(
        loss, weights, batches,
        advance=partial(advance, n_beta=n_beta, localization=localization, step_size=step_size),
        components=components, chains=chains, draws=draws, thinning=thinning, seed=seed, gradient=gradient,
        vectorize=vectorize, max_memory=max_memory, unread=unread, at_center=at_center,
    )  # fmt: skip


def advance(
    here: Here, departure: Departure | None, *, n_beta: float, localization: float, step_size: float
) -> tuple[Tensor | None, Departure | None]:
    """Move the chains; also the acceptance probability of the move that led to this draw."""
    accepted = leaving = None
    if here.gradient is not None and (here.arrived or here.leaving):
        offset = here.positions - here.center
        # vecdot sums pairwise: |offset|^2 is far larger than its change by a move, a plain sum is too rough
        energy = (
            n_beta * (here.loss.double() - here.at_center)
            + localization / 2 * vecdot(offset, offset).double()
        )
        pull = offset.mul_(localization).add_(here.gradient, alpha=n_beta)
        if here.arrived and departure is not None:
            accepted = acceptance(
                old_pull=departure.pull, new_pull=pull, noise=departure.noise,
                energy_rise=energy - departure.energy, step_size=step_size,
            )  # fmt: skip
    noise = next(here.noise)
    move(
        here.positions, center=here.center, gradient=here.gradient, noise=noise,
        n_beta=n_beta, localization=localization, step_size=step_size,
    )  # fmt: skip
    if here.gradient is not None and here.leaving:
        leaving = Departure(pull, noise, energy)
    return accepted, leaving


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

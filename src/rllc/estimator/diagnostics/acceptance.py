"""Compute the Metropolis acceptance probability of Langevin moves. It is recorded, never used to reject.

A Langevin move is one proposal of the Metropolis-adjusted algorithm (MALA). Its acceptance probability
measures how far the discretised chain is from the localized posterior. In many dimensions it falls with the
dimension alone, so it is compared with its null: the acceptance for a constant loss.

It detects gradient noise and chains that have not equilibrated. It does not detect the bias of a long step on
a full batch: a chain in its own equilibrium is accepted at least half of the time, however wrong that is.
"""

import numpy as np
from torch import Tensor
from torch.linalg import vecdot


def acceptance(
    *, old_pull: Tensor, new_pull: Tensor, noise: Tensor, energy_rise: Tensor, step_size: float
) -> Tensor:
    """Return min(1, alpha) of the moves new = old - step_size/2 old_pull + sqrt(step_size) noise.

    With S = old_pull + new_pull and products summed over the n coordinates::

        log alpha = -energy_rise + log q(new -> old) - log q(old -> new)
                  = -energy_rise + sqrt(step_size)/2 S . noise - step_size/8 |S|^2

    old_pull, new_pull  [..., n]: n_beta * minibatch gradient + localization * (w - center) at both ends
    noise               [..., n]: the normals of the move
    energy_rise         [...]: n_beta * (rise of the loss, each end minus the loss at the centre on the same
                        minibatch) + localization/2 (|new - center|^2 - |old - center|^2)

    Returns float64 [...]; NaN where a loss or a gradient is not finite. Exact for MALA with one full batch.
    """
    both = old_pull + new_pull
    proposals = vecdot(both, noise.add(both, alpha=-(step_size**0.5) / 4)).double() * (step_size**0.5 / 2)
    return (proposals - energy_rise.double()).clamp(max=0).exp()


def variance_off(moves: int, *, localization: float, step_size: float) -> np.ndarray:
    """Return the variance of a coordinate after 0, ..., ``moves`` moves from w* without a loss: [moves + 1].

    s_t^2 = step_size (1 - a^(2t)) / (1 - a^2) with a = 1 - step_size localization / 2, summed as the series.
    """
    a = 1 - step_size * localization / 2
    return step_size * np.concatenate([[0.0], np.cumsum(a ** (2.0 * np.arange(moves)))])


def acceptance_null(
    *, size: int, localization: float, step_size: float, draws: int, thinning: int = 1
) -> np.ndarray:
    """Return the expected acceptance of the move to each draw under a constant loss: [draw].

    The coordinates are then independent. After t moves from the centre they have the variance
    s_t^2 = step_size * (1 - a^(2t)) / (1 - a^2), a = 1 - step_size localization / 2. With x -> x' one move::

        log alpha = D = step_size localization^2 / 8 * (|x|^2 - |x'|^2)
        E D   = step_size localization^2 / 8 * size * (s_t^2 - s_t+1^2)
        Var D = (step_size localization^2 / 8)^2 * size * 2 (s_t^4 + s_t+1^4 - 2 a^2 s_t^4)

    D is nearly normal (mean mu, sd sigma), so E min(1, e^D) = Phi(mu/sigma)
    + exp(mu + sigma^2/2) Phi(-sigma - mu/sigma). NaN at draw 0, which no move leads to; 1 without
    localization. From 10 coordinates on, the error of the normal approximation is below 0.01.
    """
    from scipy.special import erfcx, ndtr

    null = np.full(draws, np.nan)
    if draws < 2:
        return null
    a = 1 - step_size * localization / 2
    k = step_size * localization**2 / 8
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        variance = variance_off((draws - 1) * thinning, localization=localization, step_size=step_size)
        before, after = (variance[thinning - 1 + shift :: thinning][: draws - 1] for shift in (0, 1))
        mean = k * size * (before - after)
        sd = k * np.sqrt(2 * size * (before**2 + after**2 - 2 * a**2 * before**2))
        z = sd + mean / sd
        far = erfcx(z / 2**0.5) / 2 * np.exp(-((mean / sd) ** 2) / 2)  # the second term, without overflow
        accepted = ndtr(mean / sd) + np.where(z > 0, far, np.exp(mean + sd**2 / 2) * ndtr(-z))
    still = sd <= 1e-12
    # NaN here means that the variance overflowed, since the step is unstable
    null[1:] = np.where(still, np.exp(np.minimum(mean, 0)), np.nan_to_num(accepted, nan=0.0))
    return null

"""The distance of a sampler's chains from their start."""

import numpy as np


def free_distance(
    weights: int, *, step_size: float, localization: float, draws: int, burn_in: int, thinning: int = 1
) -> float:
    """Return the root mean square distance from the centre of chains without loss, from the localization.

    The chain of every coordinate is w <- rho w + sqrt(step_size) N(0, 1) from 0, with rho =
    1 - step_size localization / 2; its variance after t moves is step_size times the sum over s < t of
    rho^(2 s). The result averages over the kept draws.
    """
    moves = thinning * np.arange(burn_in, draws)
    powers = (1 - step_size * localization / 2) ** (2 * np.arange(moves[-1] + 1))
    variance = step_size * (powers.cumsum() - powers)  # sums over s < t
    return float(np.sqrt(weights * variance[moves].mean()))

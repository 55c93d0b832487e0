"""Compute how close to equilibrium the localization alone has brought the chains, from the centre."""

from typing import NamedTuple

import numpy as np

from rllc.sampler_config import SamplerConfig


class Equilibrated(NamedTuple):
    """Shares of the equilibrium mean and variance that were reached, averaged over the kept draws."""

    mean: float
    variance: float


def equilibrated(setting: SamplerConfig) -> Equilibrated:
    """Return the shares reached in a direction where the loss is flat, exactly.

    The prior-only control has only such directions. With a = 1 - step_size localization / 2, after t moves
    the mean has gone the share 1 - a^t of its way, and the variance is 1 - a^2t of its equilibrium value: it
    needs half the time. A direction of curvature h > 0 has localization + n_beta h in place of localization,
    and relaxes faster.

    0 without localization, below 0 where the step is unstable; NaN for rmsprop, whose steps are not known in
    advance.
    """
    if setting.sampler != "sgld":
        return Equilibrated(float("nan"), float("nan"))
    moves = setting.thinning * np.arange(setting.burn_in, setting.draws)
    a = 1.0 - setting.step_size * setting.localization / 2.0
    with np.errstate(over="ignore"):
        return Equilibrated(float(1 - np.mean(a**moves)), float(1 - np.mean((a * a) ** moves)))

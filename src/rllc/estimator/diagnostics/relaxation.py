"""How far the localization alone has brought the chains, which start at the centre, to equilibrium."""

from typing import NamedTuple

import numpy as np

from rllc.sampler_config import SamplerConfig


class Relaxed(NamedTuple):
    """Shares of equilibrium, on average over the draws kept: of the mean's way, and of the variance."""

    mean: float
    variance: float


def relaxed(setting: SamplerConfig) -> Relaxed:
    """Exactly, for a direction in which the loss is flat (and so for the control without gradient).

    With a = 1 - step_size localization / 2, after t moves the mean has gone the share 1 - a^t of its way, and
    the variance is 1 - a^2t of that in equilibrium: it is there in half the time. A direction of curvature
    h > 0 has localization + n_beta h in place of localization, and is ahead of this.

    0 without localization, below 0 where it is unstable; NaN for rmsprop, whose steps no setting tells.
    """
    if setting.sampler != "sgld":
        return Relaxed(float("nan"), float("nan"))
    moves = setting.thinning * np.arange(setting.burn_in, setting.draws)
    a = 1.0 - setting.step_size * setting.localization / 2.0
    with np.errstate(over="ignore"):
        return Relaxed(float(1 - np.mean(a**moves)), float(1 - np.mean((a * a) ** moves)))

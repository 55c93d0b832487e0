"""What is known of a chain in a quadratic well beside its mean: the limit, and the spread over chains."""

import numpy as np

from rllc.validation.truths.quadratic import curvatures, variances


def stationary(curvature, *, n_beta, localization, step_size, gradient_noise=0.0):
    """n_beta E[loss] of the discretised chain after a long time::

        1/2 sum_i n_beta h_i (1 + step_size (n_beta s / 2)^2) / (p_i (1 - step_size p_i / 4))

    gradient_noise  s
    """
    h = curvatures(curvature, n_beta, localization)
    p = n_beta * h + localization
    share = 1.0 + step_size * (n_beta * gradient_noise / 2) ** 2
    return float(0.5 * (n_beta * h * share / (p * (1 - step_size * p / 4))).sum())


def standard_deviation(curvature, *, burn_in=0, **chain):
    """Standard deviation over chains of the mean whose expectation is ``transient``.

    For Gaussian draws Cov(w_s^2, w_t^2) = 2 Cov(w_s, w_t)^2 = 2 (a^(t-s) v_s)^2 (s <= t), so with T draws
    kept: variance = sum_i (n_beta h_i / 2)^2 2/T^2 sum_{s,t} a_i^(2|t-s|) v_min(s,t)^2. Any additional
    variance from a loss that is linear in the noise of the minibatch is not in it.
    """
    h, variance, a = variances(curvature, **chain)
    kept = variance[burn_in:]
    count = len(kept)
    lags = np.arange(count)[::-1, None]  # draws that follow each
    ratio = (a**2) ** chain.get("thinning", 1)
    # sum over t > s of ratio^(t-s) = ratio (1 - ratio^n) / (1 - ratio)
    after = ratio * (1 - ratio**lags) / np.where(ratio == 1, 1.0, 1 - ratio)
    after = np.where(ratio == 1, lags, after)
    double = (kept**2 * (1 + 2 * after)).sum(0)
    return float(np.sqrt(((chain["n_beta"] * h / 2) ** 2 * 2 / count**2 * double).sum()))

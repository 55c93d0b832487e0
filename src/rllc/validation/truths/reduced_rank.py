"""Reduced-rank regression, y = B A x, at finite n_beta: A is hidden x inputs, B is outputs x hidden."""

import numpy as np

from rllc.validation.truths.quadrature import nodes


def mean_loss_at_zero(
    *, inputs: int, outputs: int, hidden: int, n_beta: float, localization: float, scale: float = 1.0
) -> float:
    """Return n_beta E[scale |B A|_F^2] under the posterior localized at A = B = 0, by one or two integrals.

    Given A, the rows of B are Gaussian; with s the nonzero eigenvalues of A^T A (k = min(hidden, inputs) of
    them) and c = 2 scale n_beta::

        n_beta E[loss | s] = outputs/2 sum_j c s_j / (localization + c s_j)
        p(s) ~ prod_j s_j^((|hidden - inputs| - 1)/2) e^(-localization s_j / 2)
               prod_j (localization + c s_j)^(-outputs/2) prod_{i<j} |s_i - s_j|

    (the Wishart density times the factor from integrating over B). Integrating in u = sqrt(s) removes the
    singularity at 0.

    Raises ValueError where k is above 2 (then exchange inputs and outputs: the loss is symmetric in them).
    """
    k = min(hidden, inputs)
    if k > 2:
        raise ValueError(f"{k} eigenvalues: expected min(hidden, inputs) of 1 or 2")
    c = 2 * scale * n_beta
    u, width = nodes(0.0, np.sqrt((80.0 + 4 * hidden * inputs) / localization), [0.0], levels=40, order=12)

    def log_density(s: np.ndarray) -> np.ndarray:
        """Return the log of one eigenvalue's factor times ds/du."""
        shape = (abs(hidden - inputs) - 1) / 2 * np.log(s) + np.log(s) / 2
        return shape - localization * s / 2 - outputs / 2 * np.log(localization + c * s)

    def value(s: np.ndarray) -> np.ndarray:
        return outputs / 2 * c * s / (localization + c * s)

    s = u**2
    if k == 1:
        mass, total = np.exp(log_density(s)) * width, value(s)
    else:  # the smaller one is t^2 s: no kink inside the range of integration
        t, height = nodes(0.0, 1.0, [0.0], levels=40, order=12)
        s, smaller = s[:, None], (u[:, None] * t) ** 2
        mass = np.exp(log_density(s) + log_density(smaller)) * width[:, None] * height
        mass, total = mass * u[:, None] * (s - smaller), value(s) + value(smaller)
    return float((mass * total).sum() / mass.sum())

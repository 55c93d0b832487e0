"""Preconditioned stochastic gradient Langevin dynamics (Li et al. 2016, arXiv 1512.07666).

One move, on the flat vector w of the selected coordinates; squares, roots and products by coordinate::

    g = grad L_batch(w)
    V <- the mean of the g^2 up to now, the one of k moves ago weighted by decay^k
    G = 1 / (stabilizer + sqrt(V))
    w <- w - (step_size/2) G (n_beta g + localization (w - w*)) + sqrt(step_size G) N(0, I)

so gradient, localisation and noise are all preconditioned. V is divided by the sum of its weights; in the
paper it is not, and G is too large until V has filled.

The stationary law. With G held fixed it is the same localised posterior exp(-U), U = n_beta L +
localization/2 |w - w*|^2, to first order in step_size: plain SGLD with the step G_i step_size in coordinate
i. With the running G it is not exactly that: the term Gamma_i = sum_j dG_ij/dw_j is dropped, as everybody
does, and G is made of the very gradient that it multiplies. The bias goes to 0 where V averages over many
autocorrelation times of the chain (decay near 1, steps not too small). In the other limit, a chain that
moves slower than V forgets, G is a function of the position, and the law is exp(-U) / G by coordinate: too
much mass where the gradient is large, so losses and LLC too large. For one quadratic coordinate and
stabilizer 0 that limit has twice the LLC of the posterior. Small steps do not cure this bias, they cause it.

Where the gradient at w* vanishes, as with a full batch at a minimum, the first move has G = 1 / stabilizer:
step_size / stabilizer must then be a stable step of plain SGLD.
"""

from typing import NamedTuple

from torch import Tensor

from rllc.estimator.samplers.chains import State
from rllc.sampler_config import RmspropOptions, SamplerConfig

CONTROL_READS_GRADIENT = True  # the preconditioner is made of gradients, also where the move has none


class Average(NamedTuple):
    """A weighted mean of squared gradients: V = squares [chain, n] / weight."""

    squares: Tensor
    weight: float


def advance(setting: SamplerConfig, state: State, average: Average | None) -> tuple[None, Average]:
    """Move the chains; the average of squared gradients is what is remembered.

    Of the setting: ``decay`` is the weight of the past in V, ``stabilizer`` is added to sqrt(V), in units of
    the gradient, so that step_size / stabilizer bounds the step. Without ``gradient`` the move has none, V
    does: the prior under the same kind of G. There is no acceptance probability: with a running G the reverse
    move has no density to compare with.
    """
    options, gradient = setting.options, state.gradient
    assert isinstance(options, RmspropOptions) and gradient is not None
    decay, stabilizer = options.decay, options.stabilizer
    squares, weight = average or (gradient.new_zeros(gradient.shape), 0.0)
    squares.mul_(decay).addcmul_(gradient, gradient, value=1 - decay)
    weight = decay * weight + 1 - decay
    step = squares.div(weight).sqrt_().add_(stabilizer).reciprocal_().mul_(setting.step_size)
    pull = (state.positions - state.center).mul_(setting.localization)
    pull.add_(gradient, alpha=setting.n_beta if setting.gradient else 0.0)
    state.positions.addcmul_(step, pull, value=-0.5).addcmul_(step.sqrt_(), next(state.noise))
    return None, Average(squares, weight)

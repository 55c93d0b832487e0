"""Preconditioned stochastic gradient Langevin dynamics (Li et al. 2016, arXiv 1512.07666).

One move, on the flat vector w of the selected coordinates. Squares, roots and products are elementwise::

    g = grad L_batch(w)
    V <- the mean of g^2 up to now, where the value of k moves ago has weight decay^k
    G = 1 / (stabilizer + sqrt(V))
    w <- w - (step_size/2) G (n_beta g + localization (w - w*)) + sqrt(step_size G) N(0, I)

So gradient, localization and noise are all preconditioned. V is divided by the sum of its weights. The paper
does not divide, so its G is too large for the first moves.

The stationary distribution. With fixed G it is the same localized posterior exp(-U), U = n_beta L +
localization/2 |w - w*|^2, to first order in step_size: plain SGLD with the step G_i step_size in coordinate
i. With the running G this does not hold exactly. The term Gamma_i = sum_j dG_ij/dw_j is dropped, as is
common, and G depends on the same gradient that it multiplies. The bias goes to 0 where V averages over many
autocorrelation times of the chain (decay near 1, steps not too small). In the other limit, the chain moves
slower than V forgets and G is a function of the position. Then the distribution is exp(-U) / G by
coordinate. It has too much mass where the gradient is large, so losses and LLC are too large. For one
quadratic coordinate and stabilizer 0, this limit has twice the LLC of the posterior. Small steps cause this
bias, they do not reduce it.

Where the gradient at w* vanishes, as with a full batch at a minimum, the first move has G = 1 / stabilizer.
Then step_size / stabilizer must be a stable step of plain SGLD.
"""

from typing import NamedTuple

from torch import Tensor

from rllc.estimator.samplers.chains import State
from rllc.sampler_config import RmspropOptions, SamplerConfig

CONTROL_READS_GRADIENT = True  # the preconditioner needs gradients, even if the move has none


class Average(NamedTuple):
    """A weighted mean of squared gradients: V = squares [chain, n] / weight."""

    squares: Tensor
    weight: float


def advance(setting: SamplerConfig, state: State, average: Average | None) -> tuple[None, Average]:
    """Move the chains, and return the average of squared gradients as the memory.

    ``decay`` of the setting is the weight of the past in V. ``stabilizer`` is added to sqrt(V), in units of
    the gradient, so step_size / stabilizer bounds the step. Without ``gradient``, the move omits the gradient
    but V still uses it: this samples the prior under the same kind of G. There is no acceptance probability,
    since with a running G the reverse move has no density to compare with.
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

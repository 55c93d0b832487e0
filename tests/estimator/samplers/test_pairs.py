"""Antithetic pairs: their law, and what is read for them."""

import numpy as np
import pytest
import torch

from rllc.estimator.samplers.pairs import rises
from rllc.sampler_config import SamplerConfig
from rllc.validation.truths.quadratic import variances

LAW = {"n_beta": 30.0, "localization": 200.0, "step_size": 1e-3}


@pytest.mark.parametrize(("localization", "thinning", "burn_in"), [(200.0, 1, 0), (200.0, 3, 2), (0.0, 2, 1)])
def test_pairs_have_the_law_of_the_control(localization, thinning, burn_in):
    """In 100,000 coordinates a mean square is the variance to a percent."""
    law = {**LAW, "localization": localization}
    setting = SamplerConfig(**law, chains=4, draws=6, burn_in=burn_in, thinning=thinning, antithetic_pairs=2)
    _, variance, _ = variances(np.ones(1), draws=6, thinning=thinning, gradient=False, **law)
    found = rises(
        {"full": torch.zeros(100_000, dtype=torch.float64)}, [0.0],
        look=lambda batch: (batch, torch.tensor(0.0)),
        losses=lambda name, w, batch: (w.square() + 7 * w).sum(1), setting=setting,
    )  # fmt: skip
    np.testing.assert_allclose(found.rise[0], 1e5 * variance[burn_in:].repeat(2, 1), rtol=0.015)
    np.testing.assert_allclose(found.variance, variance[burn_in:, 0])


def test_a_slope_cancels_in_every_pair_and_each_minibatch_is_read_by_those_it_is_for():
    read = []
    setting = SamplerConfig(**LAW, chains=4, draws=5, burn_in=2, thinning=2, antithetic_pairs=4)

    def rise(further):
        read.clear()
        return rises(
            {"a": torch.zeros(3), "b": torch.ones(2)}, [10, 11, 12],
            look=lambda batch: (read.append(batch), torch.tensor(0.0)),
            losses=lambda name, w, batch: w.sum(1) - (name == "b") * 2, setting=setting, further=further,
        ).rise  # fmt: skip

    own, further = rise(None), rise([20, 21, 22, 23, 24, 25])
    assert read == [20, 21, 22, 23, 24, 25]
    assert (own.shape, further.shape) == ((2, 3, 4), (2, 6, 2))
    np.testing.assert_allclose(own, 0, atol=1e-6)
    rise(None)
    assert read == [11, 10, 12]  # of moves 4, 6 and 8

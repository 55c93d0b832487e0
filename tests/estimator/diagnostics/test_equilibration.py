import numpy as np
import pytest
import torch
from well import stationary

from rllc.estimator.diagnostics.equilibration import equilibrated
from rllc.estimator.llc import estimate
from rllc.quality import MASKS
from rllc.sampler_config import SamplerConfig
from rllc.validation import toys
from rllc.validation.truths import quadratic as truths

LAW = {"n_beta": 100.0, "localization": 10.0, "step_size": 5e-3}


@pytest.mark.parametrize("chain", [{"draws": 30, "burn_in": 10}, {"draws": 12, "burn_in": 3, "thinning": 4}])
@pytest.mark.parametrize("pull", [1.0, 40.0, 500.0])
def test_is_the_share_of_the_stationary_loss_that_a_control_has(chain, pull):
    """Also where steps are so long that positions change sides."""
    law = LAW | {"localization": pull}
    flat = truths.transient([2.0], gradient=False, **law, **chain)
    whole = stationary([1e-12], **law) * 2e12  # a curvature that moves nothing
    assert equilibrated(SamplerConfig(chains=1, **law, **chain)).variance == pytest.approx(
        flat / whole, rel=1e-6
    )


def test_the_mean_goes_its_way_as_known():
    """A slope without noise: w goes to -n_beta slope / localization."""
    setting = {**LAW, "draws": 40, "burn_in": 15, "thinning": 3}
    bottom, w, ways = -100.0 / 10.0, 0.0, []
    for move in range(39 * 3 + 1):
        if move % 3 == 0:
            ways.append(w / bottom)
        w -= 5e-3 / 2 * (100.0 + 10.0 * w)
    assert equilibrated(SamplerConfig(chains=1, **setting)).mean == pytest.approx(np.mean(ways[15:]))


def test_nothing_is_known_without_a_pull_or_of_preconditioned_steps():
    free = SamplerConfig(**LAW | {"localization": 0.0}, chains=1, draws=100)
    assert equilibrated(free) == (0.0, 0.0)
    assert np.isnan(equilibrated(SamplerConfig(**LAW, chains=1, draws=100, sampler="rmsprop"))).all()


# Curvatures of a well, the setting, which share of the posterior's value chains have on average (exactly), and whether
# each of four estimates is said to be not relaxed.
SHARP, BROAD = np.full(60, 1.0), np.geomspace(1.0, 1e-4, 60)
CASES = {
    "sharp, without localization": (SHARP, {"localization": 0.0, "draws": 200, "burn_in": 100}, 1.05, False),
    "sharp, weak localization": (SHARP, {"localization": 0.1, "draws": 200, "burn_in": 100}, 1.05, False),
    "broad, a localization that had time": (BROAD, {"localization": 10.0, "draws": 200, "burn_in": 100}, 1.02, False),
    "broad, one that had not": (BROAD, {"localization": 1.0, "draws": 60, "burn_in": 30}, 0.60, True),
    "broad, without localization": (BROAD, {"localization": 0.0, "draws": 100, "burn_in": 50}, 0.36, True),
    "broad, from the centre": (BROAD, {"localization": 1.0, "draws": 60}, 0.47, True),
    "sharp, steps too short": (SHARP, {"localization": 1.0, "draws": 200, "burn_in": 100, "step_size": 1e-4}, 0.77, True),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_wells_are_called_equilibrated_where_they_are(case):
    curvature, chain, share, expected = CASES[case]
    chain = {"n_beta": 100.0, "step_size": 2e-3, **chain}
    at = {name: chain[name] for name in ("n_beta", "localization")}
    exact = truths.transient(curvature, **chain) / truths.posterior(curvature, **at)
    assert exact == pytest.approx(share, abs=0.01)
    found = estimate(
        toys.quadratic(torch.from_numpy(np.diag(curvature))), {"w": torch.zeros(1, 60, dtype=torch.float64)}, [0.0],
        components=dict.fromkeys("abcd"), chains=4, vectorize=True, **chain,
    )  # fmt: skip
    assert ((found["quality"] & MASKS["variance_not_equilibrated"]) > 0).values.tolist() == [expected] * 4

"""Places where curves bend, against given steps."""

import numpy as np
import pytest

from rllc.analysis.knots import places_fit_worse

STEP = np.geomspace(20, 20_000, 40)
BENDS = STEP[[10, 25]]


def bent(at, noise=0.005, curves=6):
    """Return curves that are piecewise linear in ln(step), with noise."""
    random, x = np.random.default_rng(1), np.log(STEP)
    hinges = np.stack([np.maximum(x - np.log(knot), 0) for knot in at], axis=1)
    slopes = random.uniform(0.3, 1, (len(at), curves)) * random.choice([-1, 1], (len(at), curves))
    return 0.1 * x[:, None] + hinges @ slopes + noise * random.standard_normal((STEP.size, curves))


def test_share_is_near_one_at_the_bends_and_not_elsewhere():
    assert places_fit_worse(STEP, bent(BENDS), BENDS) > 0.99
    assert places_fit_worse(STEP, bent(BENDS), STEP[[3, 37]]) < 0.5


def test_places_do_not_depend_on_units_of_the_values():
    values = bent(BENDS, noise=0.1)
    shares = [places_fit_worse(STEP, factor * values, STEP[[9, 27]]) for factor in (1.0, 1000.0)]
    assert shares[0] == shares[1]


def test_curves_without_bends_fit_all_places_alike():
    """A line in ln(step) fits at all places, up to rounding; the share is 1/2."""
    line = 2 + 3 * np.log(STEP)[:, None]
    assert places_fit_worse(STEP, line, BENDS) == 0.5


@pytest.mark.parametrize("random_seed", range(3))
def test_random_boundaries_rarely_pass(random_seed):
    """Of 40 random places at most 6 pass 0.95, where 2 are expected: more has a chance of 0.3 %."""
    random = np.random.default_rng(random_seed)
    places = np.exp(random.uniform(np.log(STEP[0]), np.log(STEP[-1]), (40, 2)))
    curves = bent(BENDS)
    passed = [places_fit_worse(STEP, curves, each) >= 0.95 for each in places]
    assert sum(passed) <= 6

import numpy as np
import pytest

from rllc.analysis.distance import free_distance


def test_the_distance_is_that_of_chains_walked_by_hand():
    """20,000 coordinates of one chain, walked move by move."""
    setting = {"step_size": 0.02, "localization": 8.0, "draws": 30, "burn_in": 10, "thinning": 2}
    random, w, squares = np.random.default_rng(0), np.zeros(20_000), []
    for move in range(2 * 30):
        if move % 2 == 0:
            squares.append((w**2).sum())
        w = w - 0.02 / 2 * 8.0 * w + 0.02**0.5 * random.standard_normal(w.size)
    walked = np.mean(squares[10:]) ** 0.5
    assert free_distance(20_000, **setting) == pytest.approx(walked, rel=0.02)


def test_after_long_it_is_the_localizations_own():
    """Variance 1 / localization in every coordinate, but for the step."""
    far = free_distance(51_717, step_size=1e-5, localization=66.7, draws=200_000, burn_in=100_000)
    assert far == pytest.approx((51_717 / 66.7) ** 0.5, rel=1e-3)
    assert free_distance(9, step_size=0.5, localization=1.0, draws=1, burn_in=0) == 0

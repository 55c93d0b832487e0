import numpy as np
import pytest
from well import standard_deviation, stationary

from rllc.validation.truths import quadratic as wells

H = [1.0, 3.0, 0.5]
SETTING = {"n_beta": 30.0, "localization": 5.0}


def moments(h, n_beta, localization, step_size, draws, noise=0.0, gradient=True):
    """n_beta times the mean loss of each draw, by carrying E w^2 from move to move."""
    h = np.asarray(h)
    second, found = np.zeros(len(h)), []
    for _ in range(draws):
        found.append(0.5 * n_beta * h @ second)
        pull = 1 - step_size / 2 * (n_beta * h * gradient + localization)
        second = pull**2 * second + step_size + (gradient * step_size * n_beta * noise / 2) ** 2
    return np.array(found)


def test_worked_values():
    assert wells.posterior(H, **SETTING) == pytest.approx(1.27726, abs=5e-6)
    assert stationary(H, **SETTING, step_size=0.01) == pytest.approx(1.48563, abs=5e-6)
    assert wells.transient(H, **SETTING, step_size=0.01, draws=200) == pytest.approx(1.46360, abs=5e-6)
    noisy = stationary([2], n_beta=50, localization=10, step_size=0.004, gradient_noise=0.3)
    assert noisy == pytest.approx(0.62564, abs=5e-6)


@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize("localization", [5.0, 0.0])
def test_the_transient_is_the_recursion(gradient, localization):
    h, noise = [1.0, 3.0, 0.0], 0.2  # a flat direction too
    law = {"n_beta": 30.0, "localization": localization, "step_size": 0.01}
    by_hand = moments(h, **law, draws=90, noise=noise, gradient=gradient)
    chain = {"gradient_noise": noise, "gradient": gradient}
    assert wells.transient(h, **law, draws=90, **chain) == pytest.approx(by_hand.mean())
    assert wells.transient(h, **law, draws=90, burn_in=30, **chain) == pytest.approx(by_hand[30:].mean())
    thinned = wells.transient(h, **law, draws=30, burn_in=5, thinning=3, **chain)
    assert thinned == pytest.approx(by_hand[::3][5:].mean())


def test_limits():
    """After a long time the transient is stationary, and with a small step that is the posterior."""
    late = wells.transient(H, **SETTING, step_size=0.01, draws=2001, burn_in=2000)
    assert late == pytest.approx(stationary(H, **SETTING, step_size=0.01), rel=1e-12)
    fine = stationary(H, **SETTING, step_size=1e-9)
    assert fine == pytest.approx(wells.posterior(H, **SETTING), rel=1e-7)
    assert wells.posterior(H, n_beta=1e9, localization=1.0) == pytest.approx(1.5)


@pytest.mark.parametrize("thinning", [1, 3])
def test_the_standard_deviation_is_that_of_simulated_chains(thinning):
    random, chains, draws, burn_in = np.random.default_rng(0), 20_000, 40, 10
    h, step = np.array(H), 0.01
    w, total = np.zeros((chains, 3)), np.zeros(chains)
    for move in range((draws - 1) * thinning + 1):
        if move % thinning == 0 and move >= burn_in * thinning:
            total += 15 * (h * w**2).sum(1)
        w = (1 - step / 2 * (30 * h + 5)) * w + np.sqrt(step) * random.normal(size=w.shape)
    mean = total / (draws - burn_in)
    law = {**SETTING, "step_size": step, "draws": draws, "burn_in": burn_in, "thinning": thinning}
    exact = standard_deviation(H, **law)
    assert mean.std() == pytest.approx(exact, rel=0.03)
    assert mean.mean() == pytest.approx(wells.transient(H, **law), abs=4 * exact / np.sqrt(chains))


def test_a_masked_well_is_that_of_its_block():
    random = np.random.default_rng(1)
    root = random.normal(size=(4, 4))
    hessian, selected = root @ root.T, np.array([True, False, True, True])
    block = hessian[np.ix_([0, 2, 3], [0, 2, 3])]
    # n_beta/2 tr(block (n_beta block + localization)^-1), without eigenvalues
    direct = 15 * np.trace(block @ np.linalg.inv(30 * block + 5 * np.eye(3)))
    assert wells.posterior(wells.spectrum(hessian, selected), **SETTING) == pytest.approx(direct)
    assert wells.spectrum(hessian).sum() == pytest.approx(np.trace(hessian))


def test_what_has_no_answer_is_refused():
    with pytest.raises(ValueError, match="finite numbers >= 0"):
        wells.posterior([-1.0], **SETTING)
    with pytest.raises(ValueError, match="n_beta > 0"):
        wells.posterior([1.0], n_beta=0, localization=1)

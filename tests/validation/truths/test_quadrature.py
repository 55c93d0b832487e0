from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from rllc.validation.truths import quadratic as wells
from rllc.validation.truths.potentials import POTENTIALS, crossing, power_sum
from rllc.validation.truths.quadrature import curvature_quantile, mean_loss, nodes

N_BETA = (1e2, 1e3, 1e4, 1e6)
TABLE = {
    "sum_2_2": (0.9950, 0.9995, 1.0, 1.0),
    "sum_4_4": (0.4834, 0.4947, 0.4983, 0.4998),
    "crossing_2_2": (0.3542, 0.3903, 0.4123, 0.4375),
    "crossing_2_4": (0.2057, 0.2249, 0.2358, 0.2455),
    "crossing_4_4": (0.1471, 0.1652, 0.1785, 0.1960),
}
VALUES = {
    "sum_2_2_2": "3/2", "sum_2_2_0": "1", "sum_2_4_4": "1", "sum_2_2": "1", "sum_4_4": "1/2",
    "crossing_2_2": "1/2", "crossing_2_4": "1/4", "crossing_4_4": "1/4", "crossing_2_6": "1/6",
    "two_wells_at_0": "1/4", "two_wells_at_1": "1/2",
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_worked_values(name):
    found = [POTENTIALS[name].mean_loss(n_beta=n, localization=1.0) for n in N_BETA]
    assert found == pytest.approx(TABLE[name], abs=6e-5)


def test_the_potentials_have_their_coefficients():
    assert {name: str(one.coefficient.value) for name, one in POTENTIALS.items()} == VALUES


def test_both_wells_count_where_the_localization_reaches_both():
    """Coarse values, by an independent integration; at (1, 0) the other well is the deeper singularity."""
    found = [POTENTIALS["two_wells_at_0"].mean_loss(n_beta=n, localization=1.0) for n in N_BETA]
    assert found == pytest.approx([0.276, 0.279, 0.261, 0.265], abs=0.013)
    alone = [POTENTIALS[f"two_wells_at_{i}"].mean_loss(n_beta=1e12, localization=60.0) for i in (0, 1)]
    assert alone == pytest.approx([0.25, 0.5], abs=0.02)


def test_a_quadratic_is_the_closed_form():
    law = {"n_beta": 40.0, "localization": 3.0}
    found = mean_loss(lambda x, y: x**2 + 0.7 * x * y + 2 * y**2, (0.3, -0.2), **law)
    # the bottom is at 0, not at the centre: the mean of the Gaussian lies between, and lowers the loss
    hessian, center = np.array([[2, 0.7], [0.7, 4]]), np.array([0.3, -0.2])
    precision = 40 * hessian + 3 * np.eye(2)
    mean = np.linalg.solve(precision, 3 * center)
    level = (mean @ hessian @ mean - center @ hessian @ center) / 2
    assert found == pytest.approx(wells.posterior(np.linalg.eigvalsh(hessian), **law) + 40 * level)
    assert found < 0


@pytest.mark.parametrize("name", ["crossing_2_4", "two_wells_at_1", "sum_4_4"])
def test_scipy_finds_the_same(name):
    model, law = POTENTIALS[name], {"n_beta": 30.0, "localization": 2.0}

    def mass(y, x, power):
        value = model.value(x, y)
        pull = (x - model.center[0]) ** 2 + (y - model.center[1]) ** 2
        return (30 * value) ** power * np.exp(-30 * value - pull)

    x = np.linspace(-6, 7, 2601)
    both = [integrate.simpson(integrate.simpson(mass(x[:, None], x, p), x=x, axis=0), x=x) for p in (0, 1)]
    assert model.mean_loss(**law) == pytest.approx(both[1] / both[0], rel=5e-5)


def test_scaling_a_coordinate_is_another_n_beta():
    """w -> w / sqrt(localization): a homogeneous loss of degree d depends on n_beta / localization^(d/2)."""
    one = crossing(2, 4).mean_loss(n_beta=50.0, localization=1.0)
    assert crossing(2, 4).mean_loss(n_beta=50.0 * 7**3, localization=7.0) == pytest.approx(one, rel=1e-10)


def test_sums_need_no_grid_of_their_own():
    law = {"n_beta": 20.0, "localization": 1.5}
    together = mean_loss(lambda x, y: x**2 + y**4, (0, 0), **law)
    assert power_sum(2, 4).mean_loss(**law) == pytest.approx(together, rel=1e-6)
    assert power_sum(2, 4, 0).coefficient == (Fraction(3, 4), 1)


def test_the_curvature_is_a_quantile():
    # x^4 without a prior to speak of: curvature 12 x^2, the 0.9 quantile by integration
    law = {"n_beta": 100.0, "localization": 0.01}
    x = np.linspace(0, 3, 300_001)
    mass = np.cumsum(np.exp(-100 * x**4 - 0.005 * x**2))
    expected = 12 * x[np.searchsorted(mass / mass[-1], 0.9)] ** 2
    found = curvature_quantile(lambda x: x**4, (0,), share=0.1, **law)
    assert found == pytest.approx(expected, rel=0.1)


def test_nodes_integrate_polynomials_exactly():
    x, w = nodes(-1.0, 2.0, [0.5], levels=5, order=4)
    assert w.sum() == pytest.approx(3)
    assert (w * x**7).sum() == pytest.approx((2**8 - 1) / 8)


def test_what_is_not_a_probability_is_refused():
    with pytest.raises(ValueError, match="1 or 2; add up the parts"):
        mean_loss(lambda *w: w[0], (0, 0, 0), n_beta=1, localization=1)
    with pytest.raises(ValueError, match="localization > 0"):
        mean_loss(lambda x: x**2, (0,), n_beta=1, localization=0)

"""Reduced-rank regression and deep linear networks: worked values, each other, and integrals."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rllc.validation.truths.deep_linear import deep_linear
from rllc.validation.truths.monomials import Coefficient
from rllc.validation.truths.potentials import crossing
from rllc.validation.truths.reduced_rank import mean_loss_at_zero

WORKED = {
    (5, 5, 3, 0): ("13/2", 2), (5, 5, 4, 0): ("8", 1), (4, 8, 3, 0): ("6", 1), (2, 2, 1, 0): ("1", 2),
    (2, 2, 2, 0): ("3/2", 1), (3, 3, 2, 1): ("7/2", 2), (3, 3, 2, 0): ("5/2", 1),
}  # fmt: skip
N_BETA = (1e2, 1e3, 1e4, 1e6, 1e9)
AT_ZERO = {
    (1, 1, 1): (0.3542, 0.3903, 0.4123, 0.4375, 0.4564),
    (2, 2, 1): (0.8183, 0.8707, 0.9002, 0.9316, 0.9536),
    (2, 2, 2): (1.3903, 1.4558, 1.4826, 1.4975, 1.4999),
    (3, 3, 2): (2.3455, 2.4375, 2.4751, 2.4963, 2.4998),
    (4, 2, 2): (1.9309, 1.9780, 1.9930, 1.9993, 2.0),
}


def reduced_rank(*, inputs, outputs, hidden, rank):
    """Of y = B A x, the smallest over all true parameters (Aoyagi and Watanabe 2005, Main Theorem)."""
    M, N, H, r = inputs, outputs, hidden, rank
    if N + r > M + H:
        return Coefficient(Fraction(H * M - H * r + N * r, 2), 1)
    if M + r > N + H:
        return Coefficient(Fraction(H * N - H * r + M * r, 2), 1)
    if H + r > M + N:
        return Coefficient(Fraction(M * N, 2), 1)
    odd = (M + H + N + r) % 2
    eighths = -((H + r) ** 2) - M**2 - N**2 + 2 * (H + r) * (M + N) + 2 * M * N + odd
    return Coefficient(Fraction(eighths, 8), 1 + odd)


def sizes(largest):
    for M, N, H in product(range(1, largest + 1), repeat=3):
        for r in range(min(M, N, H) + 1):
            yield {"inputs": M, "outputs": N, "hidden": H, "rank": r}


@pytest.mark.parametrize("case", WORKED)
def test_worked_values_of_reduced_rank_regression(case):
    M, N, H, r = case
    value, multiplicity = WORKED[case]
    found = reduced_rank(inputs=M, outputs=N, hidden=H, rank=r)
    assert found == (Fraction(value), multiplicity)


@pytest.mark.parametrize(
    ("widths", "rank", "value", "multiplicity"),
    [((1, 1, 1, 1), 0, "1/2", 3), ((2, 2, 2, 2), 0, "3/2", 3), ((3, 3, 3, 3), 1, "4", None), ((10, 10, 10), 5, "47", 2)],
)  # fmt: skip
def test_worked_values_of_deep_linear_networks(widths, rank, value, multiplicity):
    found = deep_linear(widths, rank=rank)
    assert found.value == Fraction(value)
    assert multiplicity in (None, found.multiplicity)


def test_two_layers_are_reduced_rank_regression():
    count = 0
    for size in sizes(8):
        widths = (size["inputs"], size["hidden"], size["outputs"])
        assert deep_linear(widths, rank=size["rank"]) == reduced_rank(**size), size
        count += 1
    assert count == 1808


def test_one_layer_is_regular_and_units_of_width_1_are_a_crossing():
    assert deep_linear((3, 4), rank=2) == (Fraction(6), 1)
    for depth in (2, 3, 4):
        assert deep_linear((1,) * (depth + 1), rank=0) == (Fraction(1, 2), depth)  # w1^2 ... wL^2


def test_a_deep_network_has_the_symmetries_of_its_formula():
    """Widths may be permuted where the true map is 0; a wide enough layer changes nothing."""
    random = np.random.default_rng(0)
    for _ in range(500):
        widths = random.integers(1, 9, random.integers(2, 7)).tolist()
        truth = deep_linear(widths, rank=0)
        assert deep_linear(random.permutation(widths).tolist(), rank=0) == truth
        rank = int(random.integers(0, min(widths) + 1))
        truth = deep_linear(widths, rank=rank)
        wide = [widths[0], sum(widths) + 1, *widths[1:]]
        assert deep_linear(wide, rank=rank) == truth
        assert 0 <= truth.value <= Fraction(widths[0] * widths[-1], 2)


@pytest.mark.parametrize("case", AT_ZERO)
def test_worked_values_at_finite_n_beta(case):
    M, N, H = case
    at = {"inputs": M, "outputs": N, "hidden": H, "localization": 1.0}
    found = [mean_loss_at_zero(**at, n_beta=n) for n in N_BETA]
    assert found == pytest.approx(AT_ZERO[case], abs=1.2e-4)
    exchanged = mean_loss_at_zero(inputs=N, outputs=M, hidden=H, localization=1.0, n_beta=1e3)
    assert exchanged == pytest.approx(found[1], rel=1e-8)
    truth = reduced_rank(inputs=M, outputs=N, hidden=H, rank=0)
    slow = (truth.multiplicity - 1) / np.log(1e9)
    assert found[-1] == pytest.approx(float(truth.value) - slow, abs=6e-3)


def test_a_product_of_two_numbers_is_a_crossing():
    law = {"n_beta": 70.0, "localization": 2.0}
    one = mean_loss_at_zero(inputs=1, outputs=1, hidden=1, **law)
    assert one == pytest.approx(crossing(2, 2).mean_loss(**law), rel=1e-7)


def test_the_integral_is_an_average_over_random_matrices():
    """Importance sampling from the localization alone."""
    random = np.random.default_rng(0)
    A = random.normal(size=(200_000, 2, 3)) / np.sqrt(2)
    B = random.normal(size=(200_000, 2, 2)) / np.sqrt(2)
    energy = 3 * 0.5 * ((B @ A) ** 2).sum((1, 2))
    weight = np.exp(-energy)
    average = (weight * energy).sum() / weight.sum()
    law = {"n_beta": 3.0, "localization": 2.0, "scale": 0.5}
    assert mean_loss_at_zero(inputs=3, outputs=2, hidden=2, **law) == pytest.approx(average, rel=0.01)


@pytest.mark.parametrize(
    "call",
    [
        lambda: deep_linear((2, 2, 2), rank=3),
        lambda: deep_linear((3, 0, 2), rank=0),
        lambda: deep_linear((3,), rank=0),
        lambda: mean_loss_at_zero(inputs=3, outputs=3, hidden=3, n_beta=1, localization=1),
    ],
)
def test_what_does_not_exist_is_refused(call):
    with pytest.raises(ValueError, match="expected"):
        call()

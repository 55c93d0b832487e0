"""Lanczos iteration and Chebyshev steps against matrices whose spectrum is known."""

import numpy as np
import pytest
import torch

from rllc.measures.spectrum import Quadrature, above, converged, lanczos, polynomial, step_coefficients

PUBLISHED = (-1000.0, 6000.0), 500.0  # arXiv 2410.02984, App. D.3: range and threshold
WEIGHTS = 3_355_016  # of the published two-layer model


def rotated(eigenvalues, seed=0, dtype=torch.float64):
    """A symmetric matrix with these eigenvalues, and its eigenvectors in columns."""
    random = np.random.default_rng(seed)
    vectors, _ = np.linalg.qr(random.standard_normal((len(eigenvalues),) * 2))
    return torch.from_numpy(vectors * eigenvalues @ vectors.T).to(dtype), vectors


def started(matrix, steps, seed=0):
    """The quadrature of a random start, split in two weights, and the start."""
    random = torch.Generator().manual_seed(seed)
    start = torch.randn(len(matrix), generator=random, dtype=torch.float64).to(matrix.dtype)

    def times(vector):
        moved = matrix @ torch.cat([vector["b"].flatten(), vector["a"]])
        return {"a": moved[4:], "b": moved[:4].view(2, 2)}

    weights = {"b": start[:4].view(2, 2), "a": start[4:]}
    return lanczos(times, weights, steps=steps), start.double().numpy()


def seen(eigenvalues, vectors, start):
    """The measure of the start: the mass of each eigenvalue."""
    return (vectors.T @ start) ** 2


def test_as_many_steps_as_weights_are_the_spectrum():
    eigenvalues = np.linspace(-2, 5, 12)
    matrix, vectors = rotated(eigenvalues)
    found, start = started(matrix, 12)
    assert found.complete
    np.testing.assert_allclose(found.nodes, eigenvalues, atol=1e-10)
    np.testing.assert_allclose(found.masses, seen(eigenvalues, vectors, start), rtol=1e-8)
    assert above(found, 1.0) == (pytest.approx(seen(eigenvalues, vectors, start)[eigenvalues > 1].sum()),) * 3


@pytest.mark.parametrize("damped", [False, True])
def test_half_as_many_products_give_the_polynomial_of_the_recurrence(damped):
    """v . p(A) v by T_k+1 = 2 x T_k - T_k-1 with one product per degree."""
    eigenvalues = np.random.default_rng(1).uniform(-0.9, 5, 80) ** 3 / 25
    matrix, _ = rotated(eigenvalues)
    bounds, degree = (-1.5, 5.5), 30
    coefficients = step_coefficients(bounds, 0.4, degree, damped=damped)
    found, start = started(matrix, degree // 2 + 1)
    scaled = (2 * matrix.numpy() - (bounds[0] + bounds[1]) * np.eye(80)) / (bounds[1] - bounds[0])
    before, now = start, scaled @ start
    expected = coefficients[0] * (start @ before) + coefficients[1] * (start @ now)
    for coefficient in coefficients[2:]:
        before, now = now, 2 * scaled @ now - before
        expected += coefficient * (start @ now)
    assert (found.masses * polynomial(coefficients, bounds, found.nodes)).sum() == pytest.approx(
        expected, rel=1e-10
    )


def test_the_bracket_holds_the_measure_at_every_threshold():
    """Also where the spectrum has gaps and eigenvalues of many weights."""
    for seed in range(8):
        random = np.random.default_rng(seed)
        eigenvalues = np.concatenate([random.normal(0, 0.05, 50), random.exponential(1, 9), [3.0] * 3])
        matrix, vectors = rotated(eigenvalues, seed)
        found, start = started(matrix, 9, seed)
        assert not found.complete
        masses = seen(eigenvalues, vectors, start)
        for threshold in np.linspace(-0.3, 4.5, 60):
            count, low, high = above(found, threshold)
            exact = masses[eigenvalues > threshold].sum()
            assert low - 1e-9 <= exact <= high + 1e-9 and low <= count <= high
        assert np.ptp([above(found, t).high - above(found, t).low for t in (0.5, 4.5)]) > 0


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(-1, (15, 14, 15)), (0.5, (14, 12, 15)), (1, (12, 8, 14)), (2.5, (8, 0, 12)), (3, (0, 0, 8))],
)
def test_the_bracket_leaves_out_one_node_on_either_side(threshold, expected):
    nodes, masses = np.arange(4.0), np.array([1.0, 2, 4, 8])
    assert above(Quadrature(nodes, masses, np.zeros(4), False), threshold) == expected


def test_few_different_eigenvalues_end_the_iteration_and_are_counted_without_bracket():
    matrix, vectors = rotated(np.array([0.0] * 30 + [2.0] * 5 + [7.0]))
    found, start = started(matrix, 20)
    assert found.complete and len(found.nodes) == 3
    np.testing.assert_allclose(found.nodes, [0, 2, 7], atol=1e-9)
    exact = (vectors[:, 30:].T @ start) @ (vectors[:, 30:].T @ start)
    assert above(found, 1.0) == (pytest.approx(exact),) * 3


def test_no_eigenvalue_is_found_twice():
    """In float32 and without orthogonalisation the outermost come up as copies: the count is then too large."""
    eigenvalues = np.concatenate([np.random.default_rng(0).normal(0, 0.01, 360), 1.0 + np.arange(40) / 2])
    matrix, _ = rotated(eigenvalues, dtype=torch.float32)
    found, _ = started(matrix, 100)
    assert converged(found, 0.5, tolerance=0.05) == 40
    assert (found.nodes > 0.5).sum() == 40


def test_residuals_are_distances_to_eigenvalues_and_few_are_sure_after_few_steps():
    eigenvalues = np.concatenate([np.random.default_rng(0).normal(0, 0.1, 90), np.linspace(0.5, 4, 10)])
    matrix, _ = rotated(eigenvalues)
    found, _ = started(matrix, 15)
    near = np.abs(eigenvalues[:, None] - found.nodes).min(0)
    assert (near <= found.residuals + 1e-10).all() and found.residuals.max() > 0.05
    sure = converged(found, 0.4, tolerance=0.05)
    assert 0 < sure < (found.nodes > 0.4).sum() <= 10


@pytest.mark.parametrize(("damped", "count"), [(False, 58_346), (True, 1_052)])
def test_what_zeros_count_at_the_published_setting(damped, count):
    coefficients = step_coefficients(*PUBLISHED, 100, damped=damped)
    assert WEIGHTS * float(polynomial(coefficients, PUBLISHED[0], 0.0)) == pytest.approx(count, abs=0.5)


def test_coefficients_are_the_projections_of_a_step():
    """(2 / pi) int 1[x > t] T_k(x) / sqrt(1 - x^2) dx, half of it for k = 0, by a sum over angles."""
    angles = (np.arange(200_000) + 0.5) * np.pi / 200_000
    step = 1.0 * (2500 + 3500 * np.cos(angles) > 500)
    expected = [2 * (step * np.cos(k * angles)).mean() for k in range(21)]
    expected[0] /= 2
    np.testing.assert_allclose(step_coefficients(*PUBLISHED, 20), expected, atol=2e-5)


def test_damping_is_the_kernel_of_jackson():
    """Its factors are the autocorrelation of sines; what it makes of a step falls nowhere by more than 1e-3."""
    sines = np.sin(np.pi * np.arange(1, 32) / 32)
    factors = [(sines[: 31 - k] * sines[k:]).sum() / (sines**2).sum() for k in range(31)]
    plain, damped = (step_coefficients(*PUBLISHED, 30, damped=d) for d in (False, True))
    np.testing.assert_allclose(damped, plain * factors, atol=1e-12)
    assert np.diff(polynomial(damped, PUBLISHED[0], np.linspace(-1000, 6000, 500))).min() > -1e-3


def test_beyond_its_bounds_a_polynomial_has_no_value():
    found = polynomial(step_coefficients((-1, 3), 1, 10), (-1, 3), np.array([-1.01, -1, 3, 3.01]))
    assert np.isfinite(found).tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: started(torch.eye(9).double(), 0), "0 Lanczos steps of 9 weights"),
        (lambda: started(torch.eye(9).double(), 10), "10 Lanczos steps of 9 weights"),
        (
            lambda: started(torch.full((9, 9), np.nan).double(), 3),
            "product 1 with the operator is not finite",
        ),
        (lambda: lanczos(dict, {"w": torch.zeros(3)}, steps=1), "cannot start at a vector of zeros"),
        (lambda: step_coefficients((0, 1), 1.0, 5), "threshold 1 is not between the bounds 0 and 1"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_at_a_threshold_is_not_above_it_and_its_error_is_measured_by_it():
    """Nodes 1 to 5 with masses 1, 2, 4, 8, 16: at, below and above a node, and the least and largest bounds."""
    residuals = np.array([0.0, 0.09, 0.11, 0.2, 0.05])
    some = Quadrature(np.arange(1.0, 6), 2.0 ** np.arange(5), residuals, False)
    assert above(some, 2.0) == (28, 24, 30)
    assert above(some, 2.5) == (28, 24, 30)
    assert above(some, 0.5) == (31, 30, 31)
    assert above(some, 5.0) == (0, 0, 16)
    assert above(some._replace(complete=True), 2.0) == (28, 28, 28)
    assert [converged(some, t, tolerance=0.05) for t in (0.5, 1.0, 1.9, 2.0, 4.0)] == [1, 0, 2, 1, 1]

"""Ranks of Hessians that are known: of quadratics, and of a loss whose Hessian is written out whole."""

import itertools

import numpy as np
import pytest
import torch

from rllc.measures.hessian_rank import kernel as module
from rllc.measures.hessian_rank.kernel import hessian_ranks
from rllc.measures.spectrum import polynomial, step_coefficients
from rllc.measures.traces import signs
from rllc.seeds import derive

SETTING = {
    "probes": 2, "degree": 60, "bounds": [-2.0, 12.0], "threshold": 1.0, "adaptive_bound": 1.1,
    "adaptive_threshold": 0.25, "seed": 3,
}  # fmt: skip
# seven eigenvalues above 1, five above 2 = a quarter of the largest, three below 0, the rest 0
KNOWN = np.array([-1.5, -0.5, -0.1, 0.3, 1.2, 1.7, 2.5, 3.0, 4.0, 5.5, 8.0] + [0.0] * 53)


def quadratic(w, eigenvalues):
    vector = torch.cat([w["a"], w["b"].flatten()])
    return (eigenvalues * vector.square()).sum() / 2 + vector.sum()


WEIGHTS = {"a": torch.ones(14, dtype=torch.float64), "b": torch.ones(5, 10, dtype=torch.float64)}


def ranks(**change):
    return hessian_ranks(quadratic, WEIGHTS, torch.from_numpy(KNOWN), **SETTING | change)


def test_a_quadratic_of_known_rank_is_counted_exactly():
    """A diagonal Hessian makes every probe of signs exact."""
    found = ranks()
    lanczos = found.sel(rank_method="lanczos")
    np.testing.assert_allclose(lanczos.hessian_rank, [7, 5], atol=1e-9)
    np.testing.assert_allclose(found.hessian_rank_low, [7, 5], atol=1e-9)
    np.testing.assert_allclose(found.hessian_rank_high, [7, 5], atol=1e-9)
    assert found.hessian_rank_converged.values.tolist() == [7, 5]
    assert lanczos.hessian_rank_offset.values.tolist() == [0, 0]
    np.testing.assert_allclose(found.hessian_rank_se, 0, atol=1e-9)
    np.testing.assert_allclose(found.hessian_rank_threshold, [1, 2])
    assert float(found.hessian_max_eigenvalue) == pytest.approx(8)
    assert float(found.hessian_min_eigenvalue) == pytest.approx(-1.5)


@pytest.mark.parametrize(("method", "damped"), [("chebyshev", False), ("jackson", True)])
def test_polynomials_count_every_eigenvalue_and_zeros_too(method, damped):
    found = ranks().sel(rank_method=method)
    for label, bounds, threshold in (("fixed", (-2, 12), 1), ("adaptive", (-8.8, 8.8), 2)):
        coefficients = step_coefficients(bounds, threshold, 60, damped=damped)
        one, zero = found.sel(rank_range=label), float(polynomial(coefficients, bounds, 0.0))
        assert float(one.hessian_rank) == pytest.approx(polynomial(coefficients, bounds, KNOWN).sum())
        assert float(one.hessian_rank_offset) == pytest.approx(64 * zero)


def test_an_eigenvalue_beyond_the_fixed_range_leaves_polynomials_without_value_there():
    for bounds in ([-2.0, 7.9], [-1.4, 12.0]):
        known = np.isfinite(ranks(bounds=bounds).hessian_rank)
        assert known.sel(rank_range="fixed").values.tolist() == [False, False, True]
        assert known.sel(rank_range="adaptive").all()


def test_of_a_hessian_of_zeros_only_the_offset_is_counted_and_there_is_no_adaptive_range():
    found = hessian_ranks(quadratic, WEIGHTS, torch.zeros(64).double(), **SETTING)
    fixed = found.sel(rank_range="fixed")
    np.testing.assert_allclose(fixed.hessian_rank, fixed.hessian_rank_offset)
    assert float(fixed.hessian_rank.sel(rank_method="lanczos")) == 0
    assert found.sel(rank_range="adaptive").hessian_rank.isnull().all()


def curved(w, batch):
    """A softmax loss with a product of weights in it: no quadratic."""
    logits = batch @ w["in"] @ w["out"]
    return (torch.logsumexp(logits, -1) - logits[:, 0]).mean()


@pytest.fixture(scope="module")
def small():
    """Weights, batch, and the Hessian [14, 14] with weights in order."""
    random = torch.Generator().manual_seed(0)
    weights = {
        "in": torch.randn(4, 2, generator=random, dtype=torch.float64),
        "out": torch.randn(2, 3, generator=random, dtype=torch.float64),
    }
    batch = 2 * torch.randn(30, 4, generator=random, dtype=torch.float64)

    def of_vector(vector):
        return curved({"in": vector[:8].view(4, 2), "out": vector[8:].view(2, 3)}, batch)

    exact = torch.func.hessian(of_vector)(torch.cat([w.flatten() for w in weights.values()]))
    return weights, batch, exact.numpy()


def test_probes_see_the_exact_hessian(small):
    """v . p(H) v and v . 1[H > threshold] v of the very same signs, by its eigenvectors."""
    weights, batch, exact = small
    eigenvalues, vectors = np.linalg.eigh(exact)
    setting = SETTING | {"degree": 9, "threshold": 0.1, "bounds": [-3.0, 9.0], "probes": 5}
    found = hessian_ranks(curved, weights, batch, **setting).sel(rank_range="fixed")
    coefficients = step_coefficients((-3, 9), 0.1, 9)
    probes = [signs(weights, derive(3, "probe", i)) for i in range(5)]
    masses = np.array(
        [(vectors.T @ torch.cat([p[n].flatten() for n in weights]).numpy()) ** 2 for p in probes]
    )
    each = masses @ polynomial(coefficients, (-3, 9), eigenvalues)
    chebyshev = found.sel(rank_method="chebyshev")
    assert float(chebyshev.hessian_rank) == pytest.approx(each.mean(), rel=1e-9)
    assert float(chebyshev.hessian_rank_se) == pytest.approx(each.std(ddof=1) / 5**0.5, rel=1e-7)
    truth = masses[:, eigenvalues > 0.1].sum(1).mean()
    assert float(found.hessian_rank_low) <= truth <= float(found.hessian_rank_high)
    assert float(found.hessian_rank_high) > float(found.hessian_rank_low)


@pytest.mark.parametrize(("threshold", "sure"), [(1.5, 1), (1.7, 2)])
def test_eigenvalues_are_found_within_a_twentieth_of_the_threshold(small, threshold, sure):
    """Of Ritz vectors y in the Krylov space, by dense algebra: |H y - theta y| < threshold / 20."""
    weights, batch, exact = small
    setting = SETTING | {"degree": 9, "threshold": threshold, "bounds": [-3.0, 9.0], "probes": 1}
    found = hessian_ranks(curved, weights, batch, **setting).sel(rank_range="fixed")
    probe = signs(weights, derive(3, "probe", 0))
    start = torch.cat([probe[name].flatten() for name in weights]).numpy()
    basis, _ = np.linalg.qr(np.stack([np.linalg.matrix_power(exact, n) @ start for n in range(5)], 1))
    values, vectors = np.linalg.eigh(basis.T @ exact @ basis)
    residuals = np.linalg.norm(exact @ basis @ vectors - basis @ vectors * values, axis=0)
    assert found.hessian_rank_converged == ((values > threshold) & (residuals < threshold / 20)).sum() == sure


def test_over_all_signs_the_mean_is_the_number_of_eigenvalues(monkeypatch):
    """With each of the 2^6 probes once there is no sampling error left, on a Hessian that is not diagonal."""
    eigenvalues = np.array([-1.0, 0.0, 0.0, 2.0, 3.0, 6.0])
    vectors, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))
    hessian = torch.from_numpy(vectors * eigenvalues @ vectors.T)
    every = iter([{"w": torch.tensor(s).double()} for s in itertools.product((-1.0, 1.0), repeat=6)])
    monkeypatch.setattr(module, "signs", lambda weights, seed: next(every))
    weights = {"w": torch.ones(6, dtype=torch.float64)}
    setting = SETTING | {"degree": 10, "probes": 64}
    found = hessian_ranks(lambda w, batch: w["w"] @ hessian @ w["w"] / 2, weights, None, **setting)
    fixed = found.sel(rank_range="fixed")
    expected = polynomial(step_coefficients((-2, 12), 1, 10), (-2, 12), eigenvalues).sum()
    assert float(fixed.hessian_rank.sel(rank_method="lanczos")) == pytest.approx(3, abs=1e-9)
    assert float(fixed.hessian_rank.sel(rank_method="chebyshev")) == pytest.approx(expected, abs=1e-9)


def test_one_probe_has_no_standard_error_and_none_is_refused():
    assert ranks(probes=1).hessian_rank_se.isnull().all()
    with pytest.raises(ValueError, match="0 probes"):
        ranks(probes=0)

import numpy as np
import pytest

from rllc.tasks.regression.predictors import dmmse, ridge
from rllc.tasks.regression.sequences import as_examples, blocks, draw, task_pool

LAW = {"dimension": 4, "length": 8, "noise_variance": 0.125, "tasks": None, "task_seed": 0}
# Mean squared errors of the Bayes predictor at k = 1 .. 8, computed elsewhere (several million sequences).
BAYES = [4.125, 3.178, 2.280, 1.487, 0.896, 0.574, 0.410, 0.322]


def test_a_sequence_is_inputs_and_answers_in_turn():
    drawn = draw(5, seed=1, **LAW)
    examples = as_examples(drawn)
    assert examples.contexts.shape == (5, 16, 5)
    assert examples.contexts.dtype == np.float32
    np.testing.assert_array_equal(examples.contexts[:, ::2, 1:], drawn.x.astype(np.float32))
    np.testing.assert_array_equal(examples.contexts[:, 1::2, 0], drawn.y.astype(np.float32))
    assert not examples.contexts[:, ::2, 0].any()
    assert not examples.contexts[:, 1::2, 1:].any()
    batch = examples.batch(np.arange(5), examples.scorable())
    np.testing.assert_array_equal(batch.targets, drawn.y.astype(np.float32))
    assert batch.positions.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_draws_have_the_law_that_is_asked_for():
    drawn = draw(40000, seed=0, **LAW)
    noise = drawn.y - np.einsum("nkd,nd->nk", drawn.x, drawn.w)
    assert noise.var() == pytest.approx(0.125, rel=0.02)
    assert drawn.y.var() == pytest.approx(4.125, rel=0.02)
    np.testing.assert_allclose(np.cov(drawn.w.T), np.eye(4), atol=0.03)
    assert blocks(3, seed=0, **LAW).contexts.tobytes() != blocks(3, seed=1, **LAW).contexts.tobytes()


def test_scales_keep_the_draws():
    plain, far, strong = (draw(9, seed=2, **LAW, **s) for s in ({}, {"input_scale": 3}, {"task_scale": 3}))
    np.testing.assert_allclose(far.x, 3 * plain.x)
    np.testing.assert_allclose(strong.w, 3 * plain.w)
    np.testing.assert_allclose(far.y, strong.y)  # w . (3 x) = (3 w) . x, and the noise is the same
    np.testing.assert_array_equal(strong.x, plain.x)


def test_finitely_many_tasks_come_back():
    pool = task_pool(3, dimension=4, task_seed=7)
    drawn = [draw(200, seed=seed, **{**LAW, "tasks": 3, "task_seed": 7}).w for seed in (0, 1)]
    for w in drawn:
        assert {tuple(row) for row in w.tolist()} == {tuple(row) for row in pool.tolist()}
    np.testing.assert_array_equal(task_pool(9, dimension=4, task_seed=7)[:3], pool)
    assert not np.isin(task_pool(3, dimension=4, task_seed=8), pool).any()


def test_ridge_is_the_posterior_mean():
    """The second prediction against the posterior integrated on a grid over tasks, of two coordinates."""
    drawn = draw(6, seed=4, dimension=2, length=2, noise_variance=0.125, tasks=None, task_seed=0)
    side = np.linspace(-6, 6, 801)
    w = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    for x, y, found in zip(*drawn[1:], ridge(*drawn[1:], noise_variance=0.125), strict=True):
        likelihood = np.exp(-((y[0] - w @ x[0]) ** 2) / 0.25 - (w**2).sum(1) / 2)
        posterior = likelihood @ w / likelihood.sum()
        np.testing.assert_allclose(found, [0.0, x[1] @ posterior], atol=1e-9)


def test_no_predictor_beats_ridge_and_its_losses_are_known():
    drawn = draw(60000, seed=5, **LAW)
    squares = (ridge(drawn.x, drawn.y, noise_variance=0.125) - drawn.y) ** 2
    error = squares.std(0) / np.sqrt(len(squares))
    assert (abs(squares.mean(0) - BAYES) < 4 * error + 0.001).all()
    worse = (ridge(drawn.x, drawn.y, noise_variance=0.25) - drawn.y) ** 2
    assert (worse.mean(0)[1:] > squares.mean(0)[1:]).all()


def test_dmmse_weighs_tasks_by_their_likelihood():
    """Three tasks, each posterior written out; then endless tasks, which is ridge."""
    pool = task_pool(3, dimension=2, task_seed=0)
    drawn = draw(5, seed=6, dimension=2, length=3, noise_variance=0.5, tasks=3, task_seed=0)
    found = dmmse(drawn.x, drawn.y, pool=pool, noise_variance=0.5)
    for x, y, row in zip(*drawn[1:], found, strict=True):
        for k in range(3):
            likely = [np.prod([np.exp(-((y[i] - t @ x[i]) ** 2)) for i in range(k)]) for t in pool]
            expected = sum(p * (t @ x[k]) for p, t in zip(likely, pool, strict=True)) / sum(likely)
            assert row[k] == pytest.approx(expected, abs=1e-12)
    many = task_pool(200_000, dimension=2, task_seed=1)
    near = dmmse(drawn.x, drawn.y, pool=many, noise_variance=0.5)
    np.testing.assert_allclose(near, ridge(drawn.x, drawn.y, noise_variance=0.5), atol=0.03)

"""Standard errors against scipy, a jackknife, and the share of intervals that contain the truth."""

import numpy as np
import pytest
import torch
import xarray as xr
from intervals import coverages
from scipy import stats

from rllc.measures.errors import (
    BLOCKS,
    BatchedErrors,
    block_means,
    block_ratios,
    error_of_mean,
    error_of_ratio,
)

RANDOM = np.random.default_rng(0)


def test_error_of_mean_equals_that_of_scipy():
    values = RANDOM.normal(size=(3, 2, 7))
    np.testing.assert_allclose(error_of_mean(values), stats.sem(values, axis=-1))


@pytest.mark.parametrize("units", [0, 1])
def test_without_two_units_there_is_no_error(units):
    values = np.ones((3, units))
    batches = BatchedErrors()
    batches.add(torch.ones(1, 3))
    assert error_of_mean(values).shape == (3,)
    assert np.isnan(error_of_mean(values)).all()
    assert np.isnan(error_of_ratio(np.ones((3, 1)), np.ones(1))).all()
    assert np.isnan(batches.errors()).all()
    assert np.isnan(BatchedErrors().errors())


def test_error_of_a_ratio_with_equal_counts_is_that_of_the_mean():
    values = RANDOM.normal(size=(3, 9))
    np.testing.assert_allclose(error_of_ratio(4 * values, np.full(9, 4)), stats.sem(values, axis=-1))


def test_error_of_a_ratio_is_near_a_jackknife():
    counts = RANDOM.integers(0, 20, 400)
    sums = RANDOM.normal(2 * counts, 1 + counts)
    left = (sums.sum() - sums) / (counts.sum() - counts)
    jackknife = np.sqrt(399 / 400 * ((left - left.mean()) ** 2).sum())
    assert float(error_of_ratio(sums, counts)) == pytest.approx(jackknife, rel=0.02)


def test_units_that_share_others_have_the_error_of_all_redraws():
    """A sum has a part of its unit and one of another unit: neighbours in a cycle share one."""
    order = np.random.default_rng(1).permutation(40)
    others = np.empty(40, int)
    others[order] = np.roll(order, 1)

    def redraw(seed: int) -> xr.Dataset:
        own = np.random.default_rng(seed).normal(size=40)
        sums, counts = 5 * (own + own[others]), np.full(40, 5)
        mean, errors = sums.sum() / 200, (error_of_ratio(sums, counts, others), error_of_ratio(sums, counts))
        return xr.Dataset({"a": mean, "a_se": errors[0], "b": mean, "b_se": errors[1]})

    found = coverages(redraw, {"a": 0, "b": 0}, redraws=1000, units=40)
    assert found["b"] < 0.88 < 0.92 < found["a"] < 0.97


@pytest.mark.parametrize("size", [2, 3, 4])
def test_covariances_are_counted_once_for_each_pair_of_a_cycle(size):
    """Against the variance of a sum from the covariance matrix in which only neighbours are not 0."""
    apart = np.random.default_rng(size).normal(size=size) + 3 * np.arange(size)
    apart = np.append(apart, apart) - apart.mean()
    others = np.append(np.roll(np.arange(size), 1), size + np.roll(np.arange(size), 1))
    near = np.eye(2 * size)
    near[np.arange(2 * size), others] = near[others, np.arange(2 * size)] = 1
    diagonal = (apart**2).sum()
    squares = max(apart @ near @ apart, diagonal) * 2 * size / (2 * size - 1)
    expected = np.sqrt(squares) / (2 * size)
    assert float(error_of_ratio(apart + 7, np.ones(2 * size), others)) == pytest.approx(expected)


def test_batches_of_any_size_give_the_error_of_all_contexts_also_far_from_zero():
    values = 1e6 + 1e-3 * RANDOM.normal(size=(11, 4))
    batches = BatchedErrors()
    for part in np.split(values, [1, 4, 9]):
        batches.add(torch.from_numpy(part))
    np.testing.assert_allclose(batches.errors(), stats.sem(values, axis=0), rtol=1e-6)


def test_intervals_contain_the_truth_in_19_of_20_redraws():
    """Numbers of a unit share a part, and units hold different numbers of them."""

    def redraw(seed: int) -> xr.Dataset:
        random = np.random.default_rng(seed)
        counts, shared = random.integers(1, 30, 60), random.normal(size=60)
        sums = counts * (3 + shared) + np.sqrt(counts) * random.normal(size=60)
        return xr.Dataset(
            {
                "ratio": sums.sum() / counts.sum(), "ratio_se": error_of_ratio(sums, counts),
                "mean": shared.mean(), "mean_se": error_of_mean(shared),
            }
        )  # fmt: skip

    found = coverages(redraw, {"ratio": 3, "mean": 0}, redraws=2000, units=60)
    assert all(0.92 < share < 0.98 for share in found.values()), found


def test_block_means_are_those_of_neighbouring_units():
    values = RANDOM.normal(size=(3, 35))
    found = block_means(values)
    assert found.shape == (3, BLOCKS)
    np.testing.assert_allclose(found[:, 0], values[:, :3].mean(1))
    np.testing.assert_allclose(found[:, -1], values[:, -2:].mean(1))
    np.testing.assert_allclose(block_means(values[:, :32]).mean(1), values[:, :32].mean(1))


def test_block_ratios_are_those_of_sums_over_neighbouring_units():
    counts = RANDOM.integers(1, 9, 48)
    sums = RANDOM.normal(size=48) * counts
    found = block_ratios(sums, counts)
    np.testing.assert_allclose(found[1], sums[3:6].sum() / counts[3:6].sum())
    assert np.isnan(block_ratios(sums, np.where(np.arange(48) < 3, 0, counts))[0])


def test_fewer_units_than_blocks_have_no_blocks():
    assert block_means(np.ones((2, BLOCKS - 1))).shape == (2, BLOCKS)
    assert np.isnan(block_means(np.ones((2, BLOCKS - 1)))).all()

"""Errors of numbers from curves on shared contexts, by blocks."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.claims.judged import a_claim
from tests.claims.runs import run

from rllc.claims import change, last, minimum
from rllc.claims.judging.evaluate import evaluate

STEPS = [0, 100, 200]


def scores(blocks, *, error=None, other=None):
    """Scores of three checkpoints by their values on blocks [step, block]; without them, errors alone."""
    mean = blocks.mean(1)
    own = np.full(3, 5.0) if error is None else error
    data = {
        "score": (("seed", "step"), mean[None]),
        "score_se": (("seed", "step"), own[None]),
        "score_by_block": (("seed", "step", "block"), blocks[None]),
    }
    if other is not None:
        data["other"] = (("seed", "step"), other.mean(1)[None])
        data["other_by_block"] = (("seed", "step", "block"), other[None])
    return {"metrics": xr.Dataset(data, {"seed": [0], "step": STEPS})}


def drawn(seed=0, spread=0.1):
    """Values of three checkpoints on 16 blocks: hard and easy blocks are so for all of them."""
    random = np.random.default_rng(seed)
    return np.array([[3.0], [2.0], [2.5]]) + random.normal(size=16) + spread * random.normal(size=(3, 16))


def found(function, datasets):
    return evaluate(a_claim(function).statistic, run(datasets))


def rise(run):
    return change(run.curve("metrics.score"), 100, 200)


def test_error_of_a_change_is_that_of_the_differences_on_blocks():
    blocks = drawn()
    made = found(rise, scores(blocks))
    assert made.error == pytest.approx(stats.sem(blocks[2] - blocks[1]), rel=0.08)
    assert made.error < 0.1 < found(lambda run: last(run.curve("metrics.score")), scores(blocks)).error
    assert made.freedom == pytest.approx(15, rel=0.05)


def test_error_of_one_value_is_that_of_its_blocks():
    blocks = drawn()
    made = found(lambda run: last(run.curve("metrics.score")), scores(blocks))
    assert made.error == pytest.approx(stats.sem(blocks[2]), rel=0.08)
    assert made.freedom == pytest.approx(15, rel=0.05)


def test_error_between_two_variables_on_shared_contexts_is_paired():
    blocks = drawn()

    def apart(run):
        return last(run.curve("metrics.other") - run.curve("metrics.score"))

    other = blocks + 0.05 * np.random.default_rng(1).normal(size=blocks.shape)
    made = found(apart, scores(blocks, other=other))
    assert made.error == pytest.approx(stats.sem((other - blocks)[2]), rel=0.08)
    assert made.freedom == pytest.approx(15, rel=0.05)


def test_minimum_of_checkpoints_apart_has_the_error_of_one_of_them():
    made = found(lambda run: minimum(run.curve("metrics.score")), scores(drawn()))
    assert made.error == pytest.approx(stats.sem(drawn()[1]), rel=0.08)


def test_too_few_contexts_for_blocks_leave_the_errors_of_the_measure():
    """An error of 5 is stored beside blocks of about 1 / 4."""
    datasets = scores(drawn())
    datasets["metrics"]["score_by_block"][:] = np.nan
    assert found(rise, datasets).error == pytest.approx(5 * np.sqrt(2), rel=0.08)


def test_interval_of_a_change_covers_the_truth_in_95_percent():
    """Over redraws of all contexts, the truth being 0.5. Independent errors would cover every time."""
    covered = []
    for seed in range(300):
        made = found(rise, scores(drawn(seed)))
        covered.append(abs(made.value - 0.5) <= stats.t.ppf(0.975, made.freedom) * made.error)
    assert 0.91 < np.mean(covered) < 0.985

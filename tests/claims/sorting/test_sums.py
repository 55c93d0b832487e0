"""Circuits of the model of cumulative sums: values by hand on a small run."""

import numpy as np
import pytest
import xarray as xr
from tests.claims.sorting.small import STEPS, datasets, run

from rllc.analysis.curves import NotJudged
from rllc.claims.judging.evaluate import evaluate
from rllc.claims.sorting import sums


@pytest.fixture
def model():
    """Accuracy reaches 0.99 at step 400; the circuit is noise before, and its final form plus noise then."""
    random = np.random.default_rng(0)
    end, noise = random.normal(size=(1, 7, 3)), random.normal(size=(len(STEPS), 1, 7, 3))
    circuit = np.where(np.asarray(STEPS)[:, None, None, None] < 400, noise, end + 0.1 * noise)
    circuit[-1] = end
    data = datasets(rank_sum=[99, 20, 10, 10, 10, 10, 10, 10, 10, 9])
    dims = ("seed", "step", "head", "token", "answer")
    data["circuits"] = data["circuits"].assign_coords(head=["0:0"]).assign(ov_answers=(dims, circuit[None]))
    accuracy = np.where(np.asarray(STEPS) < 400, 0.5, 0.995)
    data["metrics"] = data["metrics"].assign(
        accuracy=(("seed", "step", "distribution"), accuracy[None, :, None])
    )
    return data


def test_likeness_is_that_of_the_first_accurate_checkpoint(model):
    circuit = model["circuits"]["ov_answers"].values[0]
    expected = np.corrcoef(circuit[STEPS.index(400)].ravel(), circuit[-1].ravel())[0, 1]
    found = evaluate(sums.ov_likeness_to_end.statistic, run(model, task="cumulative_sum"))
    assert found.value == pytest.approx(expected) and expected > 0.9
    assert found.exact
    error = xr.zeros_like(model["metrics"]["accuracy"]) + 0.2
    noisy = {**model, "metrics": model["metrics"].assign(accuracy_se=error)}
    assert evaluate(sums.ov_likeness_to_end.statistic, run(noisy, task="cumulative_sum")) == found


def test_model_that_never_learns_is_not_judged(model):
    never = {**model, "metrics": model["metrics"] * 0.5}
    with pytest.raises(NotJudged, match=r"needs an accuracy of 0.99, has at most 0.50"):
        sums.ov_likeness_to_end(run(never, task="cumulative_sum"))


def test_ranks_of_the_untrained_model_do_not_count(model):
    assert float(sums.rank_fall_of_sums(run(model, task="cumulative_sum"))) == pytest.approx(1 - 9 / 20)

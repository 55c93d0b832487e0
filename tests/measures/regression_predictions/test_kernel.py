"""Measures of in-context regression, against predictors whose numbers are known."""

import numpy as np
import pytest
import torch
import xarray as xr

from rllc.measures.data import InMemoryData
from rllc.measures.regression_predictions.kernel import cumulative_rate, regression_predictions
from rllc.models.regression import model
from rllc.tasks.regression.predictors import ridge
from rllc.tasks.regression.sequences import draw

LAW = {"dimension": 4, "length": 8, "noise_variance": 0.125, "tasks": None, "task_seed": 0}
FLAT = {"learning_rate": 0.5, "steps": 100, "warmup": 0, "schedule": "constant", "end_rate": 0.0}
WEIGHTS = {"embed.W_E": torch.zeros(1)}


DATA = InMemoryData(held_out=[], stream=5)  # of which random numbers alone are read


class Answering:
    """A model whose predictions are a function of the inputs and answers that it reads."""

    def __init__(self, rule):
        self.rule = rule

    def outputs(self, weights, batch):
        contexts = batch.contexts.double().numpy()
        return torch.from_numpy(self.rule(contexts[:, ::2, 1:], contexts[:, 1::2, 0]))


def measured(rule, *, scales=(1.0, 3.0), sequences=4000, **law):
    measure = regression_predictions(
        DATA, sequences=sequences, middle=4, scales=list(scales), law={**LAW, **law}, schedule=FLAT
    )
    return measure(WEIGHTS, Answering(rule), 7)


@pytest.fixture(scope="module")
def bayes():
    return measured(lambda x, y: ridge(x, y, noise_variance=0.125))


def test_ridge_has_its_own_losses_and_scores(bayes):
    """As computed elsewhere: mean 1.659, ICL 1:4 -2.638, ICL 4:8 -1.165."""
    assert bayes["delta_ridge"] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(bayes["mse"], bayes["ridge_mse"], rtol=1e-5)
    for name, truth in {"icl_early": -2.638, "icl_late": -1.165, "icl_score": -3.803}.items():
        assert 0 < bayes[f"{name}_se"] < 0.2
        assert abs(bayes[name] - truth) < 4 * bayes[f"{name}_se"], name
    assert bayes["mse"].mean() == pytest.approx(1.659, abs=0.1)
    assert bayes["k"].values.tolist() == [*range(1, 9)]


def test_the_zero_predictor_is_the_task_prior():
    zero = measured(lambda x, y: np.zeros(y.shape))
    assert not zero["prediction_square"].any()
    assert zero["delta_prior"] == 0
    assert zero["mse"].mean() == pytest.approx(4.125, abs=0.15)
    assert zero["loss_over_zero"] == zero["loss_over_zero_se"] == 0
    drawn = draw(4000, seed=5, **LAW)
    expected = (ridge(drawn.x, drawn.y, noise_variance=0.125) ** 2).mean()
    assert zero["delta_ridge"] == pytest.approx(expected, rel=1e-12)
    assert (zero["far_prediction"] == 0).all()


def test_loss_over_that_of_the_zero_predictor_is_of_the_same_sequences():
    """Predictions of 0.01 cost 0.01^2 - 0.02 y: the error is that of y, a hundredth of that of the loss."""
    made = measured(lambda x, y: np.full(y.shape, 0.01))
    y = draw(4000, seed=5, **LAW).y
    of_sequences = (1e-4 - 0.02 * y).mean(1)
    assert made["loss_over_zero"] == pytest.approx(of_sequences.mean(), abs=1e-9)
    assert made["loss_over_zero_se"] == pytest.approx(of_sequences.std(ddof=1) / 4000**0.5, rel=1e-6)


@pytest.mark.parametrize(
    "name", ["icl_early", "icl_late", "icl_score", "loss_over_zero", "delta_zero", "delta_prior"]
)
def test_blocks_of_sequences_have_the_mean_of_all(bayes, name):
    assert bayes[f"{name}_by_block"].dims == ("block",)
    assert bayes[f"{name}_by_block"].mean() == pytest.approx(float(bayes[name]), rel=1e-9)


def test_far_from_the_distribution_losses_are_over_the_square_of_the_scale(bayes):
    """With inputs three times as long ridge knows w better and the noise counts a ninth: its loss is recomputed
    from the law; of the zero predictor it is 4 + 0.125 / 9."""
    zero = measured(lambda x, y: np.zeros(y.shape), sequences=20000)
    for change in ("inputs", "tasks"):
        assert zero["far_loss"].sel(change=change, scale=3.0) == pytest.approx(4 + 0.125 / 9, rel=0.02)
    near = bayes.sel(scale=1.0)
    assert near["far_loss"].values == pytest.approx(bayes["mse"].mean().item(), rel=1e-6)
    assert near["far_icl"].values == pytest.approx(bayes["icl_score"].item(), rel=1e-6)
    drawn = draw(4000, seed=5, **LAW, input_scale=3.0)
    squares = (ridge(drawn.x, drawn.y, noise_variance=0.125) - drawn.y) ** 2 / 9
    inputs = bayes.sel(change="inputs", scale=3.0)
    assert inputs["far_loss"] == pytest.approx(squares.mean(), rel=1e-5)
    assert inputs["far_icl"] == pytest.approx((squares[:, 7] - squares[:, 0]).mean(), rel=1e-5)


def test_finitely_many_tasks_have_a_mean_and_a_bayes_predictor_of_their_own():
    """One task: both predict w . x; a model that does so is at distance 0 of both, and not of ridge."""
    one = {"tasks": 1, "task_seed": 3}
    w = draw(1, seed=0, **{**LAW, **one}).w[0]
    knows = measured(lambda x, y: x @ w, sequences=500, **one)
    assert knows["delta_dmmse"] == pytest.approx(0, abs=1e-9)
    assert knows["delta_prior"] == pytest.approx(0, abs=1e-9)
    assert knows["delta_ridge"] > 0.1
    assert knows["delta_zero"] == pytest.approx(w @ w, rel=0.1)  # x is of variance 1 in every direction
    assert knows["delta_zero"] == pytest.approx(knows["prediction_square"].mean())
    assert knows["mse"].mean() == pytest.approx(0.125, rel=0.1)


def test_every_checkpoint_reads_the_same_sequences():
    measure = regression_predictions(DATA, sequences=9, middle=4, scales=[3.0], law=LAW, schedule=FLAT)
    shape = model(n_layers=1, n_heads=2, d_model=8, d_head=4, context=16, d_vector=5)
    weights = shape.initial_weights(seed=0)
    early, late = (measure(weights, shape, step) for step in (0, 9))
    xr.testing.assert_identical(early.drop_vars("cumulative_rate"), late.drop_vars("cumulative_rate"))


def test_the_cumulative_rate_of_one_cycle_is_a_square_then_a_half():
    cycle = {"learning_rate": 0.01, "steps": 2000, "warmup": 1000, "schedule": "linear", "end_rate": 0.0}
    for step in (100, 1000):
        assert cumulative_rate(step, **cycle) == pytest.approx(0.01 * step * (step + 1) / 2000, rel=1e-9)
    assert cumulative_rate(2000, **cycle) == pytest.approx(0.01 * 1001, rel=1e-9)

"""Claims on predictions by the prior: numbers against plain numpy on small made-up runs."""

import pytest
import torch
from tests.claims.regression.small import CLAIMS, CUT, LONG, number, run_of, seed_1

from rllc.analysis.curves import NotJudged
from rllc.claims.selection import Absent
from rllc.measures.regression_predictions.kernel import regression_predictions
from rllc.models.regression import model
from rllc.tasks.regression.sequences import draw


def numbers(made, *, first_end):
    n, step = seed_1(made.numbers), made.steps
    return {
        "prior_min": step[n["zero"].argmin()],
        "prior_level": n["zero"].min(),
        "prior_loss": n["loss"][first_end] - (n["loss"][0] - n["zero"][0]),
    }


SHORT_NUMBERS, PAPER_NUMBERS = numbers(CUT, first_end=5), numbers(LONG, first_end=3)


@pytest.mark.parametrize("name", SHORT_NUMBERS)
def test_number_of_a_short_training_equals_numpy(name):
    assert number(name, run_of(CUT)) == pytest.approx(SHORT_NUMBERS[name], rel=1e-12)


@pytest.mark.parametrize("name", PAPER_NUMBERS)
def test_number_at_the_papers_length_equals_numpy(name):
    assert number(name, run_of(LONG)) == pytest.approx(PAPER_NUMBERS[name], rel=1e-12)


@pytest.mark.parametrize("tasks", [1, 4, 16, 256, 65536])
def test_ratio_of_distances_leaves_out_step_0(tasks):
    datasets = CUT.datasets()
    nearest = datasets["regression_predictions"]["delta_zero"].where(
        datasets["regression_predictions"]["step"] > 0, 1e-6
    )
    datasets["regression_predictions"] = datasets["regression_predictions"].assign(delta_zero=nearest)
    claim = CLAIMS[f"prior_universal_{tasks}"]
    run = run_of(CUT, name=claim.experiment, **datasets)
    assert claim.applies(run.experiment)
    expected = CUT.numbers["prior"][1, 1:].min() / CUT.numbers["zero"][1, 1:].min()
    assert number(claim.name, run) == pytest.approx(expected, rel=1e-12)


def test_loss_of_the_zero_predictor_needs_the_untrained_model():
    late = CUT.datasets()["metrics"].sel(step=slice(1, None))
    with pytest.raises(NotJudged, match=r"needs the untrained model, metrics\.loss begins at step 20"):
        number("prior_loss", run_of(CUT, metrics=late))


@pytest.mark.parametrize("seed", [0, 1])
def test_untrained_loss_gives_the_loss_of_the_zero_predictor(seed):
    """What `prior_loss` takes it for, within the 0.1 that the claim allows, on the sequences that are measured."""

    class Held:
        stream = 5

    law = {"dimension": 4, "length": 8, "noise_variance": 0.125, "tasks": None, "task_seed": 0}
    flat = {"learning_rate": 0.5, "steps": 100, "warmup": 0, "schedule": "constant", "end_rate": 0.0}
    shape = model(n_layers=2, n_heads=4, d_model=64, d_head=16, context=16, d_vector=5)
    measure = regression_predictions(Held(), sequences=2048, middle=4, scales=[1.0], law=law, schedule=flat)
    with torch.no_grad():
        made = measure(shape.initial_weights(seed=seed), shape, 0)
    zero = (draw(2048, seed=Held.stream, **law).y ** 2).mean()
    assert float(made["mse"].mean() - made["delta_zero"]) == pytest.approx(zero, abs=0.08)


def test_claim_is_absent_without_its_dataset():
    run = run_of(LONG)
    run.datasets = {key: data for key, data in run.datasets.items() if key != "regression_predictions"}
    with pytest.raises(Absent, match="has no regression_predictions"):
        number("prior_loss", run)


def test_loss_over_the_zero_predictor_is_read_where_it_is_measured():
    datasets = CUT.datasets()
    zero = datasets["regression_predictions"]["delta_zero"]
    measured = datasets["regression_predictions"].assign(loss_over_zero=3 * zero)
    run = run_of(CUT, regression_predictions=measured)
    assert number("prior_loss", run) == pytest.approx(3 * CUT.numbers["zero"][1, 5], rel=1e-12)

"""The overlays of in-context regression against what arXiv 2402.02364 says of its training."""

import inspect
from pathlib import Path

import numpy as np
import pytest

from rllc.models.training import rate_factor
from rllc.study import defaults
from rllc.study.reading import read
from rllc.study.steps import chunks, steps
from rllc.study.study import work
from rllc.study.table import ANALYSES, MEASURES
from rllc.tasks.regression.sequences import draw

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "config/regression.yaml", ROOT / "config/regression_published.yaml"]


@pytest.fixture(scope="module", params=[1, 2], ids=["cut", "published"])
def experiment(request):
    return read(defaults.load(FILES[: request.param], ROOT)).experiments["regression"]


def test_the_sum_of_rates_is_of_the_schedule_that_trains():
    """Every argument of the law of rates but the step, and the largest rate."""
    (spec,) = (spec for spec in MEASURES if spec.name == "regression_predictions")
    study = read(defaults.load(FILES[:1], ROOT))
    own = study.experiments["regression"]
    given = spec.settings(work(study, own, own.regression_predictions, []))["schedule"]
    assert {*given} == {"learning_rate", *inspect.signature(rate_factor).parameters} - {"step"}
    assert given == {name: getattr(own.training, name) for name in given}


def test_the_loss_of_predictions_that_know_nothing_is_that_of_the_task():
    """Of zeros the mean square of 200,000 drawn answers; of tokens their number's logarithm."""
    (spec,) = (spec for spec in ANALYSES if spec.name == "stages")
    study = read(defaults.load(FILES[:1], ROOT))
    own = study.experiments["regression"]
    law = study.distributions[own.distributions[0]]
    shape = study.tokenizers[own.tokenizer]
    answers = draw(
        25_000, dimension=shape.dimension, length=8, noise_variance=law.noise_variance, tasks=None, task_seed=0,
        seed=0,
    ).y  # fmt: skip
    given = spec.settings(work(study, own, own.stages, []))
    assert given["chance"] == pytest.approx((answers**2).mean(), rel=0.02)
    assert given["guess"] == "predictions of 0"
    study = read(defaults.load([ROOT / "config/stages.yaml"], ROOT))
    own = next(each for each in study.experiments.values() if each.stages and each.task == "language")
    given = spec.settings(work(study, own, own.stages, []))
    vocabulary = study.tokenizers[own.tokenizer].vocabulary
    assert given["chance"] == pytest.approx(-np.log(1 / vocabulary))
    assert given["guess"] == "uniform predictions"


def test_the_rate_is_that_of_one_cycle(experiment):
    """torch's OneCycleLR with a start and an end of peak / (steps / 2 - 1), as in the authors' code."""
    import torch

    training = experiment.training
    peak, length = training.learning_rate, training.steps
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=peak)
    divisor = length / 2 - 1
    cycle = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=peak, total_steps=length, pct_start=0.5, div_factor=divisor,
        final_div_factor=divisor, anneal_strategy="linear", cycle_momentum=False,
    )  # fmt: skip
    ours = {
        "steps": length,
        "warmup": training.warmup,
        "schedule": training.schedule,
        "end_rate": training.end_rate,
    }
    theirs = []
    for step in range(0, length - 1, length // 50):
        cycle.last_epoch = step
        theirs.append((step, cycle.get_lr()[0]))
    for step, rate in theirs:
        assert peak * rate_factor(step, **ours) == pytest.approx(rate, rel=1e-9, abs=3 * peak / length), step


def test_the_published_checkpoints_are_linear_and_logarithmic():
    study = read(defaults.load(FILES, ROOT))
    experiment = study.experiments["regression"]
    even, rising = np.linspace(0, 500_000, 100), np.logspace(0, np.log10(500_000), 100)
    assert steps(experiment) == sorted({*map(int, even), *map(int, rising), 500_000})
    assert max(map(len, chunks(experiment).values())) <= 7


def test_only_the_localization_of_the_published_settings_differs():
    study = read(defaults.load(FILES, ROOT))
    experiment = study.experiments["regression"]
    base, released = experiment.sampling.full, experiment.sampling_variants["released"].full
    differ = {name for name, value in base if getattr(released, name) != value}
    assert differ == {"localization", "burn_in"}
    assert base.step_size * base.n_beta / 2 == pytest.approx(0.01, rel=0.01)
    assert base.seeded

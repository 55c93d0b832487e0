"""Claims on stages and the LLC's curve: numbers against plain numpy on small made-up runs."""

import json

import numpy as np
import pytest
import xarray as xr
from tests.claims.regression.small import CLAIMS, CUT, LONG, NEAREST, SEEDS, number, run_of, seed_1

from rllc.analysis.curves import NotJudged
from rllc.claims.judging.evaluate import evaluate
from rllc.claims.selection import Absent


def numbers(made, *, peak, second):
    n, step = seed_1(made.numbers), made.steps
    one_percent = step >= (5_000 if made is LONG else 240)
    rising = (step >= peak[0]) & (step <= peak[1])
    late = n["llc"][step >= second[0]]
    boundaries, plateaus = made.numbers["boundary"][1, 1, :, 0], made.numbers["published"][1, 1]
    return {
        "lr_stages": (boundaries >= 1).sum(),
        "smooth_auto": plateaus[step >= 900].sum(),
        "lr_seed_sd": made.numbers["llc"].std(0, ddof=1).mean() / made.numbers["llc"].mean(),
        "llc_not_loss_early": np.corrcoef(n["llc"][rising], n["loss"][rising])[0, 1],
        "llc_not_loss": np.corrcoef(n["llc"][one_percent], n["loss"][one_percent])[0, 1],
        "lr_falls": 1 - late[late.argmax() :].min() / late.max(),
    }


def paper_alone():
    return {
        "lr_boundaries": sum((LONG.numbers["boundary"][1, 1, each, 0] >= 1).any() for each in NEAREST),
    }


SHORT_NUMBERS = numbers(CUT, peak=(20, 1_300), second=(260, 2_000))
PAPER_NUMBERS = numbers(LONG, peak=(100, 41_000), second=(1_000, 40_000)) | paper_alone()


@pytest.mark.parametrize("name", SHORT_NUMBERS)
def test_number_of_a_short_training_equals_numpy(name):
    assert number(name, run_of(CUT)) == pytest.approx(SHORT_NUMBERS[name], rel=1e-12)


@pytest.mark.parametrize("name", PAPER_NUMBERS)
def test_number_at_the_papers_length_equals_numpy(name):
    assert number(name, run_of(LONG)) == pytest.approx(PAPER_NUMBERS[name], rel=1e-12)


def test_one_seed_has_no_spread_between_seeds():
    with pytest.raises(NotJudged, match="needs two seeds, has 1"):
        number("lr_seed_sd", run_of(CUT, llc=CUT.datasets()["llc"].sel(seed=[1])))


def test_spread_between_seeds_reads_checkpoints_that_two_have():
    llc = CUT.datasets()["llc"]
    kept = llc.where((llc["seed"] == 1) | (llc["step"] > 1_000))
    run = run_of(CUT, llc=kept.where((llc["seed"] != 0) | (llc["step"] < 24_000)))
    values = CUT.numbers["llc"]
    sds = [*values[:, 7:10].std(0, ddof=1), values[1:, 10].std(ddof=1)]
    means = [*values[:, 7:10].mean(0), values[1:, 10].mean()]
    assert number("lr_seed_sd", run) == pytest.approx(np.mean(sds) / np.mean(means), rel=1e-12)


def test_error_of_the_spread_between_seeds_has_the_errors_of_all_seeds():
    """Of one checkpoint to first order: sqrt(sum ((v - mean) / ((n - 1) sd m) - sd / (n m^2))^2 e^2), m the mean."""
    values, errors = np.array([10.0, 20.0, 40.0]), np.array([0.1, 0.2, 0.3])
    mean, sd = values.mean(), values.std(ddof=1)
    llc = xr.Dataset(
        {"llc": (("seed", "step"), values[:, None]), "llc_se": (("seed", "step"), errors[:, None])},
        {"seed": SEEDS, "step": [24_000]},
    )
    found = evaluate(CLAIMS["lr_seed_sd"].statistic, run_of(CUT, llc=llc.expand_dims(distribution=["pairs"])))
    assert found.value == pytest.approx(sd / mean)
    slopes = (values - mean) / (2 * sd * mean) - sd / (3 * mean**2)
    first_order = np.sqrt(((slopes * errors) ** 2).sum())
    assert found.error == pytest.approx(first_order, rel=0.1)


def test_shared_noise_never_makes_the_spread_between_seeds_surer():
    """The error is the larger of that with independent noise and that with one number per seed."""
    llc = CUT.datasets()["llc"]
    noisy = llc.assign(llc_se=xr.full_like(llc["llc"], 0.5))
    shared = noisy.assign_attrs(sampling=json.dumps({"seeded": True}))
    alone, together = (
        evaluate(CLAIMS["lr_seed_sd"].statistic, run_of(CUT, llc=each)) for each in (noisy, shared)
    )
    assert together.value == alone.value
    assert together.error >= alone.error


def test_error_of_the_fall_is_the_spread_of_redraws():
    """Checkpoints with independent errors far smaller than their distances: 1 - low / high to first order."""
    rows = np.array([[0.0, 50.0, 20.0, 30.0]])
    llc = xr.Dataset(
        {"llc": (("seed", "step"), rows), "llc_se": (("seed", "step"), np.full_like(rows, 0.2))},
        {"seed": [1], "step": [100, 1_000, 5_000, 24_000]},
    )
    found = evaluate(CLAIMS["lr_falls"].statistic, run_of(CUT, llc=llc.expand_dims(distribution=["pairs"])))
    assert found.value == pytest.approx(0.6)
    assert found.error == pytest.approx(0.2 * np.hypot(1 / 50, 20 / 50**2), rel=0.1)


@pytest.mark.parametrize(("name", "dataset"), [("lr_stages", "stages"), ("lr_seed_sd", "llc")])
def test_claim_is_absent_without_its_dataset(name, dataset):
    run = run_of(LONG)
    run.datasets = {key: data for key, data in run.datasets.items() if key != dataset}
    with pytest.raises(Absent, match=f"has no {dataset}"):
        number(name, run)

"""Claims on what the LLC depends on: numbers against plain numpy on a small made-up run."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from tests.claims.regression.small import CLAIMS, LONG, number, run_of, seed_1

from rllc.analysis.curves import NotJudged
from rllc.claims.judging.evaluate import evaluate
from rllc.claims.selection import Absent


def numbers():
    d = seed_1(LONG.dependent)
    apart = abs((d["llc_by_noise_seed"][:, 1, 0] - d["llc_by_noise_seed"][:, 0, 0]).mean())
    sizes, batches = d["llc_by_dataset_size"], d["llc_by_batch_size"][:, 1]
    return {
        "likelihood_same": spearmanr(d["llc"], d["llc_likelihood"]).statistic,
        "data_size": abs(sizes[:, 2] / sizes[:, 3] - 1).max(),
        "batch_size": abs(batches[:, 0] / batches[:, 2] - 1).max(),
        "seeding": apart / np.hypot(*d["llc_by_noise_seed_se"][:, :, 0].T).mean(),
    }


PAPER_NUMBERS = numbers()


@pytest.mark.parametrize("name", PAPER_NUMBERS)
def test_number_at_the_papers_length_equals_numpy(name):
    assert number(name, run_of(LONG)) == pytest.approx(PAPER_NUMBERS[name], rel=1e-12)


def test_claim_is_absent_without_its_dataset():
    run = run_of(LONG)
    run.datasets = {key: data for key, data in run.datasets.items() if key != "dependence"}
    with pytest.raises(Absent, match="has no dependence"):
        number("likelihood_same", run)


def test_seeding_is_in_errors_that_are_not_redrawn():
    """The error of the number is that of the mean difference over the mean error of one difference."""
    found = evaluate(CLAIMS["seeding"].statistic, run_of(LONG))
    errors = LONG.dependent["llc_by_noise_seed_se"][1, :, :, 0]
    each = np.hypot(*errors.T)
    of_mean = np.sqrt((each**2).sum()) / len(each)
    signed = LONG.dependent["llc_by_noise_seed"][1, :, 1, 0] - LONG.dependent["llc_by_noise_seed"][1, :, 0, 0]
    folded = abs(np.random.default_rng(1).normal(signed.mean(), of_mean, 100_000)).std()
    assert found.error == pytest.approx(folded / each.mean(), rel=0.1)


def test_data_size_takes_the_largest_number_up_to_a_quarter():
    """Without 16,384 of 65,536 sequences, those of 4,096 are compared."""
    run = run_of(LONG)
    some = run.datasets["dependence"].sel(dataset_size=[1024, 4096, 65536])
    sizes = seed_1(LONG.dependent)["llc_by_dataset_size"]
    found = number("data_size", run_of(LONG, dependence=some))
    assert found == pytest.approx(abs(sizes[:, 1] / sizes[:, 3] - 1).max(), rel=1e-12)


def test_sizes_that_say_nothing_are_not_judged():
    run = run_of(LONG)
    near = run.datasets["dependence"].sel(dataset_size=[65536], batch_size=[256])
    with pytest.raises(NotJudged, match=r"at most 16,384 contexts.*smallest of dataset_sizes is 65,536"):
        number("data_size", run_of(LONG, dependence=near))
    with pytest.raises(NotJudged, match="batch_sizes has only 256"):
        number("batch_size", run_of(LONG, dependence=near))

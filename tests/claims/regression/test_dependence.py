"""Claims on what the LLC depends on: numbers against plain numpy on a small made-up run."""

import pytest
import xarray as xr
from scipy.stats import spearmanr
from tests.claims.regression.small import CLAIMS, LONG, number, run_of, seed_1

from rllc.analysis.curves import NotJudged
from rllc.claims.judge import judge
from rllc.claims.selection import Absent


def numbers():
    d = seed_1(LONG.dependent)
    fresh, shared = d["llc_by_noise_seed"][:, :, 0].T
    sizes, batches = d["llc_by_dataset_size"], d["llc_by_batch_size"][:, 1]
    return {
        "likelihood_same": spearmanr(d["llc"], d["llc_likelihood"]).statistic,
        "data_size": abs(sizes[:, 2] / sizes[:, 3] - 1).max(),
        "batch_size": abs(batches[:, 0] / batches[:, 2] - 1).max(),
        "seeding": (shared - fresh).mean() / fresh.mean(),
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


@pytest.mark.parametrize(("noise", "verdict"), [(0.01, "holds"), (0.5, "undecided")])
def test_noisier_estimates_do_not_pass_more_easily(noise, verdict):
    """The same LLC with shared and with fresh noise: it holds where the error is small, not where it is large."""
    dependent = LONG.datasets()["dependence"]
    alike = dependent.assign(
        llc_by_noise_seed=xr.full_like(dependent["llc_by_noise_seed"], 1.0),
        llc_by_noise_seed_se=xr.full_like(dependent["llc_by_noise_seed"], noise),
    )
    run = run_of(LONG)
    table = judge([CLAIMS["seeding"]], {"regression": run.experiment}, {"regression": {"dependence": alike}})
    assert table["verdict"].item() == verdict

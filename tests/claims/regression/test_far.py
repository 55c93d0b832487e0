"""Claims on inputs and tasks out of distribution: numbers against plain numpy on small made-up runs."""

import pytest
from tests.claims.regression.small import CUT, LONG, number, run_of, seed_1

from rllc.claims.selection import Absent


def numbers(made):
    n = seed_1(made.numbers)
    return {
        "ood_falls_3": n["far"][-1, 0, 1] / n["far"][:, 0, 1].min(),
        "ood_falls_5": n["far"][-1, 0, 2] / n["far"][:, 0, 2].min(),
        "ood_falls_10": n["far"][-1, 0, 3] / n["far"][:, 0, 3].min(),
        "ood_tasks_ok": n["far"][-1, 1, 3] / n["far"][:, 1, 3].min(),
    }


SHORT_NUMBERS, PAPER_NUMBERS = numbers(CUT), numbers(LONG)


@pytest.mark.parametrize("name", SHORT_NUMBERS)
def test_number_of_a_short_training_equals_numpy(name):
    assert number(name, run_of(CUT)) == pytest.approx(SHORT_NUMBERS[name], rel=1e-12)


@pytest.mark.parametrize("name", PAPER_NUMBERS)
def test_number_at_the_papers_length_equals_numpy(name):
    assert number(name, run_of(LONG)) == pytest.approx(PAPER_NUMBERS[name], rel=1e-12)


def test_claim_is_absent_without_its_scale():
    near = CUT.datasets()["regression_predictions"].sel(scale=[1.0])
    with pytest.raises(Absent, match="has no scale 10"):
        number("ood_falls_10", run_of(CUT, regression_predictions=near))

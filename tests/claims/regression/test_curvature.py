"""Claims on the curvature: numbers against plain numpy on small made-up runs."""

import pytest
from tests.claims.regression.small import CUT, LONG, NEAREST, PAPER, number, run_of, seed_1

from rllc.analysis.curves import NotJudged


def numbers(made):
    n, step = seed_1(made.numbers), made.steps
    return {
        "curv_trace": step[n["trace"].argmax()],
        "curv_eigenvalue": step[n["eigenvalue"][:, 0].argmax()],
    }


def paper_alone():
    n = seed_1(LONG.numbers)
    return {
        "hess_misses": sum((n["curvature"][each, 0] >= 1).any() for each in NEAREST),
        "curv_turn": PAPER[8:][n["eigenvalue"][8:, 0].argmin()],
        "curv_turn_trace": PAPER[8:][n["trace"][8:].argmin()],
    }


SHORT_NUMBERS, PAPER_NUMBERS = numbers(CUT), numbers(LONG) | paper_alone()


@pytest.mark.parametrize("name", SHORT_NUMBERS)
def test_number_of_a_short_training_equals_numpy(name):
    assert number(name, run_of(CUT)) == pytest.approx(SHORT_NUMBERS[name], rel=1e-12)


@pytest.mark.parametrize("name", PAPER_NUMBERS)
def test_number_at_the_papers_length_equals_numpy(name):
    assert number(name, run_of(LONG)) == pytest.approx(PAPER_NUMBERS[name], rel=1e-12)


def test_short_training_is_not_judged_by_late_steps():
    reason = "eigenvalues.hessian_eigenvalue has no value from step 40,000"
    with pytest.raises(NotJudged, match=reason):
        number("curv_turn", run_of(CUT))

"""Claims on in-context learning: numbers against plain numpy on small made-up runs."""

import pytest
from tests.claims.regression.small import CUT, LONG, number, run_of, seed_1

from rllc.analysis.curves import NotJudged


def numbers(made, *, second, read_at):
    n, step = seed_1(made.numbers), made.steps
    stage = n["late"][(step >= second[0]) & (step <= second[1])]
    return {
        "icl_emerges": n["score"][read_at],
        "icl_late_worse": stage.max() - stage[0],
    }


def paper_alone():
    n = seed_1(LONG.numbers)
    return {
        "icl48_stops": n["late"][-1] - n["late"][7],
        "icl14_goes_on": n["early"][-1] - n["early"][7],
    }


SHORT_NUMBERS = numbers(CUT, second=(260, 2_000), read_at=-1)
PAPER_NUMBERS = numbers(LONG, second=(1_000, 40_000), read_at=8) | paper_alone()


@pytest.mark.parametrize("name", SHORT_NUMBERS)
def test_number_of_a_short_training_equals_numpy(name):
    assert number(name, run_of(CUT)) == pytest.approx(SHORT_NUMBERS[name], rel=1e-12)


@pytest.mark.parametrize("name", PAPER_NUMBERS)
def test_number_at_the_papers_length_equals_numpy(name):
    assert number(name, run_of(LONG)) == pytest.approx(PAPER_NUMBERS[name], rel=1e-12)


def test_short_training_is_not_judged_by_late_steps():
    with pytest.raises(NotJudged, match="training ends at step 24,000, before 499,999"):
        number("icl48_stops", run_of(CUT))

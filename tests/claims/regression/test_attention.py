"""Claims on attention: numbers against plain numpy on small made-up runs."""

import pytest
from tests.claims.regression.small import CUT, LONG, number, run_of, seed_1


def numbers(made):
    n = seed_1(made.numbers)
    return {
        "heads_hard": n["hard"][-1],
        "hard_constant": n["correlation"][-1],
    }


SHORT_NUMBERS, PAPER_NUMBERS = numbers(CUT), numbers(LONG)


@pytest.mark.parametrize("name", SHORT_NUMBERS)
def test_number_of_a_short_training_equals_numpy(name):
    assert number(name, run_of(CUT)) == pytest.approx(SHORT_NUMBERS[name], rel=1e-12)


@pytest.mark.parametrize("name", PAPER_NUMBERS)
def test_number_at_the_papers_length_equals_numpy(name):
    assert number(name, run_of(LONG)) == pytest.approx(PAPER_NUMBERS[name], rel=1e-12)

"""Claims on embeddings and norms: numbers against plain numpy on small made-up runs."""

import pytest
from tests.claims.regression.small import CUT, LONG, number, run_of, seed_1

from rllc.analysis.curves import NotJudged


def numbers(made):
    n = seed_1(made.numbers)
    return {
        "embed_collapse": n["share"][-1].min(),
        "pos_collapse": n["position"][-1] / n["position"][0],
        "align": n["alignment"][-1, 0] - n["alignment"][0, 0],
        "ln_collapse": n["small"][-1, 4],
        "ln_spreads": n["small"][-1, 0],
        "ln_less": n["small"][-1, 0] - n["small"][-1, 4],
        "ln_not_mlp2": n["mean"][-1, 3],
    }


def paper_alone():
    n = seed_1(LONG.numbers)
    return {
        "embed_halves": n["share"][-1, 4] / n["share"][8, 4],
        "embed_start": n["share"][3, 4],
    }


SHORT_NUMBERS, PAPER_NUMBERS = numbers(CUT), numbers(LONG) | paper_alone()


@pytest.mark.parametrize("name", SHORT_NUMBERS)
def test_number_of_a_short_training_equals_numpy(name):
    assert number(name, run_of(CUT)) == pytest.approx(SHORT_NUMBERS[name], rel=1e-12)


@pytest.mark.parametrize("name", PAPER_NUMBERS)
def test_number_at_the_papers_length_equals_numpy(name):
    assert number(name, run_of(LONG)) == pytest.approx(PAPER_NUMBERS[name], rel=1e-12)


def test_short_training_is_not_judged_by_late_steps():
    with pytest.raises(NotJudged, match="training ends at step 24,000, before 40,000"):
        number("embed_halves", run_of(CUT))

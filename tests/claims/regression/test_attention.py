"""Claims on attention: numbers against plain numpy on small made-up runs."""

import numpy as np
import pytest
from tests.claims.regression.small import CUT, LONG, number, run_of, seed_1

from rllc.analysis.curves import NotJudged
from rllc.analysis.knots import places_fit_worse


def numbers(made):
    n, step = seed_1(made.numbers), made.steps
    # at the base setting, which is the second
    boundaries = step[1:][made.numbers["boundary"][1, 1, 1:, 0] >= 1]
    entropy = np.concatenate([n["entropy"][1:, :, 2], n["entropy"][1:, :, 1::2].mean(-1)], axis=1)
    return {
        "heads_hard": n["hard"][-1],
        "hard_constant": n["correlation"][-1],
        "entropy_lines_up": places_fit_worse(step[1:].astype(float), entropy, boundaries.astype(float)),
    }


SHORT_NUMBERS, PAPER_NUMBERS = numbers(CUT), numbers(LONG)


@pytest.mark.parametrize("name", SHORT_NUMBERS)
def test_number_of_a_short_training_equals_numpy(name):
    assert number(name, run_of(CUT)) == pytest.approx(SHORT_NUMBERS[name], rel=1e-12)


@pytest.mark.parametrize("name", PAPER_NUMBERS)
def test_number_at_the_papers_length_equals_numpy(name):
    assert number(name, run_of(LONG)) == pytest.approx(PAPER_NUMBERS[name], rel=1e-12)


def test_llc_without_boundaries_has_nothing_to_line_up_with():
    run = run_of(LONG)
    none = run.datasets["stages"].assign(at_boundary=run.datasets["stages"]["at_boundary"] * 0)
    with pytest.raises(NotJudged, match="needs a stage boundary"):
        number("entropy_lines_up", run_of(LONG, stages=none))

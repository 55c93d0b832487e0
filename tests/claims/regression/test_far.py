"""Claims on inputs and tasks out of distribution: numbers against plain numpy on small made-up runs."""

import pytest
from scipy.stats import spearmanr
from tests.claims.regression.small import CUT, LONG, number, run_of, seed_1

from rllc.analysis.curves import NotJudged
from rllc.claims.selection import Absent


def numbers(made):
    n = seed_1(made.numbers)
    return {
        "ood_falls_3": n["far"][-1, 0, 1] / n["far"][:, 0, 1].min(),
        "ood_falls_5": n["far"][-1, 0, 2] / n["far"][:, 0, 2].min(),
        "ood_falls_10": n["far"][-1, 0, 3] / n["far"][:, 0, 3].min(),
        "ood_tasks_ok": n["far"][-1, 1, 3] / n["far"][:, 1, 3].min(),
    }


def paper_alone():
    """Step 4,000 is read at 5,000, 75,000 at 126,000 and 130,000 at 320,000: the first checkpoint from there on."""
    n = seed_1(LONG.numbers)
    loss, prediction = n["far_loss"], n["far_prediction"]
    tasks = loss[7:, 1, 3]
    return {
        "ood_predictions_shrink": prediction[5, 0, 3] / prediction[3, 0, 3],
        "ood_recovers": loss[7, 0, 3] / loss[5, 0, 3],
        "ood_extreme_stays": loss[7, 0, 4] / loss[5, 0, 4],
        "ood_worsens": loss[11, 0, 3] / loss[10, 0, 3],
        "ood_settles": loss[12, 0, 3] / loss[11, 0, 3],
        "ood_tasks_improve": spearmanr(tasks, range(len(tasks))).statistic,
    }


SHORT_NUMBERS, PAPER_NUMBERS = numbers(CUT), numbers(LONG) | paper_alone()


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


def test_short_training_is_not_judged_by_late_substages():
    with pytest.raises(NotJudged, match="training ends at step 24,000, before 75,000"):
        number("ood_worsens", run_of(CUT))

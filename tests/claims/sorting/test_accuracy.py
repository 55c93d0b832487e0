"""Accuracy of sorting: values by hand on a small run."""

import pytest
from tests.claims.sorting.small import LLC, datasets, llc, run

from rllc.claims.selection import Absent
from rllc.claims.sorting import accuracy


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (accuracy.accuracy_by_200, 0.02),
        (accuracy.final_accuracy, 0.09),
    ],
)
def test_number_of_accuracy_is_that_by_hand(function, expected):
    assert float(function(run({"llc": llc(LLC), **datasets()}))) == pytest.approx(expected, rel=1e-12)


def test_other_models_have_no_accuracy_of_the_post():
    """The summary of sorting models would draw them."""
    with pytest.raises(Absent, match="language"):
        accuracy.final_accuracy(run(datasets(), task="language"))

"""Ranks of circuits: values by hand on a small run."""

import pytest
from tests.claims.sorting.small import LLC, datasets, llc, run

from rllc.claims.selection import Absent
from rllc.claims.sorting import ranks


@pytest.mark.parametrize(
    ("function", "variable", "curve", "expected"),
    [
        (ranks.rank_fall, "rank_sum", [80, 90, 88, 80, 70, 60, 50, 45, 40, 36], 0.6),
        (ranks.rank_range, "rank_sum", [10, 12, 8, 10, 10, 10, 10, 10, 10, 10], 0.4),
    ],
)
def test_number_of_circuits_is_that_by_hand(function, variable, curve, expected):
    data = datasets(**{variable: curve})
    assert float(function(run(data))) == pytest.approx(expected, rel=1e-12)


def test_a_model_without_circuits_has_no_claim_about_them():
    data = {"llc": llc(LLC), **{"metrics": datasets()["metrics"]}}
    with pytest.raises(Absent, match="circuits"):
        ranks.rank_fall(run(data, task="cumulative_sum"))

"""What every seed has: claims against plain loops over a small run."""

import numpy as np
import pytest
from tests.claims.heads.small import of, table
from tests.claims.runs import LANGUAGE, run

from rllc.claims.claim import claims_of
from rllc.claims.heads import every_seed
from rllc.claims.judge import judge
from rllc.claims.judging.evaluate import evaluate


def test_multigram_falls_leave_out_heads_of_other_types(datasets):
    """Only 0:2 is a multigram head of layer 0; the others of the layer do not move its number."""
    datasets["rllc"]["rllc"].loc[{"step": 3000}] *= 0.2  # so that the largest mean is not the last
    values = table(datasets)[1:, 2]  # from step 50 on
    means = np.convolve(values, np.ones(3) / 3, "valid")
    after = means[means.argmax() :]
    assert of(every_seed.multigrams_fall, datasets) == pytest.approx(1 - after.min() / means.max())
    assert of(every_seed.multigrams_fall_each, datasets) == pytest.approx(1 - means[-1] / means.max())
    datasets["rllc"]["rllc"].loc[{"head": ["0:0", "0:1"]}] = 100.0
    assert of(every_seed.multigrams_fall, datasets) == pytest.approx(1 - after.min() / means.max())


@pytest.mark.parametrize("function", [every_seed.multigrams_fall, every_seed.multigrams_fall_mean])
def test_mean_that_is_largest_at_the_end_has_a_negative_fall_with_an_error(function, datasets):
    """Means over three of 1, 2, 6, 4, 8: 3, 4, 6 are largest at the end."""
    datasets["rllc"]["rllc"][:] = np.asarray([0, 1, 2, 6, 4, 8])[None, :, None, None]
    datasets["rllc"]["rllc_se"][:] = 0.01
    found = evaluate(function.statistic, run(datasets))
    assert found.value == pytest.approx(1 - 6 / 4)
    assert found.error > 0
    datasets["rllc"]["rllc_se"][:] = 0.5  # redraws that have their peak earlier
    assert evaluate(function.statistic, run(datasets)).error > found.error


def test_counts_of_heads_by_type(datasets):
    assert of(every_seed.one_current, datasets) == 1
    assert of(every_seed.induction_equals_previous, datasets) == 1
    assert of(every_seed.previous_one_or_two, datasets) == 1


def test_no_claim_on_every_run_holds_by_one_seed(datasets):
    made = judge(claims_of(every_seed, "heads"), {"language": LANGUAGE}, {"language": datasets})
    assert made.sizes["claim"] == 6
    assert "holds" not in made["verdict"].values
    passing = made["verdict"].sel(claim=["one_current", "previous_one_or_two"]).values.tolist()
    assert passing == ["undecided"] * 2

"""What every seed has: claims against plain loops over a small run."""

import numpy as np
import pytest
from tests.claims.heads.small import of, table

from rllc.claims.heads import every_seed


def test_multigram_falls_leave_out_heads_of_other_types(datasets):
    """Only 0:2 is a multigram head of layer 0; the others of the layer do not move its number."""
    values = table(datasets)[1:, 2]  # from step 50 on
    means = np.convolve(values, np.ones(3) / 3, "valid")
    after = means[means.argmax() :]
    assert of(every_seed.multigrams_fall, datasets) == pytest.approx(1 - after.min() / means.max())
    assert of(every_seed.multigrams_fall_each, datasets) == pytest.approx(1 - means[-1] / means.max())
    datasets["rllc"]["rllc"].loc[{"head": ["0:0", "0:1"]}] = 100.0
    assert of(every_seed.multigrams_fall, datasets) == pytest.approx(1 - after.min() / means.max())


def test_counts_of_heads_by_type(datasets):
    assert of(every_seed.one_current, datasets) == 1
    assert of(every_seed.induction_equals_previous, datasets) == 1
    assert of(every_seed.previous_one_or_two, datasets) == 1

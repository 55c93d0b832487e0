"""The multigram circuit: claims against plain loops over a small run."""

import numpy as np
import pytest
from tests.claims.heads.small import HEADS, STEPS, of, table

from rllc.claims.heads import circuit


def test_one_layer_ratios_equal_loops_over_heads(datasets):
    text, generated = table(datasets), table(datasets, "one_layer")
    late = np.asarray(STEPS) >= 50
    ratio, step = (generated / text)[late], np.asarray(STEPS)[late]
    early = ratio[step <= 400]
    assert of(circuit.l1_alike_early, datasets) == pytest.approx(np.abs(early - 1).mean())
    falls = [ratio[-1, n] <= early[:, n].mean() for n in range(len(HEADS))]
    assert of(circuit.l1_decrease_all, datasets) == pytest.approx(np.mean(falls))
    gain = np.log2(ratio[-1] / early.mean(0))
    assert of(circuit.l1_decrease_groups, datasets) == pytest.approx(gain[:5].mean() - gain[5])


def test_one_layer_share_that_turns_negative_has_fallen(datasets):
    """A logarithm of the ratio would be undefined; the claim was not judged for that before."""
    datasets["rllc"]["rllc"].loc[{"distribution": "one_layer", "step": 3000}] = -0.2
    assert of(circuit.l1_decrease_all, datasets) == 1

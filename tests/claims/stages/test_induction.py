"""Previous tokens, induction and learning in context: values by hand on small runs."""

import numpy as np
import pytest
from tests.claims.stages.small import N, curves, heads, run

from rllc.claims.stages import induction


@pytest.mark.parametrize(
    ("function", "dataset", "expected"),
    [
        (induction.icl_lm4, {"metrics": curves(icl_score=-(np.arange(N) ** 2))}, 36 - 49),
        (induction.final_icl, {"metrics": curves(icl_score=-np.arange(N))}, -9),
    ],
)
def test_number_of_one_curve_is_that_by_hand(function, dataset, expected):
    assert float(function(run(**dataset))) == pytest.approx(expected, rel=1e-12)


def test_heads_are_those_with_the_largest_score_at_each_checkpoint():
    """Previous-token heads are of layer 0, prefix matching is of all."""
    values = np.zeros((N, 3))
    values[5], values[6], values[7], values[9] = (
        [0.1, 0.2, 0.9],
        [0.3, 0.1, 0.9],
        [0.1, 0.1, 1.8],
        [0.2, 0.6, 0.9],
    )
    model = run(attention_scores=heads(values, values))
    assert float(induction.previous_token_lm3(model)) == pytest.approx(1.5)
    assert float(induction.previous_token_share(model)) == pytest.approx(0.5)
    assert float(induction.prefix_matching_lm4(model)) == pytest.approx(2)

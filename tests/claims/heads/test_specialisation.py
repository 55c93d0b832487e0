"""Heads that specialise to data: claims against plain loops over a small run."""

import numpy as np
import pytest
from tests.claims.heads.small import of, table
from tests.claims.runs import run

from rllc.analysis.curves import NotJudged
from rllc.claims.heads import specialisation


def test_induction_heads_apart_equal_their_range_over_their_mean(datasets):
    ratios = []
    for text in ("mixture", "code"):
        pair = table(datasets, text)[-1][[3, 4]]
        ratios.append(np.ptp(pair) / pair.mean())
    assert of(specialisation.induction_equal_on_pile, datasets) == pytest.approx(ratios[0])
    assert of(specialisation.induction_apart_on_code, datasets) == pytest.approx(ratios[1] / ratios[0])


def test_claims_on_two_induction_heads_need_two(datasets):
    kinds = datasets["attention_scores"]["head_type"].values.copy()
    kinds[0, 4] = "multigram"
    datasets["attention_scores"]["head_type"] = ("seed", "head"), kinds
    with pytest.raises(NotJudged, match="needs 2 induction heads, has 1"):
        specialisation.induction_equal_on_pile(run(datasets))

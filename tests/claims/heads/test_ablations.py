"""Ablations of heads: claims against plain loops over a small run."""

import numpy as np
import pytest
from scipy import stats
from tests.claims.heads.small import HEADS, of
from tests.claims.runs import run

from rllc.analysis.curves import NotJudged
from rllc.claims.heads import ablations, types
from rllc.claims.selection import Absent


def test_shapes_of_ablations_equal_the_mean_of_their_correlations(datasets):
    costs = datasets["ablation"]["ablation"].sel(seed=0, distribution="mixture")
    each = [
        stats.spearmanr(
            costs.sel({"method": one}).values[:, n], costs.sel({"method": other}).values[:, n]
        ).statistic
        for one, other in (("zero", "mean"), ("zero", "resample"), ("mean", "resample"))
        for n in range(len(HEADS))
    ]
    assert of(ablations.methods_same_shape, datasets) == pytest.approx(np.mean(each))


def test_costs_of_ablation_rise_from_their_early_mean(datasets):
    costs = (
        datasets["ablation"]["ablation"].sel(seed=0, distribution="mixture").values
    )  # [step, head, method]
    gain = np.log2(costs[-1] / costs[:4].mean(0))
    assert of(ablations.prev_rises, datasets) == pytest.approx(gain[0].mean())
    assert of(ablations.induction_rises, datasets) == pytest.approx(gain[[3, 4]].max(0).mean())
    with pytest.raises(NotJudged, match="training ends at step 3,000"):
        ablations.prev_rises_lm4(run(datasets))


def test_claim_on_a_dataset_that_is_not_there_is_absent(datasets):
    del datasets["ablation"]
    with pytest.raises(Absent):
        ablations.resample_order(run(datasets))
    with pytest.raises(Absent):
        types.types_level_likelihood(run(datasets))

"""Ablations of heads: claims against plain loops over a small run."""

import numpy as np
import pytest
from scipy import stats
from tests.claims.heads.small import HEADS, of
from tests.claims.runs import LANGUAGE, run

from rllc.analysis.curves import NotJudged
from rllc.claims import heads
from rllc.claims.claim import claims_of
from rllc.claims.heads import ablations, types
from rllc.claims.judge import judge
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


@pytest.mark.parametrize(("alike", "verdict"), [(True, "not judged"), (False, "holds")])
def test_curves_that_other_heads_have_too_are_not_judged(alike, verdict, datasets):
    """Costs that rise in all heads pass in any order of them; those with a shape for each head do not."""
    random = np.random.default_rng(0)
    shapes = [np.arange(6.0) if alike else random.permutation(6) for _ in HEADS]
    costs = np.stack(shapes, -1)[None, :, :, None, None] * np.ones(3)
    datasets["ablation"]["ablation"][:] = costs
    chosen = [each for each in claims_of(heads, "heads") if each.name == "methods_same_shape"]
    found = judge(chosen, {LANGUAGE.name: LANGUAGE}, {LANGUAGE.name: datasets})
    assert found["value"].item() == 1
    assert found["verdict"].item() == verdict
    assert found["chance"].item() == pytest.approx(1.0 if alike else 0.0, abs=0.05)


def test_costs_of_ablation_rise_from_their_early_mean(datasets):
    costs = (
        datasets["ablation"]["ablation"].sel(seed=0, distribution="mixture").values
    )  # [step, head, method]
    gain = np.log2(costs[-1] / costs[:3].mean(0))  # induction begins at the fourth step
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

"""Numbers that several claims on heads read: claims against plain loops over a small run."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.claims.heads.small import of, table
from tests.claims.runs import LANGUAGE, run

from rllc.analysis.curves import NotJudged
from rllc.claims.heads import ablations, circuit, curvature, curves, types
from rllc.claims.judging.evaluate import evaluate


def test_induction_begins_at_the_first_head_that_reaches_the_score(datasets):
    assert curves.induction_begins(run(datasets)) == 400
    datasets["attention_scores"]["prefix_matching"] *= 0.1
    with pytest.raises(NotJudged):
        curves.induction_begins(run(datasets))


@pytest.mark.parametrize(
    "function", [circuit.l1_alike_early, circuit.l1_decrease_all, ablations.induction_rises]
)
def test_claims_from_the_step_at_which_induction_begins_have_errors(function, datasets):
    found = evaluate(function.statistic, run(datasets))
    assert np.isfinite(found.value) and found.error > 0


def test_induction_begins_where_measured_also_where_scores_with_errors_are_redrawn(datasets):
    scores = datasets["attention_scores"]
    scores["prefix_matching_se"] = xr.full_like(scores["prefix_matching"], 0.05)
    assert curves.induction_begins(run(datasets, noise="own")) == 400


def test_orders_of_heads_equal_spearman_of_scipy(datasets):
    last = table(datasets)[-1]
    trace = table(datasets, variable="hessian.hessian_trace_head")[-1]
    cost = (
        datasets["ablation"]["ablation"]
        .sel({"seed": 0, "distribution": "mixture", "method": "resample"})
        .values[-1]
    )
    assert of(curvature.trace_order, datasets) == pytest.approx(stats.spearmanr(trace, last).statistic)
    assert of(ablations.resample_order, datasets) == pytest.approx(stats.spearmanr(cost, last).statistic)


def test_claims_are_about_language_models_of_several_layers():
    from dataclasses import replace

    (one,) = types.types_level.claims
    assert one.applies(LANGUAGE) and not one.applies(replace(LANGUAGE, layers=1))
    assert not one.applies(replace(LANGUAGE, task="sorting"))

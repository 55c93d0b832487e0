"""Figures of predictions and scores."""

import numpy as np
import pytest
import xarray as xr
from tests.figures.regression.small import STEPS, drawn_by, line, panel

from rllc.figures.regression.behaviour import stage_fig6a, stage_figC4


def test_predictions_and_scores_are_those_measured(study, drawn, numbers):
    source = study["regression_predictions"]
    drawing = stage_fig6a(study, scales=[1.0, 10.0])
    found = numbers(stage_fig6a(study, seeds=[1], scales=[1.0, 10.0]))
    trained = source["prediction_square"].sel(seed=1).mean("k").isel(step=slice(1, None))
    assert found("step of the least").value == int(trained["step"][int(trained.argmin("step"))])
    end = source["far_icl"].sel(seed=1, change="inputs", scale=10.0)[-1]
    assert found("g = 10").value == pytest.approx(float(end))
    squares = source["prediction_square"].sel(seed=0)
    line(panel(drawing, "mean squared prediction, seed 0"), squares.sel(k=3))
    line(panel(drawing, "mean squared prediction, seed 0"), squares.mean("k"))
    scores = source["far_icl"].sel(seed=1, change="inputs")
    ax = panel(drawing, "ICL score / g², inputs × g, seed 1")
    line(ax, scores.sel(scale=10.0))
    assert not any(np.array_equal(a.get_ydata(), scores.sel(scale=3.0)) for a in ax.get_lines())
    early = drawn("stage_figC3")
    alone = numbers(drawn_by("stage_figC3")(study, seeds=[1]))
    last = source.sel(seed=1, step=STEPS[-1])
    assert alone("late score at")[1:3] == pytest.approx((float(last["icl_late"]), float(last["icl_late_se"])))
    high = source.sel(seed=1, step=slice(40, None))
    high = high.isel(step=int(high["icl_late"].argmax("step")))
    assert alone("largest late")[1:3] == pytest.approx((float(high["icl_late"]), float(high["icl_late_se"])))
    assert alone("late", "Bayes").value == early.data["bayes_icl_late"]
    line(panel(early, "whole training, seed 0"), source["icl_early"].sel(seed=0))
    line(panel(early, "steps 40 to 400, seed 0"), source["icl_late"].sel(seed=0, step=slice(40, 400)))
    ridge = source["ridge_mse"].isel(seed=0, step=0)
    assert early.data["bayes_icl_late"] == pytest.approx(float(ridge.sel(k=8) - ridge.sel(k=4)))
    far = drawn("stage_figC4")
    line(panel(far, "tasks × g, seed 0"), source["far_loss"].sel(seed=0, change="tasks", scale=3.0))
    loss = xr.ones_like(source["far_loss"])
    loss.loc[{"step": STEPS[-1], "seed": 1, "change": "tasks", "scale": 10.0}] = 1.5
    loss.loc[{"step": STEPS[-1], "seed": 0, "change": "inputs", "scale": 1.0}] = 4.0  # not far
    worse = stage_figC4(study | {"regression_predictions": source.assign(far_loss=loss)})
    largest = numbers(worse)("excess")
    assert "seed 1, tasks × 10" in largest.label
    assert (largest.value, largest.unit) == (pytest.approx(50.0), "%")


def test_a_legend_of_two_columns_has_a_heading_over_each(drawn):
    ax = panel(drawn("stage_fig6a"), "ICL score / g², inputs × g, seed 0")
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    half = len(shown) // 2
    assert (shown[0], shown[half]) == ("left panels", "right panels")
    assert shown[1] == "pair 1" and shown[half + 1] == "g = 1"
    assert ax.get_legend()._ncols == 2

"""Our curves beside the published ones."""

import numpy as np
import pandas as pd
import pytest
from tests.figures.regression.small import (
    SEEDS,
    panel,
)

from rllc.claims.published import DATA
from rllc.figures.regression import published
from rllc.figures.regression.comparison import regression_published_curves


def test_the_published_curves_are_those_of_the_fixture_and_lie_over_the_sum_of_their_rates(
    study, drawn, numbers
):
    theirs = published.curves()
    rows = np.loadtxt(DATA / "published_llc.csv", delimiter=",", dtype=str, skiprows=4)
    kept = {int(step): (float(llc), float(loss)) for curve, step, llc, loss in rows if curve == "lr1"}
    for row, step in enumerate(theirs["step"].values):
        assert kept[step] == (theirs["llc"].values[row], theirs["loss"].values[row])
    more = pd.read_csv(DATA / "published_regression.csv", comment="#").query("seed == 1")
    more = more.set_index("step").loc[theirs["step"].values]
    np.testing.assert_allclose(theirs["mean_square"], more["mean_square"], rtol=1e-4)
    np.testing.assert_allclose(theirs["icl_score"], more["mse_8"] - more["mse_1"], atol=1e-3)
    np.testing.assert_allclose(theirs["icl_late"], more["mse_8"] - more["mse_4"], atol=1e-3)
    np.testing.assert_allclose(theirs["hessian_trace"], more["hessian_trace"], rtol=1e-3)
    rates = np.interp(np.arange(500_000), [0, 250_000, 500_000], [0, 0.003, 0])  # of every update
    summed = np.array([rates[:step].sum() for step in theirs["step"].values])
    np.testing.assert_allclose(theirs["cumulative_rate"], summed, rtol=0.02)
    np.testing.assert_allclose(theirs["cumulative_rate"][9:], summed[9:], rtol=0.01)
    drawing = drawn("regression_published_curves")
    one = study["regression_predictions"].sel(seed=1).isel(step=slice(1, None))
    ax = panel(drawing, "mean squared prediction")
    ours = [a for a in ax.get_lines() if np.array_equal(a.get_ydata(), one["prediction_square"].mean("k"))]
    np.testing.assert_array_equal(ours[0].get_xdata(), one["cumulative_rate"])
    shares = study["structure"]["embedding_share"].sel(seed=1).isel(step=slice(1, None), direction=4)
    panels = {"Hessian trace": study["hessian"]["hessian_trace"].sel(seed=1, distribution="pairs")[1:]}
    for title, values in (panels | {"least direction of W_E": shares}).items():
        lines = [a.get_ydata() for a in panel(drawing, title).get_lines()]
        assert any(np.array_equal(y, values) for y in lines), title
    alone = {name: study[name] for name in ("metrics", "llc", "regression_predictions")}
    assert len(regression_published_curves(alone).figure.axes) == 8  # two of them hidden
    assert "hessian_trace" not in regression_published_curves(alone).data
    found = numbers(drawing)
    assert found("loss is 3", "published").value == pytest.approx(0.0825, abs=1e-4)
    peak = summed[int(theirs["llc"].argmax("step"))]
    assert found("rates at the largest LLC", "published").value == pytest.approx(peak, rel=0.02)
    assert found("largest LLC, published").value == 169.853
    falls = study["metrics"]["loss"].sel(distribution="pairs") <= 3
    rates = study["regression_predictions"]["cumulative_rate"]
    first = [float(rates.sel(seed=s)[int(falls.sel(seed=s).argmax("step"))]) for s in SEEDS]
    assert found("loss is 3", "seeds").value == pytest.approx(np.mean(first))

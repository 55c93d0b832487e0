"""Figures of the LLC and its stages."""

import json

import numpy as np
import pytest
from tests.figures.regression.small import drawn_by, line, panel

from rllc.analysis.stages import stages


def test_each_setting_has_its_llc_and_its_control(study, drawn):
    drawing = drawn("stage_fig1b_lr")
    for setting, name in (("published", "llc"), ("local", "llc.local")):
        one = study[name].sel(seed=1, distribution="pairs")
        ax = panel(drawing, f"LLC, {setting}, seed 1")
        line(ax, one["llc"])
        line(ax, one["llc_prior_only"])
    line(panel(drawing, "held-out loss, seed 0"), study["metrics"]["loss"].sel(seed=0, distribution="pairs"))
    heights = {
        float(a.get_ydata()[0])
        for a in panel(drawing, "held-out loss, seed 0").get_lines()
        if len(a.get_ydata()) == 2 and a.get_ydata()[0] == a.get_ydata()[1]
    }
    assert heights == {4.125, float(study["regression_predictions"]["ridge_mse"].mean())}


def test_fig1b_gives_the_peak_of_the_llc_and_its_likeness_to_the_loss(study, drawn, numbers):
    drawing = drawn("stage_fig1b_lr")
    found = numbers(drawing)
    for setting in ("published", "local"):
        assert found("correlation", setting)[1:3] == pytest.approx((-1, 0), abs=1e-3)
    peaks = study["llc"]["llc"].max(["step", "distribution"]).values
    assert found("largest LLC (published)")[1:3] == pytest.approx((peaks.mean(), peaks.std(ddof=1)))
    one = study["llc"].sel(seed=1, distribution="pairs")
    alone = numbers(drawn_by("stage_fig1b_lr")({**study}, seeds=[1]))("largest LLC (published)")
    assert (alone.value, alone.error) == (float(one["llc"].max()), 2.0)
    assert any("4.44 squared error" in each and "4.12" in each for each in drawing.conditions)
    line(panel(drawing, "LLC, local, seed 0"), study["stages"]["llc_of_loss"].sel(
        setting="local", distribution="pairs", seed=0))  # fmt: skip


def test_the_chains_loss_is_the_checkpoints_plus_the_llc_over_n_beta(study, drawn, numbers):
    """The LLC is made so that it is 4.44 everywhere, and r = -1: the figure has to say so."""
    drawing = drawn("regression_sampled_loss")
    np.testing.assert_allclose(drawing.data["sampled_loss"], 4.44, atol=1e-9)
    np.testing.assert_allclose(drawing.data["sampled_loss_se"], 2.0 / 66.7)
    found = numbers(drawing)
    assert found("lowest mean loss").value == pytest.approx(4.44)
    assert found("highest mean loss").value == pytest.approx(4.44)
    assert found("correlation").value == pytest.approx(-1)
    norms = study["metrics"]["weight_norm"].sel(distribution="pairs")
    free = (drawing.data["relative_distance"] * norms).values
    np.testing.assert_allclose(free, free.flat[0])
    assert free.flat[0] == pytest.approx((1_093 / 66.7) ** 0.5, rel=0.2)  # 150 draws relax most of the way


def test_two_captions_give_one_correlation_of_the_llc_and_the_loss(study, numbers):
    """The metrics' loss, and checkpoints before 1 % of training, would give others."""
    random = np.random.default_rng(2)
    llc = study["llc"].copy(deep=True)
    llc["llc"] += 30 * random.standard_normal(llc["llc"].shape)
    made = stages({"llc": llc}, tolerance=8.0, chance=4.125, guess="predictions of 0", unit="squared error")
    loss = study["metrics"]["loss"] + random.standard_normal(study["metrics"]["loss"].shape)
    changed = {
        **{name: data for name, data in study.items() if name != "llc.local"},
        "llc": llc, "stages": made, "metrics": study["metrics"].assign(loss=loss),
    }  # fmt: skip
    found = [
        numbers(drawn_by(name)(changed, seeds=[1]))("correlation", "initial loss after 1 % of training")
        for name in ("stage_fig1b_lr", "regression_sampled_loss")
    ]
    assert found[0].value == pytest.approx(found[1].value, abs=1e-12)
    assert abs(found[0].value) < 0.98


def test_comparison_says_from_how_many_sequences_minibatches_come(study):
    held = json.dumps({"pairs": {"held_out_blocks": "digest", "held_out": {"contexts": 4096}}})
    given = {**study, "llc": study["llc"].assign_attrs(inputs=held)}
    said = "Minibatches: from 4,096 sequences."
    drawn = [drawn_by("regression_published_curves")(each) for each in (given, study)]
    assert said in drawn[0].conditions and "1,048,576" in drawn[0].caption
    assert not any("Minibatches" in each for each in drawn[1].conditions)

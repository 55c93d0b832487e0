"""Stage boundaries where figures have them, and what is said where there is none."""

import json

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.stages import stages
from rllc.figures.development import stage_figB1a, stage_figB2
from rllc.figures.stages import stage_fig1a_lm, stage_fig4b_heads

STEPS = (0, *np.geomspace(100, 50_000, 30).astype(int).tolist())


def rise(x, at, width):
    return 1 / (1 + np.exp(-(x - np.log(at)) / width))


@pytest.fixture(scope="module")
def datasets(make_study):
    """Five stages at one setting, none at the other."""
    made = make_study(seeds=(0, 1), steps=STEPS, missing=False)
    x = np.log(np.maximum(STEPS, 1))
    shape = 100 * rise(x, 1000, 0.3) - 25 * rise(x, 6000, 0.2) + 30 * rise(x, 20_000, 0.2)
    of_step = xr.DataArray(shape, {"step": list(STEPS)}, ["step"])
    loss = 8 - 0.4 * xr.DataArray(x, of_step.coords)
    local = made["llc"].assign(llc=0 * made["llc"]["llc"] + of_step, init_loss=0 * made["llc"]["llc"] + loss)
    made["metrics"]["weight_norm"] = 300 - 5 * loss.expand_dims(seed=[0, 1])
    far = local.assign(llc=20 * (11 - local["init_loss"])).drop_vars(["status", "verdict"])
    far = far.assign_attrs(sampling=json.dumps({"n_beta": 20.0}))
    curves = {"llc": local, "llc.published": far}
    return made | curves | {"stages": stages(curves, tolerance=8.0, chance=8.5)}


def lines(ax):
    """Widths of the upright lines, by step."""
    upright = [line for line in ax.lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2]
    return {float(line.get_xdata()[0]): line.get_linewidth() for line in upright}


def test_boundaries_and_bands(datasets, misplaced):
    drawing = stage_fig1a_lm(datasets)
    assert misplaced(drawing) == []
    loss, _, level, _, far, _ = drawing.figure.axes
    one = datasets["stages"].sel(setting="sampling", distribution="mixture", seed=0)
    expected = one["boundary_step"].dropna("boundary").values.tolist()
    for ax in (loss, level):
        assert sorted(lines(ax)) == expected
        assert len(ax.patches) == len(expected) + 1
    sure = (one["boundary_determined"] == 1) & (one["boundary_kind"] != "start")
    thick = one["boundary_step"].where(sure).dropna("boundary").values
    assert {step for step, width in lines(level).items() if width > 1} == set(thick)
    assert lines(far) == {}
    assert [text.get_text() for text in far.texts] == ["no boundary is determined"]
    assert [text.get_text() for text in level.texts] == []


def test_the_caption_says_whether_it_is_the_loss(datasets):
    drawing = stage_fig1a_lm(datasets, seeds=[0])
    words = f"{drawing.caption} {drawing.details}"
    assert "LLC, published: no boundary is determined; correlation with the loss -1.000" in words
    assert "mean loss of the chains 11.00 to 11.00 nats/token, more than uniform predictions (8.50)" in words
    assert "LLC, sampling: boundaries peak" in words
    assert np.allclose(drawing.data["llc_of_loss"].sel(setting="published"), drawing.data["llc_published"])


def test_the_scores_of_heads_have_the_same_boundaries(datasets):
    drawing = stage_fig4b_heads(datasets)
    expected = datasets["stages"].sel(setting="sampling", distribution="mixture", seed=1)["boundary_step"]
    assert sorted(lines(drawing.figure.axes[3])) == expected.dropna("boundary").values.tolist()
    assert lines(stage_fig4b_heads(datasets, setting="published").figure.axes[3]) == {}


def test_slopes_of_loss_llc_and_norm(datasets, misplaced):
    drawing = stage_figB2(datasets, seed=1)
    assert misplaced(drawing) == []
    one = drawing.data.sel(seed=1).sel(step=slice(300, 30_000))
    assert one["weight_norm_slope"].values == pytest.approx(2.0 / one["step"].values, rel=0.05)
    assert one["weight_norm_difference"].values == pytest.approx(2.0 / one["step"].values, rel=0.05)
    of_llc = datasets["stages"].sel(setting="sampling", distribution="mixture", seed=1)["llc_slope"]
    assert np.allclose(one["llc_slope"], of_llc.sel(step=one["step"].values))
    assert len(lines(drawing.figure.axes[0])) == int(of_llc.notnull().any()) * 4
    assert "no boundary is determined" in stage_figB2(datasets, setting="published").caption


def test_a_line_per_seed(datasets, misplaced):
    drawing = stage_figB1a(datasets)
    assert misplaced(drawing) == []
    assert [len(ax.lines) for ax in drawing.figure.axes[:1]] == [2]
    assert "over 2 seeds is 0 averaged over checkpoints" in drawing.caption
    assert "Seed 1: boundaries" in f"{drawing.caption} {drawing.details}"
    assert "over" not in stage_figB1a(datasets, seeds=[1]).caption.split(".")[0]

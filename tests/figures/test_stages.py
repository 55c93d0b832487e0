"""Figures over stages of development: what is drawn, and their findings."""

import json

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb

from rllc.analysis.stages import stages
from rllc.figures.depths import rllc_fig13_stages
from rllc.figures.development import stage_figB1a, stage_figB2
from rllc.figures.heads.composition import stage_figB5
from rllc.figures.stage_bands import (
    FALLING,
    LAST,
    LEVEL,
    LINE,
    OF_LOSS,
    OFF,
    POSSIBLE,
    RISING,
    SURE,
    above_chance,
    llc_findings,
)
from rllc.figures.stages import stage_fig1a_lm, stage_fig4b_heads
from rllc.figures.style import DISTRUST
from rllc.quality import FLAGS

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
    far = local.assign(llc=20 * (11 - local["init_loss"])).drop_vars(["status", "quality"])
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
        smooth = one["llc_smooth"].dropna("step")
        edges = sorted({*expected, *smooth["step"].values[[0, -1]]})
        for patch, left, right in zip(ax.patches, edges, edges[1:], strict=False):
            assert (patch.get_x(), patch.get_x() + patch.get_width()) == pytest.approx((left, right))
            hues = RISING if smooth.sel(step=right) > smooth.sel(step=left) else FALLING
            hues = (LAST,) if right == edges[-1] else hues
            assert patch.get_facecolor()[:3] in [to_rgb(hue) for hue in hues]
    sure = one["boundary_determined"] == 1
    thick = one["boundary_step"].where(sure).dropna("boundary").values
    assert {step for step, width in lines(level).items() if width > 1} == set(thick)
    assert lines(far) == {}
    assert [text.get_text() for text in far.texts] == ["no stage boundary is determined"]
    assert [text.get_text() for text in level.texts] == []


def test_fig1a_of_two_settings_gives_the_likeness_to_the_loss_of_each(datasets, numbers):
    drawing = stage_fig1a_lm(datasets, seeds=[0])
    found = numbers(drawing)
    assert found("correlation", "published").value == pytest.approx(-1)
    one = drawing.data.sel(distribution="mixture", seed=0)
    assert found("held-out loss").value == float(one["loss"][-1])
    late, loss = one["step"] >= 0.01 * STEPS[-1], datasets["llc"]["init_loss"]
    alike = np.corrcoef(one["llc"][late], loss.sel(distribution="mixture", seed=0)[late])[0, 1]
    assert found("correlation", "sampling").value == pytest.approx(alike)
    assert found("LLC (published) at").value == pytest.approx(float(one["llc_published"][-1]))
    assert any("n_beta 20" in each and "published" in each for each in drawing.conditions)
    assert np.allclose(drawing.data["llc_of_loss"].sel(setting="published"), drawing.data["llc_published"])


def test_the_loss_near_the_end_has_the_error_of_its_contexts(datasets, numbers):
    metrics = datasets["metrics"].assign(loss_se=0 * datasets["metrics"]["loss"] + 0.3)
    one = {"metrics": metrics, "llc": datasets["llc"]}
    found = numbers(stage_fig1a_lm(one, seeds=[0]))("held-out loss, mean of the last 4")
    four = metrics["loss"].sel(distribution="mixture", seed=0).values[-4:]
    assert found.error == pytest.approx(np.hypot(four.std(ddof=1) / 2, 0.3))


def test_the_scores_of_heads_have_the_same_boundaries(datasets):
    drawing = stage_fig4b_heads(datasets)
    expected = datasets["stages"].sel(setting="sampling", distribution="mixture", seed=1)["boundary_step"]
    panels = [ax for ax in drawing.figure.axes if "seed 1" in ax.get_title("left")]
    assert len(panels) > 2
    for ax in panels:
        assert sorted(lines(ax)) == expected.dropna("boundary").values.tolist()
    assert lines(stage_fig4b_heads(datasets, setting="published").figure.axes[3]) == {}


def test_fig4b_says_at_which_step_it_has_other_sequences(datasets):
    made = json.dumps({"sequences": 256, "precise": 2560, "precise_at": [50_000]})
    scores = datasets["attention_scores"].assign_attrs(attention_scores=made)
    (said,) = (
        each
        for each in stage_fig4b_heads(datasets | {"attention_scores": scores}).conditions
        if each.startswith("Attention: ")
    )
    assert said.startswith("Attention: 256 sequences (2,560 at step 50,000: with other")


def test_fig4b_gives_the_highest_scores_at_the_end(datasets, numbers):
    scores = datasets["attention_scores"]["prefix_matching"].isel(step=-1)
    both, one = numbers(stage_fig4b_heads(datasets)), numbers(stage_fig4b_heads(datasets, seeds=[1]))
    of_seeds = scores.max("head").values
    assert both("prefix-matching")[1:3] == pytest.approx((of_seeds.mean(), of_seeds.std(ddof=1)))
    head = scores.sel(seed=1).idxmax("head").item()
    assert one("prefix-matching", f"head {head}").value == of_seeds[1]
    icl = datasets["metrics"]["icl_score"].sel(seed=1).isel(step=-1)
    icl = icl.sel(distribution="mixture") if "distribution" in icl.dims else icl
    assert one("in-context").value == float(icl)


@pytest.mark.parametrize("draw", [stage_fig1a_lm, stage_figB1a, stage_figB2])
def test_figures_of_the_llc_give_the_likeness_to_the_loss_where_there_are_stages(datasets, numbers, draw):
    drawing = draw(datasets, setting="published")
    named = ["published"] if draw is stage_fig1a_lm else []
    assert numbers(drawing)("correlation", *named).value == pytest.approx(-1)
    assert any("11.00 nats/token" in each and "8.50" in each for each in drawing.conditions)
    bare = {name: each for name, each in datasets.items() if name != "stages"}
    drawing = draw(bare, setting="published")
    assert not any("correlation" in each.label for each in drawing.findings)
    assert not any("8.50" in each or each.startswith("Stages") for each in drawing.conditions)


def test_control_is_drawn_and_its_ratio_at_the_end_is_a_finding(datasets, numbers):
    llc = datasets["llc"]["llc"]
    off = llc * xr.where(llc["step"] > 1000, 1.25, 2.0)
    alone = {name: data for name, data in datasets.items() if not name.startswith("llc.")}
    drawing = stage_fig1a_lm(alone | {"llc": datasets["llc"].assign(llc_prior_only=off)}, seeds=[1])
    assert numbers(drawing)("LLC over", "control").value == pytest.approx(1 / 1.25)
    ax = drawing.figure.axes[1]
    dotted = [line for line in ax.lines if line.get_color() == OFF["color"]]
    assert np.allclose(dotted[0].get_ydata(), off.sel(distribution="mixture", seed=1))
    assert ax.get_ylim()[1] > float(off.sel(distribution="mixture").max())


def test_llc_findings_of_several_seeds_are_mean_and_sd(datasets):
    table = datasets["stages"].sel(setting="published", distribution="mixture")
    cells = {seed: table.sel(seed=seed).isel(boundary=[]) for seed in (0, 1)}
    cells[1] = cells[1].assign(llc_loss_correlation=-0.5)
    alike, counted = llc_findings(cells)
    assert (alike.value, alike.error) == pytest.approx((-0.75, 0.5 / 2**0.5))
    assert (counted.value, counted.error) == (0.0, 0.0)
    assert llc_findings({0: None}) == []
    (alike, counted) = llc_findings({0: None, 1: cells[1]})
    assert alike.label.endswith("(seed 1)") and alike.value == -0.5


def test_boundaries_of_one_seed_are_its_determined_ones_with_the_flat_start(datasets):
    table = datasets["stages"].sel(setting="published", distribution="mixture")
    kinds, sure = ["start", "peak", "trough"], [[1, 0, 0], [1, 1, 0]]
    cells = {
        seed: table.sel(seed=0)
        .isel(boundary=slice(3))
        .assign(
            boundary_kind=("boundary", np.asarray(kinds, dtype=object)),
            boundary_determined=("boundary", sure[seed]),
            boundary_step=("boundary", [100.0, 1000.0, 6000.0]),
        )
        for seed in (0, 1)
    }
    counted = llc_findings(cells)[1]
    assert (counted.value, counted.error) == pytest.approx((1.5, 0.5**0.5))
    start, peak = llc_findings({1: cells[1]})[1:]
    assert "peak" in peak.label and (peak.value, peak.unit) == (1000.0, "steps")
    assert "start" in start.label and start.value == 100.0
    (start,) = llc_findings({0: cells[0]})[1:]
    assert start.value == 100.0


def test_above_chance_is_said_only_where_all_late_losses_are(datasets):
    table = datasets["stages"].sel(setting="published", distribution="mixture")
    cells = {seed: table.sel(seed=seed).isel(boundary=[]) for seed in (0, 1)}
    assert len(above_chance(cells)) == 1
    cells[1] = cells[1].assign(sampled_loss=cells[1]["sampled_loss"] - 3)  # 8 nats, below 8.5
    assert above_chance(cells) == []
    assert above_chance({0: None}) == []


def test_what_the_loss_would_make_of_the_llc_is_drawn_and_moves_no_axis(datasets):
    """The loss alone would be far below the LLC at first."""
    for drawing, at in ((stage_fig1a_lm(datasets, seeds=[0]), 1), (stage_figB2(datasets, seed=0), 1)):
        ax = drawing.figure.axes[at]
        dashed = [line for line in ax.lines if line.get_color() == OF_LOSS["color"]]
        expected = datasets["stages"]["llc_of_loss"].sel(setting="sampling", distribution="mixture", seed=0)
        assert np.allclose(dashed[0].get_ydata(), expected.dropna("step"))
        level = datasets["llc"]["llc"].sel(distribution="mixture", seed=0)
        room = 0.1 * float(level.max() - level.min())
        assert float(expected.min()) < float(level.min()) - 2 * room
        assert ax.get_ylim()[0] > float(level.min()) - room


def test_slopes_of_loss_llc_and_norm(datasets, misplaced):
    drawing = stage_figB2(datasets, seed=1)
    assert misplaced(drawing) == []
    one = drawing.data.sel(seed=1).sel(step=slice(300, 30_000))
    assert one["weight_norm_slope"].values == pytest.approx(2.0 / one["step"].values, rel=0.05)
    assert one["weight_norm_difference"].values == pytest.approx(2.0 / one["step"].values, rel=0.05)
    of_llc = datasets["stages"].sel(setting="sampling", distribution="mixture", seed=1)["llc_slope"]
    assert np.allclose(one["llc_slope"], of_llc.sel(step=one["step"].values))
    dashed = [[a for a in ax.lines if a.get_color() == OF_LOSS["color"]] for ax in drawing.figure.axes]
    assert [bool(found) for found in dashed] == [False, True, False, False, False, False]  # of the LLC alone
    assert len(lines(drawing.figure.axes[0])) == int(of_llc.notnull().any()) * 4
    norms = datasets["metrics"]["weight_norm"] * xr.DataArray(
        [1.0, 2.0, 3.0], datasets["metrics"]["distribution"].coords
    )
    of_each = datasets | {"metrics": datasets["metrics"].assign(weight_norm=norms)}  # as it is gathered
    again = stage_figB2(of_each, seed=1, distribution="english").data["weight_norm"]
    of_one = norms.sel(distribution="english", seed=[1])
    np.testing.assert_array_equal(again.squeeze().values, of_one.squeeze().values)


def test_a_line_per_seed(datasets, misplaced, unlike):
    drawing = stage_figB1a(datasets)
    assert misplaced(drawing) == []
    assert unlike(drawing, datasets) == []
    assert [len(ax.lines) for ax in drawing.figure.axes[:1]] == [2]
    assert "quality" not in stage_figB1a(datasets, setting="published").data  # of which no estimate has any
    late = stage_figB1a(datasets | {"llc": datasets["llc"].isel(step=slice(9, None))}).data["quality"]
    np.testing.assert_array_equal(
        late, datasets["llc"]["quality"].sel(distribution=["mixture"]).where(late["step"] >= STEPS[9], 0)
    )
    assert late.dtype.kind == "i"


def test_figb1a_gives_how_far_seeds_lie_apart_where_there_are_several(datasets, numbers):
    llc = datasets["llc"]["llc"]
    wide = datasets["llc"].assign(llc=llc + llc["seed"] * xr.where(llc["step"] == STEPS[9], 4.0, 2.0))
    found = numbers(stage_figB1a(datasets | {"llc": wide}))
    mean = (2.0 * (len(STEPS) - 1) + 4.0) / len(STEPS) / 2**0.5
    assert found("sd of the LLC", "mean over").value == pytest.approx(mean)
    assert found("sd of the LLC", "largest").value == pytest.approx(4.0 / 2**0.5)
    one = stage_figB1a(datasets, seeds=[1])
    assert not any(each.label.startswith("sd of") for each in one.findings)
    last = datasets["llc"].sel(seed=1, distribution="mixture", step=STEPS[-1])
    end = numbers(one)("LLC at step 50,000")
    assert (end.value, end.error) == (float(last["llc"]), float(last["llc_se"]))


def drawn_stages(figure):
    """What the legend below the panels has to name, read off the colours and widths of what is drawn."""
    fills = {ax_patch.get_facecolor()[:3] for ax in figure.axes for ax_patch in ax.patches}
    widths = {
        (line.get_linewidth(), line.get_linestyle() == "-")
        for ax in figure.axes
        for line in ax.lines
        if line.get_color() == LINE["color"]
    }
    of_fills = {
        "stage: LLC rises": RISING,
        "stage: LLC falls": FALLING,
        "stage: the last": (LAST,),
        "stage: no clear change": (LEVEL,),
    }
    of_widths = {
        "boundary, determined": (SURE["linewidth"], True),
        "boundary, possible": (POSSIBLE["linewidth"], True),
    }
    named = {name for name, hues in of_fills.items() if fills & {to_rgb(hue) for hue in hues}}
    return named | {name for name, look in of_widths.items() if look in widths}


BESIDE = {  # what the loss would make of the LLC and the errors of smoothing are in the stages; scores of all pairs
    "stage_figB2": ["line in full-model LLC", "no llc_slope_se", "no llc_smooth_se"],
    "stage_figB5": ["k_composition", "prefix_matching", "previous_token"],
}


@pytest.mark.parametrize("draw", [stage_fig1a_lm, stage_fig4b_heads, stage_figB2, stage_figB5])
def test_what_bands_and_lines_mean_stands_below(datasets, draw, misplaced, unlike):
    drawing = draw(datasets)
    (legend,) = drawing.figure.legends
    named = [text.get_text() for text in legend.get_texts()]
    assert len(named) == len(set(named)) >= 4
    assert set(named) == drawn_stages(drawing.figure)
    assert misplaced(drawing) == []
    assert unlike(drawing, datasets) == BESIDE.get(draw.__name__, [])
    assert draw({key: each for key, each in datasets.items() if key != "stages"}).figure.legends == []


def test_bands_of_scores_are_their_standard_errors(datasets, misplaced, unlike):
    scores = datasets["attention_scores"]
    errors = {f"{name}_se": 0.01 + 0.1 * scores[name] for name in ("previous_token", "prefix_matching")}
    given = datasets | {"attention_scores": scores.assign(errors)}
    drawing = stage_fig4b_heads(given)
    assert unlike(drawing, given) == misplaced(drawing) == []
    assert {*errors, "icl_score_se"} < {*drawing.data.data_vars}
    of_scores = "Bands: one standard error over sequences (attention)."
    of_icl = "Bands: one standard error over contexts (in-context learning score)."
    assert of_scores in drawing.caption and of_icl in drawing.caption
    alone = stage_fig4b_heads(given | {"metrics": given["metrics"].drop_vars(["icl_score", "icl_score_se"])})
    assert of_scores in alone.caption and of_icl not in alone.caption
    before = stage_fig4b_heads(datasets)
    assert of_icl in before.caption and of_scores not in before.caption


@pytest.mark.parametrize("setting", ["sampling", "published"])
@pytest.mark.parametrize("draw", [stage_fig1a_lm, stage_fig4b_heads, stage_figB1a, stage_figB2])
def test_captions_of_stages_keep_to_their_length(datasets, draw, setting):
    drawing = draw(datasets, setting=setting)
    assert len(drawing.caption.split()) <= 120 and len(drawing.title.split()) <= 20
    assert 0 < len(drawing.findings) <= 8 and np.isfinite([each.value for each in drawing.findings]).all()


def test_a_ring_is_under_its_curve(datasets, misplaced):
    """Every estimate is faulty, so that rings are everywhere."""
    llc = datasets["llc"].drop_vars("status")
    wrong = llc.assign(quality=xr.full_like(llc["llc"], FLAGS[0].mask, dtype=int))
    assert FLAGS[0].fault
    for draw in (stage_figB1a, stage_figB2, stage_fig1a_lm):
        drawing = draw(datasets | {"llc": wrong})
        assert misplaced(drawing) == []
        found = 0
        for ax in drawing.figure.axes:
            rings = [a for a in ax.lines if a.get_markeredgecolor() == DISTRUST["markeredgecolor"]]
            curves = [a for a in ax.lines if len(a.get_xdata()) == len(STEPS) and a not in rings]
            found += sum(len(ring.get_xdata()) for ring in rings)
            assert all(ring.get_zorder() < each.get_zorder() for ring in rings for each in curves)
        assert found >= len(STEPS)
        assert f"of {found} estimates are not reliable" in drawing.caption


def test_whose_stages_are_drawn_is_said_where_curves_of_several_seeds_are(datasets, misplaced, numbers):
    given = {name: datasets[name] for name in ("metrics", "llc", "stages")}
    drawing = rllc_fig13_stages(given, title="deep")
    (below,) = drawing.figure.legends
    assert {text.get_text().rpartition(", ")[2] for text in below.get_texts()} == {"seed 0"}
    assert any(each.startswith("Stages") and "seed 0" in each for each in drawing.conditions)
    assert misplaced(drawing) == []
    shared = datasets["llc"].sel(distribution="mixture", step=STEPS[-1])
    end = numbers(drawing)("LLC of deep")
    assert end.value == pytest.approx(float(shared["llc"].mean()))
    (below,) = rllc_fig13_stages(given, title="deep", seeds=[1]).figure.legends
    assert not any("seed" in text.get_text() for text in below.get_texts())


def test_a_band_has_no_colour_that_contradicts_the_estimates(datasets):
    """The estimates fall where the smoothed curve rises, and the other way round."""
    one = datasets["stages"].sel(setting="sampling", distribution="mixture", seed=0)
    edges = one["boundary_step"].dropna("boundary").values
    turned = datasets["stages"].assign(
        sampled_loss=datasets["stages"]["loss"] - datasets["stages"]["llc_smooth"]
    )
    assert edges.size >= 3
    ax = stage_fig1a_lm(datasets | {"stages": turned}, seeds=[0]).figure.axes[0]
    colors = [patch.get_facecolor()[:3] for patch in ax.patches]
    assert set(colors[:-1]) == {to_rgb(LEVEL)} and colors[-1] == to_rgb(LAST)

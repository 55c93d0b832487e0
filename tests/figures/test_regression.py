"""Figures of in-context regression: what is drawn is what was measured, and nothing sticks out."""

import json
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from scipy.special import expit

from rllc.analysis.stages import stages
from rllc.claims.published import DATA
from rllc.figures.regression import published
from rllc.figures.regression.behaviour import stage_fig6a, stage_figC4
from rllc.figures.regression.comparison import regression_published_curves
from rllc.figures.regression.pools import stage_figC2
from rllc.figures.regression.structure import stage_fig6b, stage_figC5
from rllc.measures.regression_predictions.kernel import regression_predictions
from rllc.measures.structure.kernel import structure
from rllc.models.regression import model
from rllc.models.weights import weight_norm
from rllc.study.figures import FIGURES

LAW = {"dimension": 4, "length": 8, "noise_variance": 0.125, "tasks": None, "task_seed": 0}
FLAT = {"learning_rate": 0.5, "steps": 4000, "warmup": 0, "schedule": "constant", "end_rate": 0.0}
STEPS, SEEDS = [0, *np.geomspace(20, 4000, 19).astype(int).tolist()], [0, 1]
SETTING = {"step_size": 3e-4, "n_beta": 66.7, "localization": 66.7, "chains": 2, "draws": 150, "burn_in": 50,
           "thinning": 1, "batch_size": 128, "control_chains": 1, "scored_positions": None}  # fmt: skip
NAMES = [name for name, row in FIGURES.items() if row.draws.startswith("rllc.figures.regression.")]

# Of which the figure shows nothing but in its caption, or a part; "line in ...": shown, not kept.
BESIDE = {
    "stage_fig1b_lr": ["line in LLC, local, seed 0", "line in LLC, local, seed 1"],  # what the loss would make of it
    "regression_published_curves": ["cumulative_rate", "no hessian_trace_se", "no icl_late_se", "no icl_score_se", "no llc_se"],
    "regression_sampled_loss": ["llc", "llc_prior_only", "llc_local", "llc_local_prior_only", "llc_local_se", "llc_se", "weight_norm"],
    "stage_fig6b": ["norm_weight_small"],
    "stage_figC5": ["embedding_rank", "position_rank"],
    "stage_figC6": [
        f"line in {panel}, seed {seed}" for panel in ("unembedding W_U[0]", "effective weight = W_U[0] γ") for seed in SEEDS
    ],  # the mean over channels
    "stage_figC9": ["attention_variability"],
    "stage_figC10": ["attention_mean"],  # of the chosen
    "stage_figD2": ["line in "],
}  # fmt: skip


class Held:
    stream = 5


def grid(measure, shape):
    """The measure of weights that shrink from step to step, over steps and seeds."""
    seeds = []
    for seed in SEEDS:
        start = shape.initial_weights(seed=seed)
        cells = [
            measure({n: w * 0.9**i for n, w in start.items()}, shape, step) for i, step in enumerate(STEPS)
        ]
        seeds.append(xr.concat([c.expand_dims(step=[s]) for c, s in zip(cells, STEPS, strict=True)], "step"))
    return xr.concat([c.expand_dims(seed=[s]) for c, s in zip(seeds, SEEDS, strict=True)], "seed")


def on_pairs(variables, **attrs):
    coords = {"seed": SEEDS, "step": STEPS, "distribution": ["pairs"]}
    dims = tuple(coords)
    data = xr.Dataset({n: (dims, v) for n, v in variables.items()}, coords=coords)
    data = data.assign_coords(distribution_label=("distribution", ["linear regressions"]))
    return data.assign_attrs({name: json.dumps(value) for name, value in attrs.items()})


@pytest.fixture(scope="module")
def study():
    shape = model(n_layers=2, n_heads=2, d_model=8, d_head=4, context=16, d_vector=5)
    behaviour = regression_predictions(
        Held(), sequences=60, middle=4, scales=[1.0, 3.0, 10.0], law=LAW, schedule=FLAT
    )
    random = np.random.default_rng(0)
    size = (len(SEEDS), len(STEPS), 1)
    x = np.log(np.maximum(STEPS, 1))
    falls = 4.4 - 1.2 * expit((x - np.log(60)) / 0.2) - 1.2 * expit((x - np.log(1500)) / 0.2)
    falling = falls[None, :, None] + 0.005 * random.standard_normal(size)
    sampled = 66.7 * (4.44 - falling)
    norms = [
        [float(weight_norm(shape.initial_weights(seed=s))) * 0.9**i for i in range(len(STEPS))] for s in SEEDS
    ]
    llc = on_pairs(
        {
            "llc": sampled,
            "llc_se": np.full(size, 2.0),
            "llc_prior_only": 1.5 * sampled,
            "init_loss": falling,
        },
        sampling=SETTING,
    )
    status = xr.zeros_like(llc["llc"].astype(int)).expand_dims(chain=2)
    llc = llc.assign(status=status, quality=xr.zeros_like(llc["llc"]).astype(int))
    local = (llc / 10).assign_attrs(sampling=json.dumps(SETTING | {"localization": 1000, "step_size": 2e-4}))
    local = local.assign(status=status, init_loss=llc["init_loss"])
    made = stages(
        {"llc": llc, "llc.local": local},
        tolerance=8.0,
        chance=4.125,
        guess="predictions of 0",
        unit="squared error",
    )
    return {
        "stages": made,
        "regression_predictions": grid(behaviour, shape).assign_attrs(
            regression_predictions=json.dumps({"sequences": 60, "middle": 4, "law": LAW})
        ),
        "structure": grid(structure(Held(), sequences=20, law=LAW), shape),
        "metrics": on_pairs(
            {"loss": falling, "weight_norm": np.array(norms)[:, :, None]},
            metrics={"contexts": 2048, "batch_size": 512},
        ),
        "llc": llc,
        "llc.local": local,
        "hessian": on_pairs({"hessian_trace": 100 + sampled**2, "hessian_trace_se": np.full(size, 3.0)}),
        "eigenvalues": on_pairs({"hessian_products": np.full(size, 30)}).assign(
            hessian_eigenvalue=abs(llc["llc"].expand_dims(rank=[1, 2, 3], axis=-1)) + 1.0
        ),
    }


def drawn_by(name):
    module, _, function = FIGURES[name].draws.partition(":")
    return getattr(import_module(module), function)


@pytest.fixture(scope="module")
def made(study, once):
    """A figure by its name, and what it asked for; drawn once. Read only."""
    return once(drawn_by, study)


@pytest.fixture(scope="module")
def drawn(made):
    """The figure alone."""
    return lambda name: made(name)[0]


def line(ax, values):
    """The line of ``ax`` that draws ``values`` (step); fails where there is none."""
    found = [a for a in ax.get_lines() if np.array_equal(a.get_ydata(), values.values, equal_nan=True)]
    assert found, f"{ax.get_title('left')} does not draw {values.name}"
    np.testing.assert_array_equal(found[0].get_xdata(), values["step"])


def panel(drawing, title):
    return next(ax for ax in drawing.figure.axes if ax.get_title("left") == title)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_sticks_out_and_what_is_drawn_is_kept(study, made, misplaced, unlike, tmp_path, name):
    drawing, given = made(name)
    given.are(FIGURES[name])
    assert misplaced(drawing) == []
    assert unlike(drawing, study) == sorted(BESIDE.get(name, []))
    assert len(drawing.caption.split()) <= 120 and len(drawing.title.split()) <= 20
    assert len(drawing.findings) <= 8 and np.isfinite([each.value for each in drawing.findings]).all()
    assert drawing.findings or name == "stage_figC2"  # here of endless tasks alone
    drawing.data.to_netcdf(tmp_path / "a.nc")
    xr.testing.assert_equal(xr.load_dataset(tmp_path / "a.nc"), drawing.data)


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


def test_the_attention_that_varies_least_is_drawn_with_how_much_it_varies(study):
    drawing = drawn_by("stage_figC10")(study, seed=1)
    last = study["structure"].sel(seed=1).isel(step=-1)["attention_variability"]
    every = {}
    for head in last["head"].values:
        every[f"{head} x"] = (
            last.sel(head=head).values[2::2].mean()
        )  # the first input sees nothing but itself
        every[f"{head} y"] = last.sel(head=head).values[1::2].mean()
    found = dict(zip(drawing.data["panel"].values, drawing.data["variability"].values, strict=True))
    assert found == {name: every[name] for name in sorted(every, key=every.get)[:4]}


BANDED = [
    name
    for name in NAMES
    if name not in ("stage_figC10", "stage_figC2", "stage_figD2", "regression_published_curves")
]


@pytest.mark.parametrize("name", BANDED)
def test_boundaries_are_those_of_the_llc_at_the_setting(study, name):
    """One saddle, planted between the two falls of the loss; every panel over training has it."""
    one = study["stages"].sel(setting="local", distribution="pairs", seed=0)
    (step,) = one["boundary_step"].values[one["boundary_kind"].values == "saddle"]
    assert 150 < step < 600
    moved = study["stages"].copy(deep=True)
    moved["boundary_step"].loc[{"setting": "sampling"}] = STEPS[3]
    drawing = drawn_by(name)(study | {"stages": moved}, setting="local")
    for ax in drawing.figure.axes:
        if "seed 1" not in (title := ax.get_title("left")) and not title.startswith(("LLC, pub", "steps")):
            upright = {a.get_xdata()[0] for a in ax.get_lines() if len(set(a.get_xdata())) == 1}
            assert step in upright, title
    assert any(each.startswith("Stages") and "setting local" in each for each in drawing.conditions)
    without = drawn_by(name)({key: data for key, data in study.items() if key != "stages"})
    assert not any(each.startswith("Stages") for each in without.conditions)


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


def test_every_number_of_tasks_has_its_distances(study, numbers):
    def of(tasks, factor):
        law = json.dumps({"sequences": 60, "law": LAW | {"tasks": tasks}})
        near = {"delta_prior": study["regression_predictions"]["delta_prior"] * factor}
        return study["regression_predictions"].assign(near).assign_attrs(regression_predictions=law)

    given = {
        "regression_predictions": of(16, 0.5),
        "regression_predictions@endless": of(None, 1.0),
        "regression_predictions@four": of(4, 0.25),
    }
    drawing = stage_figC2(given, seed=1)
    assert drawing.data["tasks"].values.tolist() == ["4", "16", "endless"]
    one = study["regression_predictions"].sel(seed=1)
    line(panel(drawing, "mean squared distance from the mean task's prediction"), one["delta_prior"] / 4)
    line(panel(drawing, "mean squared distance from 0"), one["delta_zero"])
    found = numbers(drawing)
    for tasks, factor in (("4", 0.25), ("16", 0.5)):
        assert found(f"ratio, tasks {tasks}").value == pytest.approx(
            factor * float(one["delta_prior"].min() / one["delta_zero"].min())
        )
    assert found("most tasks").value == 16
    other = numbers(stage_figC2(given | {"regression_predictions@more": of(65536, 4.0)}, seed=1))
    assert other("most tasks").value == 16 and other("tasks 65,536").value > 1


def test_the_architecture_has_the_counts_of_the_model(study, drawn):
    """By hand, of 2 layers and 2 heads of 4, width 8, 16 vectors of 5."""
    drawing = drawn("stage_figD2")
    boxes = {"token and position embedding, 5 → 8": 168, "attention, 2 heads": 256, "MLP, ReLU": 144,
             "layer norm": 16, "unembedding, 8 → 5": 45}  # fmt: skip
    shown = [text.get_text() for ax in drawing.figure.axes for text in ax.texts]
    assert {text for text in shown if ": " in text and "component" not in text} == {
        f"{words}: {count}" for words, count in boxes.items()
    }
    counts = {
        "model": 1093,
        "embedding": 168,
        "layer norm": 80,
        "attention": 512,
        "MLP": 288,
        "unembedding": 45,
    }
    for (name, count), each in zip(counts.items(), drawing.findings, strict=True):
        assert name in each.label and each.value == count
    assert sum("input again" in text for text in shown) == 2
    plain = study["structure"].assign(residual_factor=study["structure"]["residual_factor"] * 0 + 1)
    shown = [
        text.get_text()
        for ax in drawn_by("stage_figD2")({"structure": plain}).figure.axes
        for text in ax.texts
    ]
    assert not any("input again" in text for text in shown)


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


def test_what_was_not_measured_is_not_drawn(study, drawn):
    alone = stage_fig6b({"structure": study["structure"]})
    assert {ax.get_title("left") for ax in alone.figure.axes} == {
        "last layer norm, weights, seed 0", "last layer norm, weights, seed 1"
    }  # fmt: skip
    both = drawn("stage_fig6b")
    trace = study["hessian"]["hessian_trace"].sel(seed=0, distribution="pairs")
    line(panel(both, "Hessian, seed 0"), trace)
    assert panel(both, "Hessian, seed 0").get_yscale() == "log"
    with pytest.raises(ValueError, match=r"this figure draws structure\.nc; it was given metrics"):
        stage_figC5({"metrics": study["metrics"]})


def test_shares_of_small_weights_have_an_axis_of_their_own(drawn):
    for ax in drawn("stage_figC7").figure.axes:
        if ax.get_visible() and ax.axison:
            heights = [text.get_position()[1] for text in ax.texts]
            assert heights == [0.0, 0.5, 1.0] * (len(ax.texts) // 3) and heights
            assert [text.get_text() for text in ax.texts] == ["0", "0.5", "1"] * (len(ax.texts) // 3)


def test_findings_of_weights_are_those_of_the_structure(study, numbers):
    one = study["structure"].sel(seed=1)
    size = abs(one["effective_weight"])
    found = numbers(drawn_by("stage_figC6")(study, seeds=[1]))
    for step, at in ((0, 0), (4000, -1)):
        end = found("mean |effective weight|", f"step {step:,}")
        assert end.value == pytest.approx(float(size.isel(step=at).mean()))
    small = float((size.isel(step=-1) < 0.1 * size.isel(step=-1).max()).mean())
    assert found("tenth")[1] == pytest.approx(100 * small)
    found = numbers(drawn_by("stage_figC5")(study, seeds=[1]))
    assert found("W_E at step 0").value == pytest.approx(100 * float(one["embedding_share"][0, -1]))
    largest = numbers(drawn_by("stage_fig6b")(study, seeds=[1]))("largest trace")
    trace = study["hessian"]["hessian_trace"].sel(seed=1)
    assert [largest.value, largest.error] == pytest.approx([float(trace.max()), 3.0])
    final = numbers(drawn_by("stage_figC7")(study, seeds=[1]))("mean weight of the last")
    assert final.value == pytest.approx(float(one["norm_weight_mean"].isel(step=-1, norm=-1)))


def test_findings_of_attention_name_the_heads_of_their_values(study, numbers):
    last = study["structure"]["attention_entropy"].sel(seed=1).isel(step=-1)
    sides = {"inputs": 2, "answers": 1}  # the first input sees nothing but itself
    of = {
        (head, side): float(last.sel(head=head)[query::2].mean())
        for head in last["head"].values
        for side, query in sides.items()
    }
    found = numbers(drawn_by("stage_figC8")(study, seed=1))
    for which, chosen in (("(lowest)", min), ("(highest)", max)):
        head, side = chosen(of, key=of.get)
        assert found(which, f"head {head}", side).value == pytest.approx(of[head, side])


def test_the_last_channel_is_drawn_as_it_is(study, drawn):
    weights = study["structure"]["unembed_norm_weight"]
    assert torch.allclose(torch.tensor(weights.isel(step=1).values), torch.tensor(0.9).double())
    line(panel(drawn("stage_fig6b"), "last layer norm, weights, seed 1"), weights.sel(seed=1).isel(channel=7))


def test_band_of_a_trace_has_the_degrees_of_freedom_of_its_probes(study):
    curvature = study["hessian"].copy(deep=True)
    curvature["hessian_trace_se"].attrs["degrees_of_freedom"] = 3
    drawing = stage_fig6b({**study, "hessian": curvature})
    assert any(each.startswith("Band: 68 % Student interval of the trace") for each in drawing.conditions)
    assert drawing.data["hessian_trace_se"].attrs["degrees_of_freedom"] == 3

"""Figures of what the model predicts as it learns, and of its positions."""

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.stages import stages
from rllc.figures.behaviour import stage_fig4a_behaviour, stage_figB6
from rllc.figures.heads.composition import stage_figB5
from rllc.figures.positions import stage_figB3, stage_figB4, stage_figB4_lissajous
from rllc.figures.stage_bands import OF_LOSS
from rllc.measures.positions.kernel import principal_components

STEPS = [0, 10, 50, 200, 600, 1500, 3000]
CELL = {"seed": [0, 1], "step": STEPS, "distribution": ["mixture"]}
OF = tuple(CELL)


def curve(*values, **dims):
    """The same in both seeds, the second 0.5 higher."""
    made = np.asarray(values, dtype=float)[:, None] + np.zeros(
        (len(STEPS), *map(len, dims.values()))
    ).reshape(len(STEPS), -1)
    made = made.reshape(1, len(STEPS), 1, *map(len, dims.values())) + np.zeros((2, *([1] * (2 + len(dims)))))
    made[1] += 0.5
    return xr.DataArray(made, CELL | dims, (*OF, *dims))


@pytest.fixture(scope="module")
def datasets():
    scores = curve(1, 1.1, 1.2, 1.3, 1.5, 1.8, 2.4, n=[2, 3, 4]) * xr.DataArray(
        [0.8, 1.0, 0.9], {"n": [2, 3, 4]}
    )
    grams = xr.Dataset(
        {
            "bigram_score": curve(7, 5, 4.6, 4.4, 4.7, 5, 5.3),
            "bigram_entropy": 0 * curve(*STEPS) + 3.7,
            "ngram_score": scores,
        }
    )
    at = [0, 1, 5, 50]
    loss = curve(7, 6, 5, 4.5, 4, 3.5, 3)
    by_position = loss + xr.DataArray([0.5, 0.1, 0.0, -0.2], {"at": at})
    gap = xr.DataArray([0.0, 0.0, 0.0, 0.1, 0.3, 0.6, 0.9], {"step": STEPS})
    path = np.random.default_rng(0).normal(size=(64, 16)).cumsum(0)
    shape = xr.concat(
        [principal_components(path + n) for n in range(len(STEPS))], xr.IndexVariable("step", STEPS)
    )
    positions = xr.Dataset(
        {
            "loss": loss,
            "ablated_loss": loss + gap,
            "loss_at": by_position,
            "ablated_loss_at": by_position + gap,
        }
    ).merge(shape.expand_dims(seed=[0, 1], distribution=["mixture"]))
    return {"ngrams": grams, "positions": positions}


def test_the_behaviour_of_every_seed(datasets, misplaced, unlike, numbers):
    drawing = stage_fig4a_behaviour(datasets)
    assert misplaced(drawing) == []
    assert unlike(drawing, datasets) == ["bigram_entropy"]  # a level
    assert len(drawing.figure.axes) == 6
    found = numbers(drawing)
    half = 0.5 / 2**0.5  # sd of seeds that differ by 0.5
    assert found("step of the least bigram")[1:] == (200, 0, "steps")
    near_end = "mean of the last 4 checkpoints"
    assert found("bigram score above", near_end)[1:3] == pytest.approx((5.1 - 3.7, half))
    assert found("W_pos", near_end)[1:3] == pytest.approx((0.475, 0.0))
    assert found("2-gram score")[1:3] == pytest.approx((0.8 * 2.65, 0.8 * half))
    assert found("4-gram score")[1:3] == pytest.approx((0.9 * 2.65, 0.9 * half))
    (score, bound), other = drawing.figure.axes[0].lines[:2], drawing.figure.axes[1].lines[0]
    assert score.get_ydata().tolist() == [7, 5, 4.6, 4.4, 4.7, 5, 5.3]
    assert bound.get_ydata() == pytest.approx([3.7, 3.7])
    assert other.get_ydata()[0] == 7.5


def test_errors_of_contexts_are_not_lowered_by_several_checkpoints(datasets, numbers):
    far = xr.full_like(datasets["ngrams"]["bigram_score"], 0.7)
    given = datasets | {
        "ngrams": datasets["ngrams"].assign(bigram_excess_se=far),
        "positions": datasets["positions"].assign(loss_se=far, position_gain_se=far),
    }
    noise = {"bigram score above": [4.4, 4.7, 5, 5.3], "W_pos": [0.1, 0.3, 0.6, 0.9]}
    found = numbers(stage_fig4a_behaviour(given, seeds=[1]))
    for words, values in noise.items():
        assert found(words).error == pytest.approx(np.hypot(np.std(values, ddof=1) / 2, 0.7))
    found = numbers(stage_figB3(given, seeds=[1]))
    assert found("loss, mean").error == pytest.approx(np.hypot(np.std([4.5, 4, 3.5, 3], ddof=1) / 2, 0.7))


def test_the_behaviour_keeps_only_what_it_draws(datasets):
    losses = dict.fromkeys(("ngram_loss", "ngram_loss_se"), datasets["ngrams"]["ngram_score"])
    given = datasets | {"ngrams": datasets["ngrams"].assign(losses)}
    drawn = {"bigram_score", "bigram_entropy", "ngram_score", "loss", "ablated_loss"}
    assert {*stage_fig4a_behaviour(given).data.data_vars} == drawn


def test_one_layer_has_loss_and_llc_above(datasets, study, misplaced, unlike, numbers):
    llc = curve(1, 2, 3, 3, 2.5, 4, 5)
    given = datasets | {
        "metrics": xr.Dataset({"loss": curve(7, 6, 5, 4, 4, 4, 3)}),
        "llc.far": xr.Dataset({"llc": llc}),
    }
    drawing = stage_figB6(given, setting="far", seeds=[1])
    assert misplaced(drawing) == []
    assert unlike(drawing, given) == ["bigram_entropy"]
    assert [ax.get_ylabel() for ax in drawing.figure.axes] == [
        "nats/token",
        "LLC",
        "nats/token",
        "nats/token",
        "ratio of losses",
    ]
    assert drawing.figure.axes[1].lines[0].get_ydata().tolist() == [1.5, 2.5, 3.5, 3.5, 3, 4.5, 5.5]
    given["llc.far"] = given["llc.far"].assign(llc_prior_only=2 * llc)
    level = stage_figB6(given, setting="far", seeds=[1]).figure.axes[1]
    assert level.lines[0].get_ydata().tolist() == [3, 5, 7, 7, 6, 9, 11]
    assert [text.get_text() for text in level.get_legend().get_texts()] == [
        "LLC",
        "control: no loss gradient",
    ]
    assert numbers(drawing)("step of the least bigram").value == 200
    assert numbers(drawing)("LLC at step").value == 5.5
    more = {}
    for name in ("metrics", "llc.far"):  # which are on other texts, too
        other = given[name].assign_coords(distribution=["code"])
        more[name] = xr.concat([given[name], other], "distribution")
    again = stage_figB6(given | more, setting="far", seeds=[1])
    assert again.data["distribution"].values.tolist() == ["mixture"]


def test_figures_with_stages_tell_that_chains_are_above_chance(datasets, misplaced, numbers):
    loss = curve(7, 6, 5, 4, 4, 4, 3)
    llc = xr.Dataset({"llc": 20 * (11 - loss), "init_loss": loss}, attrs={"sampling": '{"n_beta": 20}'})
    given = datasets | {"metrics": xr.Dataset({"loss": loss}), "llc": llc}
    given["stages"] = stages({"llc": llc}, tolerance=8.0, chance=8.5)
    for draw in (stage_fig4a_behaviour, stage_figB3, stage_figB6):
        drawing = draw(given, seeds=[1])
        assert misplaced(drawing) == []
        if draw is stage_figB6:
            assert numbers(drawing)("correlation").value == pytest.approx(-1)
        assert any("11.00" in each and "8.50" in each for each in drawing.conditions)
    level = stage_figB6(given, seeds=[1]).figure.axes[1]
    dashed = [line for line in level.lines if line.get_color() == OF_LOSS["color"]]
    assert dashed[0].get_ydata() == pytest.approx(llc["llc"].sel(seed=1).squeeze().values)


def test_bands_are_named_below_all_panels(datasets, misplaced):
    """The LLC rises to step 200 and falls to 600; the first boundary is determined, the second possible."""
    loss = curve(7, 6, 5, 4, 4, 4, 3)
    made = {"llc": curve(1, 2, 3, 4, 2, 3, 4), "init_loss": loss}
    llc = xr.Dataset(made, attrs={"sampling": '{"n_beta": 20}'})
    known = stages({"llc": llc}, tolerance=8.0, chance=8.5)
    blank = known.drop_dims("boundary")
    like = 0 * blank["llc_loss_correlation"].fillna(0)
    known = blank.assign(
        boundary_step=like + xr.DataArray([200.0, 600.0], dims="boundary"),
        boundary_kind=("boundary", np.array(["peak", "trough"], object)),
        boundary_determined=like + xr.DataArray([1, 0], dims="boundary"),
    )
    known["llc_smooth"] = known["llc_smooth"].fillna(0) * 0 + llc["llc"]
    given = datasets | {"metrics": xr.Dataset({"loss": loss}), "llc": llc, "stages": known}
    for draw in (stage_fig4a_behaviour, stage_figB3, stage_figB6):
        drawing = draw(given)
        assert misplaced(drawing) == []
        (below,) = drawing.figure.legends
        assert [text.get_text() for text in below.get_texts()] == [
            "stage: LLC falls",
            "stage: LLC rises",
            "stage: the last",
            "boundary, determined",
            "boundary, possible",
        ]


def test_losses_by_position(datasets, misplaced, unlike, numbers):
    drawing = stage_figB3(datasets, seeds=[1])
    assert misplaced(drawing) == []
    assert unlike(drawing, datasets) == []
    kept, zeroed = drawing.figure.axes
    assert [len(ax.lines) for ax in (kept, zeroed)] == [5, 5]
    assert zeroed.lines[-1].get_ydata()[-1] == pytest.approx(4.4)
    found = numbers(drawing)
    noise = np.std([4.5, 4, 3.5, 3], ddof=1) / 2
    assert found("loss, mean of the last 4")[1:3] == pytest.approx((4.25, noise))
    assert found("zeros for W_pos, mean").value == pytest.approx(0.475)
    assert found("position 50)").value == pytest.approx(0.475)


def test_positions_at_six_checkpoints(datasets, misplaced, unlike, numbers):
    drawing = stage_figB4(datasets, seed=1)
    assert misplaced(drawing) == []
    assert unlike(drawing, datasets) == ["explained_variance"]  # bars
    assert drawing.data["step"].values.tolist() == [0, 10, 50, 200, 600, 3000]
    assert len(drawing.figure.axes) == 30
    share = float(datasets["positions"]["explained_variance"].isel(step=-1, seed=0, component=0).squeeze())
    found = numbers(drawing)("step 3,000")
    assert (found.value, found.unit) == (pytest.approx(100 * share), "%")
    bars = [ax for ax in drawing.figure.axes if ax.patches]
    highest = float(drawing.data["explained_variance"].max())
    assert all(highest <= ax.get_ylim()[1] < 1.2 * highest for ax in bars)


def test_components_of_positions_against_each_other(datasets, misplaced, unlike, numbers):
    drawing = stage_figB4_lissajous(datasets, seed=1)
    assert misplaced(drawing) == []
    assert unlike(drawing, datasets) == ["likeness", "position_score"]  # not over steps
    axes = [ax for ax in drawing.figure.axes if ax.get_visible()]
    assert len(axes) == 12
    assert [axes[0].get_ylabel(), axes[6].get_ylabel()] == ["score on PC2", "score on PC3"]
    scores = datasets["positions"]["position_score"].sel(seed=1, distribution="mixture", step=3000)
    points = axes[11].collections[0].get_offsets()
    np.testing.assert_array_equal(points, scores.sel(component=[1, 3]).transpose("position", "component"))
    assert {ax.get_xlabel() for ax in axes[6:]} == {"score on PC1"}


def test_likeness_to_a_random_walk_is_one_of_its_components(datasets, numbers):
    """Components of a random walk are cosines; those of independent rows are not."""
    place = (np.arange(64) + 0.5) / 64
    cosines = np.stack([np.cos(np.pi * k * place) for k in (1, 2, 3)])
    random = np.random.default_rng(0).normal(size=(3, 64))
    shape = datasets["positions"]["position_score"].copy(deep=True)
    shape.loc[{"step": 3000}] = cosines[None, None]
    shape.loc[{"step": 0}] = random[None, None]
    found = numbers(stage_figB4_lissajous({"positions": datasets["positions"].assign(position_score=shape)}))
    for component in (1, 2, 3):
        own = f"PC{component}"
        assert found(own, "step 3,000").value == pytest.approx(1)
        truth = abs(np.corrcoef(random[component - 1], cosines[component - 1])[0, 1])
        assert found(own, "step 0").value == pytest.approx(truth, abs=5e-4)


def test_pairs_of_heads_by_their_scores(study, misplaced, unlike):
    drawing = stage_figB5(study)
    assert misplaced(drawing) == []
    assert unlike(drawing, study) == ["k_composition", "prefix_matching", "previous_token"]
    assert drawing.data["later_head"].values.tolist()[0] == "1:1"
    highest = drawing.findings[0]
    assert "0:0 into 1:1" in highest.label
    assert highest.value == float(drawing.data["k_composition"].isel(step=-1).max())
    assert [ax.get_title("left") for ax in drawing.figure.axes][::3][0] == "0:0 into 1:1"
    assert len(drawing.figure.axes) == 9

import importlib
import json
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from rllc.analysis.clusters import cluster
from rllc.figures.drawing import save
from rllc.figures.style import TALLEST, step_axis
from rllc.quality import MASKS
from rllc.study.figures import FIGURES as TABLE

FIGURES = {
    "rllc_fig2_wrllc_by_head": "heads.rllc_curves",
    "rllc_fig3_code_wdrllc": "heads.rllc_curves",
    "rllc_fig5_one_layer_drllc": "heads.rllc_curves",
    "rllc_by_distribution": "heads.rllc_curves",
    "induction_onset": "heads.induction",
    "rllc_fig7_kcomposition": "heads.composition",
    "rllc_fig14_hessian_trace": "heads.curvature",
    "rllc_fig17_ablations": "heads.ablations",
    "clusters_all_heads": "heads.clusters",
    "rllc_fig18_clusters_layer0": "heads.clusters",
    "rllc_fig19_clusters_layer1": "heads.clusters",
    "stage_fig1a_lm": "stages",
    "stage_fig4b_heads": "stages",
    "control_prior_only": "heads.controls",
    "corpus_summary": "corpus",
}
# Of which the figure shows nothing but in its caption, or a part; "line in ...": shown, not kept.
BESIDE = {
    "rllc_fig2_wrllc_by_head": ["rllc_prior_only"],
    "rllc_fig3_code_wdrllc": ["rllc_prior_only"],
    "rllc_fig5_one_layer_drllc": ["rllc_prior_only"],
    "rllc_by_distribution": ["contrast_se", "degrees_of_freedom", "faulty", "rllc_prior_only", "unpaired_se"],
    "induction_onset": [
        "degrees_of_freedom", "lead_se", "prefix_matching", "rllc", "rllc_se", "line in head 1:1", "band in head 1:1",
    ],
    "rllc_fig18_clusters_layer0": ["no rllc_se", "score"],
    "rllc_fig19_clusters_layer1": ["no rllc_se", "score"],
    "clusters_all_heads": ["no rllc_se"],
    "control_prior_only": ["rllc", "rllc_se", "rllc_prior_only", "quality", "shrinkage"],  # of two settings
}  # fmt: skip


def words(drawing):
    """What a drawing says."""
    return drawing.caption


def figure(name):
    return getattr(importlib.import_module(f"rllc.figures.{FIGURES[name]}"), name)


@pytest.fixture(scope="module")
def datasets(study, tmp_path_factory):
    """The synthetic study as it comes back from its files."""
    curves = study["rllc"]["rllc"].sel(distribution=["mixture", "code"])
    made = study | {
        "clusters": cluster(curves, n_clusters=[2, 3], random_seed=0, algorithms=["euclidean_kmeans", "ward"])
    }
    folder = tmp_path_factory.mktemp("study")
    for name, data in made.items():
        data.to_netcdf(folder / f"{name}.nc")
    return {name: xr.load_dataset(folder / f"{name}.nc") for name in made}


@pytest.fixture(scope="module")
def made(datasets, once):
    """A figure of the synthetic study by its name, and what it asked for; drawn once. Read only."""
    return once(figure, datasets)


@pytest.fixture(scope="module")
def drawn(made):
    """The figure alone."""
    return lambda name: made(name)[0]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_what_it_was_given_and_asks_for_what_its_row_says(
    name, datasets, made, tmp_path, misplaced, unlike, errors_are_told
):
    drawing, given = made(name)
    given.are(TABLE[name])
    assert misplaced(drawing) == []
    assert unlike(drawing, datasets) == sorted(BESIDE.get(name, []))
    assert (
        name in ("rllc_fig7_kcomposition", "corpus_summary") or "cluster" in name or errors_are_told(drawing)
    )
    save(drawing, png=tmp_path / "a.png")
    drawing.data.to_netcdf(tmp_path / "a.nc")
    xr.testing.assert_equal(xr.load_dataset(tmp_path / "a.nc"), drawing.data)
    assert drawing.caption.endswith(".")
    assert len(drawing.caption.split()) <= 120 and len(drawing.findings) <= 8
    assert "nan" not in words(drawing)


def test_a_ring_at_the_last_step_of_a_narrow_panel_is_whole(datasets, misplaced):
    faulty = datasets["rllc.likelihood"].copy(deep=True)
    faulty["quality"][{"step": -1}] = MASKS["mean_not_equilibrated"]
    assert misplaced(figure("control_prior_only")(datasets | {"rllc.likelihood": faulty})) == []


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.filterwarnings("ignore:.*empty slice", "ignore:All-NaN")
def test_every_figure_draws_where_the_last_checkpoint_is_not_measured_yet(name, datasets):
    """As ``make partial`` gathers a study whose last jobs have not run."""

    def without_last(data):
        if "step" not in data.dims:
            return data
        reals = [
            each for each in data.data_vars if data[each].dtype.kind == "f" and "step" in data[each].dims
        ]
        return data.assign({each: data[each].where(data["step"] < data["step"][-1]) for each in reals})

    drawing = figure(name)({key: without_last(data) for key, data in datasets.items()})
    assert drawing.caption.endswith(".")


def test_equal_data_gives_equal_bytes(datasets, tmp_path):
    for stem in ("a", "b"):
        save(figure("stage_fig1a_lm")(datasets), png=tmp_path / f"{stem}.png", pdf=tmp_path / f"{stem}.pdf")
    for kind in ("png", "pdf"):
        written = (tmp_path / f"a.{kind}").read_bytes()
        assert written == (tmp_path / f"b.{kind}").read_bytes()
        assert b"Date" not in written


def test_the_lines_drawn_are_the_data(datasets, drawn):
    drawing = drawn("rllc_fig2_wrllc_by_head")
    first = drawing.figure.axes[0].get_lines()[0]
    truth = datasets["rllc"]["rllc"].sel(seed=0, head="0:0", distribution="mixture")
    np.testing.assert_array_equal(first.get_ydata(), truth)
    np.testing.assert_array_equal(first.get_xdata(), truth["step"])
    np.testing.assert_array_equal(drawing.data["rllc"].sel(seed=0, head="0:0", distribution="mixture"), truth)


def test_colour_is_the_type_and_heads_differ(datasets):
    from rllc.figures.inputs import types_of
    from rllc.figures.style import TYPE_COLORS, head_styles

    rllc = datasets["rllc"]
    kinds = types_of(datasets, rllc["head"], rllc["seed"]).isel(seed=0)
    styles = head_styles(kinds)
    assert styles["1:1"]["color"] == pytest.approx(_rgb(TYPE_COLORS["induction"]))
    assert styles["0:0"]["color"] == pytest.approx(_rgb(TYPE_COLORS["previous-token"]))
    looks = {(tuple(np.round(s["color"], 4)), str(s["linestyle"]), s["marker"]) for s in styles.values()}
    assert len(looks) == rllc.sizes["head"]


def _rgb(color):
    from matplotlib.colors import to_rgb

    return to_rgb(color)


def test_missing_cells_and_failed_chains_are_told_and_marked(drawn):
    drawing = drawn("rllc_fig2_wrllc_by_head")
    assert any("1 of 128 cells of rllc are missing" in said for said in drawing.conditions)
    assert any("4 nonfinite, 1 diverged of 512" in said for said in drawing.conditions)
    crosses = [line for ax in drawing.figure.axes for line in ax.get_lines() if line.get_marker() == "x"]
    assert [line.get_xdata().tolist() for line in crosses] == [[180]]


def values(drawing, *words):
    """Values of the findings whose label holds these words."""
    return [each.value for each in drawing.findings if all(word in each.label for word in words)]


def test_fig2_has_the_difference_from_the_prior_only_control(datasets, drawn):
    for given, drawing in (
        (datasets["rllc"], drawn("rllc_fig2_wrllc_by_head")),
        (
            datasets["rllc.likelihood"],
            figure("rllc_fig2_wrllc_by_head")(datasets | {"rllc": datasets["rllc.likelihood"]}),
        ),
    ):
        rllc = given.sel(distribution="mixture")
        change = np.abs(1 - rllc["rllc"] / rllc["rllc_prior_only"]).values
        assert values(drawing, "prior-only control") == pytest.approx([100 * np.nanmedian(change)])


def test_a_control_of_fewer_chains_is_compared_with_the_chains_that_share_its_noise(datasets):
    rllc = datasets["rllc"]
    same = rllc["rllc_chain"].isel(chain=slice(2)).mean("chain")
    sampling = json.dumps(json.loads(rllc.attrs["sampling"]) | {"control_chains": 2})
    rllc = rllc.assign(rllc_prior_only=same).assign_attrs(sampling=sampling)
    for name in ("control_prior_only", "rllc_fig2_wrllc_by_head"):
        drawing = figure(name)({**datasets, "rllc": rllc})
        assert values(drawing, "prior-only control")[0] == pytest.approx(0.0, abs=1e-9)


def test_control_findings_are_the_measured_ratios_of_each_setting(datasets, drawn):
    drawing = drawn("control_prior_only")
    for setting, source in (("main setting", "rllc"), ("likelihood", "rllc.likelihood")):
        one = datasets[source].sel(seed=0, distribution="mixture")
        middle = np.nanmedian(1 - one["rllc"] / one["rllc_prior_only"])
        assert values(drawing, "reduction of rLLC", setting) == pytest.approx([100 * middle])
        np.testing.assert_array_equal(
            drawing.data["rllc"].sel(setting=setting).transpose("step", "head"),
            one["rllc"].transpose("step", "head"),
        )
        made = json.loads(datasets[source].attrs["sampling"])
        trace = datasets["hessian"]["hessian_trace_head"].sel(seed=0, distribution="mixture")
        prediction = trace * made["n_beta"] / (2 * made["localization"])
        np.testing.assert_allclose(
            drawing.data["curvature_prediction"].sel(setting=setting).transpose("step", "head"),
            prediction.transpose("step", "head"),
        )
        ratio = np.nanmedian((prediction / one["rllc"]).values)
        assert values(drawing, "curvature prediction", setting) == pytest.approx(
            [ratio] if setting == "main setting" else []
        )


def test_how_heads_change_is_said_beside_a_setting_that_goes_with_the_norm_of_weights(datasets):
    given = datasets["rllc.likelihood"]
    sampling = json.loads(given.attrs["sampling"]) | {"reference_norm": 20.0}
    given = given.assign(rllc=given["rllc"] ** 2).assign_attrs(sampling=json.dumps(sampling))
    ends = {}
    for name, data in (("main", datasets["rllc"]), ("scaled", given)):
        one = data["rllc"].sel(seed=0, distribution="mixture")
        ends[name] = one.dropna("step")
    middle = ends["main"].sizes["step"] // 2
    at = [int(ends["main"]["step"][n]) for n in (-1, middle)]
    drawing = figure("control_prior_only")(datasets | {"rllc.likelihood": given})
    for name, one in (("main setting", ends["main"]), ("likelihood", ends["scaled"])):
        own = one.sel(head=one["layer"].values == 0)
        expected = float((own[-1] / own[middle]).median())
        label = f"at step {at[0]:,} over step {at[1]:,}, median of layer 0, {name}"
        assert values(drawing, label) == pytest.approx([expected])
    for count in (2, 3):
        few = datasets | {"rllc.likelihood": given.isel(step=slice(-count, None))}
        assert bool(values(figure("control_prior_only")(few), " over step ")) == (count == 3)


def test_induction_onsets_are_measured(drawn, datasets):
    drawing = drawn("induction_onset")
    assert drawing.data["rllc_onset"].sel(seed=0, distribution="code").item() == 1500
    assert drawing.data["score_onset"].sel(seed=0).item() == 1750
    assert drawing.data["rllc_onset_trusted"].sel(seed=0, distribution="code").item() == 1500
    assert values(drawing, "separation", "rLLC on code") == [1500]
    assert values(drawing, "separation", "score") == [1750]
    assert values(drawing, "prefix-matching score of head 1:1 at step 3,000") == pytest.approx(
        [float(datasets["attention_scores"]["prefix_matching"].sel(seed=0, step=3000, head="1:1"))]
    )


def test_onsets_are_drawn_from_half_the_earliest_step_on(datasets):
    drawing = figure("induction_onset")(datasets)
    steps = datasets["rllc"]["step"].values
    assert drawing.data["step"].values.tolist() == steps[steps >= 1500 / 2].tolist()
    later = figure("induction_onset")(datasets, start=1500).data["step"].values
    assert later.tolist() == steps[steps >= 1500].tolist()


def test_an_onset_that_rests_on_an_unreliable_estimate_is_told_beside_that_of_the_others(datasets):
    rllc = datasets["rllc"].copy(deep=True)
    rllc["quality"][:] = 0
    rllc["quality"].loc[{"seed": 0, "step": 1500, "distribution": "code", "head": "1:1"}] = MASKS["drifting"]
    drawing = figure("induction_onset")(datasets | {"rllc": rllc})
    code = drawing.data.sel(seed=0, distribution="code")
    assert code["rllc_onset"].item() == 1500
    assert code["rllc_onset_trusted"].item() == rllc["step"].values[rllc["step"] > 1500][0]
    onset, reliable = values(drawing, "separation", "rLLC on code")
    assert onset == 1500 and reliable == code["rllc_onset_trusted"].item()


def test_an_induction_head_that_never_separates_has_no_finding_of_that(datasets):
    rllc = datasets["rllc"].copy(deep=True)
    induction = {"seed": 0, "head": "1:1", "distribution": "code"}
    for name in ("rllc", "rllc_chain"):
        rllc[name].loc[induction] = 0.0
    drawing = figure("induction_onset")(datasets | {"rllc": rllc})
    assert values(drawing, "separation", "rLLC on code") == []
    assert "On code the rLLC does not separate." in drawing.conditions
    assert len(values(drawing, "separation", "rLLC on english")) == 1


def test_onsets_show_and_count_the_heads_of_their_layer_alone(datasets):
    rllc = datasets["rllc"].copy(deep=True)
    rllc["quality"][:] = 0
    rllc["quality"].loc[{"head": "0:0"}] = MASKS["drifting"]
    drawing = figure("induction_onset")(datasets | {"rllc": rllc})
    assert set(drawing.data["layer"].values) == {1}
    assert not any("reliable" in said for said in drawing.conditions)


def test_without_an_induction_head_the_figure_says_so(datasets):
    quiet = datasets["attention_scores"].assign(
        prefix_matching=0.1 * datasets["attention_scores"]["prefix_matching"]
    )
    drawing = figure("induction_onset")(datasets | {"attention_scores": quiet})
    best = float(quiet["prefix_matching"].isel(step=-1).max())
    assert drawing.title.startswith("No head is an induction head")
    assert [each.value for each in drawing.findings] == pytest.approx([best])


def test_optional_inputs_may_be_missing(datasets):
    bare = {"rllc": datasets["rllc"].drop_vars(["rllc_prior_only", "status", "rllc_se"])}
    bare["rllc"].attrs.clear()
    drawing = figure("rllc_fig2_wrllc_by_head")(bare)
    assert all(np.isnan(each.error) and "(" not in each.label for each in drawing.findings)
    assert not any(said.startswith(("Bands", "Setting")) for said in drawing.conditions)
    assert values(figure("stage_fig1a_lm")({"metrics": datasets["metrics"]}), "LLC") == []
    assert (
        values(figure("stage_fig4b_heads")({"attention_scores": datasets["attention_scores"]}), "in-context")
        == []
    )
    assert values(figure("rllc_fig14_hessian_trace")({"hessian": datasets["hessian"]}), "rLLC") == []


@pytest.mark.parametrize(
    ("name", "given", "options", "said"),
    [
        ("rllc_fig2_wrllc_by_head", ["attention_scores"], {}, "draws rllc.nc"),
        ("rllc_fig2_wrllc_by_head", ["rllc"], {"distribution": "github"}, "the dataset has mixture"),
        ("rllc_fig2_wrllc_by_head", ["rllc"], {"seeds": [4]}, "no seed"),
        ("rllc_by_distribution", ["rllc"], {"layer": 2}, "no layer 2; the dataset has 0, 1"),
        ("rllc_fig7_kcomposition", ["rllc"], {}, "attention_scores.nc"),
        ("corpus_summary", [], {}, "corpus.nc"),
    ],
)
def test_errors_name_what_is_missing(name, given, options, said, datasets):
    with pytest.raises(ValueError, match=said):
        figure(name)({key: datasets[key] for key in given}, **options)


def test_few_heads_per_layer_are_shown_with_the_clusters_of_all(datasets, drawn):
    drawing = drawn("rllc_fig18_clusters_layer0")
    assert drawing.data["head"].values.tolist() == ["0:0", "0:1", "0:2", "0:3"]
    assert any("clustered together" in said for said in drawing.conditions)
    assert values(drawing, "silhouette") == []  # they are of all heads
    beside = [ax.get_title(loc="right") for ax in drawing.figure.axes]
    assert len(beside) == 4 and not any(beside)
    layered = datasets["clusters"].assign_coords(scope=["layer 7"])
    with pytest.raises(ValueError, match="only layer 7"):
        figure("clusters_all_heads")(datasets | {"clusters": layered})


def test_bands_of_the_hessian_trace_hold_the_minibatches_of_its_probes(drawn):
    """Probe i has minibatch i (``rllc.measures.hessian.kernel``), so the error is not that given the data."""
    (said,) = (each for each in drawn("rllc_fig14_hessian_trace").conditions if each.startswith("Bands"))
    assert said == "Bands: one standard error over probes, each with its own minibatch."


def test_many_heads_and_seeds_fit(make_study, misplaced):
    wide = make_study(seeds=(0, 1), n_heads=8)
    assert misplaced(figure("rllc_fig2_wrllc_by_head")(wide)) == []
    one = figure("rllc_fig2_wrllc_by_head")(wide, seeds=[1])
    assert one.data["seed"].values.tolist() == [1]


@pytest.fixture(scope="module")
def five(make_study):
    return make_study(seeds=(0, 1, 2, 3, 4), n_heads=8, steps=(0, 100, 1000), missing=False)


@pytest.mark.parametrize(
    "name",
    [
        "rllc_fig3_code_wdrllc",
        "rllc_fig14_hessian_trace",
        "rllc_fig17_ablations",
        "rllc_by_distribution",
        "stage_fig4b_heads",
    ],
)
def test_five_seeds_of_many_heads_make_no_strip_and_short_sentences(name, five, misplaced):
    some = {"distributions": ["mixture", "code"]} if name == "rllc_fig14_hessian_trace" else {}
    drawing = figure(name)(five, **some)
    assert misplaced(drawing) == []
    width, height = drawing.figure.get_size_inches()
    assert height < 1.3 * TALLEST and height < 2.2 * width
    several = [each for each in drawing.findings if each.label.endswith("mean and sd of 5 seeds")]
    assert several or name == "stage_fig4b_heads"
    assert not any("seed 3" in each.label for each in drawing.findings)


@pytest.mark.parametrize(
    "steps", [(0,), (500,), (1, 2), (0, 1, 2, 5, 50_000), (1000, 1200, 1500), (0, 1, 1100), (0, 1, 10**9)]
)
def test_any_checkpoints_give_a_readable_axis(steps, make_study, misplaced):
    study = make_study(steps=steps, missing=False)
    drawing = figure("rllc_by_distribution")(study, distributions=["code"])
    assert misplaced(drawing) == []
    low, high = drawing.figure.axes[0].get_xlim()
    assert low < min(steps) and high > max(steps)


@pytest.mark.parametrize(("steps", "first"), [((0, 10, 100, 1000), 0), ((66, 545, 1342, 3000), 100)])
def test_an_axis_of_steps_is_labelled_from_0_or_else_a_round_number(steps, first):
    ax = Figure(figsize=(4, 3)).subplots()
    step_axis(ax, np.asarray(steps))
    ticks = ax.get_xticks()
    assert ticks.min() == first and ticks.max() == steps[-1] and len({*ticks}) == len(ticks) > 2


def test_drawing_imports_neither_torch_nor_tslearn():
    modules = ", ".join(f"rllc.figures.{module}" for module in sorted(set(FIGURES.values())))
    heavy = "{'torch', 'tslearn', 'arviz', 'sklearn', 'scipy.stats', 'matplotlib.pyplot'}"
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_the_drift_free_control_is_drawn_where_there_is_one_and_says_what_estimates_are(datasets, drawn):
    """Of the heads' estimates one is off its drift-free control by more than a half; of the others the control is
    30 % below the one without gradient, or 10 %."""
    one, off = datasets["rllc.likelihood"], datasets["rllc.likelihood"]["rllc_prior_only"]
    labels = one["head"].values.tolist() if not callable(one["head"]) else one.coords["head"].values.tolist()
    factor = xr.DataArray([0.7, 0.9, *[0.9] * (len(labels) - 2)], {"head": labels}, ["head"])
    walked = xr.DataArray([1.0, 1.0, 1.6, *[1.0] * (len(labels) - 3)], {"head": labels}, ["head"])
    drift_free = one.assign(rllc_drift_free=off * factor, rllc=off * factor * walked).drop_vars(
        "rllc_chain", errors="ignore"
    )
    drawing = figure("control_prior_only")(datasets | {"rllc.likelihood": drift_free})
    kinds = drawing.data["meaning"].sel(setting="likelihood").dropna("step", how="all")
    for head, expected in zip(labels, [1.0, 0.0, 2.0], strict=False):
        known = kinds.sel({"head": head}).dropna("step")
        assert known.size and (known == expected).all()
    known = drawing.data["meaning"].attrs
    assert known["flag_meanings"].split()[1] == "posterior_mean"
    assert known["flag_values"].dtype == drawing.data["meaning"].dtype and "flag_masks" not in known
    kept = drawing.data["meaning"].sel(setting="likelihood")
    share = 100 * float((kept == 2).sum() / kept.notnull().sum())
    assert "rllc_drift_free" in drawing.data and values(drawing, "drift", "likelihood") == pytest.approx(
        [share]
    )
    plain = drawn("control_prior_only")
    assert "rllc_drift_free" not in plain.data and "entred" not in plain.caption


def test_measures_of_some_distributions_only(datasets):
    """A control or a Hessian that was not asked for on a distribution is left out, not drawn as missing."""
    code = datasets["rllc"]["distribution"] == "code"
    rllc = datasets["rllc"].assign(rllc_prior_only=datasets["rllc"]["rllc_prior_only"].where(code))
    given = datasets | {"rllc": rllc, "hessian": datasets["hessian"].where(code)}
    drawing = figure("control_prior_only")(given)
    assert "nan" not in drawing.caption and values(drawing, "curvature prediction") == []
    assert drawing.data["rllc_prior_only"].sel(setting="main setting").isnull().all()
    assert values(figure("rllc_fig2_wrllc_by_head")(given), "prior-only control") == []
    assert figure("rllc_fig14_hessian_trace")(given).data["distribution"].values.tolist() == ["code"]


@pytest.mark.parametrize(
    "name", ["rllc_fig3_code_wdrllc", "rllc_by_distribution", "rllc_fig14_hessian_trace", "corpus_summary"]
)
def test_long_labels_fit_and_captions_have_them_in_full(name, datasets, misplaced):
    label = "My thesis, chapters one to four, second draft with remarks"
    given = {
        key: data.assign_coords(distribution_label=("distribution", [label] * data.sizes["distribution"]))
        for key, data in datasets.items()
        if key in ("rllc", "hessian", "corpus")
    }
    drawing = figure(name)(given)
    assert misplaced(drawing) == []
    assert label in drawing.caption


def rings(drawing):
    """Where rings are drawn: (title of the panel, steps)."""
    from rllc.figures.style import DISTRUST

    return [
        (ax.get_title("left"), line.get_xdata().tolist())
        for ax in drawing.figure.axes
        for line in ax.get_lines()
        if line.get_markeredgecolor() == DISTRUST["markeredgecolor"]
    ]


def legends(drawing):
    boxes = [ax.get_legend() for ax in drawing.figure.axes]
    return [text.get_text() for box in boxes if box for text in box.get_texts()]


def unjudged(datasets):
    return {key: data.drop_vars("quality", errors="ignore") for key, data in datasets.items()}


def test_estimates_that_cannot_be_trusted_have_a_ring_with_its_reasons(datasets, drawn):
    drawing = drawn("rllc_fig2_wrllc_by_head")
    layers = "layer 0: training mixture", "layer 1: training mixture"
    assert sorted(rings(drawing)) == [(layers[0], [50]), (layers[0], [810, 1000]), (layers[1], [1250])]
    assert "not reliable:\ndrifting, chain failed,\nnot mixed" in legends(drawing)
    assert any("4 of 127 estimates are not reliable" in said for said in drawing.conditions)
    y = next(line for line in drawing.figure.axes[0].get_lines() if line.get_xdata().tolist() == [50])
    truth = datasets["rllc"]["rllc"].sel(seed=0, step=50, head="0:2", distribution="mixture")
    assert y.get_ydata().tolist() == [truth.item()]


@pytest.mark.parametrize(
    "name",
    [
        "rllc_fig3_code_wdrllc",
        "rllc_fig5_one_layer_drllc",
        "induction_onset",
        "rllc_fig19_clusters_layer1",
        "control_prior_only",
        "stage_fig1a_lm",
    ],
)
def test_every_figure_of_estimates_marks_them_and_draws_old_datasets_as_before(name, datasets, drawn):
    marked, plain = drawn(name), figure(name)(unjudged(datasets))
    assert rings(marked) and "not reliable" in marked.caption
    assert any("not reliable" in text for text in legends(marked))
    assert not rings(plain) and "reliable" not in plain.caption
    assert not any("reliable" in text for text in legends(plain))


def test_reliable_estimates_have_no_ring_and_nothing_is_said_of_them(datasets):
    from rllc.quality import CAUTIONS

    quality = datasets["rllc"]["quality"] & CAUTIONS
    drawing = figure("rllc_fig2_wrllc_by_head")(datasets | {"rllc": datasets["rllc"].assign(quality=quality)})
    assert not rings(drawing)
    assert "reliable" not in drawing.caption


def test_differences_between_distributions_are_the_paired_contrasts(datasets, drawn):
    from rllc.analysis.contrasts import contrast

    drawing = drawn("rllc_by_distribution")
    assert any(steps == [1750, 2000] for _, steps in rings(drawing))
    truth = contrast(datasets["rllc"], dim="distribution", a="code", b="english")
    for name in ("contrast", "half_width"):
        drawn = drawing.data[name].sel(distribution="english", drop=True)
        xr.testing.assert_allclose(drawn, truth[name].transpose(*drawn.dims), atol=1e-12)
    assert drawing.data["contrast"].sel(distribution="code").isnull().all()
    assert not [name for name in drawing.data["faulty"].attrs if name.startswith("flag_")]
    below = next(ax for ax in drawing.figure.axes if ax.get_title("left").startswith("code − english"))
    band = below.collections[0].get_paths()[0].get_extents()  # of the first head
    shown = [ax for ax in drawing.figure.axes if ax.get_visible() and ax.get_title("left")]
    differences = {ax.get_ylim() for ax in shown if "−" in ax.get_title("left")}
    estimates = {ax.get_ylim() for ax in shown if "−" not in ax.get_title("left")}
    assert len(differences) == len(estimates) == len(differences | estimates) - 1 == 1
    cell = truth.sel(seed=0, head="0:0")
    assert band.y1 == pytest.approx(float((cell["contrast"] + cell["half_width"]).max()))
    assert band.y0 == pytest.approx(float((cell["contrast"] - cell["half_width"]).min()))
    either = (datasets["rllc"]["quality"].sel(distribution=["code", "english"]) & 127).max("distribution")
    apart = truth.where(either == 0)
    last = apart.sel(step=3000)
    above = int((last["contrast"] > last["half_width"]).sum())
    two = figure("rllc_by_distribution")(datasets, distributions=["english", "code"])
    total = int(last["half_width"].notnull().sum())
    assert values(two, f"of {total}, higher on code than on english at step 3,000") == [above]
    counts = [  # of the distributions with most and fewest heads that are higher on code
        int(((one := drawing.data.sel(step=3000, distribution=name))["contrast"] > one["half_width"]).sum())
        for name in ("mixture", "english", "one_layer")
    ]
    assert values(drawing, "higher on code") in ([max(counts), min(counts)], [counts[0]])
    second = figure("rllc_by_distribution")(datasets, layer=1)
    assert set(second.data["layer"].values) == {1} and "0:0" not in second.caption
    alone = figure("rllc_by_distribution")(datasets, reference="not there")
    assert "contrast" not in alone.data and len(alone.figure.axes) == len(drawing.figure.axes) / 2


def test_the_lead_of_the_induction_head_has_its_paired_interval(datasets, drawn):
    from rllc.analysis.contrasts import contrast

    drawing = drawn("induction_onset")
    cell = drawing.data.sel(seed=0, step=3000, distribution="code")
    rival = datasets["rllc"]["rllc"].sel(seed=0, step=3000, distribution="code", head=["1:0", "1:2", "1:3"])
    truth = contrast(datasets["rllc"], dim="head", a="1:1", b=rival["head"].values[int(rival.argmax("head"))])
    truth = truth.sel(seed=0, step=3000, distribution="code")
    for mine, its in (("half_width", "half_width"), ("degrees_of_freedom", "degrees_of_freedom")):
        assert cell[mine].item() == pytest.approx(truth[its].item())
    wide = figure("induction_onset")(datasets, confidence=0.9999)
    assert (wide.data["half_width"] > drawing.data["half_width"]).all()


def test_heads_above_the_clusters_stay_in_their_panel(make_study, misplaced):
    study = make_study(n_heads=8)
    curves = study["rllc"]["rllc"].sel(distribution=["mixture"])
    clusters = cluster(curves, n_clusters=[2, 6], random_seed=0, algorithms=["ward"])
    drawing = figure("rllc_fig18_clusters_layer0")(study | {"clusters": clusters})
    drawing.figure.draw_without_rendering()
    for ax in drawing.figure.axes:
        names = [text.get_window_extent() for text in ax.texts if ":" in text.get_text()]
        assert len(names) == 8
        titles = [title.get_window_extent() for title in (ax._left_title, ax._right_title)]
        assert not titles[0].overlaps(titles[1]) and ax.get_title("right").startswith("silhouette ")
        others = [*titles, *names]
        assert not [1 for a in names for b in others if a is not b and a.overlaps(b)]
        assert max(box.x1 for box in names) <= ax.get_window_extent().x1 + 3
    assert misplaced(drawing) == []


def test_a_bar_above_a_panel_stands_before_its_cluster_on_the_same_line():
    from matplotlib.figure import Figure

    from rllc.figures.heads.clusters_named import LINE, name_clusters, title_look

    heads = [f"{layer}:{n}" for layer in range(4) for n in range(8)]
    for size in range(1, 9):
        clusters = xr.DataArray(np.arange(32) // size, {"head": heads}, ["head"])
        figure = Figure(figsize=(2.3, 1.9))
        ax = figure.subplots()
        name_clusters(ax, cluster=clusters, note="", width=2.3, look=title_look([clusters], width=2.3))
        lines = {}
        for text in ax.texts:
            lines.setdefault(text.xyann[1], []).append(text.get_text())
        assert len(lines) > 1 and title_look([clusters], width=2.3)["pad"] >= LINE * len(lines)
        words = [word for y in sorted(lines, reverse=True) for word in lines[y]]
        barred = [["|", head] if n and n % size == 0 else [head] for n, head in enumerate(heads)]
        assert words == [word for each in barred for word in each]
        assert all(row[-1] != "|" for row in lines.values())


def test_captions_tell_how_many_contexts_were_read(drawn):
    assert "32 held-out contexts of each distribution" in drawn("rllc_fig17_ablations").caption


def test_a_distribution_looks_the_same_in_every_figure():
    from rllc.figures.style import distribution_styles

    assert distribution_styles(["code"])["code"] == distribution_styles(["mixture", "mine", "code"])["code"]
    looks = distribution_styles(["mixture", "english", "code", "one_layer", "mine", "theirs"])
    assert len({look["color"] for look in looks.values()}) == 6
    many = distribution_styles([f"text {i}" for i in range(8)] + ["mixture", "code"]).values()
    assert len({look["color"] for look in many}) == 10


@pytest.mark.parametrize("together", [False, True])
def test_clusters_of_a_layer_have_the_agreement_of_the_heads_drawn(make_study, together):
    """Also where the heads of all layers were clustered together."""
    from itertools import combinations

    from sklearn.metrics import adjusted_rand_score

    study = make_study(n_heads=4 if together else 8)
    curves = study["rllc"]["rllc"].sel(distribution=["mixture"])
    algorithms = ["euclidean_kmeans", "ward", "shape_kmeans"]
    made = cluster(curves, n_clusters=[2, 3], random_seed=0, algorithms=algorithms)
    made["cluster_checkpoints"].loc[{"algorithm": "ward", "head": "0:0"}] = 1
    made["cluster_checkpoints"].loc[{"algorithm": "ward", "head": "1:3"}] = 0
    drawing = figure("rllc_fig18_clusters_layer0")(study | {"clusters": made})
    heads = [head for head in made["head"].values.tolist() if head.startswith("0:")]
    one = made["cluster_checkpoints"].isel(seed=0).sel(vectors="checkpoints", head=heads)
    assert ("all heads" in made["scope"].values) == together
    each = [
        adjusted_rand_score(one.sel(algorithm=a, n_clusters=k), one.sel(algorithm=b, n_clusters=k))
        for a, b in combinations(algorithms, 2)
        for k in (2, 3)
        if any(len(np.unique(one.sel(algorithm=name, n_clusters=k))) > 1 for name in (a, b))
    ]
    assert values(drawing, "agreement of two algorithms") == pytest.approx([np.median(each)])
    assert len(values(drawing, "silhouette")) == (0 if together else 2)


def test_clusters_named_after_the_papers_are_of_its_vectors(datasets, drawn):
    made = datasets["clusters"]
    for name, kind in (
        ("clusters_all_heads", "cluster"),
        ("rllc_fig18_clusters_layer0", "cluster_checkpoints"),
    ):
        drawing = drawn(name)
        truth = made[kind] if kind == "cluster" else made[kind].sel(vectors="checkpoints", drop=True)
        truth = truth.sel(head=drawing.data["head"], seed=drawing.data["seed"])
        np.testing.assert_array_equal(drawing.data["cluster"], truth.transpose(*drawing.data["cluster"].dims))
        of = {"cluster": "on a uniform grid in log(step + 1)"}.get(kind, "at the checkpoints themselves")
        assert any(of in said for said in drawing.conditions)
    with pytest.raises(ValueError, match="expected one of interpolated, checkpoints"):
        figure("clusters_all_heads")(datasets, vectors="raw")


def test_fig3_has_the_ratio_of_both_groups_of_heads_where_there_is_a_refinement(datasets):
    from rllc.analysis.head_types import head_types
    from rllc.analysis.refinement import refinement

    typed = datasets["attention_scores"].assign(head_type=head_types(datasets["attention_scores"]))
    made = refinement(
        datasets | {"attention_scores": typed}, distribution="code", against=["mixture", "english"]
    )
    drawing = figure("rllc_fig3_code_wdrllc")(datasets | {"refinement": made})
    last = made.sel(seed=0, against="mixture").isel(step=-1)
    ratio = [2 ** float(last["log2_ratio"].sel(head_group=group)) for group in ("induction", "multigram")]
    assert values(drawing, "rLLC on code over") == pytest.approx(ratio)  # english is not drawn

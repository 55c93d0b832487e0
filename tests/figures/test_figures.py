import json
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from tests.figures.of_study import FIGURES, figure, legends, rings, values

from rllc.figures.drawing import save
from rllc.figures.style import TALLEST, step_axis
from rllc.study.figures import FIGURES as TABLE

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


def test_a_control_of_fewer_chains_is_compared_with_the_chains_that_share_its_noise(datasets):
    rllc = datasets["rllc"]
    same = rllc["rllc_chain"].isel(chain=slice(2)).mean("chain")
    sampling = json.dumps(json.loads(rllc.attrs["sampling"]) | {"control_chains": 2})
    rllc = rllc.assign(rllc_prior_only=same).assign_attrs(sampling=sampling)
    for name in ("control_prior_only", "rllc_fig2_wrllc_by_head"):
        drawing = figure(name)({**datasets, "rllc": rllc})
        assert values(drawing, "prior-only control")[0] == pytest.approx(0.0, abs=1e-9)


def test_optional_inputs_may_be_missing(datasets):
    bare = {"rllc": datasets["rllc"].drop_vars(["rllc_prior_only", "status", "rllc_se"])}
    bare["rllc"].attrs.clear()
    drawing = figure("rllc_fig2_wrllc_by_head")(bare)
    assert all(np.isnan(each.error) for each in drawing.findings)
    assert not any("(multigram)" in each.label or "(induction)" in each.label for each in drawing.findings)
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
    assert len(beside) == 6 and not any(beside)
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


def test_measures_of_some_distributions_only(datasets):
    """A control or a Hessian that was not asked for on a distribution is left out, not drawn as missing."""
    code = datasets["rllc"]["distribution"] == "code"
    rllc = datasets["rllc"].assign(rllc_prior_only=datasets["rllc"]["rllc_prior_only"].where(code))
    given = datasets | {"rllc": rllc, "hessian": datasets["hessian"].where(code)}
    drawing = figure("control_prior_only")(given)
    assert "nan" not in drawing.caption and values(drawing, "curvature prediction") == []
    assert drawing.data["rllc_prior_only"].sel(setting="base setting").isnull().all()
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


def unjudged(datasets):
    return {key: data.drop_vars("quality", errors="ignore") for key, data in datasets.items()}


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


def test_a_distribution_looks_the_same_in_every_figure():
    from rllc.figures.style import distribution_styles

    assert distribution_styles(["code"])["code"] == distribution_styles(["mixture", "mine", "code"])["code"]
    looks = distribution_styles(["mixture", "english", "code", "one_layer", "mine", "theirs"])
    assert len({look["color"] for look in looks.values()}) == 6
    many = distribution_styles([f"text {i}" for i in range(8)] + ["mixture", "code"]).values()
    assert len({look["color"] for look in many}) == 10

"""Curves of refined LLCs."""

import numpy as np
import pytest
import xarray as xr
from tests.figures.of_study import figure, legends, rings, values


def test_the_lines_drawn_are_the_data(datasets, drawn):
    drawing = drawn("rllc_fig2_wrllc_by_head")
    first = drawing.figure.axes[0].get_lines()[0]
    truth = datasets["rllc"]["rllc"].sel(seed=0, head="0:0", distribution="mixture")
    np.testing.assert_array_equal(first.get_ydata(), truth)
    np.testing.assert_array_equal(first.get_xdata(), truth["step"])
    np.testing.assert_array_equal(drawing.data["rllc"].sel(seed=0, head="0:0", distribution="mixture"), truth)


def test_missing_cells_and_failed_chains_are_told_and_marked(drawn):
    drawing = drawn("rllc_fig2_wrllc_by_head")
    assert any("1 of 128 cells of rllc are missing" in said for said in drawing.conditions)
    assert any("4 nonfinite, 1 diverged of 512" in said for said in drawing.conditions)
    crosses = [line for ax in drawing.figure.axes for line in ax.get_lines() if line.get_marker() == "x"]
    assert [line.get_xdata().tolist() for line in crosses] == [[180]]


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


def test_estimates_that_are_not_reliable_have_a_ring_with_its_reasons(datasets, drawn):
    drawing = drawn("rllc_fig2_wrllc_by_head")
    layers = "layer 0: training mixture", "layer 1: training mixture"
    assert sorted(rings(drawing)) == [(layers[0], [50]), (layers[0], [810, 1000]), (layers[1], [1250])]
    assert "not reliable:\ndrifting, chain failed,\nnot mixed" in legends(drawing)
    assert any("4 of 127 estimates are not reliable" in said for said in drawing.conditions)
    y = next(line for line in drawing.figure.axes[0].get_lines() if line.get_xdata().tolist() == [50])
    truth = datasets["rllc"]["rllc"].sel(seed=0, step=50, head="0:2", distribution="mixture")
    assert y.get_ydata().tolist() == [truth.item()]


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


def test_fig5_has_the_ratio_of_mean_rllcs_of_each_layer_with_its_paired_error(datasets):
    found = figure("rllc_fig5_one_layer_drllc")(datasets).findings
    last = datasets["rllc"].sel(seed=0, step=3000)
    for layer in (0, 1):
        heads = last.isel(head=np.flatnonzero(last["layer"] == layer))
        a, b = (heads.sel(distribution=name, drop=True) for name in ("one_layer", "mixture"))
        assert a["rllc"].notnull().all() and b["rllc"].notnull().all()
        ratio = float(a["rllc"].sum() / b["rllc"].sum())
        apart = a["rllc_chain"] - ratio * b["rllc_chain"]
        square = (apart.var("chain", ddof=1) / apart.notnull().sum("chain")).sum()
        (one,) = (each for each in found if each.label.startswith(f"mean rLLC of layer {layer},"))
        assert one.label.endswith("over training mixture at step 3,000")
        assert one.value == pytest.approx(ratio)
        assert one.error == pytest.approx(float(np.sqrt(square) / b["rllc"].sum()))


def test_fig5_without_chains_takes_errors_as_independent(datasets):
    rllc = datasets["rllc"].drop_vars([name for name in datasets["rllc"] if "chain" in str(name)])
    found = figure("rllc_fig5_one_layer_drllc")(datasets | {"rllc": rllc}).findings
    one = next(each for each in found if each.label.startswith("mean rLLC of layer 1,"))
    last = rllc.sel(seed=0, step=3000).isel(head=np.flatnonzero(rllc["layer"] == 1))
    a, b = (last.sel(distribution=name) for name in ("one_layer", "mixture"))
    square = (a["rllc_se"] ** 2).sum() + one.value**2 * (b["rllc_se"] ** 2).sum()
    assert one.error == pytest.approx(float(np.sqrt(square) / b["rllc"].sum()))


def test_fig5_has_the_losses_of_the_teacher_and_of_this_model(datasets):
    def losses(steps, *values):
        dims, coords = (
            ("seed", "step", "distribution"),
            {"seed": [0], "step": steps, "distribution": ["mixture"]},
        )
        value = np.asarray(values)[None, :, None]
        return xr.Dataset({"loss": (dims, value), "loss_se": (dims, np.full_like(value, 0.01))}, coords)

    both = {"metrics": losses([0, 900], 7.0, 3.0), "metrics@language_1layer": losses([0, 600], 7.0, 3.5)}
    found = figure("rllc_fig5_one_layer_drllc")(datasets | both).findings
    said = [(each.label, each.value, each.error) for each in found if each.label.startswith("loss of")]
    assert said == [
        ("loss of language 1layer on mixture at step 600", 3.5, 0.01),
        ("loss of this model on mixture at step 900", 3.0, 0.01),
    ]
    alone = figure("rllc_fig5_one_layer_drllc")(datasets | {"metrics": both["metrics"]}).findings
    assert not [each for each in alone if each.label.startswith("loss of")]

"""Figures of weights and their structure."""

import numpy as np
import pytest
import torch
import xarray as xr
from tests.figures.regression.small import drawn_by, line, panel

from rllc.figures.regression.structure import stage_fig6b, stage_figC5


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


def test_effective_bias_is_one_number_of_all_channels_and_the_unembedding(study, drawn, numbers):
    """b = W_U[0] beta + b_U[0], as in App. C.4.3 of the paper."""
    source = study["structure"]
    shift = xr.DataArray(np.linspace(0, 2, source.sizes["step"]), {"step": source["step"]})
    moved = source.assign(
        effective_bias=source["effective_bias"] + shift, unembed_bias=source["unembed_bias"] + 5 * shift
    )
    drawing = drawn_by("stage_figC6")({**study, "structure": moved}, seeds=[1])
    total = moved["effective_bias"].sel(seed=1).sum("channel") + moved["unembed_bias"].sel(seed=1)
    np.testing.assert_allclose(drawing.data["total_bias"].sel(seed=1), total)
    line(panel(drawing, "effective bias, parts W_U[0] β"), drawing.data["total_bias"].sel(seed=1))
    found = numbers(drawing)
    assert found("effective bias", "step 4,000").value == pytest.approx(float(total[-1]))
    assert found("effective bias", "step 0").value == pytest.approx(float(total[0]))

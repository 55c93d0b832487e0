"""The LLC on several texts: what stands in which panel, and what the caption says."""

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.domains import domains
from rllc.figures.captions import WORDS
from rllc.figures.domains import REFERENCE, rllc_fig12_drllc_datasets

FAMILIES = {"code": "programs", "english": "prose"}


@pytest.fixture(scope="module")
def datasets(make_study):
    llc = make_study(seeds=(0, 1))["llc"]
    told = {"reference": "mixture", "programming": ["code"], "science": [], "stage": None}
    return {"llc": llc, "domains": domains({"llc": llc}, **told)}


def test_a_panel_per_family_with_the_training_text_in_each(datasets, misplaced, unlike):
    drawing = rllc_fig12_drllc_datasets(datasets, families=FAMILIES, note="These are stand-ins.")
    assert misplaced(drawing) == []
    assert unlike(drawing, datasets) == []
    axes = [ax for ax in drawing.figure.axes if ax.get_visible()]
    titles = [ax.get_title("left") for ax in axes]
    assert titles == [f"{t}, seed {s}" for s in (0, 1) for t in ("programs", "prose")]
    llc = datasets["llc"]["llc"]
    for ax, seed, name in zip(axes, (0, 0, 1, 1), ("code", "english") * 2, strict=True):
        grey, other = [line for line in ax.get_lines() if len(line.get_xdata()) == llc.sizes["step"]][:2]
        assert grey.get_color() == REFERENCE["color"] != other.get_color()
        np.testing.assert_array_equal(grey.get_ydata(), llc.sel(seed=seed, distribution="mixture"))
        np.testing.assert_array_equal(other.get_ydata(), llc.sel(seed=seed, distribution=name))
    colours = [ax.get_lines()[-1].get_color() for ax in axes[:2]]
    assert len({*colours}) == 2  # a colour is one distribution in the whole figure
    named = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in axes[:2]]
    assert [len(texts) for texts in named] == [2, 2]
    assert "These are stand-ins." in drawing.caption
    value, error = (
        float(datasets["domains"][name].sel(seed=0, distribution="code")) for name in ("correlation", "correlation_se")
    )  # fmt: skip
    assert f"{value:.3f} ± {error:.3f}" in f"{drawing.caption} {drawing.details}"
    last = llc.isel(step=-1).sel(seed=1)
    low, high = (f"{float(of()):.1f} on" for of in (last.min, last.max))
    assert f"At step 3k, seed 1 it is from {low} mixture to {high} code." in drawing.caption
    assert len(drawing.caption.split()) < 1.2 * WORDS


def test_without_families_all_share_a_panel(datasets):
    drawing = rllc_fig12_drllc_datasets({"llc": datasets["llc"]}, seeds=[1], distribution="english")
    assert [ax.get_title("left") for ax in drawing.figure.axes] == ["other distributions"]
    assert drawing.data["seed"].values.tolist() == [1]
    xr.testing.assert_equal(drawing.data["llc"], datasets["llc"]["llc"].sel(seed=[1]))

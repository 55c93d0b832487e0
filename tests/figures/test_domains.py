"""The LLC on several texts: what stands in which panel, and which numbers are findings."""

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.domains import domains
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
    assert len(drawing.caption.split()) <= 120 and len(drawing.findings) == 4


def test_highest_and_lowest_llc_and_correlation_of_one_seed_have_their_errors(datasets):
    findings = {f.label: f for f in rllc_fig12_drllc_datasets(datasets, seeds=[1]).findings}
    last = datasets["llc"].isel(step=-1).sel(seed=1)
    for end, n in (("highest", -1), ("lowest", 0)):
        name = str(last["distribution"].values[np.argsort(last["llc"].values)[n]])
        found = findings[f"{end} LLC at step 3,000 ({name})"]
        cell = last.sel(distribution=name)
        assert (found.value, found.error) == (float(cell["llc"]), float(cell["llc_se"]))
    table = datasets["domains"].sel(seed=1, distribution=["english", "code"])
    (found,) = [f for label, f in findings.items() if "highest correlation" in label]
    best = int(table["correlation"].values.argmax())
    assert found.label.endswith(f"({['english', 'code'][best]})")
    assert found.value == float(table["correlation"][best]) and found.error == float(
        table["correlation_se"][best]
    )


def test_extremes_of_several_seeds_are_of_one_distribution(datasets):
    drawing = rllc_fig12_drllc_datasets(datasets)
    last = datasets["llc"]["llc"].isel(step=-1)
    name = str(last["distribution"].values[int(last.mean("seed").argmax("distribution"))])
    (found,) = [f for f in drawing.findings if f.label.startswith("highest LLC")]
    assert f"({name})" in found.label
    values = last.sel(distribution=name).values
    assert (found.value, found.error) == (pytest.approx(values.mean()), pytest.approx(values.std(ddof=1)))


def test_unknown_correlations_give_no_finding(datasets):
    domains = datasets["domains"]
    unknown = domains.assign(correlation=domains["correlation"] * np.nan).assign_attrs(domains.attrs)
    labels = [f.label for f in rllc_fig12_drllc_datasets(datasets | {"domains": unknown}).findings]
    assert len(labels) == 2 and not any("correlation" in label for label in labels)


def test_without_families_all_share_a_panel(datasets):
    drawing = rllc_fig12_drllc_datasets({"llc": datasets["llc"]}, seeds=[1], distribution="english")
    assert [ax.get_title("left") for ax in drawing.figure.axes] == ["other distributions"]
    assert drawing.data["seed"].values.tolist() == [1]
    xr.testing.assert_equal(drawing.data["llc"], datasets["llc"]["llc"].sel(seed=[1]))

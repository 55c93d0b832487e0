"""Heads of uncertain type in labels, captions and datasets of figures."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.head_types import head_types, types_with_margins
from rllc.figures import inputs
from rllc.figures.heads.ablations import rllc_fig17_ablations
from rllc.figures.heads.composition import rllc_fig7_kcomposition
from rllc.figures.heads.head_findings import described
from rllc.figures.uncertain import uncertain_types

DRAW = Path(__file__).parents[2] / "workflow/scripts/draw.py"
SAID = "head 1:1 is multigram or induction: score 0.045 ± 0.004, threshold 0.05"


@pytest.fixture
def datasets(make_study):
    """A study in which 1:1 alone is of uncertain type."""
    return _with_errors(make_study(missing=False))


def _with_errors(made):
    scores = made["attention_scores"].copy(deep=True)
    for name in ("previous_token", "current_token", "prefix_matching"):
        scores[f"{name}_se"] = scores[name] * 0 + 1e-6
    last = {"step": scores["step"].values[-1], "head": "1:1"}
    scores["prefix_matching"].loc[last], scores["prefix_matching_se"].loc[last] = 0.045, 0.004
    return made | {"attention_scores": scores.assign(types_with_margins(scores).data_vars)}


def texts(drawing):
    legends = [ax.get_legend() for ax in drawing.figure.axes if ax.get_legend()]
    titles = [ax.get_title(loc="left") for ax in drawing.figure.axes]
    return [text.get_text() for legend in legends for text in legend.get_texts()] + titles


def test_legend_marks_the_uncertain_head_alone(datasets):
    said = texts(rllc_fig17_ablations(datasets))
    assert "1:1  multigram?" in said and "1:0  multigram" in said
    assert sum("?" in each for each in said) == 1


def test_title_of_a_panel_marks_the_uncertain_head(datasets):
    assert any(each.startswith("into 1:1 multigram?") for each in texts(rllc_fig7_kcomposition(datasets)))


def test_types_without_margins_have_no_marks(datasets):
    scores = datasets["attention_scores"].drop_vars(["head_type_uncertain", "head_type_other"])
    drawing = rllc_fig17_ablations(datasets | {"attention_scores": scores})
    assert not any("?" in each for each in texts(drawing)) and "head_type_other" not in drawing.data.coords


def test_other_type_stands_beside_the_type_drawn(datasets, tmp_path):
    drawing = rllc_fig17_ablations(datasets)
    np.testing.assert_array_equal(drawing.data["head_type"], head_types(datasets["attention_scores"]))
    drawing.data.to_netcdf(tmp_path / "a.nc")
    found = xr.load_dataset(tmp_path / "a.nc")["head_type_other"].isel(seed=0)
    assert found.sel(head="1:1").item() == "induction"
    assert {*found.drop_sel(head="1:1").values.tolist()} == {""}


def test_heads_and_seeds_without_scores_are_unknown_and_certain(datasets):
    heads = xr.DataArray(["1:1", "7:7"], dims="head")
    found = inputs.types_of(datasets, heads, xr.DataArray([0, 9], dims="seed"))
    assert found.values.tolist() == [["multigram", "unknown"], ["unknown", "unknown"]]
    assert found["head_type_other"].values.tolist() == [["induction", ""], ["", ""]]


def test_a_finding_names_the_uncertain_type_with_its_mark(datasets):
    types = inputs.types_of(datasets, datasets["rllc"]["head"], datasets["rllc"]["seed"]).isel(seed=0)
    assert described("1:1", types) == "head 1:1 (multigram?)"
    assert described("1:0", types) == "head 1:0 (multigram)"


def test_caption_tells_the_score_of_an_uncertain_head(datasets, make_study):
    scores = datasets["attention_scores"]
    assert uncertain_types(scores, datasets["rllc"]) == [f"Uncertain type (?): {SAID}."]
    assert uncertain_types(scores, xr.Dataset()) == [f"Uncertain type (?): {SAID}."]
    assert uncertain_types(None, datasets["rllc"]) == []
    assert uncertain_types(make_study()["attention_scores"], datasets["rllc"]) == []
    two = _with_errors(make_study(seeds=(0, 1), missing=False))
    assert uncertain_types(two["attention_scores"], two["rllc"].sel(seed=[0])) == [
        f"Uncertain type (?): {SAID}."
    ]
    (said,) = uncertain_types(two["attention_scores"], two["rllc"])
    assert "head 1:1 of seed 0 is multigram or induction: score 0.045 ± 0.004, threshold 0.05; head" in said


def test_every_figure_that_reads_scores_tells_it(datasets, monkeypatch):
    spec = importlib.util.spec_from_file_location("draw_script", DRAW)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    written = []
    monkeypatch.setattr(script, "read_named", lambda files: (datasets, {}))
    monkeypatch.setattr(script, "write_figure", lambda drawing, files, facts: written.append(drawing.caption))
    monkeypatch.setattr(script, "attributes", lambda **facts: {})
    function = SimpleNamespace(load=lambda: rllc_fig17_ablations)
    script.main(SimpleNamespace(datasets={}, function=function, options={}), "", None)
    assert written[0].endswith(f"Uncertain type (?): {SAID}.")

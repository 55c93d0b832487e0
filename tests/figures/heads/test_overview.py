import json
from itertools import combinations

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.clusters import cluster
from rllc.figures.depths import rllc_fig13_stages
from rllc.figures.drawing import save
from rllc.figures.heads.overview import rllc_fig1_overview

RHO = (0.62, 0.52, 0.71, 0.02)  # of multigram heads and its interval, and p


@pytest.fixture(scope="module")
def eight(make_study):
    made = make_study(seeds=(0,), n_heads=8, missing=False)
    curves = made["rllc"]["rllc"].sel(distribution=["mixture", "code"])
    made["clusters"] = cluster(curves, n_clusters=[2, 3], random_seed=0, algorithms=["euclidean_kmeans"])
    heads = made["rllc"]["head"].values
    counts = np.random.default_rng(0).integers(10, 90, (1, 2, heads.size)).astype(float)
    coords = {"seed": [0], "step": made["rllc"]["step"].values[[4, -1]], "head": heads}
    numbers = {
        f"multigram_spearman{part}": n for part, n in zip(("", "_low", "_high", "_p"), RHO, strict=True)
    }
    numbers["multigram_spearman_heads"] = 12.0
    at = {"seed": [0], "step": coords["step"], "scope": ["layer 0", "layer 1", "both layers"]}
    full = {name: (tuple(at), np.full((1, 2, 3), value)) for name, value in numbers.items()}
    classification = xr.Dataset(full, at, {"classification": json.dumps({"distribution": "mixture"})})
    tokens = xr.Dataset({"multigrams": (("seed", "step", "head"), counts)}, coords)
    return made | {"tokens": tokens, "classification": classification}


def test_the_overview_shows_clusters_types_and_what_is_memorised(eight, misplaced, unlike, tmp_path):
    drawing = rllc_fig1_overview(eight)
    by_cluster, by_type, memory = drawing.figure.axes
    found = eight["clusters"]["cluster"].sel(seed=0, algorithm="euclidean_kmeans", n_clusters=2)
    own = [head for head in found["head"].values if head.startswith("1:")]
    groups = {" ".join(h for h in own if found.sel(head=h) == k) for k in np.unique(found.sel(head=own))}
    assert {text.get_text() for text in by_cluster.get_legend().get_texts()} == groups
    kinds = [text.get_text() for text in by_type.get_legend().get_texts()]
    assert {*kinds} == {*drawing.data["head_type"].values.ravel()}
    for ax in (by_cluster, by_type):
        ends = sorted(float(line.get_ydata()[-1]) for line in ax.lines if len(line.get_ydata()) > 2)
        last = eight["rllc"]["rllc"].sel(seed=0, distribution="mixture", head=own).isel(step=-1)
        np.testing.assert_allclose(ends, np.sort(last.values))
    assert [ax.get_ylabel() for ax in drawing.figure.axes] == ["refined LLC", "", "refined LLC"]
    values = {finding.label: finding.value for finding in drawing.findings}
    (rho,) = (label for label in values if "ρ" in label)
    assert values[rho] == RHO[0] and "12 multigram heads" in rho
    assert values["p of that correlation"] == RHO[3]
    top = eight["rllc"]["rllc"].sel(seed=0, distribution="mixture", head=own).isel(step=-1)
    assert drawing.findings[0].value == pytest.approx(float(top.max()))
    assert str(top["head"].values[int(top.argmax("head"))]) in drawing.findings[0].label
    said, *names = [text.get_text() for text in memory.texts]
    assert said == "12 multigram heads:\nρ = 0.62, p = 0.02"
    assert sum(len(line.get_xdata()) for line in memory.lines) == 16
    assert {*names} == set(eight["rllc"]["head"].values)
    for ax in (by_cluster, by_type):
        assert {text.get_text() for text in ax.texts} == {*own}
    boxes = [text.get_window_extent() for ax in drawing.figure.axes for text in ax.texts]
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
    assert not misplaced(drawing)
    assert unlike(drawing, eight) == ["rllc"]  # of layer 0 the last alone
    save(drawing, png=tmp_path / "a.png")


def test_there_are_as_many_clusters_as_types_among_the_heads_that_are_clustered_together(eight):
    """Layers that were clustered by themselves have two clusters; all heads together would have four."""
    drawing = rllc_fig1_overview(eight)
    assert "(k = 2)" in drawing.figure.axes[0].get_title(loc="left")
    together = eight["clusters"].assign_coords(head_scope=("head", ["all heads"] * 16))
    of_four = together.assign_coords(n_clusters=[2, 4])
    drawing = rllc_fig1_overview(eight | {"clusters": of_four})
    assert "(3 of k = 4)" in drawing.figure.axes[0].get_title(loc="left")


def test_a_correlation_of_another_distribution_is_not_drawn(eight):
    drawing = rllc_fig1_overview(eight, distribution="code")
    assert not any("ρ" in finding.label for finding in drawing.findings)
    assert "multigram_spearman" not in drawing.data


def test_the_overview_refuses_a_layer_that_is_not_there(eight):
    with pytest.raises(ValueError, match="there is no layer 7"):
        rllc_fig1_overview(eight, layer=7)


def test_models_of_unlike_depth_side_by_side(eight, make_study, misplaced, tmp_path):
    other = make_study(seeds=(0, 1), n_heads=4, missing=False)
    given = {name: eight[name] for name in ("metrics", "llc")}
    given |= {f"{name}@shallow_one": other[name].isel(step=slice(0, -2)) for name in given}
    drawing = rllc_fig13_stages(given, title="deep")
    titles = [ax.get_title(loc="left") for ax in drawing.figure.axes]
    assert titles[:2] == ["deep: held-out loss", "shallow one: held-out loss"]
    for column, (part, seeds) in enumerate([(eight, [0]), (other, [0, 1])]):
        for row, (name, variable) in enumerate([("metrics", "loss"), ("llc", "llc")]):
            ax = drawing.figure.axes[2 * row + column]
            lines = [line.get_ydata() for line in ax.lines if line.get_linestyle() != "None"]
            assert len(lines) == len(seeds)
            for seed, line in zip(seeds, lines, strict=True):
                expected = part[name][variable].sel(seed=seed, distribution="mixture").dropna("step").values
                np.testing.assert_allclose(line, expected[: len(line)])
    step = other["llc"]["step"].values[-3]
    loss = float(eight["metrics"]["loss"].sel(seed=0, distribution="mixture", step=step))
    (found,) = (f for f in drawing.findings if f.label.startswith(f"loss of deep at step {step:,}"))
    assert found.value == pytest.approx(loss)
    renamed = rllc_fig13_stages(given, titles={"shallow_one": "one layer"})
    assert renamed.figure.axes[1].get_title(loc="left") == "one layer: held-out loss"
    assert not misplaced(drawing)
    save(drawing, png=tmp_path / "a.png")


def test_the_number_of_clusters_is_told_with_how_many_the_layer_shows(eight):
    """All heads have three clusters, of which two have heads of layer 1."""
    made = eight["clusters"].assign_coords(head_scope=("head", ["all heads"] * 16)).sel(n_clusters=[3])
    of_layer = made["head"].str.startswith("1:")
    several = np.where(of_layer, np.arange(16) % 2, 2)
    made = made.assign(cluster=made["cluster"] * 0 + xr.DataArray(several, {"head": made["head"]}, ["head"]))
    drawing = rllc_fig1_overview(eight | {"clusters": made}, n_clusters=3)
    assert "(2 of k = 3)" in drawing.figure.axes[0].get_title(loc="left")
    (found,) = (f for f in drawing.findings if f.label == "clusters with heads of layer 1, of k = 3")
    assert found.value == 2
    assert any("Euclidean K-means of the rLLC curves of all heads" in said for said in drawing.conditions)

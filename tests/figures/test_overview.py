import numpy as np
import pytest
import xarray as xr
from scipy.stats import spearmanr

from rllc.analysis.clusters import cluster
from rllc.figures.depths import rllc_fig13_stages
from rllc.figures.drawing import save
from rllc.figures.heads.overview import rllc_fig1_overview


@pytest.fixture(scope="module")
def eight(make_study):
    made = make_study(seeds=(0,), n_heads=8, missing=False)
    curves = made["rllc"]["rllc"].sel(distribution=["mixture", "code"])
    made["clusters"] = cluster(curves, n_clusters=[2, 3], random_seed=0, algorithms=["euclidean_kmeans"])
    heads = made["rllc"]["head"].values
    counts = np.random.default_rng(0).integers(10, 90, (1, 2, heads.size)).astype(float)
    coords = {"seed": [0], "step": made["rllc"]["step"].values[[4, -1]], "head": heads}
    return made | {"tokens": xr.Dataset({"multigrams": (("seed", "step", "head"), counts)}, coords)}


def test_the_overview_shows_clusters_types_and_what_is_memorised(eight, misplaced, tmp_path):
    drawing = rllc_fig1_overview(eight)
    by_cluster, by_type, memory = drawing.figure.axes
    found = eight["clusters"]["cluster"].sel(seed=0, algorithm="euclidean_kmeans", n_clusters=2)
    own = [head for head in found["head"].values if head.startswith("1:")]
    groups = {" ".join(h for h in own if found.sel(head=h) == k) for k in np.unique(found.sel(head=own))}
    assert {text.get_text() for text in by_cluster.get_legend().get_texts()} == groups
    assert "1:1  induction" in [text.get_text() for text in by_type.get_legend().get_texts()]
    for ax in (by_cluster, by_type):
        ends = sorted(float(line.get_ydata()[-1]) for line in ax.lines if len(line.get_ydata()) > 2)
        last = eight["rllc"]["rllc"].sel(seed=0, distribution="mixture", head=own).isel(step=-1)
        np.testing.assert_allclose(ends, np.sort(last.values))
    many = [h for h, kind in drawing.data["head_type"].isel(seed=0).to_series().items() if kind == "other"]
    x = eight["tokens"]["multigrams"].sel(seed=0, head=many).isel(step=-1)
    y = eight["rllc"]["rllc"].sel(seed=0, distribution="mixture", head=many).isel(step=-1)
    assert f"ρ = {spearmanr(x, y).statistic:.2f} over {len(many)} heads" in drawing.caption
    assert sum(len(line.get_xdata()) for line in memory.lines) == 16
    assert {text.get_text() for text in memory.texts} == set(eight["rllc"]["head"].values)
    assert not misplaced(drawing)
    save(drawing, png=tmp_path / "a.png")


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
    assert f"deep {loss:.2f} and" in drawing.caption and "the last that all have" in drawing.caption
    renamed = rllc_fig13_stages(given, titles={"shallow_one": "one layer"})
    assert renamed.figure.axes[1].get_title(loc="left") == "one layer: held-out loss"
    assert not misplaced(drawing)
    save(drawing, png=tmp_path / "a.png")

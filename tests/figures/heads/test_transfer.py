"""Figures of clusters in other seeds: what they show is what transfer.nc says."""

import numpy as np
import pytest

from rllc.analysis.head_types import head_types
from rllc.analysis.transfer import transfer
from rllc.figures.heads.clusters import look_of
from rllc.figures.heads.transfer import (
    SHORT,
    rllc_fig20_cluster_transfer,
    rllc_fig21_cluster_transfer,
    rllc_fig22_cluster_transfer,
    rllc_fig23_other_seeds,
)


@pytest.fixture(scope="module")
def datasets(make_study):
    made = make_study(seeds=(3, 5, 8), n_heads=8)
    made["attention_scores"]["head_type"] = head_types(made["attention_scores"])
    settings = {"distribution": "mixture", "n_clusters": [2, 3], "algorithms": ["sbd_kmeans"], "points": None}
    return made | {"transfer": transfer(made, **settings, random_seed=0)}


def test_rows_are_the_first_seed_and_another(datasets, misplaced, unlike):
    for draw, seed in ((rllc_fig20_cluster_transfer, 5), (rllc_fig21_cluster_transfer, 8)):
        drawing = draw(datasets)
        assert misplaced(drawing) == []
        assert unlike(drawing, datasets) == []
        axes = [ax for ax in drawing.figure.axes if ax.get_visible()]
        assert [ax.get_title("left") for ax in axes] == ["k = 2", "k = 3"] * 4
        labels = [ax.get_ylabel().splitlines()[:2] for ax in axes[::2]]
        assert labels == [
            [f"seed {s}, layer {n}", "clustered" if s == 3 else "carried over"]
            for n in (0, 1)
            for s in (3, seed)
        ]
        assert drawing.data["seed"].values.tolist() == [3, seed]
        assert len(drawing.caption.split()) <= 120 and "nan" not in drawing.caption
    again = rllc_fig20_cluster_transfer(datasets, seed=8)
    assert again.caption == rllc_fig21_cluster_transfer(datasets).caption


def test_colours_are_clusters_and_numbers_those_of_the_dataset(datasets):
    drawing = rllc_fig20_cluster_transfer(datasets)
    at = {"algorithm": "sbd_kmeans", "n_clusters": 3}
    cell = datasets["transfer"].sel(at | {"seed": 5, "scope": "layer 0"})
    panel = drawing.figure.axes[3]  # of the second row, the second of two numbers of clusters
    assert panel.get_title("left") == "k = 3"
    lines = [line for line in panel.get_lines() if len(line.get_xdata()) == datasets["rllc"].sizes["step"]]
    heads = [head for head in cell["head"].values if head.startswith("0:")]
    for head, line in zip(heads, lines, strict=True):
        assert line.get_color() == look_of(int(cell["cluster"].sel(head=head)))["color"]
        truth = datasets["rllc"]["rllc"].sel(seed=5, head=head, distribution="mixture")
        np.testing.assert_array_equal(line.get_ydata(), truth)
    # No number stands in the panel, where curves are; above it is every head with its type.
    index, p = f"{float(cell['rand_types']):.2f}", f"p = {float(cell['p']):.2g}"
    assert panel.get_title("right") == f"Rand index {index}, {p}"
    kinds = datasets["attention_scores"]["head_type"].sel(seed=5)
    names = sorted(text.get_text() for text in panel.texts if text.get_text() != "|")
    assert names == sorted(f"{head}{SHORT[kinds.sel(head=head).item()]}" for head in heads)
    k = int(datasets["transfer"]["types"].sel(seed=3, scope="layer 0"))
    rand, chance = (finding for finding in drawing.findings if "layer 0" in finding.label)
    assert k == 3 and rand.value == float(cell["rand_types"]) and chance.value == float(cell["p"])


def test_seeds_that_there_are_not_are_named(datasets):
    with pytest.raises(ValueError, match=r"no training seed after 3; it has \[3, 5, 8\]"):
        rllc_fig22_cluster_transfer(datasets)
    with pytest.raises(
        ValueError,
        match=r"seed 3 is the seed whose clusters are transferred; draw one of \[5, 8\]",
    ):
        rllc_fig20_cluster_transfer(datasets, seed=3)
    with pytest.raises(ValueError, match="the training seed 3 only"):
        rllc_fig23_other_seeds({"rllc": datasets["rllc"].isel(seed=[0])})


def test_the_other_seeds_are_all_but_the_first(datasets, misplaced, unlike):
    drawing = rllc_fig23_other_seeds(datasets)
    assert misplaced(drawing) == []
    assert unlike(drawing, datasets) == []
    titles = [ax.get_title("left") for ax in drawing.figure.axes if ax.get_visible()]
    assert titles == [f"seed {s}: {d}" for s in (5, 8) for d in ("training mixture", "code")]
    assert drawing.data["seed"].values.tolist() == [5, 8]
    one = drawing.figure.axes[0].get_lines()[0].get_ydata()
    np.testing.assert_array_equal(
        one, datasets["rllc"]["rllc"].sel(seed=5, head="0:0", distribution="mixture")
    )
    kinds = datasets["attention_scores"]["head_type"].sel(seed=[5, 8])
    some = int((kinds == "induction").any("head").sum())
    assert drawing.findings[0].value == some and "2" in drawing.findings[0].label
    end = datasets["rllc"]["rllc"].isel(step=-1).sel(seed=[5, 8], distribution="code")
    end = end.sel(head=end["layer"].values == 1)
    *_, top, number = drawing.findings
    values = end.max("head").values
    assert (top.value, top.error) == pytest.approx((values.mean(), values.std(ddof=1)))
    best = [
        kinds.sel(seed=seed, head=end["head"].values[int(end.sel(seed=seed).argmax("head"))])
        for seed in (5, 8)
    ]
    assert number.value == sum(kind == "induction" for kind in best)
    untyped = rllc_fig23_other_seeds({"rllc": datasets["rllc"]})
    assert len(untyped.findings) == 2 and "on code" in untyped.findings[1].label


def test_other_seeds_drawn_alone_have_the_highest_head_by_name_with_its_error(datasets):
    end = datasets["rllc"].isel(step=-1).sel(seed=8, distribution="code")
    end = end.sel(head=end["layer"].values == 1)
    top = end["rllc"].idxmax("head").item()
    drawing = rllc_fig23_other_seeds(datasets, seeds=[8])
    (found,) = (f for f in drawing.findings if f"head {top}" in f.label and "on code" in f.label)
    assert (found.value, found.error) == (float(end["rllc"].max()), float(end["rllc_se"].sel(head=top)))

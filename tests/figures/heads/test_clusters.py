"""Figures of clusters."""

import numpy as np
import pytest
from tests.figures.of_study import figure, values

from rllc.analysis.clusters import cluster
from rllc.analysis.clusters_by_type import AGREEMENT, against_types
from rllc.claims.heads.clusters import algorithms_agree


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
        assert not titles[0].overlaps(titles[1])
        assert ax.get_title("right").startswith(("silhouette ", "agreement "))
        others = [*titles, *names]
        assert not [1 for a in names for b in others if a is not b and a.overlaps(b)]
        assert max(box.x1 for box in names) <= ax.get_window_extent().x1 + 3
    assert misplaced(drawing) == []


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
        for a, b in combinations(algorithms[:2], 2)  # k-Shape is not one of the paper's
        for k in (2, 3)
        if any(len(np.unique(one.sel(algorithm=name, n_clusters=k))) > 1 for name in (a, b))
    ]
    assert values(drawing, AGREEMENT) == pytest.approx([np.mean(each)])
    assert len(values(drawing, "silhouette")) <= (0 if together else 2)
    beside = [ax.get_title("right") for ax in drawing.figure.axes]
    assert sum(said.startswith("silhouette ") for said in beside) == (0 if together else 6)


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


def test_the_majority_vote_has_a_row_of_its_own_with_its_agreement(datasets, drawn, numbers):
    made = datasets["clusters"]
    vote = made["consensus"].isel(seed=0)
    drawing = drawn("clusters_all_heads")
    np.testing.assert_array_equal(drawing.data["consensus"], vote.transpose(*drawing.data["consensus"].dims))
    table = drawing.figure.axes[0]
    assert [text.get_text() for text in table.get_yticklabels()] == [
        "Euclidean K-means",
        "Ward",
        "majority vote",
    ]
    written = [text.get_text() for text in table.texts if text.get_position()[1] == 2]
    labels = vote.sel(n_clusters=2).values.tolist()
    order = list(dict.fromkeys(labels))
    assert written == [str(order.index(label) + 1) for label in labels]
    found = numbers(drawing)("agreement with the majority vote")
    k = int(found.label.split("k = ")[1][0])
    assert found.value == pytest.approx(float(made["consensus_agreement"].sel(n_clusters=k).squeeze()))
    assert any(said.startswith("Majority vote:") for said in drawing.conditions)


def test_clusters_made_before_the_majority_vote_are_drawn_without_it(datasets):
    older = datasets["clusters"].drop_vars(["consensus", "consensus_agreement"])
    for name in ("clusters_all_heads", "rllc_fig18_clusters_layer0"):
        drawing = figure(name)(datasets | {"clusters": older})
        assert not any("majority" in said.lower() for said in drawing.conditions)
        assert not values(drawing, "majority vote")


def test_agreement_of_algorithms_has_the_words_and_the_number_of_the_claim(make_study):
    study = make_study(n_heads=4)
    curves = study["rllc"]["rllc"].sel(distribution=["mixture"])
    four = ["euclidean_kmeans", "ward", "dtw_kmeans", "sbd_kmeans"]
    made = cluster(curves, n_clusters=[2, 3], random_seed=0, algorithms=[*four, "shape_kmeans"])
    drawing = figure("clusters_all_heads")(study | {"clusters": made}, vectors="checkpoints")
    (found,) = (each for each in drawing.findings if each.label.startswith(AGREEMENT))
    assert algorithms_agree.statistic.label.startswith(AGREEMENT)
    of_claim = against_types(made, int(curves["step"][-1]), None)["algorithms_agree"]
    assert found.value == pytest.approx(of_claim.isel(seed=0, step=0).item())

"""Clusters against types that were planted, and numbers that can be counted by hand."""

import numpy as np
import pytest
import xarray as xr
from sklearn.metrics import adjusted_rand_score

from rllc.analysis.clusters import clusters
from rllc.analysis.clusters_by_type import VARIABLES, against_types
from rllc.vocabulary import head_coords, head_labels

STEPS = np.unique(np.round(np.geomspace(1, 3000, 10))).astype(int)
FOUR = ["euclidean_kmeans", "ward", "dtw_kmeans", "sbd_kmeans"]
LAYER0 = ["previous-token", "previous-token", *["multigram"] * 6]
LAYER1 = ["induction", "induction", *["multigram"] * 6]


def study(kinds, noise=0.01):
    """A late step for previous-token and induction heads, a decline for the others, on two distributions."""
    x = np.log1p(STEPS) / np.log1p(STEPS[-1])
    shapes = {"multigram": 1 - x}
    values = np.stack([shapes.get(kind, 2 / (1 + np.exp(-(x - 0.7) / 0.05))) for kind in kinds], axis=-1)
    values = values[None, :, :, None] * [1.0, 1.3]
    values = values + noise * np.random.default_rng(1).normal(size=values.shape)
    coords = {"seed": [0], "step": STEPS, "distribution": ["mixture", "code"]}
    dims = ("seed", "step", "head", "distribution")
    rllc = xr.Dataset(
        {"rllc": (dims, values), "rllc_se": (dims, np.full_like(values, 0.02))},
        coords={**coords, **head_coords(head_labels(2, len(kinds) // 2))},
    )
    types = xr.DataArray([kinds], {"seed": [0], "head": rllc["head"].values}, ("seed", "head"))
    return {"rllc": rllc, "attention_scores": xr.Dataset({"head_type": types})}


def of(datasets, n_clusters=(2, 3), algorithms=(*FOUR, "shape_kmeans")):
    made = clusters(
        datasets, distributions=["mixture", "code"], n_clusters=list(n_clusters), algorithms=list(algorithms),
        points=8, standardize=False, random_seed=0,
    )  # fmt: skip
    return made.isel(seed=0, step=0)


@pytest.fixture(scope="module")
def planted():
    return of(study([*LAYER0, *LAYER1]))


def test_planted_types_are_the_clusters(planted):
    by_algorithm = [f"rand_types_{name}" for name in ("kshape", "shape", "euclidean")]
    for name in (*by_algorithm, "first_split_layer0", "first_split_layer1"):
        assert planted[name] == 1, name
    assert planted["rand_types_shape_p"] == pytest.approx(1 / 28)  # 8! / (2! 6!) orders
    assert planted["standardizing_keeps"] > 0.5  # two of three clusters are there, the third is noise
    assert planted["indices_right"] == 3  # two types per layer, two clusters


def test_numbers_are_those_of_the_clusters(planted):
    """Counted anew from ``cluster_checkpoints``, by scikit-learn."""
    at = planted["cluster_checkpoints"].sel(vectors="checkpoints", algorithm=FOUR)
    scopes = {f"layer {n}": at.sel(head=planted["layer"] == n) for n in (0, 1)}
    pairs = [
        adjusted_rand_score(one.sel(n_clusters=k, algorithm=a), one.sel(n_clusters=k, algorithm=b))
        for one in scopes.values()
        for k in (2, 3)
        for i, a in enumerate(FOUR)
        for b in FOUR[i + 1 :]
    ]
    assert planted["algorithms_agree"] == pytest.approx(np.mean(pairs))
    at_types = [
        adjusted_rand_score(one.sel(n_clusters=2, algorithm="euclidean_kmeans"), kinds)
        for one, kinds in zip(scopes.values(), (LAYER0, LAYER1), strict=True)
    ]
    assert planted["rand_types_euclidean"] == pytest.approx(np.mean(at_types))
    induction = scopes["layer 1"].sel(head=["1:0", "1:1"], n_clusters=3)
    assert planted["induction_split"] == (induction[0] != induction[1]).mean()
    scored = planted["cluster_standardized"]
    keeps = [
        adjusted_rand_score(
            scored.sel(head=one["head"], n_clusters=k), one.sel(n_clusters=k, algorithm=FOUR[0])
        )
        for one in scopes.values()
        for k in (2, 3)
    ]
    assert planted["standardizing_keeps"] == pytest.approx(np.mean(keeps))


def test_best_numbers_of_clusters_are_read_off_the_scores(planted):
    """The first index is best at three clusters, the second at two, the third (the smallest) at three."""
    made = planted.expand_dims(seed=[0]).drop_vars([*VARIABLES, "step"])
    scores = xr.zeros_like(made["score_checkpoints"])
    scores.loc[{"n_clusters": 2}] = [0.1, 9.0, 0.9]
    scores.loc[{"n_clusters": 3}] = [0.2, 8.0, 0.8]
    kinds = study([*LAYER0, *LAYER1])["attention_scores"]["head_type"]
    again = against_types(made.assign(score_checkpoints=scores), 40, kinds)
    assert again["indices_right"].item() == 1
    kinds[0, 2] = "current-token"  # three types in layer 0, two in layer 1: two there, one here
    again = against_types(made.assign(score_checkpoints=scores), 40, kinds)
    assert again["indices_right"].item() == 2


def test_what_there_is_not_is_not_judged(planted):
    """No head of a kind, no such scope, no such algorithm: NaN, and nothing that fails."""
    without = of(study([*LAYER0, *["multigram"] * 8]), algorithms=["ward"], n_clusters=[2])
    for name in VARIABLES:
        assert np.isnan(without[name]), name
    small = of(
        study(["previous-token", "multigram", "multigram", "induction", "induction", "multigram"]),
        n_clusters=[3], algorithms=FOUR,
    )  # fmt: skip
    for name in ("first_split_layer0", "first_split_layer1", "indices_right"):
        assert np.isnan(small[name]), name
    untyped = of({"rllc": study([*LAYER0, *LAYER1])["rllc"]}, n_clusters=[2], algorithms=FOUR)
    assert untyped["algorithms_agree"].notnull()
    assert untyped["rand_types_shape"].isnull() and untyped["induction_split"].isnull()
    assert set(VARIABLES) <= set(untyped)

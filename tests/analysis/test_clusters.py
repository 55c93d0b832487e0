import itertools

import numpy as np
import pytest
import xarray as xr
from sklearn import metrics

from rllc.analysis.clustering import ALGORITHMS, concatenated, sbd_kmeans, shape_distance
from rllc.analysis.clusters import INDICES, cluster, scopes, scores
from rllc.analysis.partitions import canonical
from rllc.analysis.trajectories import resample, z_score
from rllc.vocabulary import head_coords, head_labels

STEPS = np.unique(np.round(np.geomspace(1, 3000, 24))).astype(int)
KINDS = np.asarray([0, 1, 2, 1, 0, 2, 1, 0])  # of heads 0:0 .. 1:3


def planted(n_heads=4, seeds=(0,), noise=0.02):
    """Three shapes on two distributions: a late step, a bump, a decline; the heads of a kind vary in size."""
    x = np.log1p(STEPS) / np.log1p(STEPS[-1])
    shapes = np.stack([1 / (1 + np.exp(-(x - 0.7) / 0.03)), np.exp(-(((x - 0.4) / 0.08) ** 2)), 1 - x])
    kinds = np.resize(KINDS, 2 * n_heads)
    random = np.random.default_rng(5)
    size = 3 + 0.1 * random.random((len(seeds), 1, len(kinds), 2))
    values = size * shapes[kinds].T[None, :, :, None] * [1.0, 1.4] + noise * random.normal(
        size=(1, len(x), len(kinds), 2)
    )
    return xr.DataArray(
        values,
        dims=("seed", "step", "head", "distribution"),
        coords={
            "seed": list(seeds),
            "step": STEPS,
            "distribution": ["mixture", "code"],
            **head_coords(head_labels(2, n_heads)),
        },
    )


@pytest.fixture(scope="module")
def found():
    return cluster(planted(), n_clusters=[2, 3], random_seed=1, points=16, n_init=3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_algorithm_recovers_planted_clusters(found, algorithm):
    labels = found["cluster"].sel(seed=0, algorithm=algorithm, n_clusters=3)
    np.testing.assert_array_equal(labels, canonical(KINDS))


def test_scores_equal_sklearn(found):
    from scipy.spatial.distance import cdist
    from tslearn.metrics import cdist_dtw, cdist_normalized_cc
    from tslearn.preprocessing import TimeSeriesScalerMeanVariance

    grid = resample(planted(), points=16).transpose("seed", "head", "grid", "distribution").values[0]
    flat = np.concatenate([grid[..., 0], grid[..., 1]], axis=1)
    scaled = TimeSeriesScalerMeanVariance().fit_transform(grid)
    size = np.linalg.norm(scaled, axis=(1, 2))
    apart = {
        "euclidean_kmeans": cdist(flat, flat),
        "ward": cdist(flat, flat),
        "dtw_kmeans": cdist_dtw(grid),
        "shape_kmeans": 1 - cdist_normalized_cc(scaled, scaled, size, size, False),
    }
    whole = TimeSeriesScalerMeanVariance().fit_transform(flat)
    size = np.linalg.norm(whole, axis=(1, 2))
    apart["sbd_kmeans"] = 1 - cdist_normalized_cc(whole, whole, size, size, False)
    for algorithm in ALGORITHMS:
        table = np.where(np.eye(8, dtype=bool), 0, apart[algorithm])
        for k in (2, 3):
            labels = found["cluster"].sel(seed=0, algorithm=algorithm, n_clusters=k).values
            got = found["score"].sel(seed=0, scope="all heads", algorithm=algorithm, n_clusters=k)
            truth = [
                metrics.silhouette_score(table, labels, metric="precomputed"),
                metrics.calinski_harabasz_score(flat, labels),
                metrics.davies_bouldin_score(flat, labels),
            ]
            np.testing.assert_allclose(got.sel(index=list(INDICES)), truth, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2]])
def test_one_cluster_and_one_per_head_have_no_scores(labels):
    curves = np.random.default_rng(0).normal(size=(3, 5, 2))
    assert np.isnan(scores(curves, np.array(labels), 1 - np.eye(3))).all()


def test_agreement_equals_sklearn(found):
    labels = found["cluster"].sel(seed=0, n_clusters=2)
    got = found["agreement"].sel(seed=0, scope="all heads", n_clusters=2)
    for a in ALGORITHMS:
        for b in ALGORITHMS:
            truth = metrics.adjusted_rand_score(labels.sel(algorithm=a), labels.sel(algorithm=b))
            assert got.sel(algorithm=a, other_algorithm=b).item() == pytest.approx(truth)


def test_contract_and_file(found, tmp_path):
    assert found["cluster"].dims == ("seed", "head", "algorithm", "n_clusters")
    assert found["score"].dims == ("seed", "scope", "algorithm", "n_clusters", "index")
    assert found["head_scope"].values.tolist() == ["all heads"] * 8
    found.to_netcdf(tmp_path / "clusters.nc")
    again = xr.load_dataset(tmp_path / "clusters.nc")
    xr.testing.assert_equal(again["cluster"], found["cluster"])
    assert again.attrs["distributions"] == ["mixture", "code"]


def test_the_order_of_heads_changes_nothing(found):
    order = np.random.default_rng(2).permutation(8)
    some = ["ward", "shape_kmeans", "sbd_kmeans"]
    again = cluster(
        planted().isel(head=order), n_clusters=[2, 3], random_seed=1, points=16, n_init=3, algorithms=some
    )
    for name in ("cluster", "cluster_checkpoints"):
        xr.testing.assert_equal(again[name].sel(head=found["head"]), found[name].sel(algorithm=some))
    assert again["head"].values.tolist() == planted()["head"].values[order].tolist()


def test_eight_heads_per_layer_are_clustered_by_layer():
    data = planted(n_heads=8)
    found = cluster(data, n_clusters=[3], random_seed=0, points=16, algorithms=["ward"])
    assert found["scope"].values.tolist() == ["layer 0", "layer 1"]
    labels = found["cluster"].isel(seed=0, algorithm=0, n_clusters=0)
    for layer in (0, 1):
        inside = labels.values[data["layer"].values == layer]
        np.testing.assert_array_equal(inside, canonical(np.resize(KINDS, 16)[8 * layer :][:8]))
    assert list(scopes(np.repeat([0, 1], [8, 7]))) == ["all heads"]


def test_heads_without_curves_are_left_out():
    data = planted(seeds=(0, 1))
    data[0, :, 3, 1] = np.nan
    data[1, :, 3:, 0] = np.nan
    found = cluster(
        data, n_clusters=[2, 3], random_seed=0, points=16, algorithms=["ward", "euclidean_kmeans"]
    )
    first = found["cluster"].sel(seed=0, algorithm="ward", n_clusters=3)
    np.testing.assert_array_equal(first, [0, 1, 2, -1, 0, 2, 1, 0])
    assert (found["cluster"].sel(seed=1, n_clusters=3) == -1).all()
    assert (found["cluster"].sel(seed=1, n_clusters=2) >= 0).sum("head").values.tolist() == [3, 3]
    for variable in ("score", "agreement"):
        assert found[variable].sel(seed=1, n_clusters=3).isnull().all()
        assert found[variable].sel(seed=0).notnull().all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_clusters": [8]}, "from 2 to 7"),
        ({"n_clusters": [1]}, "from 2 to 7"),
        ({"n_clusters": []}, "from 2 to 7"),
        ({"n_clusters": [2], "algorithms": ["kmeans"]}, "euclidean_kmeans"),
    ],
)
def test_bad_settings_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        cluster(planted(), random_seed=0, **options)


def test_sbd_kmeans_finds_the_best_of_all_partitions():
    """Enumerated: every partition of 7 series into 3, each at the mean of its part, SBD by np.correlate."""
    random = np.random.default_rng(8)
    curves = np.cumsum(random.normal(size=(7, 15, 2)), axis=1)
    series = [(one - one.mean()) / one.std() for one in np.hstack([curves[..., 0], curves[..., 1]])]

    def apart(labels):
        total = 0.0
        for k in range(3):
            part = [one for one, label in zip(series, labels, strict=True) if label == k]
            mean = sum(part) / len(part)
            for one in part:
                peak = np.correlate(one, mean, "full").max()
                total += 1 - peak / np.sqrt((one @ one) * (mean @ mean))
        return total

    every = [labels for labels in itertools.product(range(3), repeat=7) if len(set(labels)) == 3]
    truth = min(every, key=apart)
    found = canonical(sbd_kmeans(curves, 3, random_state=0, n_init=15))
    np.testing.assert_array_equal(found, canonical(np.asarray(truth)))


def test_vectors_at_the_checkpoints_are_the_papers():
    """Exact: Ward on the raw curves one after the other, and on those of the first distribution alone."""
    from sklearn.cluster import AgglomerativeClustering

    data = planted(noise=3.0)
    data[0, 2, 1, 0] = np.nan
    found = cluster(data, n_clusters=[3], random_seed=0, points=16, algorithms=["ward", "sbd_kmeans"])
    raw = data.transpose("seed", "distribution", "head", "step").values[0].copy()
    x = np.log1p(STEPS)
    raw[0, 1, 2] = np.interp(x[2], x[[1, 3]], raw[0, 1, [1, 3]])
    for vectors, rows in (("checkpoints", np.hstack([raw[0], raw[1]])), ("checkpoints_first", raw[0])):
        truth = canonical(AgglomerativeClustering(3, linkage="ward").fit_predict(rows))
        at = {"seed": 0, "vectors": vectors, "algorithm": "ward", "n_clusters": 3}
        np.testing.assert_array_equal(found["cluster_checkpoints"].sel(at), truth)
        ours = found["cluster"].sel(seed=0, algorithm="ward", n_clusters=3)
        same = found["agreement_vectors"].sel(at | {"scope": "all heads"})
        assert same == pytest.approx(metrics.adjusted_rand_score(ours, truth))
        assert same < 1
    alone = cluster(data.isel(distribution=[1]), n_clusters=[3], random_seed=0, algorithms=["ward"])
    assert alone["vectors"].values.tolist() == ["checkpoints"]


def test_shape_distance_known_values():
    bump = np.asarray([0, 0, 1, 2, 1, 0, 0, 0], float)
    later = np.roll(bump, 2)
    assert shape_distance(bump, later) == pytest.approx(0.0, abs=1e-12)
    assert shape_distance(z_score(bump), z_score(later)) == pytest.approx(0.125, abs=5e-4)
    one, two = np.arange(1.0, 11), np.arange(11.0, 21)
    assert shape_distance(z_score(one), z_score(two)) == pytest.approx(0.0, abs=1e-12)
    assert shape_distance(one, two) == pytest.approx(0.0441, abs=5e-5)
    assert shape_distance([1.0, 2.0], [-1.0, -2.0]) == pytest.approx(1.4)
    assert shape_distance(bump, 0 * bump) == 1.0


def test_shape_distance_is_that_of_tslearn_with_a_common_lag():
    from tslearn.metrics import cdist_normalized_cc

    series = np.random.default_rng(3).normal(size=(4, 12, 2))
    size = np.linalg.norm(series, axis=(1, 2))
    truth = 1 - cdist_normalized_cc(series, series, size, size, False)
    ours = [[shape_distance(a, b) for b in series] for a in series]
    np.testing.assert_allclose(ours, truth, atol=1e-12)


def test_canonical_and_concatenated():
    np.testing.assert_array_equal(canonical(np.asarray([2, 2, -1, 0, 2, 1])), [0, 0, -1, 1, 0, 2])
    curves = np.arange(12).reshape(1, 3, 4)
    np.testing.assert_array_equal(concatenated(curves)[0, :6], [0, 4, 8, 1, 5, 9])


def test_the_majority_vote_recovers_planted_clusters_and_all_agree_with_it(found):
    vote = found["consensus"].sel(seed=0, n_clusters=3)
    np.testing.assert_array_equal(vote, canonical(KINDS))
    assert float(found["consensus_agreement"].sel(seed=0, scope="all heads", n_clusters=3)) > 0.9


def test_the_majority_vote_is_over_all_algorithms_and_vectors(found):
    from rllc.analysis.consensus import agreement, majority_vote, weights

    at = {"seed": 0, "n_clusters": 2}
    every = [found["cluster"].sel(at)]
    every += [found["cluster_checkpoints"].sel(at | {"vectors": name}) for name in found["vectors"].values]
    rows = np.concatenate([each.transpose("algorithm", "head").values for each in every])
    weight = np.tile(weights(found["algorithm"].values.tolist()), len(every))
    vote = majority_vote(rows, weight)
    np.testing.assert_array_equal(found["consensus"].sel(at), vote)
    index = float(found["consensus_agreement"].sel(at | {"scope": "all heads"}))
    assert index == pytest.approx(agreement(rows, weight, vote))


def test_heads_that_are_not_clustered_have_no_vote():
    curves = planted()
    curves[0, 1:, 2] = np.nan
    made = cluster(curves, n_clusters=[2], random_seed=1, algorithms=["ward"])
    assert int(made["consensus"].sel(seed=0, head="0:2", n_clusters=2)) == -1
    others = made["consensus"].sel(seed=0, n_clusters=2, head=made["head"] != "0:2")
    assert others.min() == 0 and np.isfinite(made["consensus_agreement"]).all()

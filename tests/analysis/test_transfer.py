"""Clusters carried over to seeds whose heads are known to be the same, in another order."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from rllc.analysis.clustering import PUBLISHED
from rllc.analysis.transfer import transfer
from rllc.vocabulary import head_coords, head_labels

STEPS = np.unique(np.round(np.geomspace(1, 3000, 20))).astype(int)
KINDS = np.asarray(
    ["previous-token", "multigram", "current-token", "multigram", "previous-token", "multigram"]
)
SHAPE = ["sbd_kmeans"]


def curves(kinds, scale, offset=0.0):
    """A late step, a bump and a decline, by type: [step, head]."""
    x = np.log1p(STEPS) / np.log1p(STEPS[-1])
    shapes = {
        "previous-token": 1 / (1 + np.exp(-(x - 0.7) / 0.03)),
        "current-token": np.exp(-(((x - 0.4) / 0.08) ** 2)),
        "multigram": 1 - x,
    }
    return offset + scale * np.stack([shapes[kind] for kind in kinds], axis=-1)


def study(orders, *, scale=1.0, offset=0.0, layers=2, noise=0.0):
    """Seeds whose heads have these orders of the types; from the second seed on scaled and shifted."""
    heads = len(orders[0])
    values = np.stack(
        [curves(order, *((scale, offset) if n else (1.0, 0.0))) for n, order in enumerate(orders)]
    )
    values = values + noise * np.random.default_rng(0).normal(size=values.shape)
    rllc = xr.Dataset(
        {"rllc": (("seed", "step", "head"), values), "rllc_se": (("seed", "step", "head"), 0.1 + 0 * values)},
        coords={
            "seed": np.arange(len(orders)),
            "step": STEPS,
            **head_coords(head_labels(layers, heads // layers)),
        },
    ).expand_dims(distribution=["mixture"])
    kinds = xr.DataArray(
        np.asarray(orders, dtype=object),
        {"seed": rllc["seed"], "head": rllc["head"].values},
        ("seed", "head"),
    )
    return {"rllc": rllc, "attention_scores": xr.Dataset({"head_type": kinds})}


def carried(datasets, algorithms=SHAPE, n_clusters=(2, 3), points=None):
    return transfer(
        datasets, distribution="mixture", n_clusters=n_clusters, algorithms=algorithms, points=points, random_seed=0
    )  # fmt: skip


@pytest.mark.parametrize("algorithm", PUBLISHED)
def test_seeds_of_the_same_heads_have_the_same_clusters(algorithm):
    orders = [KINDS, KINDS[::-1], np.roll(KINDS, 2)]
    made = carried(study(orders), algorithms=list(dict.fromkeys([*SHAPE, algorithm])))
    cell = made.sel(algorithm=algorithm, n_clusters=3, scope="all heads")
    np.testing.assert_array_equal(cell["rand_types"], 1)
    np.testing.assert_array_equal(cell["rand_own"], 1)
    np.testing.assert_allclose(cell["p"], 1 / 60)  # 6! / (3! 2! 1!) orders
    np.testing.assert_allclose(cell["distance"], 0, atol=1e-9)
    numbers = {"previous-token": 0, "multigram": 1, "current-token": 2}  # by the first head of the first seed
    assert cell["cluster"].values.tolist() == [[numbers[kind] for kind in order] for order in orders]
    assert made["rand_types_mean"].isel(step=-1).values.tolist() == [1, 1, 1]
    assert made["p_of_most"].isel(step=-1).values == pytest.approx([1 / 60] * 3)


@pytest.mark.parametrize(("heads", "p"), [(6, np.nan), (7, 1 / 21)])
def test_p_is_not_asked_of_seeds_in_which_it_cannot_be_small(heads, p):
    """Two heads among six are 1 of 15 orders at best, however good the clusters are; among seven 1 of 21."""
    kinds = np.asarray(["previous-token"] * 2 + ["multigram"] * (heads - 2))
    made = carried(study([kinds] * 3, layers=1))
    np.testing.assert_allclose(made["p_least"].values.ravel(), 2 / heads / (heads - 1))
    np.testing.assert_allclose(made["p_of_most"].isel(step=-1), p)
    np.testing.assert_allclose(made["rand_types_mean"].isel(step=-1), 1)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(6)), st.floats(0.01, 100), st.floats(-50, 50))
def test_shapes_are_carried_over_whatever_their_order_scale_and_offset(order, scale, offset):
    made = carried(study([KINDS, KINDS[order]], scale=scale, offset=offset))
    assert made["rand_types"].sel(seed=1, n_clusters=3).item() == 1
    first, other = made["cluster"].sel(algorithm="sbd_kmeans", n_clusters=3).values
    np.testing.assert_array_equal(other, first[order])


def test_a_seed_without_a_scope_is_left_out_of_the_mean():
    datasets = study([KINDS, KINDS, KINDS, KINDS], layers=1)
    datasets["attention_scores"]["head_type"][3] = "unknown"
    made = carried(datasets)
    assert made["rand_types"].sel(seed=3).isnull().all()
    np.testing.assert_array_equal(made["rand_types_mean"].isel(step=-1), 1)


def test_types_that_are_shuffled_give_0_in_the_mean():
    """Exact: over all 60 orders of the types an adjusted Rand index has the mean 0."""
    from itertools import permutations

    orders = sorted(set(permutations(KINDS.tolist())))
    datasets = study([KINDS] * (1 + len(orders)))
    datasets["attention_scores"]["head_type"][1:] = np.asarray(orders, dtype=object)
    made = carried(datasets)
    assert made["rand_types"].isel(seed=slice(1, None)).mean("seed").values == pytest.approx(0, abs=1e-12)
    assert made["rand_types_mean"].isel(step=-1, seed=0).item() == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(made["rand_own"], 1)


def test_the_nearest_centre_is_taken_not_the_seeds_own_clusters():
    """A seed that lacks a type leaves a cluster empty, where its own clusters divide a type."""
    made = carried(study([KINDS, ["multigram"] * 3 + ["previous-token"] * 3], noise=1e-3), n_clusters=(3,))
    assert made["cluster"].sel(seed=1).values.ravel().tolist() == [1, 1, 1, 0, 0, 0]
    assert made["rand_types"].sel(seed=1).item() == 1
    assert made["rand_own"].sel(seed=1).item() < 1
    shifted = study([KINDS, KINDS])
    shifted["rllc"]["rllc"][0, 1, :, 0] = curves(["multigram"], 1.0)[:, 0]
    assert carried(shifted)["cluster"].sel(seed=1, n_clusters=3).values.ravel().tolist() == [1, 1, 2, 1, 0, 1]


def test_eight_heads_per_layer_are_carried_over_by_layer():
    order = np.resize(KINDS, 16)
    made = carried(study([order, order[::-1]], noise=1e-3))
    assert made["scope"].values.tolist() == ["layer 0", "layer 1"]
    assert (made["rand_types"].sel(n_clusters=3) == 1).all()
    assert made["centroid"].dims == ("scope", "algorithm", "n_clusters", "cluster_number", "grid")
    means = made["centroid"].sel(n_clusters=2)
    assert means.isel(cluster_number=2).isnull().all() and means.isel(cluster_number=1).notnull().all()


def test_the_lead_of_shapes_is_over_the_best_other():
    """A bump that comes later in other seeds: shapes and DTW know it again, distances point by point do not."""
    datasets = study([KINDS, KINDS, KINDS])
    x = np.log1p(STEPS) / np.log1p(STEPS[-1])
    datasets["rllc"]["rllc"][0, 1:, :, 2] = np.exp(-(((x - 0.8) / 0.08) ** 2))
    leads = {}
    for others in (["euclidean_kmeans", "ward"], ["euclidean_kmeans", "dtw_kmeans"]):
        made = carried(datasets, algorithms=[*SHAPE, *others], n_clusters=(3,))
        means = made["rand_types"].isel(seed=slice(1, None)).mean(["seed", "scope", "n_clusters"])
        assert means.sel(algorithm="sbd_kmeans") == 1 and means.sel(algorithm="euclidean_kmeans") < 0.8
        leads[others[1]] = made["shape_lead"].isel(step=-1, seed=0).item()
    assert leads["ward"] > 0.2 and leads["dtw_kmeans"] == 0


def test_what_cannot_be_carried_over():
    one = study([KINDS])
    with pytest.raises(
        ValueError, match=r"carried over to other training seeds; rllc.nc has \[0\]: train two"
    ):
        carried(one)
    unlike = study([KINDS, KINDS])
    unlike["rllc"]["rllc"][0, 1, -2:] = np.nan
    with pytest.raises(
        ValueError, match=f"unlike steps .0: 1 to 3000, 1: 1 to {STEPS[-3]}.: expected one range"
    ):
        carried(unlike)
    with pytest.raises(ValueError, match="no distribution code"):
        transfer(one, distribution="code", n_clusters=[2], algorithms=SHAPE, points=None, random_seed=0)


def test_heads_that_are_not_measured_are_in_no_cluster(tmp_path):
    datasets = study([KINDS, KINDS])
    datasets["rllc"]["rllc"][0, 1, :, 2] = np.nan
    datasets["attention_scores"]["head_type"][1, 5] = "unknown"
    made = carried(datasets, points=16)
    assert made["cluster"].sel(seed=1, n_clusters=3).values.ravel().tolist() == [0, 1, -1, 1, 0, 1]
    assert made["distance"].sel(seed=1, head="0:2").isnull().all()
    assert made["rand_types"].sel(seed=1, n_clusters=2).item() == 1
    made.to_netcdf(tmp_path / "transfer.nc")
    again = xr.load_dataset(tmp_path / "transfer.nc")
    assert all({"units", "long_name"} <= set(again[name].attrs) for name in again)
    few = study([KINDS, KINDS])
    few["rllc"]["rllc"][0, 0, :, 1:] = np.nan
    made = carried(few)
    assert (made["cluster"] == -1).all() and made["rand_types"].isnull().all()


def test_claims_about_seeds_need_three_of_them():
    three, two = (carried(study([KINDS] * seeds), algorithms=["ward", *SHAPE]) for seeds in (3, 2))
    for name in ("rand_types_mean", "p_of_most", "shape_lead"):
        assert three[name].isel(step=-1).notnull().all() and two[name].isnull().all(), name
        assert three[name].isel(step=slice(-1)).isnull().all(), name

from itertools import combinations, pairwise, product

import numpy as np
import pytest
import torch
import xarray as xr

from rllc.analysis.regions import regions
from rllc.measures.circuits.kernel import circuits_to_answers, full_circuits
from rllc.models.transformer import Architecture, shapes
from rllc.study.table import MEASURES

MODELS = [(1, 1), (2, 1), (3, 1), (2, 2)]  # heads, layers


def architecture(heads: int, layers: int = 1, d_head: int = 3) -> Architecture:
    return Architecture(layers, heads, d_model=7, d_head=d_head, n_ctx=4, d_vocab=9, positions="standard")


def random_weights(shape: Architecture, seed: int = 0) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    return {name: torch.randn(size, generator=random) for name, size in shapes(shape).items()}


def given_circuits(qk, ov):
    """Weights whose full circuits are the given ones: [head][n, n] each, W_E = W_U = 1, d_head = n."""
    qk, ov = torch.as_tensor(np.array(qk)).float(), torch.as_tensor(np.array(ov)).float()
    heads, n = qk.shape[:2]
    shape = Architecture(1, heads, d_model=n, d_head=n, n_ctx=4, d_vocab=n, positions="standard")
    weights = {name: torch.zeros(size) for name, size in shapes(shape).items()}
    one = torch.eye(n)
    weights |= {"embed.W_E": one, "unembed.W_U": one}
    weights |= {f"blocks.0.attn.W_{m}": one.repeat(heads, 1, 1) for m in "KO"}
    weights |= {"blocks.0.attn.W_Q": qk, "blocks.0.attn.W_V": ov}
    return full_circuits(weights, architecture=shape, tokens=range(n))


def expected_by_loops(weights, tokens, layer):
    """Every variable again, entry by entry in numpy."""
    w = {name: value.double().numpy() for name, value in weights.items()}
    q, k, v, o = (w[f"blocks.{layer}.attn.W_{m}"] for m in "QKVO")
    heads, n = len(q), len(tokens)
    full = np.zeros((heads, 2, n, n))
    for h, i, j in product(range(heads), range(n), range(n)):
        source, other = w["embed.W_E"][tokens[i]], w["embed.W_E"][tokens[j]]
        full[h, 0, i, j] = (source @ q[h]) @ (other @ k[h])
        full[h, 1, i, j] = source @ v[h] @ o[h] @ w["unembed.W_U"][:, tokens[j]]
    rank, effective, symmetry = np.zeros((heads, 2)), np.zeros((heads, 2)), np.zeros((heads, 2, 2))
    for h, c in product(range(heads), range(2)):
        W = full[h, c]
        rank[h, c] = np.linalg.matrix_rank(W.astype(np.float32))
        p = np.linalg.svd(W)[1] / np.linalg.svd(W)[1].sum()
        effective[h, c] = np.exp(-sum(x * np.log(x) for x in p if x > 0))
        total = 0.0
        for i, j in product(range(1, n - 1), repeat=2):
            total += abs(W[i, j] - (W[i - 1, j + 1] + W[i + 1, j - 1]) / 2)
            total -= abs(W[i, j] - (W[i - 1, j - 1] + W[i + 1, j + 1]) / 2)
        symmetry[h, c] = total / (n - 2) ** 2 / np.abs(W).mean(), total / (n - 2) ** 2 / W.mean()
    overlaps = np.array(
        [
            [
                1 - np.abs(a - b).sum() / (np.abs(a) + np.abs(b)).sum()
                for a, b in zip(full[k], full[m], strict=True)
            ]
            for k, m in combinations(range(heads), 2)
        ]
    )
    winners = [max(range(heads), key=lambda h: full[h, 1, t, t]) for t in range(n)]
    anti = [
        np.corrcoef(full[h, 1].ravel(), -sum(full[g, 1] for g in range(heads) if g != h).ravel())[0, 1]
        if heads > 1
        else np.nan
        for h in range(heads)
    ]
    return {
        "qk": full[:, 0], "ov": full[:, 1], "rank": rank, "effective_rank": effective, "symmetry": symmetry,
        "rank_sum": rank.sum(), "effective_rank_sum": effective.sum(),
        "translational_symmetry": symmetry[..., 0].sum(),
        "translational_symmetry_mean": symmetry[..., 0].sum() / (2 * heads),
        "head_overlap": overlaps.mean() if heads > 1 else np.nan,
        "token_head": winners, "vocabulary_share": [winners.count(h) / n for h in range(heads)],
        "regions": 1 + sum(a != b for a, b in pairwise(winners)), "anti_state": anti,
        **({"overlap": overlaps} if heads > 1 else {}),
    }  # fmt: skip


@pytest.mark.parametrize(("heads", "layers"), MODELS)
def test_equal_to_loops_entry_by_entry(heads, layers):
    shape = architecture(heads, layers)
    weights, tokens, layer = random_weights(shape), [1, 2, 3, 5, 6, 8], layers - 1
    got = full_circuits(weights, architecture=shape, tokens=tokens, layer=layer)
    expected = expected_by_loops(weights, tokens, layer)
    assert set(got.data_vars) == {*expected, "regions_min3"}
    for name, value in expected.items():
        np.testing.assert_allclose(got[name].values, value, rtol=1e-5, atol=1e-6, err_msg=name)
    assert got["qk"].dims == got["ov"].dims == ("head", "token", "other_token")
    assert got["token"].values.tolist() == got["other_token"].values.tolist() == tokens
    assert got["head"].values.tolist() == [f"{layer}:{h}" for h in range(heads)]
    assert set(got.data_vars) - {"overlap"} == {
        name for row in MEASURES if row.name == "circuits" for name in row.variables
    } - {"overlap", "ov_answers"}


def test_a_circuit_constant_along_diagonals_has_no_irregularity_along_them():
    """W_ij = (-1)^(i-j) a: irregularity 0 along the diagonals, and across them too (i - j moves by 2).

    W_ij = (i - j)^2: W_i-1,j+1 + W_i+1,j-1 = 2 W_ij + 8, so across them 4 everywhere. Transposing the
    neighbours, i + j for i - j, turns the sign.
    """
    i, j = np.indices((6, 6))
    stripes, alternating = (i - j) ** 2.0, (-1.0) ** (i - j)
    got = given_circuits([stripes, alternating], [(i + j) ** 2.0, np.ones((6, 6))]).symmetry
    np.testing.assert_allclose(got.sel(head="0:0", circuit="qk"), 4 / stripes.mean(), rtol=1e-6)
    np.testing.assert_allclose(got.sel(head="0:0", circuit="ov"), -4 / ((i + j) ** 2.0).mean(), rtol=1e-6)
    np.testing.assert_allclose(got.sel(head="0:1", normalisation="mean_abs"), 0, atol=1e-7)
    negative = given_circuits([-stripes], [stripes]).symmetry.sel(circuit="qk").squeeze()
    np.testing.assert_allclose(negative, [4 / stripes.mean(), -4 / stripes.mean()], rtol=1e-6)


def test_ranks_of_known_singular_values():
    """diag of k ones: both ranks k. Below 2^-23 n of the largest, a singular value is not counted."""
    n = 8
    threshold = n * 2.0**-23
    ones, small = np.diag([1.0] * 5 + [0] * 3), np.diag([1, 2 * threshold, 0.5 * threshold, *[0.0] * 5])
    got = given_circuits([ones], [small])
    assert got["rank"].values.tolist() == [[5, 2]]
    np.testing.assert_allclose(got.effective_rank.sel(circuit="qk"), 5)
    np.testing.assert_allclose(got.effective_rank.sel(circuit="ov"), 1, atol=1e-4)
    assert got["rank"].attrs["relative_tolerance"] == threshold
    assert int(got.rank_sum) == 7


def test_a_circuit_that_is_zero_has_rank_zero_and_no_effective_rank():
    got = given_circuits([np.zeros((4, 4))], [np.eye(4)])
    assert got["rank"].values.tolist() == [[0, 4]]
    assert np.isnan(got["effective_rank"]).values.tolist() == [[True, False]]
    assert got["symmetry"].sel(circuit="qk").isnull().all()


def test_the_tolerance_is_an_argument():
    shape = architecture(2)
    got = full_circuits(random_weights(shape), architecture=shape, tokens=range(8), tolerance=0.999999)
    assert got["rank"].values.tolist() == [[1, 1], [1, 1]]


def test_rank_is_bounded_by_d_head_whatever_the_rounding():
    shape = Architecture(1, 2, d_model=24, d_head=12, n_ctx=4, d_vocab=60, positions="standard")
    got = full_circuits(random_weights(shape), architecture=shape, tokens=range(60))
    assert (got["rank"] == 12).all()


def test_overlap_of_equal_opposite_and_disjoint_circuits():
    one = np.ones((3, 3))
    half = np.diag([1.0, 0, 0]), np.diag([0, 1.0, 0])
    got = given_circuits([one, 2 * one, half[0]], [half[0], half[1], -half[0]])
    assert got["pair"].values.tolist() == ["0:0+0:1", "0:0+0:2", "0:1+0:2"]
    np.testing.assert_allclose(got.overlap.sel(pair="0:0+0:1"), [1 - 9 / 27, 0], atol=1e-12)
    np.testing.assert_allclose(got.overlap.sel(pair="0:0+0:2"), [1 - 8 / 10, 0], atol=1e-12)


def test_an_anti_state_head_is_minus_the_sum_of_the_others():
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 30, 30))
    got = given_circuits([a, a, a], [a, b, -2 * (a + b) + 7]).anti_state
    np.testing.assert_allclose(got.sel(head="0:2"), 1.0, rtol=1e-5)
    two = given_circuits([a, a], [a, a]).anti_state
    np.testing.assert_allclose(two, -1.0, rtol=1e-5)


def test_one_head_has_no_pairs():
    shape = architecture(1)
    got = full_circuits(random_weights(shape), architecture=shape, tokens=range(8))
    assert "overlap" not in got and "pair" not in got.dims
    assert np.isnan(got.head_overlap) and got.anti_state.isnull().all()
    assert (got.token_head == 0).all() and int(got.regions) == int(got.regions_min3) == 1


def runs(assigned) -> list[int]:
    """Lengths of the runs of equal neighbours."""
    edges = np.flatnonzero(np.diff(assigned)) + 1
    return np.diff([0, *edges, len(assigned)]).tolist()


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("shortest", [1, 2, 3, 4])
def test_regions_are_those_of_the_best_of_all_assignments(heads, shortest):
    random = np.random.default_rng(heads)
    for _ in range(5):
        diagonal = random.normal(size=(8, heads))
        allowed = [
            a for a in product(range(heads), repeat=8) if len(runs(a)) == 1 or min(runs(a)) >= shortest
        ]
        best = max(allowed, key=lambda a: diagonal[np.arange(8), list(a)].sum())
        assert regions(diagonal.tolist(), shortest=shortest) == len(runs(best))


def test_of_equal_assignments_the_fewest_regions_are_counted():
    assert regions([[0.0, 0.0]] * 9, shortest=1) == regions([[0.0, 0.0]] * 9, shortest=3) == 1
    assert regions([[0.0, 1.0]] * 2, shortest=3) == 1


@pytest.mark.parametrize(("wide", "regions"), [(1, 3), (2, 3), (3, 5), (4, 5)])
def test_islands_at_the_level_of_noise_are_no_regions(wide, regions):
    """Two of one token and one of up to two tokens; three in a row are a region."""
    plateaus = np.repeat([1.0, -1.0, 1.0], [10, 12, 8])
    islands = plateaus.copy()
    islands[[15, 17]], islands[4 : 4 + wide] = [0.1, 0.2], -0.1
    ov = [np.diag(islands), np.zeros((30, 30))]
    got = given_circuits(ov, ov)
    assert (int(got.regions), int(got.regions_min3)) == (9, regions)
    np.testing.assert_allclose(got.vocabulary_share, [(20 - wide) / 30, (10 + wide) / 30])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"tokens": range(10)}, "expected ids in 0 .. 8"),
        ({"tokens": [0, 2, 1]}, "ascending"),
        ({"tokens": [0, 1]}, "at least 3"),
        ({"layer": 1}, "the model has 1 layer"),
        ({"tolerance": 1.0}, "share of the largest singular value"),
    ],
)
def test_bad_input_is_refused(wrong, said):
    shape = architecture(2)
    with pytest.raises(ValueError, match=said):
        full_circuits(random_weights(shape), **{"architecture": shape, "tokens": range(8), **wrong})


def test_survives_a_netcdf_file(tmp_path):
    shape = architecture(3)
    got = full_circuits(random_weights(shape), architecture=shape, tokens=range(8)).expand_dims(step=[4])
    got.to_netcdf(tmp_path / "circuits.nc")
    xr.testing.assert_equal(xr.load_dataset(tmp_path / "circuits.nc"), got)


@pytest.mark.parametrize("heads", [1, 2])
def test_circuits_to_answers_are_the_products_of_the_weights(heads):
    shape = architecture(heads)
    weights, names = random_weights(shape), ["negative", "zero", "positive"]
    got = circuits_to_answers(weights, architecture=shape, tokens=range(6), answers=names)
    lists = full_circuits(weights, architecture=shape, tokens=range(6))
    xr.testing.assert_equal(got["qk"], lists["qk"])
    w = {name: value.double().numpy() for name, value in weights.items()}
    for head in range(heads):
        v, o = (w[f"blocks.0.attn.W_{m}"][head] for m in "VO")
        expected = w["embed.W_E"][:6] @ v @ o @ w["unembed.W_U"][:, 6:9]
        np.testing.assert_allclose(got["ov_answers"].isel(head=head), expected, rtol=1e-5, atol=1e-6)
    assert got["answer"].values.tolist() == names
    assert got["rank"].values.tolist() == [[3, 3]] * heads  # d_head is 3, and there are 3 answers
    assert int(got["rank_sum"]) == 6 * heads
    xr.testing.assert_allclose(
        got["effective_rank"].sel(circuit="qk"), lists["effective_rank"].sel(circuit="qk")
    )
    p = np.linalg.svd(got["ov_answers"].isel(head=0).values)[1]
    p = p / p.sum()
    assert float(got["effective_rank"][0, 1]) == pytest.approx(np.exp(-(p * np.log(p)).sum()), rel=1e-5)
    declared = next(row.variables for row in MEASURES if row.name == "circuits")
    assert {name for name in declared if not declared[name].optional} | {"ov_answers"} == set(got.data_vars)


def test_answers_that_the_model_does_not_have_are_refused():
    shape = architecture(1)
    with pytest.raises(ValueError, match=r"answers 7 \.\. 9: the model has 9 tokens"):
        circuits_to_answers(
            random_weights(shape), architecture=shape, tokens=range(7), answers=["a", "b", "c"]
        )

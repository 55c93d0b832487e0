import numpy as np
import pytest
import torch

from rllc.measures.data import InMemoryData
from rllc.measures.eigenvalues.kernel import largest_eigenvalues
from rllc.measures.structure.kernel import of_attention, of_weights, structure
from rllc.models.regression import model
from rllc.tasks.regression.sequences import blocks

LAW = {"dimension": 4, "length": 8, "noise_variance": 0.125, "tasks": None, "task_seed": 0}
SHAPE = model(n_layers=2, n_heads=4, d_model=64, d_head=16, context=16, d_vector=5)


DATA = InMemoryData(held_out=[], stream=5)  # of which random numbers alone are read


def weights(**changes):
    made = SHAPE.initial_weights(seed=0)
    return {**made, **{name: torch.as_tensor(w, dtype=torch.float32) for name, w in changes.items()}}


def of(**changes):
    return of_weights(weights(**{name.replace("__", "."): w for name, w in changes.items()}), SHAPE.norms)


def test_shares_are_those_of_the_squares():
    diagonal = torch.zeros(5, 64)
    diagonal[range(5), range(5)] = torch.tensor([1.0, 2.0, 2.0, 0.0, 4.0])
    found = of(embed__W_E=diagonal)
    np.testing.assert_allclose(found["embedding_share"], np.array([16, 4, 4, 1, 0]) / 25, atol=1e-12)
    p = np.array([16, 4, 4, 1]) / 25
    assert found["embedding_rank"] == pytest.approx(np.exp(-(p * np.log(p)).sum()))
    assert of(embed__W_E=torch.eye(5, 64))["embedding_rank"] == pytest.approx(5)
    place = torch.zeros(16, 64)
    place[range(4), range(4)] = torch.tensor([1.0, 2.0, 4.0, 2.0])
    assert of(pos_embed__W_pos=place)["position_top"] == pytest.approx(24 / 25)


def test_alignment_is_a_projection():
    """Rows within the span of W_pos, outside it, and half; then the random expectation sqrt(16 / 64)."""
    place = torch.zeros(16, 64)
    place[range(16), range(16)] = torch.linspace(16, 1, 16)
    rows = torch.zeros(5, 64)
    rows[0, 2], rows[1, 10], rows[2, 40] = 3.0, 0.5, 1.0
    rows[3, [0, 50]] = 1.0
    rows[4, [3, 4, 60]] = 1.0
    found = of(pos_embed__W_pos=place, embed__W_E=rows)["alignment"]
    half, third = 0.5**0.5, (1 / 3) ** 0.5
    np.testing.assert_allclose(found.sel(subspace=4), [1, 0, 0, half, third], atol=1e-6)
    np.testing.assert_allclose(found.sel(subspace=16), [1, 1, 0, half, (2 / 3) ** 0.5], atol=1e-6)
    mean = of(pos_embed__W_pos=place, embed__W_E=rows)["alignment_mean"]
    assert mean.sel(subspace=4) == pytest.approx((1 + half + third) / 5, abs=1e-6)
    draws = [of_weights(SHAPE.initial_weights(seed=s), SHAPE.norms)["alignment"] for s in range(20)]
    assert np.mean([(d.sel(subspace=16) ** 2).mean() for d in draws]) == pytest.approx(0.25, abs=0.02)


def test_layer_norms_and_the_effective_unembedding():
    gain = torch.cat([torch.full((16,), 0.09), torch.full((16,), -0.11), torch.ones(32)])
    made = weights(**{"ln_final.w": gain, "ln_final.b": torch.full((64,), 2.0)})
    found = of_weights(made, SHAPE.norms)
    last = found.sel(norm="ln_final")
    assert last["norm_weight_small"] == 0.25
    assert last["norm_weight_mean"] == pytest.approx((16 * 0.09 - 16 * 0.11 + 32) / 64, rel=1e-6)
    assert last["norm_weight_sd"] == pytest.approx(gain.std().item(), rel=1e-5)
    assert last["norm_bias_mean"] == 2
    assert found["norm"].values.tolist() == SHAPE.norms
    assert found.sel(norm="blocks.1.ln2")["norm_weight_mean"] == 1
    x = torch.randn(64)
    constant = made["unembed.b_U"][0]
    expected = ((x * gain + 2.0) @ made["unembed.W_U"] + made["unembed.b_U"])[0]
    ours = (
        x.numpy() @ found["effective_weight"].values + found["effective_bias"].values.sum() + float(constant)
    )
    assert ours == pytest.approx(expected.item(), rel=1e-4)
    assert found["unembed_bias"] == pytest.approx(constant.item())


def uniform(queries):
    return np.tril(np.ones((queries, queries))) / np.arange(1, queries + 1)[:, None]


def test_uniform_attention_has_entropy_one_and_identical_patterns_do_not_vary():
    patterns = np.broadcast_to(uniform(15), (1, 6, 2, 15, 15))
    found = of_attention(patterns, ["0:0", "0:1"])
    np.testing.assert_allclose(found["attention_entropy"].isel(query=slice(1, None)), 1.0)
    assert found["attention_entropy"].isel(query=0).isnull().all()
    np.testing.assert_allclose(found["attention_variability"], 0.0, atol=1e-15)
    np.testing.assert_allclose(found["attention_self"].isel(query=4), 0.2)
    np.testing.assert_allclose(found["attention_previous"].isel(query=4), 0.2)
    np.testing.assert_allclose(found["attention_inputs"].isel(query=4), 0.6)
    np.testing.assert_allclose(found["attention_answers"].isel(query=4), 0.4)
    np.testing.assert_allclose(found["attention_mean"].sel(head="0:1"), uniform(15))


def test_attention_to_one_key_has_no_entropy_and_varies_with_the_key():
    """Two sequences that attend to different keys: V = sum_i |a_i - mean| / 2n = 1 - 1 / 2."""
    patterns = np.zeros((1, 2, 1, 3, 3))
    patterns[:, :, :, 0, 0] = 1
    patterns[0, 0, 0, 1:, 0] = 1
    patterns[0, 1, 0, 1:, 1] = 1
    found = of_attention(patterns, ["0:0"]).isel(head=0)
    assert found["attention_variability"].values.tolist() == [0.0, 0.5, 0.5]
    assert found["attention_entropy"].values[1:].tolist() == [0.0, 0.0]


def test_hard_attention_is_counted_by_head_and_kind_of_query():
    """Head 0 looks at the first key, head 1 everywhere; head 2's inputs each at another key per sequence."""
    patterns = np.zeros((1, 2, 3, 15, 15))
    patterns[:, :, 0, :, 0] = 1
    patterns[:, :, 1:] = uniform(15)
    patterns[:, :, 2, 2::2] = 0
    patterns[0, 0, 2, 2::2, 0] = patterns[0, 1, 2, 2::2, 1] = 1
    found = of_attention(patterns, ["0:0", "0:1", "0:2"])
    assert found["hard_patterns"] == 2
    # entropy 0, 0, 1, 1, 0, 1 and variability 0, 0, 0, 0, 1/2, 0: Pearson's of their ranks, by hand
    a, b = np.array([2, 2, 5, 5, 2, 5]), np.array([3, 3, 3, 3, 6, 3])
    assert found["hard_correlation"] == pytest.approx(np.corrcoef(a, b)[0, 1])
    alike = of_attention(np.broadcast_to(uniform(15), (1, 6, 2, 15, 15)), ["0:0", "0:1"])
    assert alike["hard_patterns"] == 0
    assert alike["hard_correlation"].isnull()


def test_the_measure_reads_the_models_own_patterns():
    made = SHAPE.initial_weights(seed=1)
    found = structure(DATA, sequences=6, law=LAW)(made, SHAPE, 3)
    contexts = torch.from_numpy(blocks(6, seed=5, **LAW).contexts)
    patterns = SHAPE.patterns(made, contexts).mean(1).flatten(0, 1)[:, :-1, :-1]
    np.testing.assert_allclose(found["attention_mean"], patterns, atol=1e-6)
    assert found["head"].values.tolist() == [f"{layer}:{head}" for layer in (0, 1) for head in range(4)]


def test_eigenvalues_are_those_of_the_dense_hessian():
    shape = model(n_layers=1, n_heads=2, d_model=4, d_head=2, context=16, d_vector=5)
    made = {name: w.double() for name, w in shape.initial_weights(seed=0).items()}
    every = blocks(32, seed=0, **LAW)
    batch = every.batch(np.arange(32), every.scorable())
    batch = type(batch)(batch.contexts.double(), batch.positions, batch.targets.double())
    sizes = [w.numel() for w in made.values()]

    def of_flat(flat):
        parts = flat.split(sizes)
        return shape.loss({n: p.view(w.shape) for (n, w), p in zip(made.items(), parts, strict=True)}, batch)

    flat = torch.cat([w.flatten() for w in made.values()])
    dense = torch.linalg.eigvalsh(torch.autograd.functional.hessian(of_flat, flat, vectorize=True))
    found = largest_eigenvalues(shape.loss, made, batch, count=3, tolerance=1e-8, seed=0)
    np.testing.assert_allclose(found["hessian_eigenvalue"], dense[-3:].flip(0), rtol=1e-6)
    assert 3 < found["hessian_products"] < len(flat)


def test_the_largest_eigenvalues_are_the_algebraically_largest():
    """Of w . A w / 2 with a more negative eigenvalue than any is positive."""
    curvature = torch.diag(torch.tensor([-50.0, 7.0, 1.0, -3.0, 5.0, 0.5, 0.0, -20.0], dtype=torch.float64))
    weights = {"a": torch.zeros(3).double(), "b": torch.zeros(5).double()}

    def loss(at, batch):
        w = torch.cat([at["a"], at["b"]])
        return w @ curvature @ w / 2

    found = largest_eigenvalues(loss, weights, None, count=3, tolerance=1e-9, seed=1)
    np.testing.assert_allclose(found["hessian_eigenvalue"], [7.0, 5.0, 1.0], rtol=1e-7)


def test_hard_is_what_varies_by_less_than_a_quarter():
    """Of 8 sequences 1 (head 0) or 2 (head 1) look at the other key: V = 2 s (1 - s) is 7/32 or 3/8."""
    patterns = np.zeros((1, 8, 2, 5, 5))
    patterns[..., 0] = 1
    for head, others in enumerate((1, 2)):
        patterns[0, :others, head, 1:] = np.eye(5)[1]
    found = of_attention(patterns, ["0:0", "0:1"])
    np.testing.assert_allclose(
        found["attention_variability"].isel(query=slice(1, None)).T, [[7 / 32, 3 / 8]] * 4
    )
    assert found["hard_patterns"] == 2

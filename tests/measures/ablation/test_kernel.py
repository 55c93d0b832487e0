"""Ablations against hooks on TransformerLens, and against copies of transformers' models with other modules."""

import numpy as np
import pytest
import torch
import xarray as xr
from hooked import as_hooked
from hypothesis import given
from hypothesis import strategies as st
from intervals import coverages
from scipy import stats
from surgery import losses, with_others, with_output
from tiny_transformers import tiny_model, tokens_of

from rllc.measures.ablation.kernel import METHODS, _another_context, ablations
from rllc.models.attention_only import AttentionOnly
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.loss import next_token_loss, token_losses
from rllc.models.model import TaughtBatches
from rllc.models.transformer import Architecture, shapes
from rllc.seeds import generator
from rllc.tasks.batch import Batch, Examples, batches_of, next_token_batch

VARIANTS = [
    (1, "shortformer", True, False),
    (2, "shortformer", True, False),
    (2, "standard", False, True),
    (3, "standard", True, True),
    (3, "shortformer", False, False),
]


def random_weights(architecture: Architecture, seed: int = 0) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    table = shapes(architecture)
    return {n: torch.randn(s, generator=random, dtype=torch.float64) / 2 for n, s in table.items()}


def random_batches(architecture: Architecture) -> list[Batch]:
    contexts = generator(0, "test").integers(0, architecture.d_vocab, (10, architecture.n_ctx))
    return batches_of(Examples(contexts), batch_size=5, count=2, scored=4, random=generator(1, "test"))


def with_hooks(weights: dict, batches, architecture: Architecture, seed: int) -> np.ndarray:
    """The rises of each context through TransformerLens: [layer, head, method, context]."""
    model = as_hooked(weights, architecture)
    names = [f"blocks.{layer}.attn.hook_z" for layer in range(architecture.n_layers)]
    cached = [model.run_with_cache(batch.contexts, names_filter=names)[1] for batch in batches]
    contexts = sum(len(batch.contexts) for batch in batches)
    rises = np.empty((architecture.n_layers, architecture.n_heads, len(METHODS), contexts))

    def loss(batch: Batch, hooks: list) -> torch.Tensor:
        logits = model.run_with_hooks(batch.contexts, fwd_hooks=hooks)[:, batch.positions]
        return token_losses(logits, batch.targets).mean(1)

    for layer, head in np.ndindex(architecture.n_layers, architecture.n_heads):
        # hook_z is [batch, position, head, d_head]
        mean = torch.cat([cache[names[layer]][:, :, head] for cache in cached]).mean((0, 1))
        for place, method in enumerate(METHODS):
            rise = []
            for index, batch in enumerate(batches):
                others = _another_context(len(batch.contexts), generator(seed, "resample", index))

                def replace(z, hook, method=method, head=head, mean=mean, others=others):
                    new = z.clone()
                    new[:, :, head] = {
                        "zero": torch.zeros_like(mean), "mean": mean, "resample": z[others][:, :, head]
                    }[method]  # fmt: skip
                    return new

                rise.append(loss(batch, [(names[layer], replace)]) - loss(batch, []))
            rises[layer, head, place] = torch.cat(rise).numpy()
    return rises


@pytest.mark.parametrize("variant", VARIANTS)
def test_equal_to_hooks_on_transformer_lens(variant):
    layers, positions, norm, soft = variant
    architecture = Architecture(layers, 2, 12, 4, 9, 11, positions, norm)
    weights, batches = random_weights(architecture), random_batches(architecture)
    if soft:
        batches = TaughtBatches(batches, random_weights(architecture, seed=1), AttentionOnly(architecture))
    with torch.no_grad():
        expected = with_hooks(weights, list(batches), architecture, seed=3)
    found = ablations(weights, batches, model=AttentionOnly(architecture), seed=3)
    got = found.ablation
    assert got.dims == found.ablation_se.dims == ("head", "method")
    assert list(got["method"].values) == ["zero", "mean", "resample"]
    assert list(got["head"].values) == [f"{layer}:{head}" for layer in range(layers) for head in range(2)]
    np.testing.assert_allclose(got.values, expected.mean(-1).reshape(-1, 3), rtol=1e-9, atol=1e-10)
    errors = stats.sem(expected, axis=-1).reshape(-1, 3)
    np.testing.assert_allclose(found.ablation_se.values[:, :2], errors[:, :2], rtol=1e-8, atol=1e-10)
    resampled = []
    for rises in expected[:, :, 2].reshape(-1, 10):
        apart, shared = rises - rises.mean(), 0.0
        for index in range(2):
            others = _another_context(5, generator(3, "resample", index)).tolist()
            shared += 2 * sum(apart[5 * index + i] * apart[5 * index + o] for i, o in enumerate(others))
        resampled.append(np.sqrt(((apart**2).sum() + max(shared, 0)) / (9 * 10)))
    np.testing.assert_allclose(found.ablation_se.values[:, 2], resampled, rtol=1e-8, atol=1e-10)


def test_intervals_contain_the_rise_of_all_contexts():
    """Redraws are of a population whose rise is known; every method is covered."""
    architecture = Architecture(2, 2, 12, 4, 9, 11)
    weights = random_weights(architecture)
    population = generator(5, "test").integers(0, 11, (2048, 9))
    batches = [next_token_batch(part, np.arange(8)) for part in np.split(population, 8)]
    truth = ablations(weights, batches, model=AttentionOnly(architecture), seed=0).ablation.sel(head="0:1")

    def redraw(seed: int) -> xr.Dataset:
        rows = generator(seed, "rows").integers(0, len(population), 32)
        drawn = [next_token_batch(population[rows], np.arange(8))]
        found = ablations(weights, drawn, model=AttentionOnly(architecture), seed=seed).sel(head="0:1")
        return xr.Dataset(
            {
                f"{method}{ending}": found[f"ablation{ending}"].sel({"method": method}, drop=True)
                for method in METHODS
                for ending in ("", "_se")
            }
        )

    known = {method: float(truth.sel({"method": method})) for method in METHODS}
    found = coverages(redraw, known, redraws=200, units=32)
    assert all(0.89 < share < 0.99 for share in found.values()), found


def test_zero_ablation_is_zeroing_the_output_matrix():
    architecture = Architecture(2, 3, 12, 4, 9, 11)
    weights, batches = random_weights(architecture), random_batches(architecture)
    got = ablations(weights, batches, model=AttentionOnly(architecture), seed=0).ablation.sel(
        {"method": "zero"}
    )
    loss = next_token_loss(architecture)
    before = sum(loss(weights, batch) for batch in batches) / len(batches)
    for label in got["head"].values:
        layer, head = map(int, label.split(":"))
        without = {name: w.clone() for name, w in weights.items()}
        without[f"blocks.{layer}.attn.W_O"][head] = 0
        after = sum(loss(without, batch) for batch in batches) / len(batches)
        assert float(got.sel(head=label)) == pytest.approx((after - before).item(), abs=1e-10)


def test_a_head_that_writes_nothing_costs_nothing():
    architecture = Architecture(2, 2, 12, 4, 9, 11)
    weights = random_weights(architecture)
    weights["blocks.0.attn.W_O"][1] = 0
    got = ablations(weights, random_batches(architecture), model=AttentionOnly(architecture), seed=0).ablation
    assert np.all(got.sel(head="0:1").values == 0)
    assert np.all(got.sel(head="0:0").values != 0)


def test_only_resampling_depends_on_the_seed():
    architecture = Architecture(1, 2, 12, 4, 9, 11)
    weights, batches = random_weights(architecture), random_batches(architecture)
    one, same, other = (
        ablations(weights, batches, model=AttentionOnly(architecture), seed=s) for s in (1, 1, 2)
    )
    assert one.identical(same)
    assert np.array_equal(one.ablation[:, :2], other.ablation[:, :2])
    assert not np.array_equal(one.ablation[:, 2], other.ablation[:, 2])


@given(contexts=st.integers(2, 60), seed=st.integers(0, 1000))
def test_every_context_is_replaced_by_another_one(contexts, seed):
    others = _another_context(contexts, generator(seed)).numpy()
    assert sorted(others) == list(range(contexts))
    assert np.all(others != np.arange(contexts))


def test_bad_input_is_refused():
    architecture = Architecture(1, 2, 12, 4, 9, 11)
    weights, batches = random_weights(architecture), random_batches(architecture)
    with pytest.raises(ValueError, match="no batches"):
        ablations(weights, [], model=AttentionOnly(architecture), seed=0)
    alone = [Batch(b.contexts[:1], b.positions, b.targets[:1]) for b in batches]
    with pytest.raises(ValueError, match="one context"):
        ablations(weights, alone, model=AttentionOnly(architecture), seed=0)


@torch.no_grad()
@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "llama_groups", "bloom"])
def test_heads_and_mlps_of_transformers_equal_copies_with_other_modules(name):
    module = tiny_model(name)
    model, tokens = HuggingFaceModel(module), tokens_of(module, 8)
    batches = [next_token_batch(part.numpy(), np.arange(8)) for part in tokens.split(4)]
    found = ablations(model.weights(), batches, model=model, seed=3)
    assert found["ablation"]["head"].values.tolist() == model.heads
    assert found["ablation_mlp"]["mlp"].values.tolist() == ["mlp:0", "mlp:1"]
    assert found["mlp_layer"].values.tolist() == [0, 1]
    before, means = losses(module, tokens), model.mean_outputs(model.weights(), batches)
    for component in (*model.heads, *model.mlps):
        dim, ending = ("mlp", "_mlp") if component in model.mlps else ("head", "")
        got, error = (found[f"ablation{ending}{se}"].sel({dim: component}) for se in ("", "_se"))
        mean = means[component][0]
        for method, output in (("zero", torch.zeros_like(mean)), ("mean", mean)):
            rises = (losses(with_output(module, component, output), tokens) - before).mean(1).numpy()
            assert float(got.sel({"method": method})) == pytest.approx(rises.mean(), abs=5e-6)
            assert float(error.sel({"method": method})) == pytest.approx(stats.sem(rises), abs=5e-6)


@torch.no_grad()
def test_resampled_heads_and_mlps_of_transformers_are_those_of_other_contexts():
    module = tiny_model("gpt_neox")
    model, tokens = HuggingFaceModel(module), tokens_of(module, 5)
    found = ablations(model.weights(), [next_token_batch(tokens.numpy(), np.arange(8))], model=model, seed=3)
    others = _another_context(5, generator(3, "resample", 0))
    for dim, ending, component in (("head", "", "1:2"), ("mlp", "_mlp", "mlp:0")):
        rise = losses(with_others(module, component, others), tokens) - losses(module, tokens)
        got = found[f"ablation{ending}"].sel({dim: component, "method": "resample"})
        assert float(got) == pytest.approx(float(rise.mean()), abs=5e-6)


def test_attention_only_transformers_have_no_ablation_of_mlps():
    architecture = Architecture(1, 2, 12, 4, 9, 11)
    found = ablations(
        random_weights(architecture), random_batches(architecture), model=AttentionOnly(architecture), seed=0
    )
    assert set(found) == {"ablation", "ablation_se"}

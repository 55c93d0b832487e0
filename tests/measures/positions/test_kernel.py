import numpy as np
import pytest
import torch
import xarray as xr
from intervals import coverages
from scipy import stats
from sklearn.decomposition import PCA
from surgery import losses
from tiny_transformers import tiny_model, tokens_of

from rllc.measures.data import InMemoryData
from rllc.measures.positions.kernel import ablated, positions, principal_components
from rllc.models.attention_only import model
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.tasks.batch import next_token_batch

FACTS = {"n_layers": 2, "n_heads": 2, "d_model": 8, "d_head": 4, "n_ctx": 16, "d_vocab": 7}
CONTEXTS = np.random.default_rng(0).integers(0, 7, (6, 16))
BATCHES = [next_token_batch(part, np.arange(15)) for part in (CONTEXTS[:3], CONTEXTS[3:])]


@pytest.mark.parametrize("where", ["shortformer", "standard"])
def test_losses_with_and_without_positions(where):
    made = model(**FACTS, positions=where)
    weights = made.initial_weights(seed=0, query_key_factor=20.0, position_init="sinusoidal")
    got = ablated(weights, BATCHES, model=made, at=[0, 3, 14, 500])
    without = dict(weights) | {"pos_embed.W_pos": torch.zeros_like(weights["pos_embed.W_pos"])}
    of_contexts = {}
    for ending, given in (("", weights), ("ablated_", without)):
        log_p = made.outputs(given, next_token_batch(CONTEXTS, np.arange(15))).log_softmax(-1)
        losses = -log_p.gather(-1, torch.from_numpy(CONTEXTS[:, 1:, None])).squeeze(-1).numpy()
        assert got["at"].values.tolist() == [0, 3, 14]
        np.testing.assert_allclose(got[f"{ending}loss_at"], losses.mean(0)[[0, 3, 14]], rtol=1e-5)
        np.testing.assert_allclose(got[f"{ending}loss_at_se"], stats.sem(losses)[[0, 3, 14]], rtol=1e-4)
        assert float(got[f"{ending}loss"]) == pytest.approx(float(losses.mean()), rel=1e-5)
        of_contexts[ending] = losses.mean(1)
        assert float(got[f"{ending}loss_se"]) == pytest.approx(stats.sem(of_contexts[ending]), rel=1e-4)
    assert abs(float(got["position_gain"])) > 1e-3
    assert float(got["position_gain"]) == pytest.approx(float(got["ablated_loss"] - got["loss"]))
    paired = stats.sem(of_contexts["ablated_"] - of_contexts[""])
    assert float(got["position_gain_se"]) == pytest.approx(paired, rel=1e-3)


def test_intervals_contain_the_losses_of_all_contexts():
    made = model(**FACTS)
    weights = made.initial_weights(seed=0, query_key_factor=20.0, position_init="sinusoidal")
    population = np.random.default_rng(1).integers(0, 7, (2000, 16))

    def of(contexts: np.ndarray) -> xr.Dataset:
        batches = [next_token_batch(part, np.arange(15)) for part in np.split(contexts, 2)]
        found = ablated(weights, batches, model=made, at=[3])
        return found.squeeze("at", drop=True)

    names = ("loss", "ablated_loss", "position_gain", "loss_at", "ablated_loss_at")
    truth = {name: float(value) for name, value in of(population)[list(names)].items()}
    found = coverages(
        lambda seed: of(np.random.default_rng(seed + 2).choice(population, 32)), truth, redraws=200, units=32
    )
    assert all(0.89 < share < 0.99 for share in found.values()), found


def test_components_are_those_of_a_second_implementation():
    matrix = np.random.default_rng(1).normal(size=(20, 6)) * [5, 3, 2, 1, 1, 1] + 4
    got, other = principal_components(matrix), PCA(3).fit(matrix)
    np.testing.assert_allclose(got["explained_variance"], other.explained_variance_ratio_)
    for n, score in enumerate(other.transform(matrix).T):
        sign = np.sign(score[np.abs(score).argmax()])
        np.testing.assert_allclose(got["position_score"].sel(component=n + 1), sign * score, atol=1e-9)
    np.testing.assert_allclose(got["position_norm"], np.sqrt((matrix**2).sum(1)))


def test_positions_that_are_all_alike_have_no_components():
    assert np.isnan(principal_components(np.ones((5, 4)))["explained_variance"]).all()


def test_the_measure_reads_the_contexts_of_metrics():
    data = InMemoryData(held_out=BATCHES)
    made = model(**FACTS)
    found = positions(data, contexts=6, batch_size=3, at=[1, 2])(made.initial_weights(seed=0), made, 0)
    assert found["loss_at"].sizes == {"at": 2}
    assert found["position_score"].sizes == {"component": 3, "position": 16}


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "table"),
    [("gpt2", "transformer.wpe"), ("opt", "model.decoder.embed_positions"), ("gpt_neo", "transformer.wpe")],
)
def test_learned_positions_of_transformers(name, table):
    module = tiny_model(name)
    own, tokens = HuggingFaceModel(module), tokens_of(module, 8)
    data = InMemoryData(held_out=[next_token_batch(tokens.numpy(), np.arange(8))])
    got = positions(data, contexts=8, batch_size=8, at=[0, 3])(own.weights(), own, 0)
    assert float(got["loss"]) == pytest.approx(float(losses(module, tokens).mean()), abs=1e-5)
    weight = module.get_submodule(table).weight
    assert got.sizes["position"] == 32  # OPT has two rows before them
    np.testing.assert_allclose(got["position_norm"], weight[-32:].norm(dim=1), rtol=1e-5)
    weight.zero_()
    assert float(got["ablated_loss"]) == pytest.approx(float(losses(module, tokens).mean()), abs=1e-5)


@pytest.mark.parametrize("name", ["gpt_neox", "llama", "bloom"])
def test_models_without_learned_positions_are_refused_by_name(name):
    own = HuggingFaceModel(tiny_model(name))
    batch = next_token_batch(tokens_of(own.module).numpy(), np.arange(8))
    with pytest.raises(TypeError, match=f"a {name} model of transformers has no table of position"):
        ablated(own.weights(), [batch], model=own, at=[0])

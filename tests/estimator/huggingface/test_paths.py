"""Paths of components: which is chosen, and that each equals the plain loss."""

import numpy as np
import pytest
import torch
from tiny_transformers import FURTHER, MODELS, tiny_model, tokens_of, trained_model

import rllc
from rllc.estimator.huggingface.centered_loss import Path
from rllc.estimator.huggingface.paths import losses_around
from rllc.estimator.llc import estimate_components
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.seeds import generator
from rllc.tasks.batch import Batch, Examples, batches_of

KINDS = ["embedding", "attn:0", "mlp:0", "norm:1", "attn:1", "mlp:1", "mlp:0+layer:1"]
SAMPLED = ["gpt2", "gpt_neox", "gpt_neox_sequential", "llama_groups", "llama_tied", "opt", "olmo2", "gemma2", "qwen3"]  # fmt: skip
SETTING = rllc.SamplerConfig(n_beta=30, localization=200, step_size=1e-3, chains=2, draws=3)


def labels_of(model):
    tied = model.module.get_output_embeddings().weight is model.module.get_input_embeddings().weight
    ends = [] if tied else ["unembedding", "mlp:1+unembedding"]
    last = [] if model.module.config.model_type == "olmo3" else [model.heads[-1]]
    return [*KINDS, *ends, *last, "full"]


def path_of(loss):
    """Return the path of a loss; None where it is the plain one, or of the kernel of heads."""
    path = loss.args[0] if hasattr(loss, "args") else None
    return path if isinstance(path, Path) else None


def prepared(module, labels=None):
    model = HuggingFaceModel(module)
    weights = model.weights()
    masks = {label: model.masks(label) for label in labels or labels_of(model)}
    return model, weights, masks, *losses_around(model, weights, masks)


def batch_of(module, positions=(0, 3, 4, 7)):
    tokens, where = tokens_of(module), torch.tensor(positions)
    return Batch(tokens, where, tokens[:, where + 1])


def displaced(weights, masks):
    random = torch.Generator().manual_seed(3)
    moved = (
        {name: torch.ones_like(w, dtype=torch.bool) for name, w in weights.items()}
        if masks is None
        else masks
    )
    return {
        name: (w + 0.1 * torch.randn(w.shape, generator=random) * moved[name] if name in moved else w)
        for name, w in weights.items()
    }


def with_gradient(loss, weights, masks, batch):
    """Return the loss, and its gradient in the coordinates of the component."""
    chosen = weights if masks is None else masks
    leaves = {name: weights[name].clone().requires_grad_() for name in chosen}
    value = loss(weights | leaves, batch)
    slopes = torch.autograd.grad(value, list(leaves.values()))
    masked = [
        slope if masks is None else slope[masks[name]] for name, slope in zip(leaves, slopes, strict=True)
    ]
    return value.detach().double(), torch.cat([slope.flatten() for slope in masked])


@pytest.mark.parametrize("name", [*MODELS, *FURTHER])
def test_loss_and_gradient_of_every_component_equal_the_plain_ones(name):
    module = tiny_model(name)
    model, weights, masks, center, losses = prepared(module)
    batch = batch_of(module)
    with torch.no_grad():
        torch.testing.assert_close(
            center(weights, batch).float(), model.loss(weights, batch), rtol=1e-6, atol=0
        )
    for label, loss in losses.items():
        there = displaced(weights, masks[label])
        plain, slope = with_gradient(model.loss, there, masks[label], batch)
        found, own = with_gradient(loss, there, masks[label], batch)
        torch.testing.assert_close(found, plain, rtol=1e-6, atol=0, msg=f"{label}: {found} not {plain}")
        assert (own - slope).abs().max() <= 1e-5 * slope.abs().max(), label


@pytest.mark.parametrize("made", [tiny_model, trained_model], ids=["random", "trained"])
@pytest.mark.parametrize("name", SAMPLED)
def test_draws_equal_those_of_the_plain_loss(name, made):
    module = made(name)
    model, tokens = HuggingFaceModel(module), tokens_of(module, 12)
    labels = labels_of(model)
    found = rllc.estimate_heads(module, tokens, setting=SETTING, components=labels, batch_size=4)
    batches = batches_of(
        Examples(tokens.numpy()), batch_size=4, count=3, scored=None, random=generator(0, "minibatches")
    )
    masks = {label: model.masks(label) for label in labels}
    expected = estimate_components(model.loss, model.weights(), batches, components=masks, setting=SETTING)
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-5)
    np.testing.assert_allclose(found["acceptance"], expected["acceptance"], rtol=1e-2)


def test_path_starts_at_the_lowest_layer_and_has_blocks_where_the_unembedding_is_frozen():
    *_, losses = prepared(tiny_model("gpt_neox"))
    assert {label: path_of(loss) for label, loss in losses.items()} == {
        "embedding": Path(0, True), "attn:0": Path(0, True), "mlp:0": Path(0, True), "norm:1": Path(1, True),
        "attn:1": Path(1, True), "mlp:1": Path(1, True), "1:3": None, "mlp:0+layer:1": Path(0, True),
        "unembedding": Path(2, False), "mlp:1+unembedding": Path(1, False), "full": None,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["gpt2", "llama_tied"])
def test_tied_embedding_is_plain_and_other_components_are_not(name):
    *_, losses = prepared(tiny_model(name))
    assert path_of(losses["embedding"]) is None
    assert path_of(losses["mlp:1"]) == Path(1, True)


def test_soft_cap_leaves_blocks_out_and_is_logged_once(caplog):
    *_, losses = prepared(tiny_model("gemma2"))
    assert path_of(losses["mlp:1"]) == Path(1, False)
    assert path_of(losses["mlp:0"]) is None
    assert len(caplog.messages) == 1
    assert "logits of Gemma2ForCausalLM are computed whole" in caplog.text


@pytest.mark.parametrize("name", [name for name in [*MODELS, *FURTHER] if name != "gemma2"])
def test_other_models_have_blocks_and_tails(name, caplog):
    *_, losses = prepared(tiny_model(name), ["mlp:1"])
    assert path_of(losses["mlp:1"]) == Path(1, True)
    assert not caplog.messages


@pytest.mark.parametrize("spoiled", ["needs what an earlier layer left", "changes its input"])
def test_tail_that_is_not_plain_is_left_out_and_logged(spoiled, caplog):
    module = tiny_model("gpt_neox")
    lower, upper = module.gpt_neox.layers
    below, above = lower.forward, upper.forward
    left = []

    def leave(hidden, *given, **named):
        left.append(hidden)
        return below(hidden, *given, **named)

    def take(hidden, *given, **named):
        if spoiled == "changes its input":
            hidden.mul_(torch.linspace(1, 2, hidden.shape[-1]))
        else:
            left.pop()
        return above(hidden, *given, **named)

    lower.forward, upper.forward = leave, take
    *_, losses = prepared(module, ["mlp:1"])
    assert path_of(losses["mlp:1"]) == Path(0, True)
    assert len(caplog.messages) == 1
    assert "all layers of GPTNeoXForCausalLM are run for components of layer 1" in caplog.text


def test_unembedding_that_is_no_matrix_product_has_whole_logits():
    module = tiny_model("gpt_neox")

    class Scaled(torch.nn.Module):
        def __init__(self, weight):
            super().__init__()
            self.weight = weight

        def forward(self, x):
            return 2 * x @ self.weight.T

    module.set_output_embeddings(Scaled(module.get_output_embeddings().weight))
    *_, losses = prepared(module, ["mlp:1"])
    assert path_of(losses["mlp:1"]) == Path(1, False)


def test_model_whose_layers_are_not_found_runs_whole():
    module = tiny_model("llama")
    module.config.num_hidden_layers = 5
    *_, losses = prepared(module, ["embedding", "full"])
    assert path_of(losses["embedding"]) == Path(0, True)


def test_probabilities_as_targets_have_whole_logits():
    module = tiny_model("gpt_neox")
    model, weights, _, center, losses = prepared(module)
    batch = batch_of(module)
    soft = batch._replace(targets=model.predictions(displaced(weights, None), batch).detach())
    for loss in (center, losses["mlp:1"], losses["attn:0"]):
        torch.testing.assert_close(loss(weights, soft), model.loss(weights, soft))

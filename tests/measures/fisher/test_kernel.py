"""The trace of the Fisher information matrix against all contexts there are."""

import itertools

import numpy as np
import pytest
import torch
import xarray as xr
from tiny_transformers import tiny_model, tokens_of

from rllc.measures.data import InMemoryData
from rllc.measures.fisher.kernel import fisher, fisher_traces, gauss_newton_form, generated_batches
from rllc.measures.hessian.kernel import hessian_times
from rllc.measures.traces import signs
from rllc.models.attention_only import AttentionOnly
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.transformer import Architecture
from rllc.tasks.batch import Batch, next_token_batch

BOS, VOCABULARY, CONTEXT = 0, 3, 3
MODEL = AttentionOnly(
    Architecture(n_layers=1, n_heads=2, d_model=2, d_head=1, n_ctx=CONTEXT, d_vocab=VOCABULARY)
)
PREDICTIONS = CONTEXT - 1


@pytest.fixture(scope="module")
def weights():
    initial = MODEL.initial_weights(
        seed=0, matrix_scale=1.5, embedding_scale=None, query_key_factor=1.0, position_init="normal",
        position_scale=1.0,
    )  # fmt: skip
    return {name: w.double() for name, w in initial.items()}


@pytest.fixture(scope="module")
def every_context(weights):
    """Every context that can follow BOS, each a batch, and its probability under the model."""
    contexts = [(BOS, *rest) for rest in itertools.product(range(VOCABULARY), repeat=PREDICTIONS)]
    batches = [batch_of(torch.tensor([context])) for context in contexts]
    losses = [MODEL.loss(weights, batch) for batch in batches]
    return batches, [float((-PREDICTIONS * loss).exp()) for loss in losses]


def batch_of(tokens):
    return Batch(tokens, torch.arange(PREDICTIONS), tokens[:, 1:])


def trace_of(product, weights):
    """Sum of the diagonal, coordinate by coordinate."""
    total = 0.0
    for name, w in weights.items():
        for place in range(w.numel()):
            unit = {n: torch.zeros_like(v) for n, v in weights.items()}
            unit[name].view(-1)[place] = 1.0
            total += product(unit)
    return total


@pytest.fixture(scope="module")
def truth(weights, every_context):
    """E |grad log p|^2 / K, by the gradient of every context."""
    total = 0.0
    for batch, probability in zip(*every_context, strict=True):
        leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
        slopes = torch.autograd.grad(PREDICTIONS * MODEL.loss(leaves, batch), list(leaves.values()))
        total += probability * sum(float(slope.square().sum()) for slope in slopes) / PREDICTIONS
    return total


def test_the_three_forms_are_one_number(weights, every_context, truth):
    batches, probabilities = every_context
    assert sum(probabilities) == pytest.approx(1.0, abs=1e-12)
    hessian = gauss_newton = 0.0
    for batch, probability in zip(batches, probabilities, strict=True):
        times, form = hessian_times(MODEL.loss, weights, batch), gauss_newton_form(MODEL, weights, batch)
        hessian += probability * trace_of(
            lambda v, times=times: sum(float((v[n] * c).sum()) for n, c in times(v).items()), weights
        )
        gauss_newton += probability * trace_of(form, weights)
    assert truth > 1.0
    assert hessian == pytest.approx(truth, rel=1e-12)
    assert gauss_newton == pytest.approx(truth, rel=1e-12)


def test_estimates_lie_around_the_truth(weights, truth):
    generated = generated_batches(MODEL, weights, shape=(100, 8, CONTEXT), bos=BOS, seed=1)
    found = fisher_traces(MODEL, weights, generated, generated, probes=100, seed=2)
    for name in ("fim_trace", "fim_trace_ggn", "fisher_data"):
        assert abs(found[name] - truth) < 4 * found[f"{name}_se"], name
    forms = [gauss_newton_form(MODEL, weights, generated[i])(signs(weights, i)) for i in range(5)]
    assert min(forms) > 0
    assert found["fim_trace_head"].sizes == {"head": 2}
    np.testing.assert_array_equal(
        found["fisher_data"], found["fim_trace_ggn"]
    )  # the same probes and contexts


def test_contexts_have_the_models_law(weights, every_context):
    """The share of every context against its probability, and the same stream gives the same contexts."""
    count = 20_000
    (batch,) = generated_batches(MODEL, weights, shape=(1, count, CONTEXT), bos=BOS, seed=0)
    assert (batch.contexts[:, 0] == BOS).all()
    torch.testing.assert_close(batch.targets, batch.contexts[:, 1:])
    index = (batch.targets * torch.tensor([VOCABULARY, 1])).sum(1)
    shares = torch.bincount(index, minlength=VOCABULARY**PREDICTIONS) / count
    expected = torch.tensor(every_context[1])
    assert ((shares - expected).abs() < 5 * (expected * (1 - expected) / count).sqrt() + 1e-9).all()
    again = generated_batches(MODEL, weights, shape=(2, 10, CONTEXT), bos=BOS, seed=0)
    (whole,) = generated_batches(MODEL, weights, shape=(1, 20, CONTEXT), bos=BOS, seed=0)
    torch.testing.assert_close(torch.cat([part.contexts for part in again]), whole.contexts)


def test_a_context_of_one_token_is_refused(weights):
    with pytest.raises(ValueError, match="expected at least 2"):
        generated_batches(MODEL, weights, shape=(1, 1, 1), bos=BOS, seed=0)


def test_contexts_without_a_bos_begin_as_text_does():
    model = HuggingFaceModel(tiny_model("gpt_neox"))
    text = tokens_of(model.module, 12).numpy()
    held_out = [next_token_batch(part, np.arange(8)) for part in np.split(text, 3)]
    data = InMemoryData(held_out=held_out)
    assert data.bos is None
    first = torch.from_numpy(text[:, 0])
    made = generated_batches(model, model.weights(), shape=(3, 4, 6), bos=first, seed=data.seed(0))
    assert torch.equal(torch.cat([batch.contexts[:, 0] for batch in made]), first)
    found = fisher(data, probes=3, batch_size=4, context=6)(model.weights(), model, 0)
    expected = fisher_traces(model, model.weights(), made, held_out, probes=3, seed=data.seed(0))
    xr.testing.assert_allclose(found, expected, rtol=1e-4)
    assert found["fim_trace_head"]["head"].values.tolist() == model.heads
    assert float(found["fim_trace_ggn"]) > 0

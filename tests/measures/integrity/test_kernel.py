"""Distances, digest and loss of a checkpoint against numbers by hand."""

import numpy as np
import pytest
import torch

from rllc import AttentionOnly, InMemoryData, measure
from rllc.measures.integrity.kernel import NONE, against, digest, on_text
from rllc.measures.most_affected import Contexts
from rllc.models.transformer import Architecture

MODEL = AttentionOnly(Architecture(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=8, d_vocab=11))
CONTEXTS = np.random.default_rng(0).integers(0, 11, (6, 8))


def weights(**values):
    return {name: torch.tensor(value) for name, value in values.items()}


def test_norm_and_distances_are_euclidean_over_all_weights():
    earlier = [(7, weights(a=[0.0, 0.0], b=[[2.0]])), (3, weights(a=[3.0, 0.0], b=[[-2.0]]))]
    found = against(weights(a=[3.0, 4.0], b=[[2.0]]), earlier)
    assert found["norm"] == pytest.approx(29**0.5)
    assert found["distance_to_previous"] == pytest.approx(5.0)
    assert found["distance_to_second_previous"] == pytest.approx(32**0.5)
    assert found["previous_step"] == 7


def test_first_checkpoints_have_nothing_before_them():
    first = against(weights(a=[1.0]), [])
    assert first["previous_step"] == NONE and np.isnan(first["distance_to_previous"])
    second = against(weights(a=[1.0]), [(0, weights(a=[3.0]))])
    assert second["distance_to_previous"] == 2 and np.isnan(second["distance_to_second_previous"])


def test_small_distance_of_large_weights_is_exact():
    one = torch.full((1000,), 2.0**12)
    found = against({"a": one + 2.0**-10}, [(0, {"a": one})])
    assert found["distance_to_previous"] == pytest.approx(1000**0.5 * 2.0**-10, rel=1e-12)


def test_digest_is_of_the_tensors_alone():
    one = weights(a=[1.0, 2.0], b=[3.0])
    assert digest(one) == digest(dict(reversed(one.items())))
    assert digest(one) == digest(one | {"a": torch.tensor([[1.0, 0.0], [2.0, 0.0]])[:, 0]})  # not contiguous
    others = (
        weights(a=[1.0, 2.0], b=[3.0000002]),
        weights(a=[1.0, 2.0], c=[3.0]),
        weights(a=[[1.0, 2.0]], b=[3.0]),
        weights(a=[1.0], b=[2.0, 3.0]),
    )
    assert len({digest(each) for each in (one, *others)}) == 5


def test_loss_is_that_of_every_context_with_its_error_over_contexts():
    own = MODEL.initial_weights(seed=0, query_key_factor=9.0)
    logits = MODEL.outputs(own, next(iter(Contexts(CONTEXTS, 6))))
    expected = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), torch.from_numpy(CONTEXTS[:, 1:]), reduction="none"
    )
    of_contexts = expected.double().mean(1).numpy()
    for size in (1, 4, 6):
        found = on_text(own, Contexts(CONTEXTS, size), model=MODEL)
        assert found["loss"] == pytest.approx(of_contexts.mean(), rel=1e-5)
        assert found["loss_se"] == pytest.approx(of_contexts.std(ddof=1) / 6**0.5, rel=1e-4)


def test_measure_compares_with_the_two_latest_checkpoints_before_the_step():
    every = {step: MODEL.initial_weights(seed=step) for step in (0, 5, 9, 20)}
    data = InMemoryData(held_out=CONTEXTS, earlier=every)
    found = measure("integrity", MODEL, every[9], data, step=9, contexts=4, batch_size=2)
    assert found["previous_step"] == 5
    expected = against(every[9], [(5, every[5]), (0, every[0])])
    for name in expected:
        assert found[name].item() == expected[name].item()

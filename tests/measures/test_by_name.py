"""Measures called by name against their kernels called by hand."""

import numpy as np
import pytest
import xarray as xr

import rllc
from rllc.measures.by_name import measure, names
from rllc.measures.fisher.kernel import fisher
from rllc.measures.hessian.kernel import hessian_traces
from rllc.study.table import MEASURES
from rllc.tasks.batch import next_token_batch

MODEL = rllc.AttentionOnly(rllc.Architecture(n_layers=2, n_heads=2, d_model=8, d_head=4, n_ctx=16, d_vocab=7))
WEIGHTS = MODEL.initial_weights(seed=0, query_key_factor=4.0)
CONTEXTS = np.random.default_rng(1).integers(0, 7, (40, 16))
CONTEXTS[:, 0] = 3
BATCHES = [next_token_batch(rows, np.arange(15)) for rows in np.split(CONTEXTS, 5)]


def test_every_measure_of_the_workflow_that_samples_nothing_is_found_by_its_name():
    assert set(names()) == {row.name for row in MEASURES if not row.name.startswith("sample_")}


def test_minibatches_say_batch_size_and_context():
    found = measure("fisher", MODEL, WEIGHTS, BATCHES, probes=4)
    data = rllc.InMemoryData(held_out=BATCHES)
    by_hand = fisher(data, probes=4, batch_size=8, context=16)(WEIGHTS, MODEL, 0)
    xr.testing.assert_identical(found, by_hand)


def test_measure_by_name_equals_its_kernel_on_the_same_minibatches():
    given = {"scored_positions": None, "contexts_at_once": None}
    found = measure("hessian", MODEL, WEIGHTS, BATCHES, probes=3, step=7, **given)
    heads = {head: MODEL.masks(head) for head in MODEL.heads}
    seed = rllc.InMemoryData(held_out=BATCHES).seed(7)
    by_hand = hessian_traces(MODEL.loss, WEIGHTS, BATCHES[:3], heads=heads, probes=3, seed=seed)
    xr.testing.assert_allclose(found, by_hand, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "settings", "named"),
    [
        ("hesian", {}, "hessian"),
        ("data", {}, "there is no measure 'data'"),
        ("fisher", {}, "needs probes"),
        ("fisher", {"probes": 2, "probe": 2}, "no setting probe"),
    ],
)
def test_what_cannot_be_measured_is_named(name, settings, named):
    with pytest.raises(ValueError, match=named):
        measure(name, MODEL, WEIGHTS, BATCHES, **settings)


@pytest.mark.parametrize(
    ("name", "settings", "unit"),
    [
        ("ablation", {"batch_size": 8}, ("contexts", 16, 40)),
        ("hessian", {"scored_positions": None, "contexts_at_once": None}, ("probes", 2, 5)),
        ("fisher", {}, ("probes", 2, 5)),
        ("attention_scores", {"length": 16}, ("sequences", 4, 9)),
    ],
)
def test_precise_checkpoints_are_measured_on_more(name, settings, unit):
    key, few, many = unit
    mixed = settings | {key: few, "precise": many, "precise_at": [7]}
    for step, count in ((6, few), (7, many)):
        found = measure(name, MODEL, WEIGHTS, BATCHES, step=step, **mixed)
        expected = measure(name, MODEL, WEIGHTS, BATCHES, step=step, **settings | {key: count})
        xr.testing.assert_identical(found, expected)

"""Measures as a section of the config asks for them, against their kernels called by hand."""

import pytest
import xarray as xr

from rllc.measures.ablation.kernel import ablation, ablations
from rllc.measures.attention_scores.kernel import attention_scores, head_scores, repeat_gap
from rllc.measures.circuits.kernel import circuits, full_circuits
from rllc.measures.data import InMemoryData
from rllc.measures.eigenvalues.kernel import eigenvalues, largest_eigenvalues
from rllc.measures.fisher.kernel import fisher, fisher_traces, generated_batches
from rllc.measures.hessian.kernel import hessian, hessian_traces
from rllc.measures.hessian_rank.kernel import hessian_rank, hessian_ranks
from rllc.measures.metrics.kernel import evaluate, metrics
from rllc.measures.most_affected import Contexts, most_affected
from rllc.measures.token_losses.kernel import by_token, kinds, token_losses
from rllc.measures.tokens.kernel import tokens, tokens_in_context
from rllc.models.attention_only import model
from rllc.seeds import derive, generator
from rllc.tasks.batch import Examples
from rllc.tasks.language import tokenizer
from rllc.tasks.language.patterns import Reader

MODEL = model(n_layers=2, n_heads=2, d_model=8, d_head=4, n_ctx=16, d_vocab=7)
WEIGHTS = MODEL.initial_weights(seed=0, query_key_factor=4.0)
CONTEXTS = Examples(generator(0, "contexts").integers(0, 7, (40, 16)))


DATA = InMemoryData(held_out=CONTEXTS, first=3, tokenizer=tokenizer.learnt([], 257), stream=11)
STEP = 9
SEED = derive(11, 9)


def of(measure, step=STEP):
    return measure(WEIGHTS, MODEL, step)


def test_metrics_leave_out_the_end_of_a_range_of_positions():
    found = of(metrics(DATA, contexts=20, batch_size=10, icl_early=(1, 3), icl_late=(9, 13), accuracy=True))
    batches = DATA.batches("metrics", count=2, batch_size=10, scored=None)
    by_hand = evaluate(WEIGHTS, batches, model=MODEL, early=[1, 2], late=[9, 10, 11, 12], accuracy=True)
    xr.testing.assert_identical(found, by_hand)
    without = of(metrics(DATA, contexts=20, batch_size=10, icl_early=None, icl_late=None, accuracy=False))
    assert set(without.data_vars) == {
        "loss", "loss_se", "loss_by_block", "loss_by_position", "loss_by_position_se", "weight_norm",
    }  # fmt: skip


@pytest.mark.parametrize("scored", [None, 4])
def test_hessian_scores_as_many_positions_as_are_asked_for(scored):
    found = of(hessian(DATA, probes=3, batch_size=2, scored_positions=scored, contexts_at_once=None))
    batches = DATA.batches("hessian", count=3, batch_size=2, scored=scored)
    blocks = {head: MODEL.masks(head) for head in MODEL.heads}
    xr.testing.assert_identical(
        found, hessian_traces(MODEL.loss, WEIGHTS, batches, heads=blocks, probes=3, seed=SEED)
    )


@pytest.mark.parametrize("at_once", [1, 2, 3, 9])
def test_a_hessian_in_parts_is_that_of_the_whole_minibatch(at_once):
    """Parts of different sizes too: 5 contexts are 2, 2 and 1, or 3 and 2."""
    whole, parts = (
        of(hessian(DATA, probes=2, batch_size=5, scored_positions=None, contexts_at_once=n))
        for n in (None, at_once)
    )
    xr.testing.assert_allclose(whole, parts, rtol=1e-4)


def test_fisher_has_its_own_probes_and_contexts_at_every_step():
    measure = fisher(DATA, probes=2, batch_size=3, context=5)
    held_out = DATA.batches("fisher", count=2, batch_size=3, scored=None)
    generated = generated_batches(MODEL, WEIGHTS, shape=(2, 3, 5), bos=3, seed=SEED)
    by_hand = fisher_traces(MODEL, WEIGHTS, generated, held_out, probes=2, seed=SEED)
    xr.testing.assert_identical(of(measure), by_hand)
    assert of(measure, step=10)["fim_trace"] != by_hand["fim_trace"]


def test_ablation_resamples_anew_at_every_step():
    measure = ablation(DATA, contexts=12, batch_size=4)
    batches = DATA.batches("ablation", count=3, batch_size=4, scored=None)
    by_hand = ablations(WEIGHTS, batches, model=MODEL, seed=SEED)
    xr.testing.assert_identical(of(measure), by_hand)


def test_heads_see_the_same_random_sequences_at_every_step():
    measure = attention_scores(DATA, sequences=6, length=16)
    given = {"model": MODEL, "bos": 3, "sequences": 6, "length": 16, "seed": 11}
    xr.testing.assert_identical(of(measure), of(measure, step=10))
    scores, gap = head_scores(WEIGHTS, **given), repeat_gap(WEIGHTS, **given)
    for name, value in {**scores.data_vars, **gap.data_vars}.items():
        xr.testing.assert_equal(of(measure)[name], value)


@pytest.mark.parametrize("scored", [None, 4])
def test_eigenvalues_are_of_one_minibatch_and_one_start_at_every_step(scored):
    measure = eigenvalues(DATA, contexts=5, scored_positions=scored, count=2, tolerance=0.01)
    (batch,) = DATA.batches("eigenvalues", count=1, batch_size=5, scored=scored)
    by_hand = largest_eigenvalues(MODEL.loss, WEIGHTS, batch, count=2, tolerance=0.01, seed=11)
    xr.testing.assert_identical(of(measure), by_hand)
    xr.testing.assert_identical(of(measure, step=10), by_hand)


@pytest.mark.parametrize("scored", [None, 4])
def test_the_rank_is_of_one_minibatch_and_the_same_probes_at_every_step(scored):
    setting = {
        "probes": 2, "degree": 10, "bounds": [-9.0, 9.0], "threshold": 0.1, "adaptive_bound": 1.1,
        "adaptive_threshold": 0.1,
    }  # fmt: skip
    measure = hessian_rank(DATA, contexts=5, scored_positions=scored, **setting)
    (batch,) = DATA.batches("hessian_rank", count=1, batch_size=5, scored=scored)
    by_hand = hessian_ranks(MODEL.loss, WEIGHTS, batch, seed=11, **setting)
    xr.testing.assert_identical(of(measure), by_hand)
    xr.testing.assert_identical(of(measure, step=10), by_hand)


def test_circuits_are_of_the_first_tokens():
    by_hand = full_circuits(WEIGHTS, architecture=MODEL.architecture, tokens=[0, 1, 2, 3, 4], tolerance=0.1)
    xr.testing.assert_identical(of(circuits(DATA, tokens=5, rank_tolerance=0.1)), by_hand)


def test_losses_of_tokens_are_of_the_first_contexts_with_the_kinds_of_their_tokens():
    contexts = CONTEXTS.contexts[:9]
    by_hand = by_token(WEIGHTS, Contexts(contexts, 4), model=MODEL)
    by_hand = by_hand.assign_coords(kinds(contexts, tokenizer.token_bytes(DATA.encoder)))
    xr.testing.assert_identical(of(token_losses(DATA, contexts=9, batch_size=4)), by_hand)


def test_tokens_are_searched_in_the_first_contexts():
    contexts = CONTEXTS.contexts[:9]
    given = {"top": 5, "seed": 11}
    most, chance = most_affected(WEIGHTS, Contexts(contexts, 4), model=MODEL, **given)
    reader = Reader(contexts, tokenizer.token_bytes(DATA.encoder))
    by_hand = tokens_in_context(most, chance, reader, heads=MODEL.heads, **given, shown=2)
    xr.testing.assert_identical(of(tokens(DATA, searched=9, batch_size=4, top=5, shown=2)), by_hand)

"""Bigram score against loops over single predictions, n-grams of a small text."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
import xarray as xr
from intervals import coverages
from scipy import stats
from tiny_transformers import tiny_model

from rllc.measures.data import InMemoryData
from rllc.measures.ngrams.kernel import (
    SparseBigrams,
    bigram_score,
    bigrams,
    common_ngrams,
    ngram_losses,
    ngrams,
)
from rllc.models.attention_only import model
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.tasks.batch import next_token_batch
from rllc.tasks.language.tokenizer import learnt

SIZE, BOS = 7, 0
MODEL = model(n_layers=2, n_heads=2, d_model=8, d_head=4, n_ctx=16, d_vocab=SIZE)
WEIGHTS = MODEL.initial_weights(seed=0, query_key_factor=4.0)
RANDOM = np.random.default_rng(0)
TRAINING = np.hstack([np.zeros((30, 1), int), RANDOM.integers(1, SIZE - 1, (30, 15))])
HELD = np.hstack([np.zeros((6, 1), int), RANDOM.integers(1, SIZE, (6, 15))])  # its last token is never seen
BATCHES = [next_token_batch(part, np.arange(15)) for part in (HELD[:4], HELD[4:])]


def test_the_score_is_the_mean_over_single_predictions():
    follow = {token: Counter() for token in range(SIZE)}
    for row in TRAINING.tolist():
        for token, after in pairwise(row[1:]):
            follow[token][after] += 1
    losses, entropies, of_contexts = [], [], []
    for row in HELD.tolist():
        before = len(losses)
        logits = MODEL.outputs(WEIGHTS, next_token_batch(np.array([row]), np.arange(15)))[0]
        for p in range(1, 15):
            count = follow[row[p]]
            if total := sum(count.values()):
                log_p = logits[p].log_softmax(-1)
                losses.append(-sum(n / total * float(log_p[v]) for v, n in count.items()))
                entropies.append(-sum(n / total * np.log(n / total) for n in count.values()))
        of_contexts.append((sum(losses[before:]), sum(entropies[before:]), len(losses) - before))
    got = bigram_score(WEIGHTS, BATCHES, bigrams(TRAINING, SIZE), model=MODEL)
    assert len(losses) < 6 * 14
    assert float(got["bigram_score"]) == pytest.approx(np.mean(losses), rel=1e-5)
    assert float(got["bigram_entropy"]) == pytest.approx(np.mean(entropies), rel=1e-5)
    assert len({here for _, _, here in of_contexts}) > 1
    both = [(score - least, here) for score, least, here in of_contexts]
    for name, each in (("score", [(s, n) for s, _, n in of_contexts]), ("excess", both)):
        mean = float(got[f"bigram_{name}"])
        squares = sum((total - mean * here) ** 2 for total, here in each)
        expected = np.sqrt(6 / 5 * squares) / len(losses)
        assert float(got[f"bigram_{name}_se"]) == pytest.approx(expected, rel=1e-3), name


def test_intervals_contain_the_scores_of_all_contexts_and_ngrams():
    random = np.random.default_rng(1)
    population = np.hstack([np.zeros((1500, 1), int), random.integers(1, SIZE, (1500, 15))])
    known, grams = bigrams(TRAINING, SIZE), random.integers(1, SIZE, (200, 3))

    def of(contexts: np.ndarray, common: np.ndarray) -> xr.Dataset:
        batches = [next_token_batch(part, np.arange(15)) for part in np.split(contexts, 2)]
        scores = bigram_score(WEIGHTS, batches, known, model=MODEL)
        found = ngram_losses(WEIGHTS, {3: common}, batches, model=MODEL, bos=BOS).squeeze("n", drop=True)
        return scores.merge(found)

    def redraw(seed: int) -> xr.Dataset:
        drawn = np.random.default_rng(seed + 2)
        return of(drawn.choice(population, 40), drawn.choice(grams, 40))

    whole = of(population, grams)
    truth = {
        str(name): float(value)
        for name, value in whole.items()
        if not str(name).endswith(("_se", "_by_block"))
    }
    assert len(truth) == 6
    found = coverages(redraw, truth, redraws=200, units=40)
    assert all(0.89 < share < 0.99 for share in found.values()), found


def test_no_prediction_is_better_than_the_bigrams_themselves():
    known = bigrams(TRAINING, SIZE)

    class Bigrams:
        def outputs(self, weights, batch):
            return known[batch.contexts[:, batch.positions]].clamp(min=1e-30).log()

    seen = [batch._replace(contexts=batch.contexts.clamp(max=SIZE - 2)) for batch in BATCHES]
    got = bigram_score({}, seen, known, model=Bigrams())
    assert float(got["bigram_score"]) == pytest.approx(float(got["bigram_entropy"]), rel=1e-5)
    assert float(bigram_score(WEIGHTS, seen, known, model=MODEL)["bigram_score"]) > float(
        got["bigram_entropy"]
    )


TEXTS = ["the cat and the dog and the bird saw a thing that the other thing saw"] * 20


@pytest.fixture(scope="module")
def tokenizer():
    return learnt(TEXTS, 262)


def test_ngrams_are_entries_that_the_tokenizer_splits(tokenizer):
    grams = common_ngrams(tokenizer, TEXTS, vocabulary=330, per_order=5)
    assert list(grams) == [2, 3, 4]
    words = learnt(TEXTS, 330).get_vocab()
    spelled = {text.replace("Ġ", " ") for text in words}
    for n, tokens in grams.items():
        assert tokens.shape[1] == n
        assert 0 < len(tokens) <= 5
        for row in tokens.tolist():
            text = tokenizer.decode(row)
            assert text in spelled
            assert tokenizer.encode(text).ids == row
            assert tokenizer.encode(" ").ids[0] not in row


def test_losses_are_of_the_last_token_and_of_text_at_its_place():
    grams = {2: np.array([[3, 4], [5, 1]]), 3: np.array([[1, 2, 3]]), 4: np.empty((0, 4), int)}
    got = ngram_losses(WEIGHTS, grams, BATCHES, model=MODEL, bos=BOS)
    for n, tokens in ((2, [[3, 4], [5, 1]]), (3, [[1, 2, 3]])):
        expected = []
        for row in tokens:
            logits = MODEL.outputs(WEIGHTS, next_token_batch(np.array([[BOS, *row]]), np.arange(n)))
            expected.append(-float(logits[0, -1].log_softmax(-1)[row[-1]]))
        assert float(got["ngram_loss"].sel(n=n)) == pytest.approx(np.mean(expected), rel=1e-5)
        logits = MODEL.outputs(WEIGHTS, next_token_batch(HELD, np.array([n - 1])))[:, 0].log_softmax(-1)
        text = -float(logits[torch.arange(6), torch.from_numpy(HELD[:, n])].mean())
        assert float(got["ngram_score"].sel(n=n)) == pytest.approx(text / np.mean(expected), rel=1e-5)
        baselines = -logits[torch.arange(6), torch.from_numpy(HELD[:, n])].numpy()
        assert float(got["ngram_baseline_se"].sel(n=n)) == pytest.approx(stats.sem(baselines), rel=1e-4)
        if n == 2:
            assert float(got["ngram_loss_se"].sel(n=n)) == pytest.approx(stats.sem(expected), rel=1e-4)
            slopes = (1 / np.mean(expected), text / np.mean(expected) ** 2)
            both = np.hypot(slopes[0] * stats.sem(baselines), slopes[1] * stats.sem(expected))
            assert float(got["ngram_score_se"].sel(n=n)) == pytest.approx(both, rel=1e-4)
    assert np.isnan(got["ngram_score"].sel(n=4))
    assert np.isnan(got["ngram_score_se"].sel(n=[3, 4])).all()  # of one n-gram, and of none


def test_the_measure_reads_training_contexts_and_held_out_ones(tokenizer):
    size = tokenizer.get_vocab_size()
    training = np.array([[0, *tokenizer.encode(text).ids][:16] for text in TEXTS])

    batches = [next_token_batch(training[rows], np.arange(15)) for rows in (slice(3), slice(3, 6))]
    data = InMemoryData(held_out=batches, training=training, first=0, tokenizer=tokenizer)
    larger = model(n_layers=1, n_heads=1, d_model=4, d_head=2, n_ctx=16, d_vocab=size)
    weights = larger.initial_weights(seed=0)
    measure = ngrams(data, contexts=6, batch_size=3, vocabulary=330, per_order=5, text_blocks=10)
    found = measure(weights, larger, 0)
    assert set(found.data_vars) == {
        "bigram_score",
        "bigram_entropy",
        "bigram_excess",
        "ngram_loss",
        "ngram_baseline",
        "ngram_score",
        "bigram_score_se",
        "bigram_score_by_block",
        "bigram_entropy_se",
        "bigram_excess_se",
        "bigram_excess_by_block",
        "ngram_loss_se",
        "ngram_baseline_se",
        "ngram_score_se",
    }
    assert float(found["bigram_score"]) > float(found["bigram_entropy"]) > 0
    assert np.isfinite(found["ngram_score"].sel(n=[2, 3])).all()


def test_blocks_of_contexts_have_the_score_of_their_own_contexts():
    held = np.hstack([np.zeros((32, 1), int), np.random.default_rng(2).integers(1, SIZE, (32, 15))])
    known = bigrams(TRAINING, SIZE)
    got = bigram_score(WEIGHTS, [next_token_batch(held, np.arange(15))], known, model=MODEL)
    third = bigram_score(WEIGHTS, [next_token_batch(held[4:6], np.arange(15))], known, model=MODEL)
    for name in ("bigram_score", "bigram_excess"):
        assert got[f"{name}_by_block"].shape == (16,)
        assert float(got[f"{name}_by_block"][2]) == pytest.approx(float(third[name]), rel=1e-5)


def test_bigrams_of_a_large_vocabulary_are_the_same(monkeypatch):
    dense = bigrams(TRAINING, SIZE)
    expected = bigram_score(WEIGHTS, BATCHES, dense, model=MODEL)
    monkeypatch.setattr("rllc.measures.ngrams.kernel.DENSE", SIZE - 1)
    sparse = bigrams(TRAINING, SIZE)
    assert isinstance(sparse, SparseBigrams)
    tokens = torch.tensor([3, SIZE - 1, 1, 3])
    assert torch.equal(sparse[tokens], dense[tokens])
    assert dense[SIZE - 1].sum() == 0  # never followed by a token
    xr.testing.assert_identical(bigram_score(WEIGHTS, BATCHES, sparse, model=MODEL), expected)


def test_losses_without_a_bos_are_of_the_n_gram_alone():
    grams = {2: np.array([[3, 4], [5, 1]]), 4: np.array([[1, 2, 3, 5]])}
    got = ngram_losses(WEIGHTS, grams, BATCHES, model=MODEL, bos=None)
    for n, tokens in grams.items():
        alone = MODEL.outputs(WEIGHTS, next_token_batch(tokens, np.array([n - 2])))[:, 0].log_softmax(-1)
        expected = -alone[torch.arange(len(tokens)), torch.from_numpy(tokens[:, -1])].mean()
        assert float(got["ngram_loss"].sel(n=n)) == pytest.approx(float(expected), rel=1e-5)
        text = MODEL.outputs(WEIGHTS, next_token_batch(HELD, np.array([n - 2])))[:, 0].log_softmax(-1)
        baseline = -text[torch.arange(6), torch.from_numpy(HELD[:, n - 1])].mean()
        assert float(got["ngram_baseline"].sel(n=n)) == pytest.approx(float(baseline), rel=1e-5)


def test_the_measure_takes_models_of_transformers_without_a_bos(tokenizer):
    module = tiny_model("gpt_neox", vocab_size=262)
    own = HuggingFaceModel(module)
    encoded = np.asarray(tokenizer.encode(TEXTS[0] * 3).ids)
    contexts = np.stack([encoded[start : start + 12] for start in range(24)])
    data = InMemoryData(held_out=contexts, training=contexts, tokenizer=tokenizer)
    assert data.bos is None
    settings = {"contexts": 8, "batch_size": 4, "vocabulary": 330, "per_order": 5, "text_blocks": 20}
    got = ngrams(data, **settings)(own.weights(), own, 0)
    assert float(got["bigram_excess"]) > 0
    assert (got["ngram_loss"] > 0).all() and np.isfinite(got["ngram_baseline"]).all()

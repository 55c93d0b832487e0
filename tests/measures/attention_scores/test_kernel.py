"""Head scores on heads built to have them, and against attention patterns cached by TransformerLens."""

import numpy as np
import pytest
import torch
from hooked import as_hooked
from intervals import coverages
from planted import induction_model
from scipy import stats
from surgery import losses
from tiny_transformers import tiny_model, tokens_of

from rllc.measures.attention_scores.kernel import (
    _matching,
    _plain,
    attention_scores,
    head_scores,
    repeat_gap,
)
from rllc.measures.data import InMemoryData
from rllc.models.attention_only import AttentionOnly
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.transformer import Architecture, shapes
from rllc.seeds import generator


def random_weights(architecture: Architecture) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    table = shapes(architecture)
    return {n: torch.randn(s, generator=random, dtype=torch.float64) / 2 for n, s in table.items()}


def test_built_heads_score_one():
    architecture, weights = induction_model(vocabulary=30, context=32)
    got = head_scores(weights, model=AttentionOnly(architecture), bos=4, sequences=50, length=32, seed=0)
    assert got.previous_token.sel(head="0:0").item() == pytest.approx(1)
    assert got.current_token.sel(head="0:0").item() == pytest.approx(0)
    assert got.previous_token.sel(head="0:1").item() == pytest.approx(0)
    assert got.current_token.sel(head="0:1").item() == pytest.approx(1)
    assert got.prefix_matching.sel(head="1:0").item() == pytest.approx(1)
    assert got.prefix_matching_literal.sel(head="1:0").item() == pytest.approx(0)


def test_an_even_head_scores_one_over_the_context():
    architecture, weights = induction_model(vocabulary=30, context=32)
    got = head_scores(weights, model=AttentionOnly(architecture), bos=4, sequences=50, length=32, seed=0)
    _, last = _plain(generator(0, "plain"), 30, 4, 50, 32)
    _, _, second = _matching(generator(0, "matching"), 30, 4, 50, 32)
    even = got.sel(head="1:1")
    assert even.previous_token.item() == pytest.approx((1 / (last + 1)).mean())
    assert even.prefix_matching_literal.item() == pytest.approx((1 / (second + 1)).mean())


def test_blocks_of_sequences_have_the_mean_of_all():
    architecture = Architecture(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=32, d_vocab=9)
    got = head_scores(
        random_weights(architecture),
        model=AttentionOnly(architecture),
        bos=4,
        sequences=48,
        length=32,
        seed=0,
    )
    for name in ("previous_token", "prefix_matching"):
        assert got[f"{name}_by_block"].dims == ("head", "block")
        np.testing.assert_allclose(got[f"{name}_by_block"].mean("block"), got[name], rtol=1e-5)


def test_an_induction_head_lowers_the_repeated_loss():
    architecture, weights = induction_model(vocabulary=200, context=32)
    given = {"model": AttentionOnly(architecture), "bos": 4, "sequences": 40, "length": 32, "seed": 0}
    assert repeat_gap(weights, **given).repeat_gap.item() < -5
    weights["blocks.1.attn.W_O"][0] = 0
    assert repeat_gap(weights, **given).repeat_gap.item() == pytest.approx(0)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(("positions", "norm"), [("shortformer", True), ("standard", False)])
def test_equal_to_patterns_of_transformer_lens(layers, positions, norm):
    architecture = Architecture(layers, 2, 12, 4, 24, 15, positions, norm)
    weights = random_weights(architecture)
    got = head_scores(
        weights, model=AttentionOnly(architecture), bos=14, sequences=21, length=22, seed=3, chunk=8
    )
    model = as_hooked(weights, architecture)

    def attended(tokens: np.ndarray, query: int, key: int) -> np.ndarray:
        _, cache = model.run_with_cache(torch.from_numpy(tokens)[None])
        rows = [cache[f"blocks.{layer}.attn.hook_pattern"][0, :, query, key] for layer in range(layers)]
        return torch.cat(rows).numpy()

    plain = _plain(generator(3, "plain"), 15, 14, 21, 22)
    # Sequences really cut at their last token, as in the definition.
    previous = [attended(tokens[: p + 1], -1, -2) for tokens, p in zip(*plain, strict=True)]
    current = [attended(tokens[: p + 1], -1, -1) for tokens, p in zip(*plain, strict=True)]
    matching = list(zip(*_matching(generator(3, "matching"), 15, 14, 21, 22), strict=True))
    after = [attended(tokens, second, first + 1) for tokens, first, second in matching]
    literal = [attended(tokens, second, first) for tokens, first, second in matching]
    np.testing.assert_allclose(got.previous_token, np.mean(previous, 0), rtol=1e-9)
    np.testing.assert_allclose(got.current_token, np.mean(current, 0), rtol=1e-9)
    np.testing.assert_allclose(got.prefix_matching, np.mean(after, 0), rtol=1e-9)
    np.testing.assert_allclose(got.prefix_matching_literal, np.mean(literal, 0), rtol=1e-9)
    np.testing.assert_allclose(got.previous_token_se, stats.sem(previous), rtol=1e-9)
    np.testing.assert_allclose(got.current_token_se, stats.sem(current), rtol=1e-9)
    np.testing.assert_allclose(got.prefix_matching_se, stats.sem(after), rtol=1e-9)
    np.testing.assert_allclose(got.prefix_matching_literal_se, stats.sem(literal), rtol=1e-9)


def test_intervals_contain_the_known_scores_of_an_even_head():
    """It attends 1 / n to each of n tokens, and what n may be is known."""
    architecture, weights = induction_model(vocabulary=6, context=32)
    previous = np.mean([1 / n for n in range(4, 17)])
    literal = np.mean([1 / n for n in range(18, 33)])
    truth = {
        "previous_token": previous, "current_token": previous,
        "prefix_matching": literal, "prefix_matching_literal": literal,
    }  # fmt: skip
    given = {"model": AttentionOnly(architecture), "bos": 4, "sequences": 40, "length": 32, "chunk": 40}
    found = coverages(
        lambda seed: head_scores(weights, **given, seed=seed).sel(head="1:1"), truth, redraws=200, units=40
    )
    assert all(0.89 < share < 0.99 for share in found.values()), found


def test_repeat_gap_equals_transformer_lens():
    architecture = Architecture(2, 2, 12, 4, 24, 15)
    weights = random_weights(architecture)
    got = repeat_gap(
        weights, model=AttentionOnly(architecture), bos=3, sequences=21, length=24, seed=3, chunk=8
    )
    segment = generator(3, "repeat").integers(0, 14, (21, 11))
    segment += segment >= 3
    tokens = torch.from_numpy(np.concatenate([np.full((21, 1), 3), segment, segment], axis=1))
    with torch.no_grad():
        losses = as_hooked(weights, architecture)(tokens, return_type="loss", loss_per_token=True)
    # losses[:, p] is that of token p + 1; tokens 1 and 12 begin the copies
    expected = losses[:, 12:22].mean() - losses[:, 1:11].mean()
    assert got.repeat_gap.item() == pytest.approx(expected.item(), abs=1e-10)
    gaps = losses[:, 12:22].mean(1) - losses[:, 1:11].mean(1)
    assert got.repeat_gap_se.item() == pytest.approx(stats.sem(gaps.numpy()), rel=1e-9)


def test_intervals_contain_the_repeat_gap_of_many_sequences():
    architecture = Architecture(2, 1, 8, 4, 16, 6)
    weights = random_weights(architecture)
    given = {"model": AttentionOnly(architecture), "bos": 0, "length": 16}
    truth = float(repeat_gap(weights, **given, sequences=20000, seed=-1 % 2**32, chunk=2000).repeat_gap)
    found = coverages(
        lambda seed: repeat_gap(weights, **given, sequences=40, seed=seed, chunk=40),
        {"repeat_gap": truth}, redraws=200, units=40,
    )  # fmt: skip
    assert 0.89 < found["repeat_gap"] < 0.99


@pytest.mark.parametrize("bos", [0, 7, 11])
def test_matching_sequences_hold_one_pair(bos):
    tokens, first, second = _matching(generator(0), 12, bos, 3000, 20)
    every = np.arange(3000)
    repeated = tokens[every, first]
    assert np.all(tokens[:, 0] == bos)
    assert np.all(tokens[:, 1:] != bos)
    assert np.array_equal(repeated, tokens[every, second])
    assert np.all((tokens == repeated[:, None]).sum(1) == 2)
    assert (first.min(), first.max(), second.min(), second.max()) == (1, 9, 11, 19)
    # Every other token is equally likely: 11 tokens, 17 free places less what A takes, 6 sd.
    counts = np.bincount(tokens[:, 1:].ravel(), minlength=12)
    expected = 3000 * 19 / 11
    assert np.all(np.abs(np.delete(counts, bos) - expected) < 6 * expected**0.5)


def test_plain_sequences_are_of_the_authors_lengths():
    tokens, last = _plain(generator(0), 12, 5, 5000, 128)
    assert tokens.shape == (5000, 64)
    assert np.all(tokens[:, 0] == 5)
    assert np.all(tokens[:, 1:] != 5)
    assert set(tokens.ravel()) == set(range(12))
    assert (last.min() + 1, last.max() + 1) == (16, 64)


def test_results_do_not_depend_on_chunks_or_the_global_generator():
    architecture = Architecture(2, 2, 12, 4, 24, 15)
    weights = random_weights(architecture)
    given = {"model": AttentionOnly(architecture), "bos": 0, "sequences": 10, "length": 20, "seed": 1}
    torch.manual_seed(1)
    one = head_scores(weights, **given, chunk=3)
    torch.manual_seed(2)
    other = head_scores(weights, **given, chunk=100)
    for name in one:
        np.testing.assert_allclose(one[name], other[name], rtol=1e-12)


@pytest.mark.parametrize("measure", [head_scores, repeat_gap])
def test_one_sequence_has_no_error(measure):
    architecture = Architecture(1, 2, 12, 4, 24, 15)
    got = measure(
        random_weights(architecture), model=AttentionOnly(architecture), bos=0, sequences=1, length=20, seed=1
    )
    for name, values in got.items():
        assert np.isnan(values).all() == str(name).endswith(("_se", "_by_block")), name


@pytest.mark.parametrize("measure", [head_scores, repeat_gap])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"length": 15}, "length = 15: expected 16 .. 24"),
        ({"length": 25}, "length = 25: expected 16 .. 24"),
        ({"bos": 15}, "bos = 15"),
        ({"sequences": 0}, "sequences = 0"),
    ],
)
def test_bad_input_is_refused(measure, change, message):
    architecture = Architecture(1, 2, 12, 4, 24, 15)
    given = {"model": AttentionOnly(architecture), "bos": 0, "sequences": 4, "length": 20, "seed": 1} | change
    with pytest.raises(ValueError, match=message):
        measure(random_weights(architecture), **given)


@torch.no_grad()
@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "llama_groups"])
@pytest.mark.parametrize("bos", [None, 7])
def test_scores_of_transformers_equal_the_attention_that_they_return(name, bos):
    module = tiny_model(name)
    model = HuggingFaceModel(module)
    got = head_scores(model.weights(), model=model, bos=bos, sequences=9, length=24, seed=3, chunk=4)

    def attended(tokens: np.ndarray, query: int, key: int) -> np.ndarray:
        returned = module(input_ids=torch.from_numpy(tokens)[None], output_attentions=True).attentions
        return torch.cat([each[0, :, query, key] for each in returned]).numpy()

    plain = zip(*_plain(generator(3, "plain"), 53, bos, 9, 24), strict=True)
    matching = list(zip(*_matching(generator(3, "matching"), 53, bos, 9, 24), strict=True))
    found = {
        "previous_token": [attended(tokens[: p + 1], -1, -2) for tokens, p in plain],
        "prefix_matching": [attended(tokens, second, first + 1) for tokens, first, second in matching],
        "prefix_matching_literal": [attended(tokens, second, first) for tokens, first, second in matching],
    }
    for score, values in found.items():
        by_member = np.asarray(values).reshape(9, len(model.heads), -1)
        means, best = by_member.mean(0), by_member.mean(0).argmax(1)
        every = np.arange(len(model.heads))
        np.testing.assert_allclose(got[score], means.max(1), rtol=1e-4, atol=1e-6)
        errors = stats.sem(by_member, axis=0)[every, best]
        np.testing.assert_allclose(got[f"{score}_se"], errors, rtol=1e-3, atol=1e-6)
        if name == "llama_groups":
            np.testing.assert_allclose(got[f"{score}_by_member"], means, rtol=1e-4, atol=1e-6)
    assert ("previous_token_by_member" in got) == (name == "llama_groups")
    assert got["head"].values.tolist() == model.heads


def test_sequences_without_a_bos_begin_with_any_token():
    tokens, _ = _plain(generator(0, "plain"), 9, None, 200, 32)
    assert set(np.unique(tokens[:, 0])) == set(range(9))
    tokens, first, second = _matching(generator(0, "matching"), 9, None, 200, 32)
    every = np.arange(200)
    repeated = tokens[every, first]
    assert np.array_equal(tokens[every, second], repeated)
    assert ((tokens == repeated[:, None]).sum(1) == 2).all()
    assert len(np.unique(tokens[:, 0])) == 9


@torch.no_grad()
def test_repeat_gap_without_a_bos_is_that_of_two_copies():
    module = tiny_model("gpt_neox")
    model = HuggingFaceModel(module)
    got = repeat_gap(model.weights(), model=model, bos=None, sequences=6, length=17, seed=3, chunk=4)
    segment = torch.from_numpy(generator(3, "repeat").integers(0, 53, (6, 8)))
    lost = losses(module, torch.cat([segment, segment], 1))  # of tokens 1 .. 15
    gap = lost[:, 8:].mean(1) - lost[:, :7].mean(1)
    assert float(got["repeat_gap"]) == pytest.approx(float(gap.mean()), abs=1e-5)
    assert float(got["repeat_gap_se"]) == pytest.approx(float(stats.sem(gap)), abs=1e-5)


def test_the_measure_leaves_composition_out_where_models_have_no_circuits():
    model = HuggingFaceModel(tiny_model("gpt_neox"))
    data = InMemoryData(held_out=tokens_of(model.module, 8).numpy())
    got = attention_scores(data, sequences=20, length=16)(model.weights(), model, 0)
    assert "k_composition" not in got and "repeat_gap" in got

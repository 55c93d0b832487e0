"""In-context learning without heads: a model with two planted induction heads, hooks, and the plain score."""

import numpy as np
import pytest
import torch
import xarray as xr
from hooked import as_hooked
from planted import induction_model
from surgery import losses, with_output
from tiny_transformers import tiny_model, tokens_of

from rllc.measures.data import InMemoryData
from rllc.measures.induction_ablation.kernel import induction_ablation, left_out, scores
from rllc.measures.metrics.kernel import evaluate
from rllc.models.attention_only import AttentionOnly, model
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.transformer import Architecture, shapes
from rllc.seeds import generator
from rllc.tasks.batch import next_token_batch

EARLY, LATE = range(1, 3), range(5, 8)
SHAPE = Architecture(2, 3, 12, 4, 9, 11)
CONTEXTS = generator(0, "test").integers(0, 11, (10, 9))
BATCHES = [next_token_batch(part, np.arange(8)) for part in (CONTEXTS[:4], CONTEXTS[4:])]
EQUAL = [next_token_batch(part, np.arange(8)) for part in (CONTEXTS[:5], CONTEXTS[5:])]


def random_weights(shape=SHAPE):
    random = torch.Generator().manual_seed(0)
    return {n: torch.randn(s, generator=random).double() / 2 for n, s in shapes(shape).items()}


def test_nothing_ablated_is_the_score_of_the_metrics():
    weights = random_weights()
    got = scores(weights, BATCHES, {"none": []}, model=AttentionOnly(SHAPE), early=EARLY, late=LATE).sel(
        ablated="none"
    )
    plain = evaluate(weights, BATCHES, model=AttentionOnly(SHAPE), early=EARLY, late=LATE)
    assert float(got["icl_score"]) == pytest.approx(float(plain["icl_score"]), abs=1e-12)
    assert float(got["icl_score_se"]) == pytest.approx(float(plain["icl_score_se"]), abs=1e-12)


@pytest.mark.parametrize("heads", [["1:2"], ["1:0", "1:2"], ["0:1", "1:0"]])
def test_equal_to_hooks_on_transformer_lens(heads):
    weights, tokens = random_weights(), torch.from_numpy(CONTEXTS)
    indices = [tuple(map(int, head.split(":"))) for head in heads]
    lens = as_hooked(weights, SHAPE)
    _, cache = lens.run_with_cache(tokens)
    mean = {(n, h): cache[f"blocks.{n}.attn.hook_z"][:, :, h].mean((0, 1)) for n, h in indices}

    def replace(z, hook):
        z = z.clone()
        for n, h in indices:
            if hook.layer() == n:
                z[:, :, h] = mean[n, h]
        return z

    with torch.no_grad():
        hooks = [(f"blocks.{n}.attn.hook_z", replace) for n in (0, 1)]
        logits = lens.run_with_hooks(tokens, fwd_hooks=hooks)[:, :-1].log_softmax(-1)
    lost = -logits.gather(-1, tokens[:, 1:, None])[..., 0]
    expected = lost[:, LATE].mean(1) - lost[:, EARLY].mean(1)
    got = scores(weights, BATCHES, {"x": heads}, model=AttentionOnly(SHAPE), early=EARLY, late=LATE).sel(
        ablated="x"
    )
    assert float(got["icl_score"]) == pytest.approx(float(expected.mean()), abs=1e-10)
    assert float(got["icl_score_se"]) == pytest.approx(float(expected.std() / 10**0.5), abs=1e-10)


def two_heads(vocabulary=12, context=17):
    """1:0 is an induction head of the first half of the vocabulary, 1:1 of the second."""
    shape, w = induction_model(vocabulary, context)
    for name in ("W_Q", "W_K", "W_O"):
        w[f"blocks.1.attn.{name}"][1] = w[f"blocks.1.attn.{name}"][0]
    half = vocabulary // 2
    w["blocks.1.attn.W_V"][1] = w["blocks.1.attn.W_V"][0].clone()
    w["blocks.1.attn.W_V"][0, half:vocabulary] = 0
    w["blocks.1.attn.W_V"][1, :half] = 0
    return shape, w


@pytest.mark.parametrize("own", [0, 1])
def test_of_two_planted_heads_the_one_of_these_tokens_does_it_all(own):
    """Contexts of one half of the vocabulary, twice the same: the other half's head has nothing to say."""
    shape, weights = two_heads()
    random = generator(1, "test")
    first = np.stack([random.permutation(6) + 6 * own for _ in range(8)])
    contexts = np.hstack([np.full((8, 1), 6 * own), first, first])
    batches = [next_token_batch(contexts, np.arange(12))]
    ablated = left_out(["1:0", "1:1"])
    assert list(ablated) == ["none", "1:1", "1:0", "all"]
    got = scores(weights, batches, ablated, model=AttentionOnly(shape), early=range(1, 5), late=range(8, 12))
    value = {name: float(got["icl_score"].sel(ablated=name)) for name in ablated}
    mine, other = f"1:{own}", f"1:{1 - own}"
    assert value["none"] < -3
    assert value[other] == value["none"]
    assert value[mine] == value["all"]
    assert abs(value["all"]) < 0.1 * abs(value["none"])


@pytest.mark.parametrize(
    ("heads", "names"),
    [([], ["none"]), (["1:3"], ["none", "all"]), (["1:0", "1:2", "2:0"], ["none", "1:2+2:0", "1:0+2:0", "1:0+1:2", "all"])],
)  # fmt: skip
def test_all_others_of_each_head_are_ablated(heads, names):
    assert list(left_out(heads)) == names


def test_the_error_of_what_is_left_is_that_of_contexts_drawn_anew():
    """Against the spread of the ratio where contexts are left out one by one (jackknife)."""
    shape, weights = two_heads()
    random = generator(2, "test")
    first = np.stack([random.permutation(12)[:6] for _ in range(40)])
    contexts = np.hstack([first[:, -1:], first, first])

    def found(rows):
        batches = [next_token_batch(rows, np.arange(12))]
        heads = {"none": [], "1:0": ["1:0"]}
        return scores(
            weights, batches, heads, model=AttentionOnly(shape), early=range(1, 5), late=range(8, 12)
        )

    whole = found(contexts)
    plain, without = whole["icl_score"].values
    np.testing.assert_allclose(whole["icl_left"], [1, without / plain])
    assert 0.2 < without / plain < 0.8 and whole["icl_left_se"][0] == 0
    each = np.asarray([float(found(np.delete(contexts, n, 0))["icl_left"][1]) for n in range(40)])
    jackknife = np.sqrt(39 / 40 * ((each - each.mean()) ** 2).sum())
    assert float(whole["icl_left_se"][1]) == pytest.approx(jackknife, rel=0.1)


def test_positions_that_are_not_scored_are_refused():
    for late in (range(7, 9), range(20, 21)):
        with pytest.raises(ValueError, match="not all scored"):
            scores(
                random_weights(), BATCHES, {"none": []}, model=AttentionOnly(SHAPE), early=EARLY, late=late
            )
    some = [next_token_batch(CONTEXTS, np.array([0, 2, 6]))]
    with pytest.raises(ValueError, match="not all scored"):
        scores(random_weights(), some, {"none": []}, model=AttentionOnly(SHAPE), early=[0], late=[3])


def test_the_measure_takes_the_batches_of_metrics_and_the_induction_heads():
    names = ("previous_token", "current_token", "prefix_matching")
    values = dict.fromkeys(names, [0.0] * 6) | {"prefix_matching": [0, 0, 0, 0.5, 0, 0.4]}
    heads = xr.Dataset(
        {name: (("seed", "step", "head"), [[each]]) for name, each in values.items()},
        {"seed": [0], "step": [9], "head": [f"{n}:{h}" for n in range(2) for h in range(3)]},
    )

    data = InMemoryData(held_out=EQUAL, parts={"attention_scores": heads})
    own = model(n_layers=2, n_heads=3, d_model=12, d_head=4, n_ctx=9, d_vocab=11)
    thresholds = {"previous_token": 0.3, "current_token": 0.3, "prefix_matching": 0.1}
    measure = induction_ablation(
        data, contexts=10, batch_size=5, early=[1, 3], late=[5, 8], thresholds=thresholds
    )
    got = measure(random_weights(), own, 0)
    assert got["ablated"].values.tolist() == ["none", "1:2", "1:0", "all"]
    ablated = {"none": [], "1:2": ["1:2"], "1:0": ["1:0"], "all": ["1:0", "1:2"]}
    expected = scores(random_weights(), EQUAL, ablated, model=AttentionOnly(SHAPE), early=EARLY, late=LATE)
    xr.testing.assert_equal(got, expected)


@torch.no_grad()
def test_groups_of_transformers_are_ablated_together():
    module = tiny_model("llama_groups")
    own, tokens = HuggingFaceModel(module), tokens_of(module, 8)
    batches = [next_token_batch(part.numpy(), np.arange(8)) for part in tokens.split(4)]
    groups = ["group:0:1", "group:1:0"]
    ablated = left_out(groups)
    assert list(ablated) == ["none", "group:1:0", "group:0:1", "all"]
    got = scores(own.weights(), batches, ablated, model=own, early=EARLY, late=LATE)
    means = own.mean_outputs(own.weights(), batches)
    copies = {name: with_output(module, name, means[name][0]) for name in groups}
    copies["all"] = with_output(copies[groups[0]], groups[1], means[groups[1]][0])
    for name, copied in copies.items():
        lost = losses(copied, tokens)
        gap = lost[:, LATE].mean(1) - lost[:, EARLY].mean(1)
        assert float(got["icl_score"].sel(ablated=name)) == pytest.approx(float(gap.mean()), abs=1e-5)

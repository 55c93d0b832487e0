"""Path patching against TransformerLens hooks, against total ablation, and on a model with one known path."""

import numpy as np
import pytest
import torch
from hooked import as_hooked

from rllc.measures.data import InMemoryData
from rllc.measures.path_patching.kernel import CONDITIONS, _mean, patched_losses, path_patching
from rllc.measures.roles import label, multigram
from rllc.models.attention_only import model
from rllc.models.patching import mean_outputs, passed, replaced
from rllc.models.transformer import Architecture, forward, shapes
from rllc.seeds import generator
from rllc.tasks.batch import next_token_batch
from rllc.tasks.language.tokenizer import learnt

SENDERS, LATER = [(0, 0), (0, 2)], [(1, 0), (1, 1), (1, 2)]
SHAPE = Architecture(2, 3, 12, 4, 9, 11)
CONTEXTS = generator(0, "test").integers(0, 11, (10, 9))
DEPTHS = generator(1, "test").integers(0, 3, (10, 9))


def random_weights(shape=SHAPE, seed=0):
    random = torch.Generator().manual_seed(seed)
    return {n: torch.randn(s, generator=random).double() / 2 for n, s in shapes(shape).items()}


def patched(weights=None, senders=SENDERS, receivers=LATER[1:2], shape=SHAPE, batch_size=4):
    return patched_losses(
        weights or random_weights(), CONTEXTS, DEPTHS, architecture=shape, senders=senders,
        receivers=receivers, batch_size=batch_size,
    )  # fmt: skip


def mean_loss(logits, mask):
    """Of the predictions of tokens that the mask [total, length] marks."""
    lost = -logits[:, :-1].log_softmax(-1).gather(-1, torch.from_numpy(CONTEXTS[:, 1:, None]))[..., 0]
    return float(lost[torch.from_numpy(mask[:, 1:])].mean())


@pytest.mark.parametrize("positions", ["shortformer", "standard"])
def test_equal_to_hooks_on_transformer_lens(positions):
    shape = Architecture(2, 3, 12, 4, 9, 11, positions)
    weights, tokens = random_weights(shape), torch.from_numpy(CONTEXTS)
    lens = as_hooked(weights, shape)
    _, cache = lens.run_with_cache(tokens[:, :9])
    mean = {(n, h): cache[f"blocks.{n}.attn.hook_z"][:, :, h].mean((0, 1)) for n, h in np.ndindex(2, 3)}
    kept = {}

    def without(z, hook):
        z = z.clone()
        for _, h in SENDERS:
            z[:, :, h] = mean[0, h]
        return z

    def keep(z, hook):
        kept["z"] = z.clone()

    def put(h, value):
        def hook_(z, hook):
            z = z.clone()
            z[:, :, h] = value()[:, :, h] if callable(value) else value
            return z

        return hook_

    first, second = (f"blocks.{n}.attn.hook_z" for n in (0, 1))
    with torch.no_grad():
        total = lens.run_with_hooks(tokens, fwd_hooks=[(first, without), (second, keep)])
        logits = {
            "clean": lens(tokens),
            "without": total,
            "ablated": lens.run_with_hooks(tokens, fwd_hooks=[(second, put(1, mean[1, 1]))]),
            "patched": lens.run_with_hooks(tokens, fwd_hooks=[(second, put(1, lambda: kept["z"]))]),
        }
        into = {
            f"1:{h}": lens.run_with_hooks(tokens, fwd_hooks=[(second, put(h, lambda: kept["z"]))])
            for h in range(3)
        }
    got = patched(weights, shape=shape)
    masks = {"all": DEPTHS > 0, "outer": DEPTHS == 1, "inner": DEPTHS == 2}
    for closers, mask in masks.items():
        clean = mean_loss(logits["clean"], mask)
        for name, each in logits.items():
            cell = got.sel(condition=name, closers=closers)
            assert float(cell["loss"]) == pytest.approx(mean_loss(each, mask), abs=1e-10)
            assert float(cell["rise"]) == pytest.approx(mean_loss(each, mask) - clean, abs=1e-10)
        for head, each in into.items():
            cell = float(got["rise_into"].sel(head=head, closers=closers))
            assert cell == pytest.approx(mean_loss(each, mask) - clean, abs=1e-10)
    assert np.isnan(got["rise_into"].sel(head=["0:0", "0:1", "0:2"])).all()
    assert got["closers_scored"].values.tolist() == [mask[:, 1:].sum() for mask in masks.values()]


def test_every_path_together_is_the_total_ablation():
    """Patching all of layer 1 and the direct path leaves no way for what the senders say."""
    weights, tokens = random_weights(), torch.from_numpy(CONTEXTS)
    batches = [next_token_batch(CONTEXTS, np.arange(8))]
    means, clean = mean_outputs(weights, batches, SHAPE), passed(weights, tokens, SHAPE, None)
    gone = replaced(weights, clean, {head: means[head] for head in SENDERS}, SHAPE, None)
    every = replaced(weights, clean, {(1, h): gone.z[1][:, h] for h in range(3)}, SHAPE, None).left[-1]
    for _, head in SENDERS:
        every = every + (means[0, head] - clean.z[0][:, head]) @ weights["blocks.0.attn.W_O"][head]
    torch.testing.assert_close(every, gone.left[-1], rtol=0, atol=1e-10)
    whole = patched(receivers=LATER).loss.sel(condition=["patched", "direct", "without"])
    assert len(set(whole.sel(closers="all").values.round(10).tolist())) == 3


def test_nothing_replaced_is_the_clean_run_to_the_bit():
    weights, tokens = random_weights(), torch.from_numpy(CONTEXTS)
    clean = passed(weights, tokens, SHAPE, None)
    torch.testing.assert_close(
        clean.left[-1] @ weights["unembed.W_U"] * 0 + forward(weights, tokens, SHAPE),
        as_hooked(weights, SHAPE)(tokens),
        rtol=0,
        atol=1e-10,
    )
    same = replaced(weights, clean, {(0, 1): clean.z[0][:, 1], (1, 2): clean.z[1][:, 2]}, SHAPE, None)
    assert torch.equal(same.left[-1], clean.left[-1])
    assert torch.equal(replaced(weights, clean, {}, SHAPE, None).left[-1], clean.left[-1])


def one_path():
    """0:0 moves the previous token to where 1:0 alone reads, and 1:0 predicts from it; 0:1 and 1:1 write
    where nothing reads."""
    vocabulary, context = 6, 9
    shape = Architecture(2, 2, 4 * vocabulary + context, 9, context, vocabulary, layer_norm=False)
    w = {name: torch.zeros(size, dtype=torch.float64) for name, size in shapes(shape).items()}
    this, previous, predicted, unread = (slice(i * vocabulary, (i + 1) * vocabulary) for i in range(4))
    place = slice(4 * vocabulary, None)
    tokens, places = torch.eye(vocabulary, 9).double(), torch.eye(context, 9).double()
    w["embed.W_E"][:, this] = torch.eye(vocabulary).double()
    w["pos_embed.W_pos"][:, place] = torch.eye(context).double()
    for layer in range(2):
        w[f"blocks.{layer}.attn.W_Q"][:, place] = 300 * places
        w[f"blocks.{layer}.attn.W_K"][:, place] = places
    w["blocks.0.attn.W_K"][0, place] = places.roll(1, 1)
    for head, written in ((0, previous), (1, unread)):
        w["blocks.0.attn.W_V"][head, this] = tokens
        w["blocks.0.attn.W_O"][head, :, written] = tokens.T
    for head, (read, written) in enumerate(((previous, predicted), (this, unread))):
        w["blocks.1.attn.W_V"][head, read] = tokens
        w["blocks.1.attn.W_O"][head, :, written] = tokens.T
    w["unembed.W_U"][predicted] = 5 * torch.eye(vocabulary).double()
    return shape, w


def test_one_path_carries_all():
    shape, weights = one_path()
    contexts = generator(3, "test").integers(0, 6, (12, 9))
    depths = np.ones_like(contexts)

    def rises(senders):
        got = patched_losses(
            weights, contexts, depths, architecture=shape, senders=senders, receivers=[(1, 0)], batch_size=5
        )
        every = got["rise"].sel(closers="all")
        return every, got["rise_into"].sel(closers="all", head=["1:0", "1:1"]).values

    told, into = rises([(0, 0)])
    assert abs(float(told.sel(condition="without"))) > 0.3
    assert float(told.sel(condition="patched")) == pytest.approx(
        float(told.sel(condition="without")), abs=1e-12
    )
    assert float(told.sel(condition="direct")) == pytest.approx(0, abs=1e-12)
    assert into == pytest.approx([float(told.sel(condition="without")), 0], abs=1e-12)
    silent, into = rises([(0, 1)])
    assert silent.sel(condition=["patched", "direct", "without"]).values == pytest.approx(0, abs=1e-12)
    assert into == pytest.approx(0, abs=1e-12)


def test_batches_do_not_matter_and_what_lacks_a_head_is_nan():
    one, other = patched(batch_size=3), patched(batch_size=10)
    for name in one.data_vars:
        np.testing.assert_allclose(one[name], other[name], rtol=1e-10)
    alone = patched(senders=[])
    assert np.isfinite(alone["loss"].sel(condition=["clean", "ablated"])).all()
    assert np.isnan(alone["loss"].sel(condition=["patched", "direct", "without"])).all()
    assert np.isnan(alone["rise_into"]).all()
    no_head = patched(receivers=[])
    assert np.isnan(no_head["loss"].sel(condition=["ablated", "patched"])).all()
    assert np.isfinite(no_head["loss"].sel(condition=["clean", "direct", "without"])).all()
    none = patched_losses(
        random_weights(), CONTEXTS, 0 * DEPTHS, architecture=SHAPE, senders=SENDERS, receivers=LATER[:1],
        batch_size=4,
    )  # fmt: skip
    assert np.isnan(none["loss"]).all()
    assert (none["closers_scored"] == 0).all()


@pytest.mark.parametrize(("senders", "receivers"), [([(0, 0)], [(0, 1)]), ([(0, 0)], [(0, 1), (1, 0)])])
def test_receivers_before_their_senders_are_refused(senders, receivers):
    with pytest.raises(ValueError, match="expected heads of one later layer"):
        patched(senders=senders, receivers=receivers)


def test_the_standard_error_is_that_of_independent_contexts():
    """Against the spread of the mean over many sets of contexts, whose counts differ."""
    random, means, errors = np.random.default_rng(0), [], []
    for _ in range(3000):
        counts = random.integers(1, 8, 40)
        row = np.repeat(np.arange(40), counts)
        values = random.normal(size=40)[row] + random.normal(size=row.size)
        mean, error = _mean(values, row, 40)
        means.append(mean)
        errors.append(error)
    assert np.mean(np.square(errors)) == pytest.approx(np.var(means), rel=0.08)


def test_the_measure_reads_heads_words_and_bos():
    import xarray as xr

    text = " the cat (and the dog (or a bird)) saw a thing. " * 30
    tokenizer = learnt([text], 300)
    size = tokenizer.get_vocab_size()
    ids = tokenizer.encode(text).ids
    heads = [f"{n}:{h}" for n in range(2) for h in range(2)]
    scores = {"previous_token": [0, 0.9, 0, 0], "current_token": [0] * 4, "prefix_matching": [0] * 4}
    last = xr.Dataset(
        {name: (("seed", "step", "head"), [[[9.0] * 4, value]]) for name, value in scores.items()},
        {"seed": [0], "step": [0, 5], "head": heads},
    )
    share = [[[[0.9, 0], [0, 0], [0.1, 0], [0.2, 0]]]]
    tokens = xr.Dataset(
        {"share": (("seed", "step", "head", "pattern"), share)},
        {"seed": [0], "step": [5], "head": heads, "pattern": ["dyck", "ngram"]},
    )
    thresholds = {"previous_token": 0.3, "current_token": 0.3, "prefix_matching": 0.1}
    assert multigram(last, 0, thresholds=thresholds) == ["0:0"]
    assert label([(1, 1), (0, 2)]) == "0:2+1:1"

    contexts, parts = np.array([[0, *ids][:40]]), {"attention_scores": last, "tokens": tokens}
    data = InMemoryData(held_out=contexts, first=0, tokenizer=tokenizer, parts=parts, stream=7)
    larger = model(n_layers=2, n_heads=2, d_model=8, d_head=4, n_ctx=40, d_vocab=size)
    measure = path_patching(data, examples=4, batch_size=3, words=4, sentences=None, thresholds=thresholds)
    found = measure(larger.initial_weights(seed=0), larger, 0)
    assert found["members"].values.tolist() == ["0:0", "1:1"]
    assert found["brackets"].values.tolist() == ["unnested", "nested"]
    assert np.isnan(found["loss"].sel(brackets="unnested", closers="inner")).all()
    assert np.isfinite(found["loss"].sel(brackets="nested")).all()
    assert list(found["condition"].values) == list(CONDITIONS)
    assert not np.isnan(found["rise_into"].sel(head=["1:0", "1:1"], closers="all")).any()
    own = {"unnested": ["the (cat) saw."], "nested": ["a ((dog) bird)."]}
    again = path_patching(data, examples=2, batch_size=3, words=4, sentences=own, thresholds=thresholds)
    assert np.isfinite(again(larger.initial_weights(seed=0), larger, 0)["loss"].sel(closers="all")).all()

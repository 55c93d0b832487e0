"""Tokens in context of heads that are known: an induction model written down, heads that do nothing, and all
rises of a random model at once."""

from collections import Counter

import numpy as np
import pytest
import torch
from hooked import as_hooked
from planted import induction_model
from surgery import losses, with_output
from tiny_transformers import tiny_model, tokens_of

from rllc.measures.most_affected import Affected, Contexts, most_affected
from rllc.measures.tokens.kernel import tokens_in_context, visible
from rllc.models.attention_only import AttentionOnly
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.loss import token_losses
from rllc.models.transformer import Architecture, shapes
from rllc.seeds import generator
from rllc.study.table import MEASURES
from rllc.tasks.language.patterns import PATTERNS, Reader

VOCABULARY, CONTEXT = 40, 31


@pytest.fixture(scope="module")
def repeated():
    """Contexts of a start and the same 15 different tokens twice."""
    random = np.random.default_rng(0)
    halves = [random.permutation(np.arange(1, VOCABULARY))[:15] for _ in range(24)]
    return np.stack([np.concatenate([[0], half, half]) for half in halves])


@pytest.fixture(scope="module")
def planted(repeated):
    architecture, weights = induction_model(VOCABULARY, CONTEXT)
    pieces = [None, *(f" {chr(96 + n % 26 + 1)}{n}".encode() for n in range(1, VOCABULARY))]
    return found(weights, repeated, pieces, architecture, top=200)


def found(weights, contexts, pieces, architecture, *, top, batch_size=5, shown=3):
    batches = Contexts(contexts, batch_size)
    most, chance = most_affected(weights, batches, model=AttentionOnly(architecture), top=top, seed=1)
    given = {"heads": AttentionOnly(architecture).heads, "top": top, "shown": shown, "seed": 1}
    return tokens_in_context(most, chance, Reader(contexts, pieces), **given)


@pytest.mark.parametrize("head", ["1:0", "0:0"])
def test_an_induction_circuit_is_one(planted, head):
    one = planted.sel(head=head)
    assert one.tokens == 200
    assert one["share"].sel(pattern="induction") >= 0.99
    assert one["share_chance"].sel(pattern="induction") < 0.7
    assert one["share"].sum() == pytest.approx(1)


def test_where_it_matches_is_the_same_token(planted, repeated):
    one = planted.sel(head="1:0").load()
    context, position, matched = (one[name].values for name in ("context", "position", "matched"))
    np.testing.assert_array_equal(repeated[context, matched], repeated[context, position + 1])
    np.testing.assert_array_equal(one.target, repeated[context, position + 1])
    assert one["at_matched"].sel(pattern="induction") == 1
    assert one["letterless"].sel(pattern="induction") == 0  # " a1" has a letter
    assert one["attention_max"].min() > 0.99
    assert (np.diff(one["rise"]) <= 0).all() and one["rise"][-1] == pytest.approx(one["rise_threshold"])


def test_patterns_are_flag_values_of_the_variables_own_type(planted):
    attributes = planted["pattern_index"].attrs
    assert attributes["flag_values"].dtype == planted["pattern_index"].dtype == np.int8
    assert attributes["flag_meanings"].split() == planted["pattern"].values.tolist()
    assert "flag_masks" not in attributes


def test_a_dead_head_has_no_tokens(planted):
    for head in ("0:1", "1:1"):
        dead = planted.sel(head=head)
        assert dead.tokens == 0
        assert (
            dead[["share", "unique", "multigrams", "rise_threshold", "multigrams_half"]]
            .to_array()
            .isnull()
            .all()
        )
        assert (
            dead[["context", "position", "matched", "pattern_index", "shown_rank"]].to_array() == -1
        ).all()
        assert (dead["common"] == "").all()
        assert dead["share_chance"].sum() == pytest.approx(1)


def test_examples_are_the_contexts_that_are_shown(planted, repeated):
    one = planted.sel(head="1:0")
    place = int(np.flatnonzero(one["shown_rank"] >= 0)[0])
    rank = int(one["shown_rank"][place])
    np.testing.assert_array_equal(one["shown_token"][place], repeated[int(one["context"][rank])])
    row = one["attention"][place].values
    assert row.sum() == pytest.approx(1) and row.argmax() == one["attended"][rank]
    kinds = one["pattern_index"].values[one["shown_rank"][one["shown_rank"] >= 0].values]
    assert max(np.bincount(kinds)) <= 3


def test_the_three_commonest_forms_are_named_commonest_first(planted, repeated):
    """Induction's are the token and the next: recounted, and words of them where they are printable."""
    one = planted.sel(head="1:0")
    known = one["pattern_index"] == PATTERNS.index("induction")
    context, position = (one[name].values[known.values] for name in ("context", "position"))
    counts = Counter(zip(repeated[context, position], repeated[context, position + 1], strict=True))
    named = one.sel(pattern="induction")
    most = [number for _, number in counts.most_common(3)]
    assert named["common_count"].values.tolist() == most and len(counts) > 3
    texts = {"".join(f" {chr(96 + n % 26 + 1)}{n}" for n in form): number for form, number in counts.items()}
    assert [texts[text] for text in named["common"].values.tolist()] == most
    none = one.sel(pattern="dyck")
    assert none["common"].values.tolist() == [""] * 3 and none["common_count"].values.tolist() == [0] * 3


@pytest.fixture(scope="module")
def random_model():
    architecture = Architecture(2, 2, 12, 6, 10, 15)
    random = torch.Generator().manual_seed(0)
    table = shapes(architecture)
    weights = {n: torch.randn(s, generator=random, dtype=torch.float64) / 2 for n, s in table.items()}
    return architecture, weights, generator(0, "test").integers(0, 15, (23, 10))


@torch.no_grad()
@pytest.mark.parametrize("batch_size", [4, 23])
def test_the_most_affected_are_those_of_hooks_on_transformer_lens(random_model, batch_size):
    architecture, weights, contexts = random_model
    most, _ = most_affected(
        weights, Contexts(contexts, batch_size), model=AttentionOnly(architecture), top=30, seed=0
    )
    model, tokens = as_hooked(weights, architecture), torch.from_numpy(contexts)
    _, cache = model.run_with_cache(tokens)
    before = token_losses(model(tokens)[:, :-1], tokens[:, 1:])
    for index, (layer, head) in enumerate(np.ndindex(2, 2)):
        mean = cache[f"blocks.{layer}.attn.hook_z"][:, :, head].mean((0, 1))

        def replace(z, hook, head=head, mean=mean):
            new = z.clone()
            new[:, :, head] = mean
            return new

        logits = model.run_with_hooks(tokens, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", replace)])
        rise = (token_losses(logits[:, :-1], tokens[:, 1:]) - before).numpy()
        order = np.argsort(-rise.ravel())[:30]
        np.testing.assert_array_equal(most[index].context * 9 + most[index].position, order)
        np.testing.assert_allclose(most[index].rise, rise.ravel()[order], atol=1e-9)
        pattern = cache[f"blocks.{layer}.attn.hook_pattern"][:, head].numpy()
        context, position = np.divmod(order, 9)
        np.testing.assert_allclose(most[index].attention, pattern[context, position], atol=1e-9)


def test_chance_is_the_same_for_all_heads_and_batches(random_model):
    architecture, weights, contexts = random_model
    given = {"model": AttentionOnly(architecture), "top": 30}
    _, one = most_affected(weights, Contexts(contexts, 5), seed=3, **given)
    _, other = most_affected(weights, Contexts(contexts, 23), seed=3, **given)
    for a, b in zip(one, [*other[1:], other[0]], strict=True):
        np.testing.assert_array_equal(a.context, b.context)
        np.testing.assert_array_equal(a.position, b.position)
    assert len(set(zip(one[0].context, one[0].position, strict=True))) == 30


def test_of_equal_weights_the_latest_is_attended_to():
    attention = np.asarray([[0.5, 0.5, 0.0], [0.2, 0.4, 0.4]])
    assert Affected(*np.zeros((3, 2)), attention).attended().tolist() == [1, 2]


def test_more_tokens_than_there_are_is_refused(random_model):
    architecture, weights, contexts = random_model
    with pytest.raises(ValueError, match="207 positions are searched for the 208 most affected"):
        most_affected(weights, Contexts(contexts, 5), model=AttentionOnly(architecture), top=208, seed=0)


def test_halves_count_fewer_forms(random_model):
    architecture, weights, contexts = random_model
    made = found(weights, contexts, [b"(%d" % n for n in range(15)], architecture, top=60)
    assert made["letterless"].min() == 1
    whole, half = made["multigrams"], made["multigrams_half"]
    assert half.sizes["half"] == 20
    assert (half.max("half") <= whole).all() and (half.mean("half") < whole).any()


@pytest.mark.parametrize(
    ("piece", "text"),
    [
        (b" a", " a"),
        (b"\xe2\x80", "‹e2›‹80›"),
        (b"\x00", "‹00›"),
        (b"\n\t", "\n\t"),
        (None, "‹›"),
        ("é".encode(), "é"),
    ],
)
def test_every_token_can_be_seen(piece, text):
    assert visible(piece) == text


def test_patterns_are_in_the_papers_order():
    assert PATTERNS[:4] == ("induction", "dyck", "skip_ngram", "ngram")


@torch.no_grad()
@pytest.mark.parametrize("name", ["gpt_neox", "llama_groups"])
def test_the_most_affected_of_transformers_are_those_of_copies_with_constant_outputs(name):
    module = tiny_model(name)
    model, tokens = HuggingFaceModel(module), tokens_of(module, 10)
    batches = Contexts(tokens.numpy(), 4)
    most, chance = most_affected(model.weights(), batches, model=model, top=12, seed=0)
    means, before = model.mean_outputs(model.weights(), batches), losses(module, tokens)
    patterns = module(input_ids=tokens, output_attentions=True).attentions
    assert len(most) == len(chance) == len(model.heads) + 2
    for component, affected in zip((*model.heads, *model.mlps), most, strict=True):
        copied = with_output(module, component, means[component][0])
        rise = (losses(copied, tokens) - before).numpy()
        largest = np.sort(rise.ravel())[::-1][:12]
        np.testing.assert_allclose(affected.rise, largest, atol=2e-5)
        np.testing.assert_allclose(rise[affected.context, affected.position], largest, atol=2e-5)
        if component in model.mlps:
            assert np.array_equal(affected.attended(), affected.position)
        elif name == "gpt_neox":
            layer, head = map(int, component.split(":"))
            seen = patterns[layer][affected.context, head, affected.position]
            np.testing.assert_allclose(affected.attention, seen, rtol=1e-4, atol=1e-6)


def test_mlps_have_patterns_and_no_attention():
    module = tiny_model("gpt2", vocab_size=VOCABULARY)
    model = HuggingFaceModel(module)
    contexts = tokens_of(module, 20).numpy()
    pieces = [f" w{n}".encode() for n in range(VOCABULARY)]
    most, chance = most_affected(model.weights(), Contexts(contexts, 5), model=model, top=30, seed=1)
    given = {"heads": model.heads, "mlps": model.mlps, "top": 30, "shown": 2, "seed": 1}
    made = tokens_in_context(most, chance, Reader(contexts, pieces), **given)
    of_mlps = {name for name in made.data_vars if name.endswith("_mlp")}
    assert of_mlps == {f"{name}_mlp" for name in made.data_vars if f"{name}_mlp" in made}
    assert {"share_mlp", "rise_mlp", "target_mlp"} <= of_mlps and "attended_mlp" not in of_mlps
    assert made["mlp"].values.tolist() == ["mlp:0", "mlp:1"]
    assert made["share_mlp"].dims == ("mlp", "pattern")
    np.testing.assert_allclose(made["share_mlp"].sum("pattern"), 1)
    np.testing.assert_array_equal(made["rise_mlp"].isel(mlp=1), np.float32(most[-1].rise))
    declared = next(row.variables for row in MEASURES if row.name == "tokens")
    assert set(made.data_vars) == set(declared)

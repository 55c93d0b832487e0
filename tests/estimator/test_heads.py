"""The public entry for heads and other components: models of transformers, and attention-only ones."""

import numpy as np
import pytest
import torch
from tiny_transformers import VOCABULARY, tiny_model, tokens_of

import rllc
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.seeds import generator
from rllc.tasks.batch import Examples, batches_of

COMPONENTS = ["0:1", "mlp:1", "attn:0", "embedding"]
SETTING = rllc.SamplerConfig(n_beta=30, localization=200, step_size=1e-3, chains=2, draws=4)


@pytest.fixture(scope="module")
def module():
    return tiny_model("gpt_neox")


@pytest.fixture(scope="module")
def tokens(module):
    return tokens_of(module, 12)


def test_estimate_of_a_module_equals_the_generic_estimate_draw_by_draw(module, tokens):
    found = rllc.estimate_heads(
        module, tokens, setting=SETTING, components=COMPONENTS, batch_size=4, scored_positions=5
    )
    assert found["component"].values.tolist() == COMPONENTS
    assert {"llc", "llc_se", "rhat", "ess", "quality"} <= set(found)
    model = HuggingFaceModel(module)
    batches = batches_of(
        Examples(tokens.numpy()), batch_size=4, count=4, scored=5, random=generator(0, "minibatches")
    )

    def loss(weights, batch):
        out = torch.func.functional_call(module, weights, (), {"input_ids": batch.contexts}).logits
        return torch.nn.functional.cross_entropy(
            out[:, batch.positions].flatten(0, 1), batch.targets.flatten()
        )

    expected = rllc.estimate(
        loss, dict(module.named_parameters()), batches, components={name: model.masks(name) for name in COMPONENTS},
        n_beta=30, localization=200, step_size=1e-3, chains=2, draws=4,
    )  # fmt: skip
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-5)
    assert len(np.unique(found["loss_at_center"])) == 4  # a minibatch for every move


@pytest.mark.parametrize("name", ["gpt_neox", "gpt2", "llama_groups", "olmo2", "phi", "mpt", "opt"])
def test_chains_in_one_call_equal_chains_one_by_one(name):
    module = tiny_model(name)
    tokens = tokens_of(module)
    given = {"setting": SETTING, "components": ["attn:0", "mlp:1"], "batch_size": 2}
    one, together = (rllc.estimate_heads(module, tokens, vectorize=how, **given) for how in (False, True))
    np.testing.assert_allclose(together["loss"], one["loss"], rtol=1e-4)


def test_model_with_random_numbers_is_refused(tokens):
    noisy = tiny_model("gpt_neox")
    noisy.gpt_neox.emb_dropout.p = 0.5
    noisy.gpt_neox.emb_dropout.train()
    with pytest.raises(ValueError, match="again"):
        rllc.estimate_heads(noisy, tokens, setting=SETTING, components=["mlp:1"], batch_size=4)


def test_antithetic_pairs_reduce_the_variance(module, tokens):
    setting = rllc.SamplerConfig(
        n_beta=30, localization=200, step_size=1e-3, chains=4, draws=12, burn_in=2, antithetic_pairs=2
    )
    found = rllc.estimate_heads(module, tokens, setting=setting, components=["1:0", "mlp:0"], batch_size=4)
    assert (found["variance_reduction"] > 0.3).all()
    assert {"llc_se_data", "control_coefficient", "llc_prior_only"} <= set(found)


def test_without_components_all_heads_or_all_groups_are_sampled(tokens):
    setting = rllc.SamplerConfig(n_beta=30, localization=200, step_size=1e-3, chains=1, draws=2)
    for name, first, count in (("gpt_neox", "0:0", 8), ("llama_groups", "group:0:0", 4)):
        found = rllc.estimate_heads(tiny_model(name), tokens, setting=setting, batch_size=2)
        assert found["component"].values.tolist()[0] == first
        assert found.sizes["component"] == count


def test_estimate_leaves_the_module_as_it_was(module, tokens):
    before = {name: weight.detach().clone() for name, weight in module.named_parameters()}
    rllc.estimate_heads(module, tokens, setting=SETTING, components=["0:1"], batch_size=4)
    assert all(torch.equal(weight, before[name]) for name, weight in module.named_parameters())
    assert all(weight.requires_grad for weight in module.parameters())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"components": "0:1"}, "components is '0:1': expected a list of labels"),
        ({"components": []}, "components is .*: expected a list of labels"),
        ({"components": ["0:1", "0:1"]}, "'0:1' twice"),
        ({"components": ["9:9"]}, "'9:9' is not in this model"),
        ({"setting": {"n_beta": 3}}, "setting is .* expected an rllc.SamplerConfig"),
        ({"device": "cpu"}, r"move the model instead, by model.to\(device\)"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 13}, "12 contexts are too few for one batch of 13"),
    ],
)
def test_wrong_arguments_are_refused(module, tokens, changes, message):
    given = {"setting": SETTING, "components": ["0:1"], "batch_size": 4} | changes
    with pytest.raises(ValueError, match=message):
        rllc.estimate_heads(module, tokens, **given)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda tokens: tokens.tolist(), "tokens is a list"),
        (lambda tokens: tokens[0], r"tokens are int64 \[9\]"),
        (lambda tokens: tokens.float(), "tokens are float32"),
        (lambda tokens: tokens[:, :1], "length 2 to 32"),
        (lambda tokens: tokens.repeat(1, 4), "length 2 to 32"),
        (lambda tokens: tokens + VOCABULARY, f"expected 0 to {VOCABULARY - 1}, the model's vocabulary"),
    ],
)
def test_tokens_that_do_not_fit_are_refused(module, tokens, wrong, message):
    with pytest.raises(ValueError, match=message):
        rllc.estimate_heads(module, wrong(tokens), setting=SETTING, components=["0:1"], batch_size=4)


def test_attention_only_models_take_the_fast_path():
    from rllc.estimator import fast_heads
    from rllc.models import attention_only
    from rllc.tasks.batch import next_token_batch

    model = attention_only.model(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=16, d_vocab=11)
    contexts = np.random.default_rng(0).integers(0, 11, (4, 9))
    given = (model.initial_weights(seed=0), model.architecture, [next_token_batch(contexts, np.arange(8))])
    expected = fast_heads.estimate_heads(*given, setting=SETTING, heads=["0:1"])
    assert rllc.estimate_heads(*given, setting=SETTING, heads=["0:1"]).identical(expected)

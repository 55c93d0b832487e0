import json
from dataclasses import asdict

import pytest
import torch
from safetensors.torch import save_file

from rllc.models.attention_only import AttentionOnly
from rllc.models.initial import initial_weights
from rllc.models.transformer import Architecture, forward
from rllc.store.checkpoints import CheckpointError
from rllc.store.imported import imported_architecture, imported_run, imported_weights

SIZES = {"n_layers": 2, "n_heads": 3, "d_model": 12, "d_head": 4, "n_ctx": 9, "d_vocab": 17}
CONFIG = {**SIZES, "attn_only": True, "positional_embedding_type": "shortformer", "normalization_type": "LN"}


def hooked(**changes):
    """A HookedTransformer whose every weight, biases and norms included, is random."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    model = HookedTransformer(HookedTransformerConfig(**{**CONFIG, **changes}, device="cpu", seed=0))
    random = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=random) * 0.5
    return model


def write(folder, state_dicts, config, suffix=".safetensors"):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    for step, tensors in state_dicts.items():
        path = folder / f"L2W12-step_{step:05d}{suffix}"
        if suffix == ".safetensors":
            save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
        else:
            torch.save(tensors, path)
    return folder


@pytest.mark.parametrize("suffix", [".safetensors", ".pt", ".pth"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"positional_embedding_type": "standard"},
        {"normalization_type": None},
        {"normalization_type": "LNPre", "eps": 1e-2},
    ],
)
def test_an_imported_model_computes_what_it_computed(tmp_path, suffix, changes):
    model = hooked(**changes)
    full_config = {name: value for name, value in model.cfg.to_dict().items() if name != "dtype"}
    config = full_config if suffix == ".pt" else {**CONFIG, **changes}
    folder = write(
        tmp_path / "run", {100: model.state_dict()}, json.loads(json.dumps(config, default=str)), suffix
    )
    run = imported_run(folder, vocabulary=17, steps=[100])
    tokens = torch.randint(0, 17, (4, 9), generator=torch.Generator().manual_seed(2))
    weights = imported_weights(run.files[100], run.model)
    torch.testing.assert_close(
        forward(weights, tokens, run.model.architecture), model(tokens), rtol=1e-5, atol=1e-5
    )


def test_weights_become_float32_and_buffers_go(tmp_path):
    state = {name: tensor.double() for name, tensor in hooked().state_dict().items()}
    assert any(name.endswith("attn.mask") for name in state)
    run = imported_run(write(tmp_path / "run", {0: state}, CONFIG))
    weights = imported_weights(run.files[0], run.model)
    assert {w.dtype for w in weights.values()} == {torch.float32}
    assert not any("mask" in name or "IGNORE" in name for name in weights)


def test_steps_are_found_ascending_and_chosen(tmp_path):
    folder = write(tmp_path / "run", {step: {"x": torch.ones(1)} for step in (1000, 20, 3)}, CONFIG)
    assert list(imported_run(folder).files) == [3, 20, 1000]
    assert list(imported_run(folder, steps=[1000, 3]).files) == [3, 1000]
    with pytest.raises(CheckpointError, match="no checkpoint of step 4, 5; it has 3, 20, 1000"):
        imported_run(folder, steps=[3, 4, 5])
    (folder / "other_20.pt").write_bytes(b"")
    with pytest.raises(ValueError, match="both step 20: keep one"):
        imported_run(folder)


def test_a_name_without_a_step_and_an_empty_folder(tmp_path):
    folder = write(tmp_path / "run", {}, CONFIG)
    with pytest.raises(ValueError, match=r"no checkpoint in .* ending in .safetensors, .pt, .pth"):
        imported_run(folder)
    (folder / "final.pt").write_bytes(b"")
    with pytest.raises(ValueError, match=r"no step in the name of .*final.pt: rename it, as in step_1000.pt"):
        imported_run(folder)


def test_another_vocabulary_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="a vocabulary of 17 tokens, the tokenizer 1024"):
        imported_run(write(tmp_path / "run", {0: {}}, CONFIG), vocabulary=1024)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positional_embedding_type": "rotary"}, r"type is 'rotary' \(supported: standard, shortformer\)"),
        ({"normalization_type": "RMS"}, r"normalization_type is 'RMS' \(supported: LN, LNPre, None\)"),
        ({"attn_only": False}, r"attn_only is False \(supported: True\)"),
        ({"attention_dir": "bidirectional"}, "attention_dir is 'bidirectional'"),
        ({"n_key_value_heads": 1}, r"n_key_value_heads is 1 \(supported: n_heads, 3\)"),
        ({"d_vocab_out": 2}, r"d_vocab_out is 2 \(supported: d_vocab, 17\)"),
        ({"attn_scale": 1.0}, r"attn_scale is 1.0 \(supported: sqrt\(d_head\)\)"),
        ({"attn_scores_soft_cap": 30.0}, "attn_scores_soft_cap is 30.0"),
        ({"use_local_attn": True, "use_qk_norm": True}, "use_local_attn is True .*; use_qk_norm is True"),
        ({"n_ctx": None, "d_head": "4"}, "lacks d_head, n_ctx: add them, as whole numbers"),
    ],
)
def test_models_that_compute_something_else_are_refused(changes, message):
    with pytest.raises(CheckpointError, match=message):
        imported_architecture({**CONFIG, **changes})


def test_attn_only_must_be_said():
    with pytest.raises(CheckpointError, match="attn_only is not given"):
        imported_architecture(SIZES)


def test_every_setting_known_to_be_required_is_one_of_transformer_lens():
    from transformer_lens import HookedTransformerConfig

    from rllc.store.imported import REQUIRED

    defaults = HookedTransformerConfig(**CONFIG)
    for name, values in REQUIRED.items():
        assert getattr(defaults, name) in values


def test_mlps_are_named(tmp_path):
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    config = HookedTransformerConfig(**{**CONFIG, "attn_only": False}, act_fn="relu", d_mlp=8, device="cpu")
    folder = write(tmp_path / "run", {5: HookedTransformer(config).state_dict()}, CONFIG)
    run = imported_run(folder)
    with pytest.raises(CheckpointError, match=r"has MLPs \(.*blocks.0.mlp.W_in, .*\): only attention-only"):
        imported_weights(run.files[5], run.model)


def test_wrong_shapes_missing_and_strange_weights_are_named(tmp_path):
    architecture = imported_architecture(CONFIG)
    weights = initial_weights(architecture, seed=0)
    weights["embed.W_E"] = weights["embed.W_E"][:-1].clone()
    weights["rotary_sin"] = weights.pop("unembed.b_U")
    path = tmp_path / "step1.safetensors"
    save_file(weights, path)
    with pytest.raises(CheckpointError) as caught:
        imported_weights(path, AttentionOnly(architecture))
    for part in (str(path), "W_E is [16, 12] instead of [17, 12]", "rotary_sin is unknown", "b_U is missing"):
        assert part in str(caught.value)


def test_half_a_set_of_norms_is_refused(tmp_path):
    architecture = imported_architecture(CONFIG)
    weights = initial_weights(architecture, seed=0)
    del weights["blocks.1.ln1.w"]
    save_file(weights, tmp_path / "step1.safetensors")
    with pytest.raises(CheckpointError, match=r"blocks\.1\.ln1\.w is missing"):
        imported_weights(tmp_path / "step1.safetensors", AttentionOnly(architecture))


class Opaque:
    """Something whose unpickling would run code."""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"w": Opaque()}, "cannot be read without running code"),
        (
            {"step": 3, "model": {"w": torch.ones(1)}},
            "not a flat state dict of tensors; it holds step, model",
        ),
        ([torch.ones(1)], "it holds a list"),
    ],
)
def test_pickles_are_not_run(tmp_path, content, message):
    path = tmp_path / "step1.pt"
    torch.save(content, path)
    with pytest.raises(CheckpointError, match=message):
        imported_weights(path, AttentionOnly(Architecture(**SIZES)))


@pytest.mark.parametrize(("text", "message"), [("{", "is not JSON"), ("[]", "is not a table of fields")])
def test_config_that_cannot_be_read(tmp_path, text, message):
    with pytest.raises(CheckpointError, match=r"config\.json is missing: write the fields"):
        imported_run(tmp_path)
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=message):
        imported_run(tmp_path)


def test_sizes_are_carried_over():
    assert asdict(imported_architecture({**CONFIG, "eps": 1e-6})) == {
        **SIZES, "positions": "shortformer", "layer_norm": True, "layer_norm_eps": 1e-6,
    }  # fmt: skip

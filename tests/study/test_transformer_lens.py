"""What a config.json of imported checkpoints may say: read rightly, or refused in one line that names the file."""

import json

import pytest

from rllc.study.transformer_lens import REQUIRED, described, differences

SIZES = {"n_layers": 2, "n_heads": 3, "d_model": 12, "d_head": 4, "n_ctx": 9, "d_vocab": 17}
CONFIG = {**SIZES, "attn_only": True, "positional_embedding_type": "shortformer", "normalization_type": "LN"}
FACTS = {**SIZES, "positions": "shortformer", "layer_norm": True, "layer_norm_eps": 1e-5}
GPT2 = {
    "architectures": ["GPT2LMHeadModel"],
    "model_type": "gpt2",
    "n_layer": 12,
    "n_head": 12,
    "n_ctx": 1024,
}
PYTHIA = {"architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "hidden_size": 512}


def written(folder, content):
    path = folder / "config.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({}, {}),
        ({"eps": 1e-6}, {"layer_norm_eps": 1e-6}),
        ({"normalization_type": None}, {"layer_norm": False}),
        ({"normalization_type": "LNPre"}, {}),
        ({"positional_embedding_type": "standard"}, {"positions": "standard"}),
        ({"attn_scale": 2.0, "n_key_value_heads": 3, "d_vocab_out": 17}, {}),
        ({"attn_scale": -1, "d_vocab_out": -1, "attn_scores_soft_cap": 0.0}, {}),
        ({"model_type": "a note of mine", "device": "cuda", "init_mode": "gpt2"}, {}),
    ],
)
def test_fields_are_read_as(tmp_path, changes, facts):
    assert described(written(tmp_path, {**CONFIG, **changes})).facts == {**FACTS, **facts}
    assert described(tmp_path / "config.json").folded == (changes.get("normalization_type") == "LNPre")


def test_fields_left_out_have_the_defaults_of_transformer_lens(tmp_path):
    from transformer_lens import HookedTransformerConfig

    facts = described(
        written(tmp_path, b"\xef\xbb\xbf" + json.dumps({**SIZES, "attn_only": True}).encode())
    ).facts
    defaults = HookedTransformerConfig(**SIZES, attn_only=True)
    assert (facts["positions"], facts["layer_norm_eps"]) == (defaults.positional_embedding_type, defaults.eps)
    for name, values in REQUIRED.items():
        if name != "attn_only":
            assert getattr(defaults, name) in values


WRONG = {
    "without sizes": ({"n_ctx": None, "d_head": None}, "lacks d_head, n_ctx: add them, as whole numbers"),
    "size as text": ({"d_head": "4"}, "d_head is '4' (expected a whole number above 0)"),
    "size as a fraction": ({"d_head": 4.5}, "d_head is 4.5 (expected a whole number above 0)"),
    "size true": ({"n_heads": True}, "n_heads is True (expected a whole number above 0)"),
    "size zero": ({"n_layers": 0}, "n_layers is 0 (expected"),
    "size negative": ({"d_vocab": -1}, "d_vocab is -1 (expected"),
    "size a list": ({"d_model": [12]}, "d_model is [12] (expected"),
    "rotary": ({"positional_embedding_type": "rotary"}, "is 'rotary' (supported: standard, shortformer)"),
    "positions a list": ({"positional_embedding_type": ["standard"]}, "is ['standard'] (supported"),
    "RMS": ({"normalization_type": "RMS"}, "normalization_type is 'RMS' (supported: LN, LNPre, None)"),
    "final RMS": ({"final_rms": True}, "final_rms is True (supported: False)"),
    "MLPs": ({"attn_only": False}, "attn_only is False (supported: True)"),
    "bidirectional": ({"attention_dir": "bidirectional"}, "attention_dir is 'bidirectional'"),
    "grouped queries": ({"n_key_value_heads": 1}, "n_key_value_heads is 1 (supported: n_heads, 3)"),
    "other outputs": ({"d_vocab_out": 2}, "d_vocab_out is 2 (supported: d_vocab, 17)"),
    "other scale": ({"attn_scale": 1.0}, "attn_scale is 1.0 (supported: sqrt(d_head))"),
    "scale as text": ({"attn_scale": "2.0"}, "attn_scale is '2.0' (expected a number)"),
    "scale null": ({"attn_scale": None}, "attn_scale is None (expected a number)"),
    "no scale": ({"use_attn_scale": False}, "use_attn_scale is False (supported: True)"),
    "eps as text": ({"eps": "1e-5"}, "eps is '1e-5' (expected a number above 0)"),
    "eps negative": ({"eps": -1e-5}, "eps is -1e-05 (expected a number above 0)"),
    "eps NaN": ({"eps": float("nan")}, "eps is nan (expected a number above 0)"),
    "eps infinite": ({"eps": float("inf")}, "eps is inf (expected a number above 0)"),
    "soft cap": ({"attn_scores_soft_cap": 30.0}, "attn_scores_soft_cap is 30.0"),
    "quantised": ({"load_in_4bit": True}, "load_in_4bit is True (supported: False)"),
    "experts": ({"num_experts": {"deep": list(range(99))}}, "num_experts is {'deep': [0, 1, "),
    "several": ({"use_local_attn": True, "use_qk_norm": True}, "use_local_attn is True (supported: False); use_qk_norm"),
}  # fmt: skip
CONTENTS = {
    "attn_only not given": (SIZES, "attn_only is not given (supported: True)"),
    "GPT-2": (GPT2, "is a config of Hugging Face (model_type 'gpt2', architectures ['GPT2LMHeadModel'])"),
    "Pythia": (PYTHIA, "expected an attention-only HookedTransformer of TransformerLens: its fields"),
    "Hugging Face, nameless": ({"transformers_version": "4.40"}, "is a config of Hugging Face (transformers_version)"),
    "empty": (b"", "is not JSON"),
    "cut short": (b'{"n_layers": 2, ', "is not JSON"),
    "YAML": (b"n_layers: 2\n", "is not JSON"),
    "Latin-1": ('{"n_layers": "é"}'.encode("latin-1"), "is not JSON"),
    "a list": ([], "is not a table of fields: expected {...}"),
    "text": ("n_layers", "is not a table of fields"),
    "nested 100,000 deep": (b"[" * 10**5 + b"]" * 10**5, "is nested too deeply"),
    "a field nested deep": (b'{"a":' * 10**5 + b"1" + b"}" * 10**5, "is nested too deeply"),
    "a field twice": (b'{"n_layers": 2, "n_layers": 3}', "n_layers is there twice"),
    "a number of 9,999 digits": (b'{"n_layers": ' + b"9" * 9999 + b"}", "is not JSON"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [*(({**CONFIG, **changes}, message) for changes, message in WRONG.values()), *CONTENTS.values()],
    ids=[*WRONG, *CONTENTS],
)
def test_a_config_is_refused_with(tmp_path, content, message):
    path = written(tmp_path, content)
    with pytest.raises(ValueError) as caught:
        described(path)
    said = str(caught.value)
    assert message in said
    assert str(path) in said
    assert "\n" not in said
    assert len(said) < 600


def test_a_config_that_is_no_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"config\.json is missing: write the fields"):
        described(tmp_path / "config.json")
    (tmp_path / "config.json").mkdir()
    with pytest.raises(ValueError, match=r"config\.json cannot be read \(Is a directory\)"):
        described(tmp_path / "config.json")


def test_differences_are_those_that_change_the_model():
    assert differences(FACTS, {**FACTS, "family": "attention_only"}) == {}
    assert differences(FACTS, {**FACTS, "d_head": 8, "positions": "standard"}) == {
        "d_head": "8, config.json 4",
        "positions": "'standard', config.json 'shortformer'",
    }
    plain = {**FACTS, "layer_norm": False}
    assert differences(plain, {**plain, "layer_norm_eps": 1e-6}) == {}

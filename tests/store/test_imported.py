"""Checkpoints of others: they compute what they computed, or are refused by one line with file and tensor."""

import json
import pickle
import re
from functools import cache

import pytest
import torch
from readme import OWN_MODELS, snippet
from safetensors.torch import save_file

from rllc.models.attention_only import AttentionOnly
from rllc.models.initial import initial_weights
from rllc.models.transformer import Architecture, forward
from rllc.store.checkpoints import CheckpointError
from rllc.store.imported import imported_run, imported_weights
from rllc.tasks.language.tokenizer import KNOWN_BOS

SIZES = {"n_layers": 2, "n_heads": 3, "d_model": 12, "d_head": 4, "n_ctx": 9, "d_vocab": 17}
CONFIG = {**SIZES, "attn_only": True, "positional_embedding_type": "shortformer", "normalization_type": "LN"}
FACTS = {**SIZES, "positions": "shortformer", "layer_norm": True, "layer_norm_eps": 1e-5}


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
    run = imported_run(write(tmp_path / "run", {100: model.state_dict()}, config, suffix), steps=[100])
    tokens = torch.randint(0, 17, (4, 9), generator=torch.Generator().manual_seed(2))
    weights = run.weights(100)
    torch.testing.assert_close(
        forward(weights, tokens, run.model.architecture), model(tokens), rtol=1e-5, atol=1e-5
    )


def test_lines_of_the_docs_export_a_model(tmp_path, monkeypatch):
    lines = snippet("python", "model.cfg", OWN_MODELS)
    model = hooked(normalization_type=None)
    monkeypatch.chdir(tmp_path)
    for step in (0, 7):
        exec(lines, {"model": model, "step": step})
    run = imported_run("path/to/folder")
    assert list(run.files) == [0, 7]
    tokens = torch.arange(9)[None]
    torch.testing.assert_close(forward(run.weights(7), tokens, run.model.architecture), model(tokens))
    start = OWN_MODELS.partition("context opens with one token")[2].partition("that the tokenizer")[0]
    assert tuple(re.findall(r"`(.*?)`", start)) == KNOWN_BOS


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_weights_become_float32_and_buffers_go(tmp_path, dtype):
    state = {name: tensor.to(dtype) for name, tensor in hooked().state_dict().items()}
    assert any(name.endswith("attn.mask") for name in state)
    run = imported_run(write(tmp_path / "run", {0: state}, CONFIG))
    weights = run.weights(0)
    assert {w.dtype for w in weights.values()} == {torch.float32}
    assert not any("mask" in name or "IGNORE" in name for name in weights)
    assert torch.equal(weights["embed.W_E"], state["embed.W_E"].float())


def test_parameters_are_read_as_their_values(tmp_path):
    weights = {name: torch.nn.Parameter(w) for name, w in sound().items()}
    torch.save(weights, tmp_path / "step1.pt")
    assert not any(w.requires_grad for w in imported_weights(tmp_path / "step1.pt", MODEL).values())


def test_steps_are_found_ascending_and_chosen(tmp_path):
    folder = write(tmp_path / "run", {step: {"x": torch.ones(1)} for step in (1000, 20, 3)}, CONFIG)
    assert list(imported_run(folder).files) == [3, 20, 1000]
    assert list(imported_run(folder, steps=[1000, 3]).files) == [3, 1000]
    with pytest.raises(CheckpointError, match="no checkpoint of step 4, 5; it has 3, 20, 1000"):
        imported_run(folder, steps=[3, 4, 5])


def test_another_model_than_the_studys_is_refused(tmp_path):
    folder = write(tmp_path / "run", {0: {}}, CONFIG)
    assert imported_run(folder, model={**FACTS, "family": "attention_only"}).model.facts() == FACTS
    with pytest.raises(
        CheckpointError, match=r"not that of .*run: d_head: 8, config.json 4; d_vocab: 1024, "
    ):
        imported_run(folder, model={**FACTS, "d_head": 8, "d_vocab": 1024})


MODEL = AttentionOnly(Architecture(**FACTS))
W, B = "blocks.1.attn.W_Q", "unembed.b_U"


@cache
def _initial():
    return initial_weights(MODEL.architecture, seed=0)


def sound():
    return dict(_initial())


def with_(name, tensor):
    """Sound weights but for one."""
    return {**sound(), name: tensor}


def without(*names):
    return {name: w for name, w in sound().items() if name not in names}


def spoilt(name, *values):
    w = sound()[name].clone()
    w.view(-1)[: len(values)] = torch.tensor(values, dtype=w.dtype)
    return with_(name, w)


def shaped(name, *shape):
    return with_(name, torch.zeros(shape))


class Opaque:
    """Something whose unpickling would run code."""


NAN, INF = float("nan"), float("inf")
LARGE = torch.full((17,), 1e300, dtype=torch.float64)
STATE_DICTS = {
    "NaN": (lambda: spoilt(W, NAN), f"{W} is NaN or infinite in 1 of 144 values"),
    "infinite": (lambda: spoilt(B, INF, -INF), f"{B} is NaN or infinite in 2 of 17 values"),
    "NaN in two": (lambda: spoilt(W, NAN) | {B: torch.full((17,), NAN)}, f"{W} is NaN or infinite in 1 of 144"),
    "too large for float32": (lambda: with_(B, LARGE), f"{B} is NaN or infinite in 17 of 17"),
    "int8": (lambda: with_(W, sound()[W].to(torch.int8)), f"{W} is of torch.int8"),
    "int64": (lambda: with_(B, sound()[B].long()), f"{B} is of torch.int64"),
    "bool": (lambda: with_(B, sound()[B] > 0), f"{B} is of torch.bool"),
    "complex": (lambda: with_(W, sound()[W].to(torch.complex64)), f"{W} is of torch.complex64"),
    "float8": (lambda: with_(W, sound()[W].to(torch.float8_e4m3fn)), f"{W} is of torch.float8_e4m3fn"),
    "all integers": (lambda: {n: w.int() for n, w in sound().items()}, "and 22 more. Expected dense, finite"),
    "transposed": (lambda: shaped(W, 3, 4, 12), f"{W} is [3, 4, 12] instead of [3, 12, 4]"),
    "heads merged": (lambda: shaped(W, 12, 12), f"{W} is [12, 12] instead of [3, 12, 4]"),
    "a row too few": (lambda: shaped("embed.W_E", 16, 12), "embed.W_E is [16, 12] instead of [17, 12]"),
    "a scalar": (lambda: with_(B, torch.tensor(0.0)), f"{B} is [] instead of [17]"),
    "without values": (lambda: with_(B, torch.zeros(0)), f"{B} is [0] instead of [17]"),
    "one missing": (lambda: without(B), f"{B} is missing"),
    "no positions": (lambda: without("pos_embed.W_pos"), "pos_embed.W_pos is missing"),
    "empty": (dict, "embed.W_E is missing; "),
    "half a norm": (lambda: without("blocks.1.ln1.w"), "blocks.1.ln1.w is missing"),
    "norms left out": (lambda: {n: w for n, w in sound().items() if "ln" not in n}, "blocks.0.ln1.w is missing"),
    "rotary": (lambda: with_("blocks.0.attn.rotary_sin", torch.zeros(9, 4)), "rotary_sin is unknown"),
    "a layer more": (lambda: with_("blocks.2.attn.b_O", torch.zeros(12)), "blocks.2.attn.b_O is unknown"),
    "MLPs": (lambda: with_("blocks.0.mlp.W_in", torch.zeros(12, 8)), "has MLPs (blocks.0.mlp.W_in): only"),
    "of Hugging Face": (lambda: {"transformer.wte.weight": torch.zeros(17, 12)}, "embed.W_E is missing"),
}  # fmt: skip
PICKLED = {
    "sparse": (lambda: with_(W, sound()[W].to_sparse()), f"{W} is sparse (torch.sparse_coo)"),
    "compressed rows": (lambda: with_(W, sound()[W][0].to_sparse_csr()), f"{W} is sparse (torch.sparse_csr)"),
    "meta": (lambda: with_(W, torch.empty(3, 12, 4, device="meta")), f"{W} is without values (device meta)"),
    "quantised": (
        lambda: with_(W, torch.quantize_per_tensor(sound()[W], 0.1, 0, torch.qint8)), f"{W} is quantised, of torch.qint8",
    ),
    "nested tensor": (lambda: with_(W, torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])), f"{W} is nested"),
    "an object": (lambda: {"w": Opaque()}, "cannot be read without running code from it: save model.state_dict()"),
    "a whole module": (lambda: torch.nn.Linear(2, 2), "cannot be read without running code from it"),
    "a state of a trainer": (lambda: {"step": 3, "model": sound()}, "not a flat state dict of tensors; it holds step, model"),
    "numbers": (lambda: {**sound(), B: [0.0] * 17}, "not a flat state dict of tensors"),
    "a list": (lambda: [torch.ones(1)], "it holds a list"),
    "a tensor": (lambda: torch.ones(3), "it holds a Tensor"),
    "nothing": (lambda: None, "it holds a NoneType"),
    "numbered": (lambda: {0: torch.ones(1)}, "tensors without a name ([0])"),
}  # fmt: skip


def refused(path, *parts):
    with pytest.raises(CheckpointError) as caught:
        imported_weights(path, MODEL)
    said = str(caught.value)
    for part in (str(path), *parts):
        assert part in said
    assert "\n" not in said
    assert "weights_only" not in said  # torch advises to run what is in the file
    assert len(said) < 800


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
@pytest.mark.parametrize(("content", "message"), STATE_DICTS.values(), ids=STATE_DICTS)
def test_a_state_dict_is_refused_with(tmp_path, content, message, suffix):
    path = tmp_path / f"step_1{suffix}"
    save_file(content(), path) if suffix == ".safetensors" else torch.save(content(), path)
    refused(path, message)


@pytest.mark.filterwarnings("ignore::UserWarning")  # prototypes of torch
@pytest.mark.parametrize(("content", "message"), PICKLED.values(), ids=PICKLED)
def test_a_pickle_is_refused_with(tmp_path, content, message):
    torch.save(content(), tmp_path / "step_1.pt")
    refused(tmp_path / "step_1.pt", message)


def safetensors():
    from safetensors.torch import save

    return save(sound())


def pickled():
    from io import BytesIO

    file = BytesIO()
    torch.save(sound(), file)
    return file.getvalue()


def header(**entries):
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n"
PAGE = b"<!DOCTYPE html><html>sign in</html>"
DTYPE = {"dtype": "F3", "shape": [1], "data_offsets": [0, 1]}
FILES = {
    "empty": (".safetensors", lambda: b"", "is empty: save it again"),
    "empty pickle": (".pt", lambda: b"", "is empty: save it again"),
    "cut short": (".safetensors", lambda: safetensors()[:-4], "is no sound safetensors file"),
    "cut in the header": (".safetensors", lambda: safetensors()[:40], "is no sound safetensors file"),
    "seven bytes": (".safetensors", lambda: safetensors()[:7], "is no sound safetensors file"),
    "too long": (".safetensors", lambda: safetensors() + b"more", "is no sound safetensors file"),
    "header not JSON": (".safetensors", lambda: b"\x04" + bytes(7) + b"nope", "is no sound safetensors file"),
    "header too large": (".safetensors", lambda: b"\xff" * 16, "is no sound safetensors file"),
    "header nested": (".safetensors", lambda: header(w=[[[[]]]]), "is no sound safetensors file"),
    "unknown dtype": (".safetensors", lambda: header(w=DTYPE) + b"x", "is no sound safetensors file"),
    "pickle cut short": (".pt", lambda: pickled()[:500], "is cut short or damaged: save it again"),
    "pickle cut at its end": (".pt", lambda: pickled()[:-30], "is cut short or damaged: save it again"),
    "a pickle renamed": (".safetensors", pickled, "is a pickle: rename it to end in .pt"),
    "an old pickle renamed": (".safetensors", lambda: pickle.dumps({"w": 1}), "is a pickle: rename it"),
    "safetensors renamed": (".pt", safetensors, "is a safetensors file: rename it to end in .safetensors"),
    "plain pickle": (".pt", lambda: pickle.dumps({"w": [1.0]}), "without running code from it"),
    "text": (".pt", lambda: b"hello world", "without running code from it"),
    "pointer of Git LFS": (".safetensors", lambda: POINTER, "is a pointer of Git LFS: fetch the file itself"),
    "pointer, pickle": (".pth", lambda: POINTER, "is a pointer of Git LFS"),
    "web page": (".pt", lambda: PAGE, "is a web page: download the file itself"),
    "gzip": (".pt", lambda: b"\x1f\x8b" + bytes(30), "is compressed: unpack it"),
}  # fmt: skip


@pytest.mark.parametrize(("suffix", "content", "message"), FILES.values(), ids=FILES)
def test_a_file_is_refused_with(tmp_path, suffix, content, message):
    path = tmp_path / f"step_1{suffix}"
    path.write_bytes(content())
    refused(path, message)


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
def test_a_file_that_is_not_there_is_refused(tmp_path, suffix):
    refused(tmp_path / f"step_1{suffix}", "cannot be read (No such file or directory)")


def test_folded_norms_have_no_weights(tmp_path):
    """LNPre in config.json and norms in the file, or the other way round: one of them is wrong."""
    path = tmp_path / "step_1.safetensors"
    save_file(sound(), path)
    with pytest.raises(CheckpointError, match=r"blocks.0.ln1.w is unknown"):
        imported_weights(path, MODEL, folded=True)


def compiled_block(model):
    model.blocks[0] = torch.compile(model.blocks[0])
    return model


WRAPPED = {
    "compiled": torch.compile,
    "parallel": torch.nn.DataParallel,
    "compiled and parallel": lambda model: torch.nn.DataParallel(torch.compile(model)),
    "parallel and compiled": lambda model: torch.compile(torch.nn.DataParallel(model)),
    "a compiled block": compiled_block,
}


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
def test_state_dict_of_a_wrapped_model_is_that_of_the_model(tmp_path, wrap, suffix):
    plain = imported_run(write(tmp_path / "plain", {0: hooked().state_dict()}, CONFIG)).weights(0)
    wrapped = wrap(hooked()).state_dict()
    assert any("_orig_mod." in name or "module." in name for name in wrapped)
    found = imported_run(write(tmp_path / "wrapped", {0: wrapped}, CONFIG, suffix)).weights(0)
    assert found.keys() == plain.keys()
    assert all(torch.equal(found[name], plain[name]) for name in plain)


def test_state_dict_with_a_weight_both_wrapped_and_not_is_refused_with_both(tmp_path):
    twice = hooked().state_dict()
    twice["_orig_mod.embed.W_E"] = twice["embed.W_E"] + 1
    with pytest.raises(CheckpointError, match=r"embed.W_E.* _orig_mod.embed.W_E"):
        imported_run(write(tmp_path / "run", {0: twice}, CONFIG)).weights(0)


def test_state_dict_of_a_part_of_another_module_is_refused_with_its_prefix(tmp_path):
    """As of a LightningModule whose ``model`` it is."""
    inner = {f"model.{name}": tensor for name, tensor in hooked().state_dict().items()}
    with pytest.raises(CheckpointError, match=r"'model\.'"):
        imported_run(write(tmp_path / "run", {0: inner}, CONFIG)).weights(0)

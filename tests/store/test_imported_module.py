"""State dicts of a user's module: they compute what the module computed, or are refused by file and tensor."""

import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from rllc.models.module.build import model
from rllc.store.checkpoints import CheckpointError
from rllc.store.imported_module import module_run, module_weights
from rllc.tasks.batch import Batch

NANO = f"{Path(__file__).parents[1] / 'nano.py'}:build"
OPTIONS = {"n_layer": 1, "vocab_size": 32}
FACTS = {"family": "module", "build": NANO, "options": OPTIONS, "vocabulary": 32, "context": 12}
TIED = "transformer.wte.weight"
LENS = """
from transformer_lens import HookedTransformer, HookedTransformerConfig

def build():
    return HookedTransformer(HookedTransformerConfig(
        n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=12, d_vocab=32, act_fn="gelu", d_mlp=16, device="cpu"))
"""


@pytest.fixture
def found():
    return model(**{name: fact for name, fact in FACTS.items() if name != "family"})


def trained(found):
    """A module as it is during training, with weights that no seed of ours gives."""
    with torch.no_grad():
        for index, weight in enumerate(found.module.parameters()):
            noise = torch.randn(weight.shape, generator=torch.Generator().manual_seed(index))
            weight += 0.1 * noise
    return found.module


def loss_of(module):
    tokens = torch.randint(32, (4, 12), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        logits = module(tokens, tokens)[0][:, :-1]
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1).double(), tokens[:, 1:].flatten())
    return Batch(tokens, torch.arange(11), tokens[:, 1:]), expected.item()


def test_checkpoint_of_nanogpt_has_the_loss_of_its_model(tmp_path, found):
    module = trained(found)
    optimizer = torch.optim.AdamW(module.parameters())
    batch, expected = loss_of(module)
    torch.save(
        {
            "model": torch.compile(module).state_dict(),  # names begin with _orig_mod.
            "optimizer": optimizer.state_dict(),
            "model_args": OPTIONS,
            "iter_num": 500,
            "best_val_loss": torch.tensor(1.5),
            "config": {"out_dir": "out", "compile": True},
        },
        tmp_path / "ckpt_500.pt",
    )
    run = module_run(tmp_path, model=FACTS)
    weights = run.weights(500)
    assert list(run.files) == [500] and "lm_head.weight" not in weights
    assert run.model.loss(weights, batch).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("wrapper", ["", "module.", "_orig_mod.", "module._orig_mod."])
def test_flat_state_dict_is_read_whatever_wraps_its_names(tmp_path, found, wrapper):
    module = trained(found)
    batch, expected = loss_of(module)
    torch.save({wrapper + name: w for name, w in module.state_dict().items()}, tmp_path / "step_7.pth")
    run = module_run(tmp_path, model=FACTS, steps=[7])
    assert run.model.loss(run.weights(7), batch).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kept", [TIED, "lm_head.weight"])
def test_safetensors_with_one_name_of_tied_weights_and_without_buffers_are_read(tmp_path, found, kept):
    state = trained(found).state_dict()
    gone = {TIED, "lm_head.weight"} - {kept}
    bare = {name: w for name, w in state.items() if name not in gone and ".attn.bias" not in name}
    save_file(bare, tmp_path / "step_1.safetensors")
    assert torch.equal(module_weights(tmp_path / "step_1.safetensors", found)[TIED], state[TIED])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_other_types_become_float32(tmp_path, found, dtype):
    state = {name: w.to(dtype) for name, w in trained(found).state_dict().items()}
    torch.save(state, tmp_path / "step_1.pt")
    weights = module_weights(tmp_path / "step_1.pt", found)
    assert {w.dtype for w in weights.values()} == {torch.float32}
    assert torch.equal(weights[TIED], state[TIED].float())


def test_state_dict_of_hooked_transformer_with_its_buffers_is_read(tmp_path):
    (tmp_path / "lens.py").write_text(LENS)
    lens = model(build=f"{tmp_path / 'lens.py'}:build", options={}, vocabulary=32, context=12)
    state = lens.module.state_dict()
    assert state.keys() - lens.shapes().keys(), "the file holds buffers"
    torch.save(state, tmp_path / "step_3.pt")
    weights = module_weights(tmp_path / "step_3.pt", lens)
    assert weights.keys() == lens.shapes().keys()
    assert all(torch.equal(w, state[name]) for name, w in weights.items())


def changed(name, value):
    return lambda state: {**state, name: value(state[name]) if name in state else value(None)}


def without(name):
    return lambda state: {other: w for other, w in state.items() if other != name}


C_FC = "transformer.h.0.mlp.c_fc.weight"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without(C_FC), f"{C_FC} is missing"),
        (
            lambda state: {**without(TIED)(state), "lm_head.weight": state[TIED][:30]},
            f"{TIED} is [30, 8] instead",
        ),
        (lambda state: without("lm_head.weight")(without(TIED)(state)), f"{TIED} is missing"),
        (changed("extra.weight", lambda _: torch.ones(2)), "extra.weight is unknown"),
        (changed(C_FC, lambda w: w.T), f"{C_FC} is [8, 32] instead of [32, 8]"),
        (changed(C_FC, lambda w: w * float("nan")), f"{C_FC} is NaN or infinite in 256 of 256 values"),
        (changed(C_FC, lambda w: w.int()), f"{C_FC} is of torch.int32"),
        (changed("lm_head.weight", lambda w: w + 1), f"{TIED} and lm_head.weight, which differ and are tied"),
        (
            changed("transformer.h.0.attn.bias", lambda w: w * 0),
            "buffers that differ from those that build gives",
        ),
        (lambda state: {f"gpt.{name}": w for name, w in state.items()}, "names that all begin with 'gpt.'"),
        (lambda state: {"state": {"model": state}}, "is not a flat state dict of tensors; it holds state"),
    ],
)
def test_file_that_does_not_hold_the_weights_is_refused(tmp_path, found, change, message):
    path = tmp_path / "step_1.pt"
    state = {name: w.clone() for name, w in found.module.state_dict().items()}
    torch.save(change(state), path)
    with pytest.raises(CheckpointError, match=re.escape(message)) as raised:
        module_weights(path, found)
    assert str(path) in str(raised.value)


def test_missing_step_is_refused(tmp_path, found):
    torch.save(found.module.state_dict(), tmp_path / "step_1.pt")
    with pytest.raises(CheckpointError, match="no checkpoint of step 2; it has 1"):
        module_run(tmp_path, model=FACTS, steps=[1, 2])

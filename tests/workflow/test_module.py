"""A torch module of the user in the workflow: state dicts that nanoGPT left, and training from scratch."""

from pathlib import Path

import nano
import numpy as np
import pytest
import torch
import xarray as xr

from rllc.store.blocks import examples

STUDY = r"""
results: results/own
distributions:
  docs: {source: files, path: "docs/*.md", held_out: 0.3, label: docs}
tokenizers:
  mine: {pretrained: mine/tokenizer.json, context: 12, held_out_blocks: 16, train_blocks: 200}
experiments:
  language: null
  language_1layer: null
  sort_2head_baseline: null
  sort_1head: null
  theirs:
    task: language
    seeds: [0]
    tokenizer: mine
    model: {family: module, build: "my_models.py:build", options: {vocab_size: 260}, vocabulary: 260, context: 12}
    checkpoints: {source: import, path: mine, chunks: [0]}
    distributions: [docs]
    sampling:
      full: &tiny
        {step_size: 1.0e-4, n_beta: 30, localization: 200, chains: 2, draws: 4, burn_in: 1, batch_size: 2,
         scored_positions: 4, init_batches: 2, control_chains: 2}
      other: {<<: *tiny, components: ["weights:h\\.1\\.mlp"]}
    metrics: {contexts: 16, batch_size: 8}
  ours:
    like: theirs
    sampling: {other: null}
    metrics: null
    training:
      {distribution: docs, steps: 4, batch_size: 4, optimizer: adamw, learning_rate: 1.0e-3, betas: [0.9, 0.95],
       eps: 1.0e-8, weight_decay: 0.0, warmup: 2, schedule: constant, gradient_clip: null, late_layers_ramp: 0,
       keep_state_every: 3}
    checkpoints: {source: train, ratio: null, first: 0, extra: [], chunks: [0]}
claims: []
figures: {}
"""
OVERLAY = "config/own.yaml"
STEPS = (0, 5)


@pytest.fixture
def checkout(fresh):
    """A checkout with a user's module, two checkpoints of its training, and a tokenizer of bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    checkout = fresh()
    (checkout.root / "my_models.py").write_text(Path(nano.__file__).read_text())
    (checkout.root / "mine").mkdir()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({symbol: i for i, symbol in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(checkout.root / "mine/tokenizer.json"))
    for step in STEPS:
        state = {f"_orig_mod.{name}": w for name, w in module(step).state_dict().items()}
        torch.save({"model": state, "iter_num": step}, checkout.root / f"mine/ckpt_{step}.pt")
    checkout.write(OVERLAY, STUDY)
    return checkout


def module(step):
    with torch.random.fork_rng():
        torch.manual_seed(step)
        return nano.build(vocab_size=260).eval()


def run(checkout, *targets, check=True):
    import forked
    import forked_jobs

    given = ("--cores", "2", "--configfile", OVERLAY, *(("--", *targets) if targets else ()))
    done = forked.snakemake(
        *given, folder=checkout.root, environment=forked_jobs.environment(checkout.environment())
    )
    if check and done.returncode:
        raise AssertionError(f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}")
    return done


def opened(checkout, name):
    return xr.open_dataset(checkout.root / f"results/own/{name}.nc")


def cross_entropy(checkout, step, change=lambda logits: logits):
    blocks = checkout.root / "results/own/blocks/mine/docs.json"
    tokens = torch.from_numpy(examples(blocks, "held_out").contexts.astype(np.int64))
    with torch.no_grad():
        logits = change(nano.logits(module(step), tokens)[:, :-1])
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).item()


def test_study_of_a_users_module_is_made_once_and_again_after_an_edit_of_its_file(checkout):
    run(checkout)
    with opened(checkout, "theirs/metrics") as found:
        assert found["step"].values.tolist() == [*STEPS]
        for step in STEPS:
            loss = found["loss"].sel(step=step).item()
            assert loss == pytest.approx(cross_entropy(checkout, step), rel=1e-6)
    with opened(checkout, "theirs/components") as found:
        assert found["component"].values.tolist() == [r"weights:h\.1\.mlp"]
        assert np.isfinite(found["rllc"]).all()
    with opened(checkout, "ours/llc") as found:
        assert found["step"].values.tolist() == [0, 4]
        assert np.isfinite(found["llc"]).all()
    assert "Nothing to be done" in run(checkout).stderr
    checkout.edit("my_models.py", "return module(tokens, tokens)[0]", "return 2 * module(tokens, tokens)[0]")
    run(checkout, "results/own/theirs/metrics.nc")
    with opened(checkout, "theirs/metrics") as found:
        expected = cross_entropy(checkout, STEPS[1], lambda logits: 2 * logits)
        assert found["loss"].sel(step=STEPS[1]).item() == pytest.approx(expected, rel=1e-6)


def test_function_that_is_not_there_is_refused_before_anything_is_made(checkout):
    checkout.edit(OVERLAY, "my_models.py:build", "my_models.py:biuld")
    done = run(checkout, check=False)
    assert done.returncode
    said = done.stdout + done.stderr
    assert "experiments.theirs.model.build: my_models.py has no function biuld" in said
    assert not (checkout.root / "results/own").exists()

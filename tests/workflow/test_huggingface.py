"""Models of Hugging Face in the workflow: folders that a Trainer left, and training from scratch."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
from tiny_transformers import MODELS

from rllc.store.blocks import examples

STUDY = """
results: results/hf
distributions:
  docs: {source: files, path: "docs/*.md", held_out: 0.3, label: docs}
tokenizers:
  mine: {pretrained: mine/checkpoint-0, context: 16, held_out_blocks: 16, train_blocks: 200}
experiments:
  language: null
  language_1layer: null
  sort_2head_baseline: null
  sort_1head: null
  theirs:
    task: language
    seeds: [0]
    tokenizer: mine
    model: {family: huggingface}
    checkpoints: {source: huggingface, path: "mine/checkpoint-{step}"}
    distributions: [docs]
    sampling:
      heads: &tiny
        {step_size: 1.0e-4, n_beta: 30, localization: 200, chains: 2, draws: 4, burn_in: 1, batch_size: 2,
         scored_positions: 4, init_batches: 2, control_chains: 2}
      other: {<<: *tiny, components: ["mlp:0", "embedding"]}
    metrics: {contexts: 16, batch_size: 8}
    integrity: {contexts: 16, batch_size: 8}
  ours:
    like: theirs
    integrity: null
    model:
      family: huggingface
      config: {model_type: gpt_neox, num_hidden_layers: 2, num_attention_heads: 2, hidden_size: 16, intermediate_size: 24}
    training:
      {distribution: docs, steps: 6, batch_size: 4, optimizer: adamw, learning_rate: 1.0e-3, betas: [0.9, 0.95],
       eps: 1.0e-8, weight_decay: 0.0, warmup: 2, schedule: constant, gradient_clip: null, late_layers_ramp: 0,
       keep_state_every: 3}
    checkpoints: {source: train, ratio: null, first: 0, extra: [3], chunks: [0]}
claims: []
figures: {theirs_heads: {draws: rllc_by_distribution, experiment: theirs}}
"""
OVERLAY = "config/hf.yaml"


@pytest.fixture
def checkout(fresh, tmp_path):
    """A checkout with the checkpoints of a llama whose heads share keys, as a Trainer names them, and a study."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import AutoConfig, AutoModelForCausalLM

    checkout = fresh()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({symbol: i for i, symbol in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    model_type, fields, *_ = MODELS["llama_groups"]
    config = AutoConfig.for_model(model_type, **fields | {"vocab_size": 260})
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config)
    for step in (0, 10, 2):
        folder = checkout.root / f"mine/checkpoint-{step}"
        with torch.no_grad():
            model.lm_head.weight += step
        model.half().save_pretrained(folder)
        model.float()
        tokenizer.save(str(folder / "tokenizer.json"))
        (folder / "optimizer.pt").write_bytes(b"never read")
    checkout.write(OVERLAY, STUDY)
    return checkout


def run(checkout, *targets, check=True, configs=()):
    import forked
    import forked_jobs

    given = ("--cores", "2", "--configfile", OVERLAY, *configs, *(("--", *targets) if targets else ()))
    done = forked.snakemake(
        *given, folder=checkout.root, environment=forked_jobs.environment(checkout.environment())
    )
    if check and done.returncode:
        raise AssertionError(f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}")
    return done


def opened(checkout, name):
    return xr.open_dataset(checkout.root / f"results/hf/{name}.nc")


def loss_of_transformers(checkout, step):
    from transformers import AutoModelForCausalLM

    blocks = checkout.root / "results/hf/blocks/mine/docs.json"
    tokens = torch.from_numpy(examples(blocks, "held_out").contexts.astype(np.int64))
    folder = checkout.root / f"mine/checkpoint-{step}"
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        return model(input_ids=tokens, labels=tokens).loss.item()


def test_study_of_folders_and_of_a_training_is_made_and_made_once(checkout):
    run(checkout)
    with opened(checkout, "theirs/rllc") as found:
        assert found["step"].values.tolist() == [0, 2, 10]
        assert found["head"].values.tolist() == ["group:0:0", "group:0:1", "group:1:0", "group:1:1"]
        assert np.isfinite(found["rllc"]).all()
    with opened(checkout, "theirs/components") as found:
        assert found["component"].values.tolist() == ["mlp:0", "embedding"]
        assert np.isfinite(found["rllc"]).all()
    with opened(checkout, "ours/rllc") as found:
        assert found["step"].values.tolist() == [0, 3, 6]
        assert found["head"].values.tolist() == ["0:0", "0:1", "1:0", "1:1"]
    with opened(checkout, "theirs/metrics") as found:
        for step in (0, 10):
            loss = found["loss"].sel(step=step).item()
            assert loss == pytest.approx(loss_of_transformers(checkout, step), rel=1e-5)
    with opened(checkout, "theirs/checkpoints") as found:
        assert found["loss"].sel(step=2).item() == pytest.approx(loss_of_transformers(checkout, 2), rel=1e-5)
        assert found["loss_se"].attrs["degrees_of_freedom"] == 15
        assert found["previous_step"].values.tolist() == [[-1, 0, 2]]
        assert found["outlier"].values.tolist() == [
            [0, 1, 0]
        ]  # the weights of step 2 are beyond those of step 10
    registered = json.loads((checkout.root / "results/hf/theirs/checkpoints/seed0/from0.json").read_text())
    assert [entry["dtypes"] for entry in registered["checkpoints"]] == [["F16"]] * 3
    assert not list((checkout.root / "results/hf/theirs").rglob("*.safetensors")), "weights were copied"
    assert "Nothing to be done" in run(checkout).stderr


def test_equal_checkpoints_are_refused_before_anything_is_made(checkout):
    first, last = (checkout.root / f"mine/checkpoint-{step}/model.safetensors" for step in (0, 10))
    last.write_bytes(first.read_bytes())
    done = run(checkout, check=False)
    assert done.returncode
    assert "steps 0 and 10 have the same weights" in done.stdout + done.stderr
    assert not (checkout.root / "results/hf").exists()


def test_changed_checkpoint_is_measured_again_alone(checkout):
    targets = ["results/hf/theirs/metrics.nc"]
    run(checkout, *targets)
    with opened(checkout, "theirs/metrics") as found:
        before = found["loss"].load()
    Path(checkout.root / "mine/checkpoint-10/model.safetensors").write_bytes(
        (checkout.root / "mine/checkpoint-0/model.safetensors").read_bytes()
    )
    checkout.edit(OVERLAY, 'checkpoint-{step}"}', 'checkpoint-{step}", allow_equal: true}')
    run(checkout, *targets)
    with opened(checkout, "theirs/metrics") as found:
        after = found["loss"]
        assert (after.sel(step=[0, 2]) == before.sel(step=[0, 2])).all()
        assert after.sel(step=10).item() == before.sel(step=0).item()


MEASURES = """
experiments:
  ours: null
  theirs:
    sampling: null
    ablation: {contexts: 8, batch_size: 4}
    attention_scores: {sequences: 8, length: 16}
    head_types: {previous_token: 0.9, current_token: 0.9, prefix_matching: 0.01}
    tokens: {checkpoints: [10], corpus: docs, searched: 8, batch_size: 4, top: 10, shown: 1}
    fisher: {probes: 2, batch_size: 2}
    metrics: {icl_early: [1, 4], icl_late: [9, 14]}
    induction_ablation: {contexts: 8, batch_size: 4}
figures: {theirs_heads: null}
"""


def test_heads_and_mlps_are_measured(checkout):
    checkout.write("config/measures.yaml", MEASURES)
    measures = ("ablation", "attention_scores", "tokens", "fisher", "induction_ablation")
    run(checkout, *(f"results/hf/theirs/{name}.nc" for name in measures), configs=("config/measures.yaml",))
    groups = ["group:0:0", "group:0:1", "group:1:0", "group:1:1"]
    for name in measures[:-1]:
        with opened(checkout, f"theirs/{name}") as found:
            assert found["head"].values.tolist() == groups, name
    with opened(checkout, "theirs/ablation") as found:
        assert found["mlp"].values.tolist() == ["mlp:0", "mlp:1"]
        assert found["ablation_mlp"].attrs["units"] == found["ablation"].attrs["units"]
        assert (found["ablation_mlp"] != 0).all() and np.isfinite(found["ablation"]).all()
    with opened(checkout, "theirs/attention_scores") as found:
        assert found["prefix_matching_by_member"].sizes["member"] == 2
        assert "k_composition" not in found
    with opened(checkout, "theirs/induction_ablation") as found:
        assert "+".join(groups[1:]) in found["ablated"]  # of a random model, every group passes the threshold
        assert np.isfinite(found["icl_score"].sel(ablated="all")).all()
    with opened(checkout, "theirs/tokens") as found:
        assert np.isfinite(found["share_mlp"]).any()


def test_measures_that_need_an_attention_only_transformer_are_refused(checkout):
    checkout.write(
        "config/measures.yaml",
        "experiments: {theirs: {circuits: {}, positions: {contexts: 8, batch_size: 4}}}\n",
    )
    done = run(checkout, check=False, configs=("config/measures.yaml",))
    said = done.stdout + done.stderr
    for name, reason in (
        ("circuits", "no QK and OV circuits"),
        ("positions", "no table of position embeddings"),
    ):
        assert f"experiments.theirs.{name}: a model of the family huggingface has {reason}" in said

"""Your own text and your own checkpoints, by the lines of README and docs/own_models.md to the letter."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
import xarray as xr
import yaml
from hooked import as_hooked
from hub_server import Hub, serving
from readme import OWN_MODELS, README, command, small, snippet
from replaced import replaced_by_an_older
from tiny_transformers import tiny_model

from rllc.models.transformer import Architecture
from rllc.store.blocks import examples
from rllc.store.checkpoints import load, read_metadata
from rllc.study import defaults

ATTENTION_ONLY = OWN_MODELS.partition("## Attention-only models")[2]
EXPORT, MINE = (
    snippet("python", "model.cfg", ATTENTION_ONLY),
    snippet("yaml", "source: import", ATTENTION_ONLY),
)
THESIS, PYTHIA = snippet("yaml", "thesis"), snippet("yaml", "source: huggingface")
FOLDER = "path/to/folder"


def texts(checkout, number):
    """Write short texts where the README's overlay reads them, and its overlay."""
    for chapter in range(number):
        words = " ".join(f"word{chapter * i % 97} and then" for i in range(120))
        checkout.write(f"texts/part {chapter % 3}/chapter {chapter}.md", f"Chapter {chapter}. {words}")
    checkout.write("config/thesis.yaml", THESIS)


def export(monkeypatch, checkout, models):
    """Run the README's lines on a HookedTransformer at each step, in the checkout."""
    monkeypatch.chdir(checkout.root)
    for step, model in models.items():
        exec(EXPORT, {"model": model, "step": step})


def hooked(**changes):
    """A new HookedTransformer of the sizes that the README's overlay says, but for changes."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    said = yaml.safe_load(MINE)["experiments"]["mine"]["model"]
    sizes = {name: said[name] for name in ("n_layers", "n_heads", "d_model", "d_head", "n_ctx")}
    vocabulary = yaml.safe_load(MINE)["tokenizers"]["mine"]["vocabulary"]
    fields = {
        "attn_only": True,
        "positional_embedding_type": said["positions"],
        "d_vocab": vocabulary,
        "seed": 0,
    }
    return HookedTransformer(
        HookedTransformerConfig(**(sizes | fields | changes), device="cpu", act_fn="relu")
    )


def literally(checkout, arguments, *more, **variables):
    """Run a command of the README with nothing changed but what is put before it."""
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *more, *arguments],
        cwd=checkout.root, env=checkout.environment() | variables, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def tokenizer(size):
    """The tokenizer.json of some words, with a first token."""
    words = {"<s>": 0} | {f"token {number}": number for number in range(1, size)}
    model = {"type": "WordLevel", "vocab": words, "unk_token": "<s>"}
    return json.dumps({"version": "1.0", "model": model})


def test_the_text_of_the_readme_is_measured_by_the_trained_model_and_leaves_with_its_overlay(checkout, rules):
    texts(checkout, number=12)
    checkpoints = sorted((checkout.root / "results/ci").glob("*/checkpoints/*/step*"))
    trained_at = [path.stat().st_mtime_ns for path in checkpoints]
    rows = "".join(
        json.dumps({"title": "no", "body": f"Row {number} speaks. " * 9}) + "\n" for number in range(9)
    )
    checkout.write("rows.jsonl", rows)
    checkout.write(
        "config/rows.yaml",
        "distributions: {rows: {source: files, path: rows.jsonl, field: body, label: Rows}}",
    )
    overlays, targets = small(command("config/thesis.yaml"))[:-2], small(command("config/thesis.yaml"))[-1:]
    done = checkout.snakemake(*overlays, "config/rows.yaml", "--", *targets, "results/ci/corpora/rows.json")
    said = done.stdout + done.stderr
    assert re.search(r"Provided resources: gpu=.*1", said), "jobs on a GPU are not limited to one at once"
    assert trained_at == [path.stat().st_mtime_ns for path in checkpoints], "nothing was trained again"
    held = re.search(
        r"thesis: documents 12, held out and used (\d+) \(\d+ tokens, different contexts \d+\)", said
    )
    assert f"only {held[1]} of 12" in said, "the console says that it is little"
    results = checkout.root / "results/ci"
    with xr.open_dataset(results / "language/rllc.nc") as dataset:
        assert dataset["distribution"].values.tolist() == [
            *("mixture", "english", "code", "one_layer", "thesis")
        ]
        assert np.isfinite(dataset["rllc"].sel(distribution="thesis")).all()
    with xr.open_dataset(results / "figures/rllc_by_distribution.nc") as drawn:
        assert re.search(
            rf"My thesis: \d+ different held-out contexts of {held[1]} document", drawn.attrs["caption"]
        )
    text = json.loads((results / "corpora/thesis.json").read_text())["text"]
    written = sum(len(path.read_text()) for path in (checkout.root / "texts").rglob("*.md"))
    assert (text["documents"], text["characters"]) == (12, written), "files are read whole"
    rows = json.loads((results / "corpora/rows.json").read_text())["text"]
    assert (rows["documents"], rows["characters"]) == (9, 9 * len("Row 0 speaks. " * 9))
    assert checkout.plan(*targets, overlays=tuple(overlays)) == []
    without = rules(checkout.plan(*targets))
    assert "gather" in without, "without the overlay the default study is restored"
    assert without <= {"gather", "draw"}


def test_checkpoints_exported_by_the_readme_give_the_numbers_of_the_run_they_came_from(checkout, monkeypatch):
    """The weights of the small study by way of TransformerLens, the README's lines and its overlay."""
    source = checkout.root / "results/ci/language/checkpoints/seed0"
    files = {int(path.stem.removeprefix("step")): path for path in source.glob("step*.safetensors")}
    facts = read_metadata(next(iter(files.values())))["model"]
    architecture = Architecture(**{name: value for name, value in facts.items() if name != "family"})
    export(monkeypatch, checkout, {step: as_hooked(load(file), architecture) for step, file in files.items()})
    # Its first token by another of the known names.
    vocabulary = (checkout.root / "results/ci/tokenizers/bpe.json").read_text().replace("<|bos|>", "<s>")
    checkout.write("path/to/tokenizer.json", vocabulary)
    checkout.write("config/mine.yaml", MINE)
    theirs = defaults.load([checkout.root / "config/ci.yaml"], checkout.root)["experiments"]["language"]
    folder = checkout.root / "my models/run 0"
    folder.parent.mkdir()
    (checkout.root / FOLDER).rename(folder)
    mine = {
        "model": {name: theirs["model"][name] for name in ("n_heads", "d_model", "d_head", "n_ctx")},
        "checkpoints": {"path": "my models/run {seed}", "chunks": theirs["checkpoints"]["chunks"]},
        "sampling": {"heads": theirs["sampling"]["heads"]},
        "attention_scores": theirs["attention_scores"],
    }
    tokens = {"vocabulary": facts["d_vocab"], "context": facts["n_ctx"], "held_out_blocks": 400}
    scaled = {"tokenizers": {"mine": tokens}, "experiments": {"mine": mine}}
    checkout.write("config/small.yaml", yaml.safe_dump(scaled))
    overlay, *targets = small(command("config/mine.yaml", ATTENTION_ONLY))
    checkout.snakemake(overlay, "config/small.yaml", *targets)
    results = checkout.root / "results/ci"
    with (
        xr.open_dataset(results / "mine/rllc.nc") as mine,
        xr.open_dataset(results / "language/rllc.nc") as whole,
    ):
        assert mine["distribution"].values.tolist() == ["english", "code"]
        for name in ("rllc", "rllc_se", "rllc_prior_only", "init_loss"):
            theirs = whole[name].sel(distribution=mine["distribution"].values)
            np.testing.assert_array_equal(mine[name].values, theirs.values)
    with (
        xr.open_dataset(results / "mine/attention_scores.nc") as mine,
        xr.open_dataset(results / "language/attention_scores.nc") as whole,
    ):
        np.testing.assert_array_equal(mine["prefix_matching"].values, whole["prefix_matching"].values)
    with xr.open_dataset(results / "figures/mine_by_distribution.nc") as drawn:
        assert "head_type" in drawn
    blocks = results / "blocks/mine/english.json"
    known = re.findall(r"`(<.*?>)`", ATTENTION_ONLY.partition("bos: known` every")[2])
    present = json.loads(vocabulary)["model"]["vocab"]
    (first,) = [token for token in known if token in present]
    assert set(examples(blocks, "held_out").contexts[:, 0].tolist()) == {present[first]}
    replaced_by_an_older(folder / "step_32.pt", (folder / "step_16.pt").read_bytes())
    plan = checkout.plan("results/ci/mine/rllc.nc", overlays=(overlay, "config/small.yaml"))
    assert {w["start"] for rule, w in plan if rule == "import_checkpoints"} == {"20"}


def test_the_commands_of_the_readme_plan_no_more_than_it_says(fresh, monkeypatch):
    """To the letter, in a clone in which nothing has run."""
    checkout = fresh()
    texts(checkout, number=30)
    export(monkeypatch, checkout, {0: hooked(), 1000: hooked()})
    size = yaml.safe_load(MINE)["tokenizers"]["mine"]["vocabulary"]
    checkout.write("path/to/tokenizer.json", tokenizer(size))
    checkout.write("config/mine.yaml", MINE)
    planned = {}
    for name in ("fig2_wrllc_by_head", "config/thesis.yaml", "config/mine.yaml"):
        page = ATTENTION_ONLY if "mine" in name else README
        done = literally(checkout, command(name, page), "--dry-run", "--quiet", "rules")
        assert not done.returncode, done.stderr[-3000:]
        planned[name] = dict(re.findall(r"^(\w+) +(\d+) +[\d.]+ +[\d.]+ ", done.stdout, re.MULTILINE))
    assert "sample_full" not in planned["fig2_wrllc_by_head"]
    assert planned["fig2_wrllc_by_head"]["draw"] == "1"
    assert planned["config/thesis.yaml"]["draw"] == "1"
    mine = planned["config/mine.yaml"]
    assert set(mine) == {"read_corpus", "make_tokenizer", "make_blocks", "import_checkpoints", "attention_scores",
                         "sample_heads", "gather", "draw"}  # fmt: skip
    assert mine["read_corpus"] == "2", "of the default study it makes English and code, and nothing else"


def test_dry_runs_that_the_readme_names_succeed_and_the_default_one_says_its_disk(fresh):
    """`make run`, and the overlays of which the README says that they were run dry."""
    checkout = fresh()
    (dry,) = re.findall(r"Untested here: .*? dry runs", README, re.DOTALL)
    overlays = re.findall(r"`(config/\w+\.yaml)`", dry)
    assert len(overlays) == 2
    for overlay in ("", *overlays):
        given = ["--configfile", overlay] if overlay else []
        done = literally(checkout, ["--cores", "all", *given], "--dry-run", "--quiet", "rules")
        assert not done.returncode, (overlay, done.stderr[-3000:])
        said = re.findall(r"^[\d,]+ jobs to run: .* ([\d.,]+ [MG]B) of disk", done.stdout, re.MULTILINE)
        assert len(said) == 1, overlay
        if not overlay:
            (promised,) = re.findall(r"about (\d+) MB of\s+disk", README)
            assert abs(int(said[0].removesuffix(" MB")) - int(promised)) <= 15


@pytest.mark.parametrize("kind", ["perceptrons", "Hugging Face"])
def test_checkpoints_of_other_models_are_refused_before_the_first_job(fresh, monkeypatch, kind):
    checkout = fresh()
    checkout.write("config/mine.yaml", MINE)
    checkout.write("path/to/tokenizer.json", tokenizer(5000))
    if kind == "perceptrons":
        export(monkeypatch, checkout, {0: hooked(attn_only=False, d_mlp=32)})
    else:
        gpt2 = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 12, "vocab_size": 5000}
        checkout.write(f"{FOLDER}/config.json", json.dumps(gpt2))
        torch.save({}, checkout.root / FOLDER / "pytorch_model.bin")
        (checkout.root / FOLDER / "model.safetensors").touch()
    done = literally(checkout, command("config/mine.yaml", ATTENTION_ONLY))
    assert done.returncode
    assert FOLDER in done.stdout + done.stderr
    assert ("checkpoints.source: huggingface" in done.stdout + done.stderr) == (kind == "Hugging Face")
    assert not (checkout.root / "results").exists()


def test_model_of_the_hub_is_downloaded_listed_and_planned_by_the_commands_of_the_readme(fresh, tmp_path):
    checkout = fresh()
    checkout.write("config/pythia.yaml", PYTHIA)
    said = yaml.safe_load(PYTHIA)["experiments"]["pythia"]
    revisions = {}
    for number, name in enumerate([*said["checkpoints"]["revisions"], "main"]):
        revisions[name] = tmp_path / name
        tiny_model("gpt_neox", seed=number, max_position_embeddings=128).save_pretrained(revisions[name])
        (revisions[name] / "tokenizer.json").write_text(tokenizer(53))
    local = {"HF_HOME": str(tmp_path / "home"), "HF_ENDPOINT": "http://127.0.0.1:9"}
    with serving(Hub({said["model"]["path"]: revisions})) as hub:
        done = literally(checkout, command("-- download"), **local | {"HF_ENDPOINT": hub.address})
    assert not done.returncode, done.stderr[-3000:]
    done = literally(checkout, command("-- components"), **local)
    assert "0..1:0..3" in done.stdout, done.stderr[-3000:]
    done = literally(checkout, command("pythia_by_distribution"), "--dry-run", "--quiet", "rules", **local)
    assert not done.returncode, done.stderr[-3000:]
    planned = set(re.findall(r"^(\w+) +\d+ +[\d.]+ +[\d.]+ ", done.stdout, re.MULTILINE))
    assert {"register_checkpoints", "sample_heads", "draw"} <= planned
    assert not {"train", "import_checkpoints"} & planned

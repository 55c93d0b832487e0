"""What users get when their texts, checkpoints or configs change, or something is wrong with them."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray as xr
from replaced import replaced_by_an_older

MINE = """
experiments:
  mine:
    task: language
    seeds: [0]
    tokenizer: bpe
    model: {n_layers: 2, n_heads: 2, d_model: 32, d_head: 16, n_ctx: 32, positions: shortformer, layer_norm: true}
    checkpoints: {source: import, path: "my models/run {seed}", chunks: [0, 20]}
    distributions: [mixture, english, code, one_layer]
    sampling:
      heads: {step_size: 1.0e-3, n_beta: 30, localization: 200, chains: 4, draws: 8, burn_in: 4, batch_size: 4,
              scored_positions: 8, init_batches: 2, control_chains: 4, antithetic_pairs: 2}
figures:
  mine_by_distribution: {draws: rllc_by_distribution, experiment: mine}
"""


def text_of_my_own(checkout, folder="texts"):
    for number in range(30):
        words = " ".join(f"word{number * i % 97} and then" for i in range(120))
        checkout.write(f"{folder}/chapter {number}.md", f"Chapter {number}. {words}")


def overlay_with(checkout, entry):
    return checkout.write(
        "config/thesis.yaml",
        f"distributions:\n  thesis: {entry}\n"
        "experiments:\n  language:\n    distributions: [mixture, english, code, one_layer, thesis]\n",
    )


def test_edited_text_is_read_again(checkout):
    text_of_my_own(checkout)
    overlay = overlay_with(checkout, '{source: files, path: "texts/*.md", label: My thesis, held_out: 0.4}')
    target = "results/ci/corpora/thesis.json"
    checkout.snakemake(overlay, "--", target)
    before = (checkout.root / target).read_text()
    assert checkout.plan(target, overlays=(overlay,)) == []
    checkout.write("texts/chapter 3.md", "Another chapter. " * 100)
    checkout.snakemake(overlay, "--", target)
    made = (checkout.root / target).read_text()
    assert made != before
    os.utime(checkout.root / "texts/chapter 4.md")
    assert checkout.plan(target, overlays=(overlay,)) == []
    replaced_by_an_older(checkout.root / "texts/chapter 3.md", b"A third chapter. " * 100)
    assert checkout.plan(target, overlays=(overlay,)) == [("read_corpus", {"distribution": "thesis"})]


def test_a_tokenizer_of_my_own_is_taken_again_where_it_is_another(checkout):
    made = checkout.root / "results/ci/tokenizers/bpe.json"
    checkout.write("my tokenizer/tokenizer.json", made.read_text())
    overlay = checkout.write(
        "config/own.yaml",
        "tokenizers: {own: {pretrained: my tokenizer/tokenizer.json, vocabulary: 320, context: 32, train_blocks: 1, "
        "held_out_blocks: 9}}\n",
    )
    target = "results/ci/tokenizers/own.json"
    checkout.snakemake(overlay, "--", target)
    assert checkout.plan(target, overlays=(overlay,)) == []
    replaced_by_an_older(checkout.root / "my tokenizer/tokenizer.json", made.read_bytes() + b"\n")
    assert checkout.plan(target, overlays=(overlay,)) == [("make_tokenizer", {"tokenizer": "own"})]


@pytest.mark.parametrize(
    ("entry", "text", "message"),
    [
        ('{source: files, path: "no/such/*.md", label: x}', None, "no file matches 'no/such/*.md'"),
        ('{source: files, path: "texts/*.md", label: x, held_out: 0.5}', "", "no text"),
        ('{source: files, path: "texts/*.md", label: x, held_out: 0.5}', "short", "tokens"),
        ("{source: hub, name: nobody/nothing, documents: 5, label: x}", None, "nobody/nothing"),
    ],
)
def test_text_that_cannot_be_used_is_refused_before_anything_is_measured(checkout, entry, text, message):
    if text is not None:
        for number in range(6):
            checkout.write(f"texts/{number}.md", f"{text} {number}" if text else "")
    overlay = overlay_with(checkout, entry)
    done = checkout.snakemake(overlay, "--", "results/ci/blocks/bpe/thesis.json", check=False)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert not (checkout.root / "results/ci/blocks/bpe/thesis.json").exists()


def tokenizer_with(token):
    vocabulary = {"<|bos|>": 0, token: 1} | {f"token {number}": number for number in range(2, 300)}
    return json.dumps(
        {"version": "1.0", "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": token}}
    )


TAKEN = """
distributions: {mine: {source: hub, name: ./my own, documents: 40, held_out: 0.5, label: x}}
tokenizers:
  mine: {pretrained: my own/.tokenizer.json, vocabulary: 300, context: 32, train_blocks: 64, held_out_blocks: 64}
experiments:
  language_1layer: {tokenizer: mine}
  language: {tokenizer: mine, distributions: [mixture, english, code, one_layer, mine]}
"""


def test_what_is_taken_from_files_is_an_input(fresh):
    """A data set and a tokenizer: edited, they are taken again; gone, nothing is planned."""
    checkout = fresh()
    overlay = checkout.write("config/mine.yaml", TAKEN)
    targets = ("results/ci/corpora/mine.json", "results/ci/tokenizers/mine.json")

    def write(word):
        rows = "".join(json.dumps({"text": f"{word} {number}"}) + "\n" for number in range(40))
        checkout.write("my own/rows.jsonl", rows)
        checkout.write("my own/.tokenizer.json", tokenizer_with(word))

    write("one")
    checkout.snakemake(overlay, "--", *targets)
    before = [(checkout.root / target).read_text() for target in targets]
    assert checkout.plan(*targets, overlays=(overlay,)) == []
    write("another")
    assert [rule for rule, _ in checkout.plan(*targets, overlays=(overlay,))] == [
        "make_tokenizer",
        "read_corpus",
    ]
    checkout.snakemake(overlay, "--", *targets)
    for target, text in zip(targets, before, strict=True):
        assert (checkout.root / target).read_text() != text
    shutil.rmtree(checkout.root / "my own")
    done = checkout.snakemake(overlay, "-n", "--", *targets, check=False)
    assert done.returncode != 0
    for problem in (
        "distributions.mine.name: ./my own is neither a name of the hub nor a folder with files",
        "tokenizers.mine.pretrained: there is no tokenizer.json at my own/.tokenizer.json",
    ):
        assert problem in done.stdout


def test_a_glob_that_matches_nothing_is_refused_also_where_the_figure_exists(checkout):
    overlay = overlay_with(checkout, '{source: files, path: "no/such/*.md", label: x}')
    done = checkout.snakemake(overlay, "--", "results/ci/figures/rllc_by_distribution.png", check=False)
    assert done.returncode != 0
    assert "distributions.thesis.path: no file matches 'no/such/*.md'" in done.stderr


def test_a_folder_of_checkpoints_that_is_not_there_is_refused_at_once(checkout):
    done = checkout.snakemake(checkout.write("config/mine.yaml", MINE), check=False)
    assert done.returncode != 0
    assert (
        "experiments.mine.checkpoints.path: imported checkpoints: there is no folder my models/run 0"
        in done.stderr
    )


def test_a_config_typo_is_refused_before_the_first_job(checkout):
    overlay = checkout.write("config/typo.yaml", "experiments: {language: {sampling: {heads: {chain: 3}}}}\n")
    done = checkout.snakemake(overlay, check=False)
    assert done.returncode != 0
    assert "unknown key 'chain'; did you mean 'chains'?" in done.stdout + done.stderr


def test_a_corrupt_checkpoint_is_not_measured(checkout):
    """Same size, other bytes: only the SHA-256 tells."""
    file = checkout.root / "results/ci/language/checkpoints/seed0/step0000008.safetensors"
    sound = file.read_bytes()
    content = bytearray(sound)
    content[-5] ^= 1
    file.write_bytes(bytes(content))
    shutil.rmtree(checkout.root / "results/ci/language/parts/ablation")
    (checkout.root / "results/ci/language/ablation.nc").unlink()
    done = checkout.snakemake("--", "results/ci/language/ablation.nc", check=False)
    assert done.returncode != 0
    assert "step0000008.safetensors cannot be used: its SHA-256" in done.stderr
    assert "Move it away and run again" in done.stderr
    assert "--checkpoints" not in done.stdout + done.stderr, "commands only where they are asked for"
    (log,) = re.findall(r"Complete log\(s\): (.*)", done.stderr)
    assert "--checkpoints" in Path(log).read_text()
    file.unlink()
    checkout.snakemake("--", "results/ci/language/ablation.nc")
    assert file.read_bytes() == sound


def test_what_is_cut_short_is_named_and_made_again_as_a_dry_run_says(checkout):
    results = checkout.root / "results/ci"
    part = results / "language/parts/metrics/seed0.code.from0.nc"
    figure = results / "figures/corpus_summary.png"
    whole, picture = xr.load_dataset(part), figure.read_bytes()
    part.write_bytes(part.read_bytes()[:200])
    figure.write_bytes(picture[:-30])
    (results / "language/metrics.nc").unlink()
    targets = ("results/ci/language/metrics.nc", "results/ci/figures/corpus_summary.png")
    plan = checkout.plan(*targets)
    cell = {"dataset": "metrics", "experiment": "language", "seed": "0", "distribution": "code", "start": "0"}
    assert ("metrics", cell) in plan
    assert {rule for rule, _ in plan} == {"metrics", "gather", "draw"}
    assert len(plan) == 3
    assert part.is_file(), "a dry run removes nothing"
    done = checkout.snakemake("--", *targets)
    assert "seed0.code.from0.nc" in done.stderr
    assert "it will be made again" in done.stderr
    xr.testing.assert_identical(xr.load_dataset(part), whole)
    assert (results / "language/metrics.nc").is_file()
    assert figure.read_bytes() == picture


def test_a_vocabulary_that_does_not_fit_is_refused(fresh):
    checkout = fresh()
    overlay = checkout.write("config/mine.yaml", MINE)
    folder = checkout.root / "my models" / "run 0"
    folder.mkdir(parents=True)
    facts = {
        "n_layers": 2,
        "n_heads": 2,
        "d_model": 32,
        "d_head": 16,
        "n_ctx": 32,
        "d_vocab": 999,
        "attn_only": True,
    }
    (folder / "config.json").write_text(json.dumps(facts))
    (folder / "step_4.pt").touch()
    done = checkout.snakemake(
        overlay, "-n", "--", "results/ci/mine/checkpoints/seed0/from0.json", check=False
    )
    assert "tokenizers.bpe.vocabulary: 320, config.json 999, in my models/run 0: give" in done.stdout


def test_a_second_run_is_told_why_it_waits_and_what_a_killed_one_left_is_made_again(checkout):
    """The first run is killed as its job begins, and the job lives on."""
    text_of_my_own(checkout)
    overlay = overlay_with(checkout, '{source: files, path: "texts/*.md", label: My thesis, held_out: 0.4}')
    target = "results/ci/corpora/thesis.json"
    call = [sys.executable, "-m", "snakemake", "--cores", "1", "--configfile", "config/ci.yaml", overlay]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    first = subprocess.Popen(
        [*call, "--", target], cwd=checkout.root, env=checkout.environment(), start_new_session=True, **quiet
    )

    def wait_for(*patterns):
        deadline = time.monotonic() + 60
        while not all(any(checkout.root.glob(p)) for p in patterns) and time.monotonic() < deadline:
            time.sleep(0.05)

    try:
        wait_for(".snakemake/locks/*", ".snakemake/incomplete/*")
        first.kill()  # SIGTERM may wait for ever: Snakemake's handler takes a lock that its thread may hold
        first.wait(timeout=60)
        assert "cannot be locked" in checkout.snakemake(overlay, "--", target, check=False).stderr
        wait_for(target)
        checkout.snakemake(overlay, "--unlock")
        checkout.snakemake(overlay, "--", target)
        assert checkout.plan(target, overlays=(overlay,)) == []
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(first.pid, signal.SIGKILL)

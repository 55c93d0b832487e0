"""`snakemake download` and `snakemake components`: from a hub on this machine to registered checkpoints, offline."""

import json
from pathlib import Path

import pytest
from hub_server import Hub, serving, sha256
from tiny_transformers import tiny_model

NAME = "EleutherAI/pythia-14m"
OVERLAY = "config/hub.yaml"
STUDY = f"""
results: results/hub
distributions:
  docs: {{source: files, path: "docs/*.md", held_out: 0.3, label: docs}}
tokenizers:
  theirs: {{pretrained: {NAME}, context: 16, held_out_blocks: 16, train_blocks: 1}}
experiments:
  language: null
  language_1layer: null
  sort_2head_baseline: null
  sort_1head: null
  pythia:
    task: language
    seeds: [0]
    tokenizer: theirs
    model: {{family: huggingface, path: {NAME}}}
    checkpoints: {{source: huggingface, revisions: [step512, step0]}}
    distributions: [docs]
    sampling:
      heads: {{step_size: 1.0e-4, n_beta: 30, localization: 200, chains: 2, draws: 4, burn_in: 1, batch_size: 2,
               scored_positions: 4, init_batches: 2, control_chains: 2}}
claims: []
figures: {{}}
"""
MANIFEST = "results/hub/pythia/checkpoints/seed0/from0.json"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two revisions of a tiny model, with a tokenizer of its size."""
    place, vocabulary = tmp_path_factory.mktemp("hub"), {f"w{number}": number for number in range(53)}
    for seed, name in enumerate(("step0", "step512")):
        tiny_model("gpt_neox", seed=seed).save_pretrained(place / name)
        model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "w0"}
        (place / name / "tokenizer.json").write_text(json.dumps({"version": "1.0", "model": model}))
        (place / name / "optimizer.pt").write_bytes(b"must not be fetched")
    return {name: place / name for name in ("step0", "step512")}


@pytest.fixture
def hub(folders):
    with serving(Hub({NAME: folders | {"main": folders["step512"]}})) as found:
        yield found


@pytest.fixture
def run(fresh, tmp_path):
    """Return a function that runs Snakemake in a checkout with the study; ``run.root`` is the checkout."""
    import forked
    import forked_jobs

    checkout = fresh()
    checkout.write(OVERLAY, STUDY)

    def run(*arguments, address="http://127.0.0.1:9"):
        own = {name: value for name, value in checkout.environment().items() if not name.startswith("HF_")}
        own |= {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home")}
        given = ("--cores", "1", "--configfile", OVERLAY, "--", *arguments)
        done = forked.snakemake(*given, folder=checkout.root, environment=forked_jobs.environment(own))
        return done.returncode, done.stdout + done.stderr

    run.root, run.edit = checkout.root, checkout.edit
    return run


def test_models_are_downloaded_once_and_registered_and_listed_without_a_network(run, hub, folders):
    code, said = run(MANIFEST)
    assert code
    assert "lacks step512, step0 of EleutherAI/pythia-14m" in said
    assert "Call `snakemake download`" in said
    code, said = run("download", address=hub.address)
    assert not code, said
    assert "optimizer.pt" not in hub.fetched()
    recorded = json.loads((run.root / "results/hub/downloads.json").read_text())[NAME]
    assert recorded.keys() == {"main", "step0", "step512"}, "main for its tokenizer"
    own = recorded["step512"]["files"]["model.safetensors"]
    assert own["sha256"] == sha256(folders["step512"] / "model.safetensors")
    hub.requests.clear()
    code, said = run("download", address=hub.address)
    assert not code, said
    assert hub.requests == []
    code, said = run("components")
    assert not code, said
    assert "0..1:0..3" in said and "gpt_neox.layers.*.attention.query_key_value.weight" in said
    assert not (run.root / MANIFEST).exists()
    code, said = run(MANIFEST)
    assert not code, said
    entries = json.loads((run.root / MANIFEST).read_text())["checkpoints"]
    assert [(entry["step"], entry["commit"]) for entry in entries] == [
        (0, hub.commit(NAME, "step0")), (512, hub.commit(NAME, "step512"))
    ]  # fmt: skip
    assert not list(Path(run.root / "results/hub").rglob("*.safetensors")), "weights were copied"


def test_missing_revision_is_named_and_nothing_is_written(run, hub):
    run.edit(OVERLAY, "[step512, step0]", "[step512, step1000]")
    code, said = run("download", address=hub.address)
    assert code
    assert f"experiments.pythia: {NAME} has no revision step1000" in said
    assert not (run.root / "results/hub").exists()


def test_revisions_of_different_models_are_refused_by_the_field(run, hub, folders, tmp_path):
    other = tmp_path / "other"
    tiny_model("gpt_neox", intermediate_size=48).save_pretrained(other)
    (other / "tokenizer.json").write_bytes((folders["step0"] / "tokenizer.json").read_bytes())
    hub.repositories[NAME]["step512"] = other
    code, said = run("download", address=hub.address)
    assert code
    assert "experiments.pythia" in said
    assert "intermediate_size is 40" in said and "and 48 in" in said

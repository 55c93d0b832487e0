"""Lists of thousands of the user's files, and texts that are equal."""

import os
from pathlib import Path

import yaml


def overlay_of(checkout, paths):
    entry = {"source": "files", "path": paths, "label": "Mine", "held_out": 0.3}
    used = ["mixture", "english", "code", "one_layer", "mine"]
    content = {"distributions": {"mine": entry}, "experiments": {"language": {"distributions": used}}}
    return checkout.write("config/mine.yaml", yaml.safe_dump(content, width=10**6))


def kept(checkout):
    return sorted(str(file) for file in (checkout.root / ".snakemake").rglob("settings/*"))


def test_list_of_thousands_of_paths_is_read(fresh):
    """Together they are longer than an argument of a command may be."""
    checkout = fresh()
    paths = [
        f"my texts/a 'file' with a long name, the {number}th of many files.txt" for number in range(2500)
    ]
    for number, path in enumerate(paths):
        checkout.write(path, f"The words of text {number}, and more of them. " * 5)
    overlay, target = overlay_of(checkout, paths), "results/ci/corpora/mine.json"
    planned = checkout.snakemake(overlay, "--dry-run", "--", target)
    checkout.snakemake(overlay, "--summary", "--", target)
    assert kept(checkout) == []
    assert "read_corpus" in planned.stdout + planned.stderr
    done = checkout.snakemake(overlay, "--", target)
    assert "mine: documents 2500 (" in done.stdout + done.stderr
    assert len(done.stdout + done.stderr) < 20_000
    assert checkout.plan(target, overlays=(overlay,)) == []
    before = (checkout.root / target).read_bytes()
    for file in kept(checkout):
        Path(file).unlink()
    one_job = ("--target-jobs", "read_corpus:distribution=mine", "--allowed-rules", "read_corpus")
    checkout.snakemake(overlay, "--mode", "remote", "--nolock", "--force", *one_job)  # as a node starts it
    assert (checkout.root / target).read_bytes() == before
    assert kept(checkout)
    overlay_of(checkout, paths[1:])
    assert [rule for rule, _ in checkout.plan(target, overlays=(overlay,))] == ["read_corpus"]
    checkout.write(paths[5], "no \0 text")
    failed = checkout.snakemake(overlay, "--", target, check=False)
    said = failed.stdout + failed.stderr
    assert failed.returncode != 0
    assert paths[5] in said
    assert len(said) < 20_000


def test_file_name_that_is_not_utf8_is_refused_before_the_run(fresh):
    """A dry run was fine, and the run ended in a traceback."""
    checkout = fresh()
    overlay = overlay_of(checkout, "texts/*.txt")
    checkout.write("texts/a.txt", "words")
    (checkout.root / "texts" / os.fsdecode(b"caf\xe9.txt")).write_text("other words")
    done = checkout.snakemake(overlay, "--dry-run", "--", "results/ci/corpora/mine.json", check=False)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "distributions.mine.path" in said
    assert r"caf\udce9" in said
    assert "Traceback" not in said

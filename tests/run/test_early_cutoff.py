"""Real runs of Snakemake."""

import os
import subprocess
import sys
import time
from pathlib import Path

import forked
import pytest

from rllc.run import early_cutoff

SNAKEFILE = """
import sys
sys.path.insert(0, {src!r})
from rllc.run import early_cutoff

early_cutoff.install(["read", "mix"])

rule all:
    input: "c.txt", "d.txt"

rule read:
    output: "{{name}}.json"
    params: code=config["code"]
    wildcard_constraints: name="[ab]"
    shell: "{{{{ echo text; grep {{wildcards.name}} texts || true; }}}} > {{output}}"

rule mix:
    input: "a.json", "b.json"
    output: "mix.json"
    shell: "cat {{input}} > {{output}}"

rule train:
    input: "mix.json"
    output: "c.txt"
    shell: "date +%s.%N > {{output}}"

rule measure:
    input: "c.txt", "b.json"
    output: "d.txt"
    params: setting=config.get("setting", 0)
    shell: "date +%s.%N > {{output}}"
"""


@pytest.fixture
def study(tmp_path):
    src = str(Path(early_cutoff.__file__).parents[2])
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(src=src))
    (tmp_path / "texts").write_text("")
    run(tmp_path, "code=1")
    return tmp_path


def run(folder, *config):
    """Run with two cores; return which outputs were made."""
    before = {file: file.stat().st_mtime_ns for file in folder.glob("[a-z]*.*")}
    time.sleep(0.02)
    done = forked.snakemake("--cores", "2", "--config", *config, folder=folder)
    assert done.returncode == 0, done.stderr
    made = {file.name for file in folder.glob("[a-z]*.*") if before.get(file) != file.stat().st_mtime_ns}
    return made - {"Snakefile"}


def test_text_made_again_with_equal_bytes_starts_nothing_below_it(study):
    assert run(study, "code=2") == {"a.json", "b.json"}
    assert run(study, "code=2") == set()


def test_text_that_takes_longer_than_another_starts_nothing_below_it(study):
    """While it runs its output is away, and other texts end."""
    snakefile = (study / "Snakefile").read_text()
    slow = "[ {wildcards.name} = b ] || sleep 1; {{ echo text"
    (study / "Snakefile").write_text(snakefile.replace("{{ echo text", slow))
    assert run(study, "code=2") == {"a.json", "b.json"}


def test_text_made_again_with_other_bytes_makes_what_depends_on_it(study):
    (study / "texts").write_text("b, edited")
    assert run(study, "code=2") == {"a.json", "b.json", "mix.json", "c.txt", "d.txt"}
    assert run(study, "code=2") == set()


def test_other_reasons_still_count(study):
    """A changed setting of a measure, a missing output, and one that is older than its input."""
    assert run(study, "code=2", "setting=1") == {"a.json", "b.json", "d.txt"}
    (study / "c.txt").unlink()
    assert run(study, "code=3", "setting=1") == {"a.json", "b.json", "c.txt", "d.txt"}


def test_incomplete_output_is_made_again(study):
    """Its job was killed: that is no matter of inputs."""
    from snakemake.persistence.file import FilePersistence

    persistence = FilePersistence.__new__(FilePersistence)
    persistence._max_len = None
    marker = Path(persistence._record_path(str(study / ".snakemake/incomplete"), "c.txt"))
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2", "--rerun-incomplete", "--config", "code=2"],
        cwd=study, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "rule train" in done.stdout + done.stderr
    assert not marker.exists()


def test_changed_text_makes_what_depends_on_it_whatever_its_time(study):
    """Results unpacked from an archive of another time zone are newer than now."""
    later = time.time() + 3600
    for name in ("mix.json", "c.txt", "d.txt"):
        os.utime(study / name, (later, later))
    (study / "texts").write_text("b, edited")
    assert run(study, "code=2") == {"a.json", "b.json", "mix.json", "c.txt", "d.txt"}


RETRIED = """
import sys
sys.path.insert(0, {src!r})
from rllc.run import early_cutoff

early_cutoff.install(["read"])

rule all:
    input: "a.json", "b.txt", "c.txt"

rule read:
    output: "a.json"
    params: code=config["code"]
    shell: "sleep 2; echo text > {{output}}"

rule fails_once:
    output: "b.txt"
    params: code=config["code"]
    threads: 2
    retries: 1
    shell: "if test -e failed; then echo made > {{output}}; else touch failed; exit 1; fi"

rule takes_the_cores:
    output: "c.txt"
    params: code=config["code"]
    priority: 10
    threads: 2
    shell: "sleep 4; echo made > {{output}}"
"""


def test_job_that_waits_for_its_retry_is_not_lost(tmp_path):
    src = str(Path(early_cutoff.__file__).parents[2])
    (tmp_path / "Snakefile").write_text(RETRIED.format(src=src))
    (tmp_path / "a.json").write_text("text")
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--cores",
        "3",
        "--keep-going",
        "--force",
        "a.json",
        "b.txt",
        "c.txt",
    ]
    done = subprocess.run([*command, "--config", "code=2"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b.txt").exists()

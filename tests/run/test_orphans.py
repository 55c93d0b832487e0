"""Real plans and runs of Snakemake: the records are its own."""

import json
import os
import time
from pathlib import Path

import forked
import pytest

from rllc.run import orphans

SNAKEFILE = """
import sys
sys.path.insert(0, {src!r})
from rllc.run import orphans

if workflow.is_main_process:
    orphans.serve()

rule all:
    input: "out/a.txt", "out/b.txt"

rule make:
    input: "{{name}}.in"
    output: "out/{{name}}.txt"
    params: value=config["value"]
    shell: "echo {{params.value}} > {{output}}"

onstart:
    jobs = [*workflow._dag.needrun_jobs(exclude_finished=False)]
    orphans.hand_over(workflow.persistence)
    orphans.note([job for job in jobs if job.output], workflow.persistence)
    if config.get("killed"):  # after the jobs of a cluster were submitted
        import os
        os._exit(9)

onsuccess:
    orphans.hand_over(workflow.persistence)
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(src=str(Path(orphans.__file__).parents[2])))
    for name in "ab":
        (tmp_path / f"{name}.in").write_text(name)
        os.utime(tmp_path / f"{name}.in", (1, 1))
    return tmp_path


def snakemake(folder, value, *more):
    done = forked.snakemake("--cores", "1", *more, "--config", f"value={value}", folder=folder)
    return done.stdout + done.stderr


def killed(folder, value, names="ab", makes=None):
    """Run until the jobs are submitted; the main process dies, and its jobs, of a cluster, live on."""
    targets = [f"out/{name}.txt" for name in names]
    given = ("--cores", "1", *targets, "--config", f"value={value}", "killed=1")
    assert forked.snakemake(*given, folder=folder).returncode == 9
    snakemake(folder, value, "--unlock")
    (folder / "out").mkdir(exist_ok=True)
    for name in names if makes is None else makes:
        (folder / "out" / f"{name}.txt").write_text(f"{value}\n")


def made(folder):
    return [(folder / "out" / f"{name}.txt").read_text().strip() for name in "ab"]


def test_outputs_of_orphans_serve_under_the_settings_they_were_made_with(study):
    killed(study, 1)
    assert "Nothing to be done" in snakemake(study, 1)
    assert made(study) == ["1", "1"]


def test_outputs_of_orphans_are_made_again_under_other_settings(study):
    killed(study, 1)
    assert "Params have changed" in snakemake(study, 2, "-n")
    assert made(study) == ["1", "1"], "a dry run changes nothing"
    snakemake(study, 2)
    assert made(study) == ["2", "2"]
    assert "Nothing to be done" in snakemake(study, 2)


def test_run_in_between_does_not_make_orphans_outputs_valid(study):
    """Each file is judged, however many runs of other targets or settings came since."""
    killed(study, 1)
    snakemake(study, 2, "out/a.txt")
    assert made(study) == ["2", "1"]
    assert "out/b.txt" in snakemake(study, 2, "-n")
    snakemake(study, 2)
    assert made(study) == ["2", "2"]


def test_second_killed_run_does_not_hide_the_first(study):
    killed(study, 1)
    killed(study, 2, "a")
    snakemake(study, 2, "-n")
    snakemake(study, 2)
    assert made(study) == ["2", "2"]
    assert "Nothing to be done" in snakemake(study, 2)


def test_older_record_is_not_taken_for_an_orphans_output(study):
    """Settings 1, then orphans under 2, then 1 again: what is there was made under 2."""
    snakemake(study, 1)
    for name in "ab":
        os.utime(study / f"out/{name}.txt", (1e9, 1e9))
    snakemake(study, 1, "--touch")
    killed(study, 2)
    snakemake(study, 1)
    assert made(study) == ["1", "1"]


def test_finished_run_leaves_no_note(study):
    snakemake(study, 1)
    assert not list((study / orphans.NOTES).glob("*"))


def test_file_that_was_there_before_is_not_taken_for_an_orphans_output(study):
    """Copied results are newer than their records, and no job of the killed run made them."""
    snakemake(study, 1)
    for name in "ab":
        later = time.time() + 60
        os.utime(study / f"out/{name}.txt", (later, later))
    killed(study, 2, names="")
    snakemake(study, 2)
    assert made(study) == ["2", "2"]


def test_note_of_outputs_still_to_be_made_stays(study):
    """Of jobs that run on where nothing can ask for them."""
    killed(study, 1, "ab", makes="a")
    snakemake(study, 3, "--force", "out/a.txt")
    (study / "out/b.txt").write_text("1\n")
    assert "out/b.txt" in snakemake(study, 3, "-n")


def test_unreadable_note_is_refused_by_name(study):
    (study / orphans.NOTES).mkdir(parents=True)
    (study / orphans.NOTES / "1-a.json.gz").write_bytes(b"")
    said = snakemake(study, 1)
    assert "1-a.json.gz" in said
    assert not (study / "out").exists()


def test_records_of_a_finished_run_are_snakemakes_own(study):
    """With the checksums of inputs, by which equal bytes start nothing."""
    snakemake(study, 1)
    records = [json.loads(file.read_text()) for file in (study / ".snakemake/metadata").iterdir()]
    assert len(records) == 2
    assert all(record["input_checksums"] and record["shellcmd"] for record in records)

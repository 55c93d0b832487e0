"""What the terminal shows of a real run, from a checkout in which nothing has run."""

import re
import shutil
from pathlib import Path

import pytest

TARGET = "results/ci/blocks/bpe/code.json"
JOBS = 6  # three texts, their mixture, a tokenizer, blocks


@pytest.fixture(scope="module")
def run(fresh):
    """A checkout and what a run of six small jobs in it says."""
    checkout = fresh()
    done = checkout.snakemake("--", TARGET)
    yield checkout, done.stderr
    shutil.rmtree(checkout.root)


def jobs_part(said):
    """The lines between the forecast and the path of the log."""
    return re.split(r"\d jobs? to run: .*\n", said)[1].partition("Complete log(s)")[0].splitlines()


def test_every_finished_job_says_how_many_are_done_and_what_is_left(run):
    lines = [line for line in jobs_part(run[1]) if re.search(rf"\d of {JOBS} jobs", line)]
    assert [re.search(r"(\d) of", line)[1] for line in lines] == ["1", "2", "3", "4", "5", "6"]
    assert all("minute" in line and "left" in line for line in lines[:-1])
    assert "left" not in lines[-1]


def test_a_job_has_at_most_three_lines_and_the_log_has_everything(run):
    said = run[1]
    lines = jobs_part(said)
    assert len(lines) <= 3 * JOBS, lines
    assert all(lines), "no empty lines"
    assert sum("reading code" in line for line in lines) == 2, "one when it starts, one when it ends"
    assert not [line for line in lines if "done in" in line], "how long a job took is in its own log"
    (log,) = re.findall(r"Complete log\(s\): (.*)", said)
    whole = Path(log).read_text()
    assert "Reason: Missing output files" in whole and "Finished jobid" in whole and "Job stats" in whole


def test_commands_are_shown_on_request_beside_what_is_left(run):
    checkout, _ = run
    said = checkout.snakemake("--printshellcmds", "--force", "--", TARGET).stderr
    assert "workflow/scripts/make_blocks.py --" in said
    assert re.search("1 of [12] jobs?", said)


def test_a_failed_job_names_itself_the_end_of_its_log_and_where_it_is(run, monkeypatch):
    checkout, _ = run
    broken = checkout.root / "broken.sh"
    broken.write_text("python() { echo one; echo 'this is why'; echo 'and what to do' >&2; return 1; }\n")
    monkeypatch.setenv("BASH_ENV", str(broken))  # what the shell of every job reads
    done = checkout.snakemake("--force", "--", "results/ci/tokenizers/bpe.json", check=False)
    assert done.returncode != 0
    said = jobs_part(done.stderr)
    assert "this is why" in said and "and what to do" in said
    text = "\n".join(said)
    assert "making tokenizer bpe" in text
    assert "results/ci/logs/make_tokenizer/bpe.log" in text
    assert "corpora/mixture.json" not in text, "lists of inputs are in Snakemake's log"
    assert len(said) <= 15, text


def test_a_dry_run_says_why_jobs_run_and_what_each_rule_costs(run):
    checkout, _ = run
    (checkout.root / TARGET).unlink()
    said = checkout.snakemake("-n", "--", TARGET).stdout
    assert "tokenizing code" in said and "Missing output files" in said
    assert re.search(r"^make_blocks +1 ", said, re.M)
    assert "to run: " in said

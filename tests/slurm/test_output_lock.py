import os
from types import SimpleNamespace

import pytest

from rllc.slurm import output_lock


@pytest.fixture
def claims(tmp_path):
    return output_lock.folder(["b.nc", "a.nc"], tmp_path)


def nobody(job):
    raise AssertionError(f"Slurm was asked for {job}")


def dead(job):
    return False


def test_a_place_is_that_of_the_files(tmp_path, claims):
    assert output_lock.folder(["a.nc", "b.nc"], tmp_path) == claims
    assert output_lock.folder(["a.nc"], tmp_path) != claims


def test_of_several_submissions_the_last_counts(claims):
    first, last = output_lock.submit(claims), output_lock.submit(claims)
    assert not output_lock.take(claims, first, "1", nobody)
    assert output_lock.take(claims, last, "2", nobody)


def test_a_job_waits_while_another_lives_and_takes_over_after_it(claims, capsys):
    assert output_lock.take(claims, output_lock.submit(claims), "1", nobody)
    asked = []

    def lives(job):
        asked.append(job)
        return len(asked) < 3

    assert output_lock.take(claims, output_lock.submit(claims), "2", lives, pause=0)
    assert asked == ["1", "1", "1"]
    said = capsys.readouterr()  # standard output is the job's own
    assert (
        said.out == ""
        and said.err.splitlines() == ["job 1 is making the same files: waiting for its end"] * 2
    )
    assert not output_lock.take(claims, "an older word", "3", nobody)


def test_a_job_that_waits_gives_way_to_a_later_submission(claims):
    output_lock.take(claims, output_lock.submit(claims), "1", nobody)
    word = output_lock.submit(claims)

    def lives(job):
        output_lock.submit(claims)
        return True

    assert not output_lock.take(claims, word, "2", lives, pause=0)


def test_the_dead_have_one_heir(claims):
    """Two jobs of one word, as Slurm makes of one submission that it reports as failed: the later one waits."""
    output_lock.take(claims, output_lock.submit(claims), "1", nobody)
    word = output_lock.submit(claims)
    assert output_lock.take(claims, word, "2", dead)
    assert not output_lock.take(
        claims, word, "3", lambda job: job == "2" and not output_lock.drop(claims), pause=0
    )


def test_a_job_that_is_put_back_into_the_queue_goes_on(claims):
    word = output_lock.submit(claims)
    assert output_lock.take(claims, word, "7", nobody)
    assert output_lock.take(claims, word, "7", nobody)


def test_none_begins_after_the_files_are_made_or_the_run_has_ended(claims, tmp_path):
    word = output_lock.submit(claims)
    output_lock.drop(claims)
    assert not output_lock.take(claims, word, "1", nobody)
    word = output_lock.submit(claims)
    output_lock.withdraw(tmp_path)
    assert not output_lock.take(claims, word, "1", nobody)
    output_lock.withdraw(
        SimpleNamespace(glob=lambda _: [claims / output_lock.CURRENT])
    )  # dropped since it was found


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["echo RUNNING"], True),
        (["echo COMPLETING"], True),
        (["echo FAILED"], False),
        (["true"], False),
        (["echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"], False),
        (["echo 'Unable to contact slurm controller' >&2; exit 1", "echo SUSPENDED"], True),
        (["exit 1", "exit 1", "echo TIMEOUT"], False),
    ],
)
def test_a_job_lives_as_slurm_says_and_not_while_it_says_nothing(tmp_path, monkeypatch, answers, expected):
    squeue = tmp_path / "squeue"
    for number, answer in enumerate(answers):
        (tmp_path / f"{number}").write_text(answer)
    squeue.write_text(
        f'#!/bin/sh\ncd {tmp_path}\nn=$(ls done* 2>/dev/null | wc -l)\ntouch done$n\n. ./"$n"\n'
    )
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    slept = []
    monkeypatch.setattr(output_lock, "time", SimpleNamespace(sleep=slept.append))
    assert output_lock.lives("7") is expected
    assert slept == [10] * (len(answers) - 1)

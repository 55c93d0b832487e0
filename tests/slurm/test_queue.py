import getpass
import os
import re
from datetime import datetime

import pytest

from rllc.slurm.queue import (
    Job,
    SlurmError,
    Unanswered,
    answer,
    cancel,
    jobs_here,
    refuse_names,
    refuse_orphans,
    states,
    status_source,
)

SCONTROL = "AccountingStorageType   = accounting_storage/{storage}\nMinJobAge               = {age} sec\n"


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """Puts programs of these names, with this output, before all others; None: one that fails."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")

    def install(*, age=300, storage="none", scontrol=True, sacct=False, squeue=""):
        programs = {"scontrol": SCONTROL.format(storage=storage, age=age) if scontrol else None}
        programs |= {"sacct": "" if sacct else None, "squeue": squeue}
        for name, output in programs.items():
            path = tmp_path / name
            path.write_text(
                "#!/bin/sh\nexit 1\n" if output is None else f"#!/bin/sh\ncat <<'END'\n{output}END\n"
            )
            path.chmod(0o755)

    return install


@pytest.mark.parametrize(
    ("command", "first", "facts", "said"),
    [
        ("squeue", 20, {}, "by squeue, which shows ended ones for 300 s"),
        ("squeue", 20, {"storage": "slurmdbd", "sacct": True}, "by squeue"),
        (
            "squeue",
            200,
            {"storage": "slurmdbd", "sacct": True},
            "by sacct, since squeue shows ended ones for 300 s",
        ),
        ("sacct", 40, {"storage": "slurmdbd", "sacct": True}, "by sacct"),
        ("squeue", 101, {"storage": "slurmdbd", "sacct": True}, "by sacct, since"),
    ],
)
def test_it_says_how_the_state_of_jobs_is_had(cluster, command, first, facts, said):
    cluster(**facts)
    assert said in status_source(command, first).sentence


@pytest.mark.parametrize(
    ("command", "first", "facts", "cure"),
    [
        ("sacct", 40, {}, "wait for ever.*Set rllc-slurm-status-command: squeue"),
        ("sacct", 40, {"storage": "slurmdbd"}, "wait for ever.*Set rllc-slurm-status-command: squeue"),
        (None, 40, {}, "Set rllc-slurm-status-command: squeue"),
        (
            "squeue",
            120,
            {},
            "wait for ever.*less than the 360 s needed.*Lower rllc-slurm-init-seconds\\S+ in the profile to 100 at most",
        ),
        (
            "squeue",
            20,
            {"age": 100},
            "less than the 200 s needed[.] Ask the administrators for MinJobAge=300",
        ),
        (
            "squeue",
            20,
            {"age": 100, "storage": "slurmdbd", "sacct": True},
            "set rllc-slurm-status-command: sacct",
        ),
        (
            "squeue",
            40,
            {"age": 120, "storage": "slurmdbd", "sacct": True},
            "set rllc-slurm-status-command: sacct",
        ),
        ("squeue", 20, {"scontrol": False}, "Slurm does not answer"),
    ],
)
def test_it_stops_where_the_end_of_jobs_could_not_be_seen(cluster, command, first, facts, cure):
    cluster(**facts)
    with pytest.raises(SlurmError, match=cure):
        status_source(command, first)


def test_states_of_a_runs_jobs(tmp_path, monkeypatch):
    """A job's comment may hold the sign between the columns; `sacct` says who cancelled a job."""
    said = {
        "squeue": "7|RUNNING|None|rule_heads_wildcards_a|b\n8|PENDING|Priority|(null)\n",
        "sacct": "7|CANCELLED by 1000|None\n8|OUT_OF_MEMORY|OutOfMemory\n",
    }
    for name, text in said.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho \"$@\" > {tmp_path}/asked\ncat <<'END'\n{text}END\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    since = datetime(2026, 1, 1)
    assert states("squeue", "run", since) == {
        "7": Job("7", "RUNNING", "rule_heads_wildcards_a|b", "None"),
        "8": Job("8", "PENDING", "(null)", "Priority"),
    }
    assert "--states=all --name=run " in (tmp_path / "asked").read_text()
    assert states("sacct", "run", since) == {
        "7": Job("7", "CANCELLED", "", "None"),
        "8": Job("8", "OUT_OF_MEMORY", "", "OutOfMemory"),
    }
    assert "--name=run --starttime=2026-01-01T00:00 --endtime=now " in (tmp_path / "asked").read_text()
    (tmp_path / "squeue").write_text("#!/bin/sh\necho no controller >&2; exit 1\n")
    with pytest.raises(Unanswered, match="squeue: no controller"):
        states("squeue", "run", since)


def test_orphans_are_this_folders_snakemake_jobs(cluster, tmp_path):
    here, other = tmp_path / "here", tmp_path / "other"
    cluster(
        squeue=f"7|RUNNING|{here}|rule_train_wildcards_language_0_0\n8|PENDING|{other}|rule_train\n"
        f"9|PENDING|{here}|rule_gather_wildcards_a|b\n10|RUNNING|{here}|(null)\n"
        f"11|COMPLETED|{here}|rule_train\n"
    )
    jobs = jobs_here(here)
    assert [(job.number, job.state, job.rule) for job in jobs] == [
        ("7", "RUNNING", "train"),
        ("9", "PENDING", "gather"),
    ]
    with pytest.raises(SlurmError, match=r"2 jobs of an earlier run.*gather, train.*scancel 7 9"):
        refuse_orphans(here)


def test_orphans_are_looked_for_among_this_users_jobs(cluster, tmp_path, monkeypatch):
    """By number where the machine has no name for the user, as in a container."""
    cluster()
    (tmp_path / "squeue").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    monkeypatch.setenv("LOGNAME", "somebody")
    assert jobs_here(tmp_path) == []
    assert "--user=somebody --states=all " in (tmp_path / "asked").read_text()

    def nobody():
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr(getpass, "getuser", nobody)
    jobs_here(tmp_path)
    assert f"--user={os.getuid()} " in (tmp_path / "asked").read_text()


def test_without_slurm_there_are_no_orphans(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert jobs_here(tmp_path) == []
    refuse_orphans(tmp_path)


def test_where_slurm_does_not_say_what_is_left_nothing_starts(cluster, tmp_path):
    """Unless no job was ever submitted from there: a laptop may have Slurm's programs and no cluster."""
    cluster(squeue=None)
    refuse_orphans(tmp_path)
    (tmp_path / ".snakemake" / "slurm_logs").mkdir(parents=True)
    with pytest.raises(SlurmError, match=r"does not say .*squeue: exit code 1.*Nothing was started"):
        refuse_orphans(tmp_path)
    with pytest.raises(SlurmError, match="may still be queued or running"):
        cancel(tmp_path)


def test_what_is_left_of_a_run_is_cancelled(cluster, tmp_path):
    scancel = tmp_path / "scancel"
    scancel.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    scancel.chmod(0o755)
    states = {"7": "RUNNING", "8": "COMPLETING", "9": "PENDING"}
    cluster(squeue="".join(f"{number}|{state}|{tmp_path}|rule_train\n" for number, state in states.items()))
    (done,) = cancel(tmp_path)
    assert re.search("2 jobs .* are cancelled: 7 9", done)
    assert (tmp_path / "asked").read_text() == "7 9\n"
    scancel.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(SlurmError, match="still queued or running: scancel 7 9"):
        cancel(tmp_path)
    cluster(squeue=f"8|COMPLETING|{tmp_path}|rule_train\n")
    assert cancel(tmp_path) == []


def test_a_rule_without_wildcards_has_a_name():
    assert Job("1", "RUNNING", "rule_summarise_corpora").rule == "summarise_corpora"


@pytest.mark.parametrize("name", ["it's", 'a "b"', "$HOME", "`x`", "a\\b", "a\nb"])
def test_names_that_a_shell_would_read_are_refused(name):
    with pytest.raises(SlurmError, match=r"cannot be passed.*Rename it"):
        refuse_names(["config/fine.yaml", f"config/{name}.yaml"])


def test_other_names_are_not():
    refuse_names(["a b; c (d) & #.yaml", "ü/*.yaml"])


def test_a_command_that_cannot_be_run_or_fails_gives_no_answer():
    for command in (["no-such-command-of-slurm"], ["false"]):
        with pytest.raises(Unanswered, match=f"^{command[0]}: "):
            answer(*command)
    assert answer("echo", "RUNNING") == "RUNNING\n"

"""The executor that a run names, by its call and its profiles."""

import pytest

from rllc.slurm.profile import EXECUTOR, refuse_plain, refuse_unread
from rllc.slurm.queue import SlurmError


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Check the executor and its settings, by flags and the text of a profile."""
    monkeypatch.chdir(tmp_path)

    def refuse(executor, *flags, profile="jobs: 7\n", program="/bin/snakemake"):
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine/config.yaml").write_text(profile)
        command = [program, "--profile", "mine", *flags, "--", "all"]
        refuse_plain(executor, command)
        if executor == EXECUTOR:
            refuse_unread(command)

    return refuse


def test_a_profile_of_the_plain_executor_is_told_what_to_write(call):
    profile = "executor: slurm\nslurm-logdir: logs\nslurm-requeue: true\n"
    with pytest.raises(SlurmError) as refused:
        call("slurm", profile=profile)
    assert "`executor: rllc-slurm` in your profile, or --executor rllc-slurm" in str(refused.value)
    assert "Rename these: slurm-logdir, slurm-requeue." in str(refused.value)


def test_the_plain_executor_is_refused_without_settings_and_by_any_program(call):
    for program in ("snakemake", "python"):
        with pytest.raises(
            SlurmError, match=r"forgets running jobs.*begin with rllc-slurm, too. profiles/slurm is"
        ):
            call("slurm", program=program)


@pytest.mark.parametrize(
    ("flags", "profile"),
    [
        (("--slurm-qos", "long"), "jobs: 7\n"),
        ((), "slurm-qos: long\nrllc-slurm-requeue: true\n"),
        (("--rllc-slurm-logdir", "logs"), "slurm-qos: long\nslurm-logdir: logs\n"),
    ],
)
def test_a_setting_that_would_be_ignored_is_refused(call, flags, profile):
    with pytest.raises(SlurmError, match=r"Put rllc- before these.*: slurm-qos$"):
        call(EXECUTOR, *flags, profile=profile)


def test_settings_given_under_both_names_and_other_executors_are_not(call, capsys):
    call(EXECUTOR, "--rllc-slurm-qos", "short", profile="slurm-qos: long\n")
    call(EXECUTOR, profile="executor: rllc-slurm\nrllc-slurm-no-account: true\n")
    call("local", "--slurm-qos", "long")
    call(EXECUTOR, "--slurm-qos", "long", program="python")
    assert capsys.readouterr() == ("", "")

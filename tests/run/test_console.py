import logging

import pytest
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

from rllc.run import console
from rllc.slurm.failure_reason import FINISHED

INFO = {
    "event": LogEvent.JOB_INFO, "rule_msg": "drawing onset", "rule_name": "draw", "wildcards": {"figure": "onset"},
    "output": ["a.png"], "local": False, "reason": "Missing output files: a.png", "indent": False,
}  # fmt: skip
ERROR = {
    "event": LogEvent.JOB_ERROR, "rule_name": "draw", "rule_msg": None, "input": ["in.nc"], "output": ["a.png"],
    "log": ["a.log"], "conda_env": None, "shellcmd": "python draw.py --secret", "aux": {"external_jobid": "71"},
    "indent": False,
}  # fmt: skip


class Terminal(logging.Handler):
    """Keeps what would be written; a logger with it."""

    def __init__(self, **how):
        super().__init__()
        self.lines, self.logger = [], logging.Logger("snakemake")
        self.setFormatter(DefaultFormatter())
        self.logger.addHandler(self)
        console.make_readable(self.logger, **{"brief": True, "commands": False, **how})

    def emit(self, record):
        self.lines += self.format(record).splitlines()

    def start(self, job, **more):
        self.logger.info("", extra=INFO | {"jobid": job} | more)

    def finish(self, *jobs):
        for job in jobs:
            self.logger.info("Finished", extra={"event": LogEvent.JOB_FINISHED, "job_id": job})
        self.logger.info(None, extra={"event": LogEvent.PROGRESS, "done": 1, "total": 2})


def test_advice_to_skip_what_is_stale_and_what_tells_nothing_is_not_shown():
    advice = "Some jobs were triggered by provenance information, see 'reason' section in the rule displays above.\nIf"
    noise = [
        "Select jobs to execute...",
        "Execute 2 jobs...",
        advice,
        "Rules with provenance triggered jobs: draw\n",
    ]
    for brief in (True, False):
        terminal = Terminal(brief=brief)
        for text in [*noise, "something else"]:
            terminal.logger.info(text)
        assert terminal.lines == ["something else"]


def test_what_is_left_is_by_the_forecast_and_then_by_the_pace(monkeypatch):
    """By the pace once a twentieth is done: 10 of 40 CPU minutes took 5, so 30 take 15."""
    now = iter([100.0, 400.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(now))
    to_go = console.ToGo({0: 60.0, 7: 540.0, 2: 1800.0})
    assert to_go(0) == "1 of 3 jobs, about 39 CPU minutes left"
    assert to_go(7) == "2 of 3 jobs, about 15 minutes left"
    assert to_go(2) == "3 of 3 jobs"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (1, "less than a CPU minute"),
        (59.9, "less than a CPU minute"),
        (60, "about 1 CPU minute "),
        (150, "about 2 CPU minutes"),
        (7100, "about 118 CPU minutes"),
        (7200, "about 2.0 CPU hours"),
    ],
)
def test_times_have_the_number_and_the_unit_that_belong_together(seconds, said):
    assert said in console.ToGo({0: 0.0, 1: seconds})(0)


def test_a_study_of_one_job_and_one_without_forecast_say_how_many_are_done():
    assert console.ToGo({3: 5.0})(3) == "1 of 1 job"
    terminal = Terminal()
    terminal.start(3)
    terminal.finish(3)
    assert len(terminal.lines) == 2 and "1 of 2" in terminal.lines[1]


def test_jobs_that_finish_together_have_a_line_each_and_targets_none():
    terminal = Terminal()
    console.say_how_long(terminal.logger, console.ToGo({1: 1.0, 2: 1.0}), submits=False)
    for job, output in ((1, ["a"]), (2, ["b"]), (0, [])):
        terminal.start(job, output=output, rule_msg=f"making {output}")
    terminal.finish(1, 2, 0)
    texts = [line[9:] for line in terminal.lines]
    assert texts[:2] == ["making ['a']", "making ['b']"]
    assert [text.split(" (")[0] for text in texts[2:]] == ["done: making ['a']", "done: making ['b']"]
    assert "2 of 2 jobs" in texts[3]


def test_jobs_whose_start_was_not_to_be_said_are_counted_all_the_same():
    """As with ``--quiet rules``; not so targets."""
    terminal = Terminal()
    console.say_how_long(terminal.logger, console.ToGo({1: 1.0, 2: 1.0}), submits=False)
    terminal.finish(1, 0)
    (line,) = terminal.lines
    assert "1 of 2 jobs" in line


def test_a_job_that_is_sent_to_a_cluster_has_a_line_once_the_cluster_has_it():
    """Where it runs on the cluster; other jobs of the same run have theirs when they start."""
    terminal = Terminal()
    console.say_how_long(terminal.logger, console.ToGo({1: 1.0, 2: 1.0}), submits=True)
    terminal.start(1)
    terminal.start(2, local=True, rule_msg="gathering")
    terminal.logger.info("Job 1 has been submitted with SLURM jobid 71 (log: rule_draw/71.log).")
    terminal.logger.info("Slurm job 2 ended as FAILED. ")
    terminal.logger.info("Trying to restart job 1.")
    texts = [line[9:] for line in terminal.lines[:2]]
    assert texts == ["gathering", "drawing onset: submitted, SLURM jobid 71 (log: rule_draw/71.log)."]
    assert terminal.lines[2] == "Slurm job 2 ended as FAILED. ", "Slurm's numbers are not Snakemake's"
    assert "drawing onset" in terminal.lines[3]


def test_the_log_of_a_job_on_a_cluster_holds_no_command_and_counts_steps_as_snakemake_does():
    """``rllc.slurm.failure_reason`` searches it for what Slurm and Python say, which a command could hold by chance."""
    terminal = Terminal(brief=False)
    terminal.logger.error("Error", extra=ERROR | {"jobid": 1})
    terminal.logger.info(None, extra={"event": LogEvent.PROGRESS, "done": 1, "total": 1})
    assert not any("--secret" in line for line in terminal.lines)
    assert FINISHED in terminal.lines[-1]


@pytest.mark.parametrize("commands", [False, True])
def test_a_failed_job_is_named_with_its_log_and_its_command_on_request(commands):
    terminal = Terminal(commands=commands)
    terminal.start(1)
    reason = "Slurm job 71 ran out of memory"
    terminal.logger.error("Error", extra=ERROR | {"jobid": 1, "rule_msg": reason})
    call = "Command 'set -euo pipefail;  python draw.py --secret' returned non-zero exit status 137."
    terminal.logger.error(f'RuleException:\nCalledProcessError in file "a b.smk", line 9:\n{call}')
    text = "\n".join(terminal.lines[1:])
    for fact in ("drawing onset", reason, "a.log", "71", "exit status 137"):
        assert fact in text, fact
    assert ("--secret" in text) == commands
    assert "in.nc" not in text


def test_a_dry_run_says_of_what_is_made_for_the_first_time_no_other_reason():
    updated = "Input files updated by another job: b, c"
    terminal = Terminal(brief=False)
    terminal.start(1, reason=f"Missing output files: a.nc; {updated}")
    terminal.start(2, reason=updated)
    terminal.start(0, output=[], reason=updated)
    reasons = [line for line in terminal.lines if line.startswith("Reason")]
    assert reasons == ["Reason: Missing output files: a.nc", f"Reason: {updated}"]


def test_thousands_of_files_of_a_failed_job_are_cut():
    terminal = Terminal(brief=False)
    files = ", ".join(f"texts/{n}.txt" for n in range(2000))
    terminal.logger.error(f"Error in rule x:\n    input: {files}\n    output: a.nc")
    terminal.logger.error("Error in rule x:\n    input: a.txt, b.txt\n    output: a.nc")
    _, long, output, *few = terminal.lines
    assert len(long) < 500 and "texts/0.txt" in long
    assert output == "    output: a.nc"
    assert "    input: a.txt, b.txt" in few

import subprocess

from rllc.run.command import command


def test_only_what_is_watched_is_shown_while_it_runs():
    plain, watched = command("train", input="blocks"), command("train", watch=True, input="blocks")
    given = "--blocks {input.blocks:q} --code {params.code:q} --settings {params.settings:q} > "
    assert f"python workflow/scripts/train.py {given}" in plain
    assert "tee" not in plain and plain.endswith("exit 1; }}")
    assert "| tee" in watched


def test_offline_job_asks_the_hub_for_nothing():
    assert command("measure", offline=True).startswith("HF_HUB_OFFLINE=1 python workflow/scripts/measure.py ")
    assert "HF_HUB_OFFLINE" not in command("read_corpus")


def test_shown_job_shows_its_output_and_its_log_has_the_errors(tmp_path):
    log, program = tmp_path / "a b.log", "python() { echo table; echo warning >&2; return $FAILS; }\n"
    text = command("components", shown=True, offline=True).replace("{log:q}", f"'{log}'")
    text = text.replace("{params.code:q}", "1").replace("{params.settings:q}", "s")
    for fails, said in ((0, ""), (3, "warning\n")):
        strict = f"FAILS={fails}\n{program}{text.replace('{{', '{').replace('}}', '}')}"
        done = subprocess.run(["bash", "-c", strict], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("table\n", said)
        assert bool(done.returncode) == bool(fails)
        assert log.read_text() == "warning\n"


def test_a_watched_job_shows_its_progress_alone_and_its_log_has_both(tmp_path):
    """What it writes to stdout is for the log; the log of an earlier attempt is gone."""
    log = tmp_path / "a b.log"
    log.write_text("of an earlier attempt\n")
    program = 'python() { echo "for the log"; echo progress >&2; return $FAILS; }\n'
    text = (
        command("train", watch=True)
        .replace("{log:q}", f"'{log}'")
        .replace("{params.code:q}", "1")
        .replace("{params.settings:q}", "s")
    )
    for fails in (0, 3):
        strict = f"set -euo pipefail\nFAILS={fails}\n{program}{text}"
        done = subprocess.run(["bash", "-c", strict], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr, done.returncode) == ("progress\n", "", fails)
        assert sorted(log.read_text().splitlines()) == ["for the log", "progress"]

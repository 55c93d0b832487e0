"""What the README says is what the workflow does: of the project's files, and of real runs of the small study."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
import xarray as xr
import yaml
from readme import README, command, small, snippet

from rllc.study import defaults

ROOT = Path(__file__).resolve().parents[2]
FEW = "config/few.yaml"
LOGS = "results/ci/logs"


def edges(text):
    """Arrows between rules, by name."""
    names = dict(re.findall(r"(\w+)\[(\w+)\]", text))
    return {
        (names.get(a, a), names.get(b, b))
        for a, b in re.findall(r"^\s*(\w+)(?:\[\w+\])? --> (\w+)", text, re.M)
    }


def test_the_rule_graph_of_the_docs_is_the_workflows(finished):
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--rulegraph", "mermaid-js", "--forceall"],
        cwd=finished.root, env=finished.environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    drawn = (ROOT / "docs/development.md").read_text().partition("```mermaid")[2].partition("```")[0]
    expected = {(a, b) for a, b in edges(done.stdout) if "all" not in (a, b) and a != b}
    assert edges(drawn) == expected


def test_every_target_of_make_that_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"(?:`|^)make ([a-z-]+)", (ROOT / "README.md").read_text(), re.M)):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_every_file_that_the_readme_names_exists():
    text = (ROOT / "README.md").read_text() + (ROOT / "config/README.md").read_text()
    named = set(
        re.findall(r"`((?:src|config|docs|benchmarks|examples|profiles|results)/[\w/.]+\.\w+)`", text)
    )
    made = {name for name in named if name.startswith("results/") and name != "results/README.md"}
    own = {"config/thesis.yaml", "config/mine.yaml", "config/pythia.yaml"}  # the reader's
    assert len(named) > 6
    for name in named - made - own:
        assert (ROOT / name).exists(), name


def test_every_link_and_picture_of_the_readme_is_there():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    headings = re.findall(r"^#+ (.*)", README, re.MULTILINE)
    anchors = {"#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert {target for target in targets if target.startswith("#")} <= anchors
    files = {target for target in targets if not target.startswith(("#", "https://"))}
    assert len(files) > 15
    assert not [file for file in files if not (ROOT / file).exists()]


def test_the_licence_version_and_lines_to_edit_are_those_that_the_readme_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"{project['license']}. Cite" in README
    assert (ROOT / "LICENSE").read_text().startswith(f"{project['license']} License")
    assert f'"rllc {project["version"]}"' in README
    assert "EDIT" in (ROOT / "profiles/slurm/config.yaml").read_text()


def test_commands_have_no_comment_behind_them():
    """zsh, pasted into, takes it for arguments: `--configfile config/ci.yaml # tiny` for three files."""
    for file in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        blocks = file.read_text().split("```")[1::2]
        commands = re.findall(r"^(?:\.venv/bin/|make |snakemake |ssh ).*", "\n".join(blocks), re.M)
        assert not [line for line in commands if " # " in line], file.name


def make(checkout, *arguments):
    """Run make in a checkout with the environment of this process; return what it said."""
    (checkout.root / ".venv").symlink_to(sys.prefix)
    done = subprocess.run(
        ["make", "-o", ".venv/.ready", "CORES=2", *arguments],
        cwd=checkout.root, env=checkout.environment(), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    (checkout.root / ".venv").unlink()
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout + done.stderr


def contents(folder):
    """Name, size and modification time of every file of results."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def cost(said):
    """Jobs, CPU minutes and MB of disk, of the one line that says what a run will cost."""
    time = r"(?:about (\d+) CPU minutes?|under a CPU minute)"
    (line,) = re.findall(rf"(\d+) jobs? to run: {time} and (\d+) MB of disk", said)
    return [int(number or 0) for number in line]


def test_the_line_before_the_first_job_says_jobs_minutes_and_disk(finished, fresh):
    said = finished.said.read_text(encoding="utf-8")
    jobs, minutes, megabytes = cost(said)
    assert said.index("jobs to run") < re.search(r"\b1 of \d+", said).start()
    assert jobs == len([rule for rule, _ in fresh().plan() if rule != "all"])
    assert minutes > 0
    used = sum(size for size, _ in contents(finished.root / "results/ci").values()) / 1e6
    assert used / 2 < megabytes < 3 * used


def test_a_dry_run_says_the_cost_of_every_rule_and_makes_nothing(fresh):
    checkout = fresh()
    said = checkout.snakemake("-n", "-q", *small(command("fig2_wrllc_by_head"))).stdout
    rows = re.findall(r"^(\w+) +(\d+) +[\d.]+ +[\d.]+ +\d+ min +[\d,]+ MB$", said, re.MULTILINE)
    assert {"train", "sample_heads", "draw"} <= {rule for rule, _ in rows}
    assert sum(int(jobs) for _, jobs in rows) == cost(said)[0]
    assert not (checkout.root / "results").exists()


def test_a_run_that_is_stopped_goes_on_within_its_training(checkout):
    """Killed with all its jobs it leaves a lock, which the README's command opens; then Ctrl-C; then to the end."""
    steps = 3000
    recipe = {"steps": steps, "learning_rate": 2.0e-3, "keep_state_every": 20}
    changed = {"experiments": {"language_1layer": {"training": recipe}}}
    overlay = checkout.write("config/long.yaml", yaml.safe_dump(changed))
    folder = checkout.root / "results/ci/language_1layer/checkpoints/seed0"
    for file in folder.iterdir():
        file.unlink()
    target = f"{folder.relative_to(checkout.root)}/from0.json"
    call = [sys.executable, "-m", "snakemake", "--cores", "2", "--configfile", "config/ci.yaml", overlay]

    def newest():
        return max((int(file.stem[5:]) for file in folder.glob("state*.safetensors")), default=0)

    def begun():
        """The step at which the last training began, by its progress bar."""
        log = (checkout.root / LOGS / "train/language_1layer/0/0.log").read_text()
        return int(re.search(rf"(\d+)/{steps} ", log)[1])

    def stop_by(number, after):
        run = subprocess.Popen(
            [*call, "--", target], cwd=checkout.root, env=checkout.environment(), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # where tests run behind `&`, it is ignored
        )  # fmt: skip
        try:
            until = time.monotonic() + 120
            while newest() <= after:
                assert run.poll() is None and time.monotonic() < until, "nothing was kept"
                time.sleep(0.02)
        finally:
            os.killpg(run.pid, number)
            assert run.wait(timeout=60)
        return newest()

    killed = stop_by(signal.SIGKILL, after=200)
    assert "cannot be locked" in checkout.snakemake(overlay, "--", target, check=False).stderr
    checkout.snakemake("--unlock")
    stopped = stop_by(signal.SIGINT, after=killed + 200)
    assert begun() == killed
    checkout.snakemake(overlay, "--", target)
    assert begun() == stopped > 0
    made = [entry["step"] for entry in json.loads((checkout.root / target).read_text())["checkpoints"]]
    assert (made[0], made[-1]) == (0, steps)


def few(checkout):
    """An overlay that leaves one measure of one experiment, and its figure."""
    config = defaults.load([checkout.root / "config/ci.yaml"], checkout.root)
    kept = {"task", "seeds", "tokenizer", "model", "initial", "training", "checkpoints", "distributions",
            "ablation", "attention_scores", "head_types"}  # fmt: skip
    language = {name: None for name in config["experiments"]["language"] if name not in kept}
    others = [name for name in config["experiments"] if name not in ("language", "language_1layer")]
    figures = [name for name in config["figures"] if name != "rllc_fig17_ablations"]
    experiments = {"language": language, "language_1layer": {"metrics": None}, **dict.fromkeys(others)}
    overlay = {"experiments": experiments, "figures": dict.fromkeys(figures)}
    return checkout.write(FEW, yaml.safe_dump(overlay))


def test_a_failed_job_shows_the_end_of_its_log_and_what_is_finished_stays(checkout):
    """One of two jobs meets a spoilt checkpoint. `make status` names it, `make partial` presents the other."""
    overlay, results = few(checkout), checkout.root / "results/ci"
    spoilt = results / "language/checkpoints/seed0/step0000008.safetensors"
    content = bytearray(spoilt.read_bytes())
    content[-5] ^= 1
    spoilt.write_bytes(content)
    parts = sorted((results / "language/parts/ablation").glob("*.nc"))
    shutil.rmtree(parts[0].parent)
    (results / "language/ablation.nc").unlink()
    before = contents(results / "figures") | contents(results / "language/parts")
    done = checkout.snakemake(overlay, "--", "results/ci/language/ablation.nc", check=False)
    assert done.returncode
    (log,) = [
        each for each in (checkout.root / LOGS / "ablation").rglob("*.log") if "SHA-256" in each.read_text()
    ]
    assert "\n".join(log.read_text().splitlines()[-3:]) in done.stderr
    assert [part.is_file() for part in parts] == [False, True]
    assert before.items() <= (contents(results / "figures") | contents(results / "language/parts")).items()

    said = make(checkout, "status", f"CONFIG=config/ci.yaml {overlay}")
    assert re.search(rf"failed:\n.*{log.relative_to(checkout.root)}", said)
    assert re.search(r"^language +ablation +1 +\. +\. +1 +\.$", said, re.MULTILINE), "1 done, 1 failed"
    make(checkout, "partial", f"CONFIG=config/ci.yaml {overlay}")
    with xr.open_dataset(results / "partial/language/ablation.nc") as dataset:
        assert dataset.attrs["unfinished"].startswith("2 of 6 cells")
    assert (results / "partial/figures/rllc_fig17_ablations.png").is_file()


def test_a_figure_whose_picture_is_deleted_is_drawn_once_more_and_only_it(checkout):
    results = checkout.root / "results/ci"
    picture = results / "figures/rllc_fig2_wrllc_by_head.png"
    before, drawn = contents(results), picture.read_bytes()
    picture.unlink()
    checkout.snakemake(*small(command("fig2_wrllc_by_head")))
    assert picture.read_bytes() == drawn
    changed = {name for name, facts in contents(results).items() if before.get(name) != facts}
    written = {f"figures/{picture.stem}.{suffix}" for suffix in ("png", "pdf", "nc", "txt")}
    assert {name for name in changed if not name.startswith("logs/")} == written
    assert checkout.plan() == []


def test_make_test_runs_all_checks_and_tests_but_those_of_slurm(fresh):
    planned = make(fresh(), "-n", "test")
    for words in (
        "ruff check",
        "lint-imports",
        "snakemake --lint",
        '-m "not workflow and not slurm"',
        "-m workflow",
    ):
        assert words in planned, words
    assert "tests/cluster" not in planned


def test_make_quick_is_the_small_study_and_a_second_run_does_nothing(checkout):
    assert "Nothing to be done" in make(checkout, "quick")
    assert [path.name for path in (checkout.root / "results").iterdir()] == ["ci"]


def test_the_lines_that_read_a_result_print_a_share_and_two_estimates(finished, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.chdir(finished.root)
    lines = snippet("python", "import reliable")
    for theirs, ours in (("results/", "results/ci/"), ("1:2", "1:0"), ("1:3", "1:1")):
        assert theirs in lines
        lines = lines.replace(theirs, ours)
    names = {}
    exec(lines, names)
    share, estimates = capsys.readouterr().out.splitlines()
    assert 0 <= float(share) <= 1
    numbers = np.array(estimates.strip("[]").split(), dtype=float)
    rllc = names["ds"]["rllc"].sel(distribution="code", head=["1:0", "1:1"]).isel(seed=0, step=-1)
    np.testing.assert_allclose(numbers, rllc.values, atol=0.006)
    assert [line.get_label() for line in plt.gca().lines]
    assert names["ds"]["rllc_se"].dims == names["ds"]["rllc"].dims
    assert callable(names["ds"].head) and names["ds"]["head"].dims == ("head",)
    plt.close("all")


def test_every_result_holds_the_digest_of_its_text(finished):
    blocks = finished.root / "results/ci/blocks/bpe"
    with xr.open_dataset(finished.root / "results/ci/language/rllc.nc") as dataset:
        inputs = json.loads(dataset.attrs["inputs"])
    for name in ("mixture", "english", "code"):
        digest = json.loads((blocks / f"{name}.json").read_text())["held_out"]["sha256"]
        assert inputs[name]["held_out_blocks"] == digest


def test_a_cpu_build_of_torch_stays_in_the_environment():
    """The one that the README installs is for pip the locked version: nothing is fetched."""
    if not torch.__version__.endswith("+cpu"):
        pytest.skip(f"torch {torch.__version__} is no CPU build")
    (locked,) = re.findall(r"^torch==\S+", (ROOT / "envs/requirements.lock").read_text(), re.MULTILINE)
    assert f"pip install {locked} --index-url " in README
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--no-index", locked],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Would install" not in done.stdout

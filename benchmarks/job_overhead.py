"""What a job of a cluster costs beyond its own work; after a run there, also from the logs of its jobs.

python benchmarks/job_overhead.py [results]

A job starts Snakemake twice (the plugin's and the job's own), then Python and the script's imports. What
share that is of a job is told by the measured times of the default study, and by the forecast of
config/paper.yaml.
"""

import csv
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from rllc.run import chunks, forecast
from rllc.study import defaults, limits, steps
from rllc.study.reading import read

# One job, as a node starts it, without doing it.
START = (
    "-n", "--quiet", "all", "--mode", "remote", "--nolock", "--force", "--max-inventory-time", "0",
    "--target-jobs", "read_corpus:distribution=english", "--allowed-rules", "read_corpus",
)  # fmt: skip
LOGS = Path(".snakemake/slurm_logs")


class Job(NamedTuple):
    """Seconds: in Slurm, of the script with its imports, and of the script's own work."""

    whole: float
    script: float
    work: float


def seconds(text: str) -> float:
    """Of H:MM:SS.ffffff."""
    hours, minutes, rest = text.split(":")
    return 3600 * int(hours) + 60 * int(minutes) + float(rest)


def start_up() -> float:
    """Seconds until Snakemake reads the first line of a Snakefile; its own clock starts only there."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "snakemake", "--version"], check=True, capture_output=True)
    return time.monotonic() - started


def jobs(results: Path) -> dict[str, list[Job]]:
    """Rule -> its jobs."""
    found, before = defaultdict(list), min(start_up() for _ in range(3))
    for log in LOGS.rglob("*.log"):
        text = log.read_text()
        target = re.search(r"--target-jobs (\w+):(\S*)", text)
        times = re.findall(r"Elapsed time: (\S+)", text)
        if not target or len(times) != 2:
            continue
        rule, values = target[1], sorted(re.findall(r"=([^,]+)", target[2]))
        folder = results / "logs" / rule
        for own in folder.rglob("*.log"):
            if sorted(own.relative_to(folder).with_suffix("").parts) != values:
                continue
            work = re.findall(r"done in ([\d.]+) s", own.read_text())
            row = results / "benchmarks" / own.relative_to(results / "logs").with_suffix(".tsv")
            if work and row.is_file():
                script = float(next(csv.DictReader(row.read_text().splitlines(), delimiter="\t"))["s"])
                found[rule].append(Job(before + seconds(times[1]), script, float(work[-1])))
    return found


def cpu_seconds(*command: str) -> float:
    """Of a command and all it starts, the least of three: a busy machine changes these little."""
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def measured() -> dict[str, float]:
    """Rule -> mean CPU seconds of a script of the default study, by the first table of its record."""
    table = (
        Path("benchmarks/default_study.md").read_text().partition("| CPU seconds |")[2].partition("\n\n")[0]
    )
    rows = re.findall(r"^\| (\w[\w ]*) \| (\d+) \| \d+ \| (\d+) \|", table, re.MULTILINE)
    return {rule: float(total) / int(count) for rule, count, total in rows}


def expected() -> dict[str, float]:
    """Rule -> mean seconds of a script of config/paper.yaml, with its imports, by the cost model."""
    study, found = read(defaults.load(["config/paper.yaml"])), defaultdict(list)
    for rule, more in chunks.jobs(study.experiments["language"]):
        for start in steps.chunks(study.experiments["language"]):
            wildcards = SimpleNamespace(experiment="language", start=start, **more)
            found[rule].append(limits.seconds(forecast.of(study, rule, wildcards), study, rule))
    return {rule: statistics.mean(seconds) for rule, seconds in found.items()}


def shares() -> None:
    """Print what share of a job its overhead is, by rule, on a node that does nothing else."""
    twice = 2 * cpu_seconds("-m", "snakemake", *START)
    imports = cpu_seconds("workflow/scripts/measure.py", "--help")
    print("## As a share of a job\n")
    print(
        f"CPU seconds: {twice:.1f} of Snakemake, which starts twice, and {imports:.1f} of imports, in each "
        "job. Jobs of a chunk, means.\n"
    )
    print("| rule | default study, measured | share | config/paper.yaml, forecast | share |")
    print("|---|---|---|---|---|")
    default, paper = measured(), expected()
    for rule in [rule for rule in default if rule in paper] + ["all of these"]:
        cells = []
        for script in (default.get(rule), paper.get(rule)):
            if script is None:
                cells += ["", ""]
                continue
            whole = twice + script
            cells += [f"{whole:.0f} s", f"{100 * (twice + min(imports, script)) / whole:.1f} %"]
        print(f"| {rule} | {' | '.join(cells)} |")


def main() -> None:
    """Print the shares, and where a cluster has run here, what its jobs took, as Markdown."""
    results = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
    print("# What a job costs beyond its work\n")
    print(
        f"`python benchmarks/job_overhead.py`; Python {platform.python_version()}, "
        f"snakemake {version('snakemake')}, torch {version('torch')}.\n"
    )
    shares()
    every = dict(sorted(jobs(results).items()))
    if not every:
        return
    print(f"\n## Jobs of {results} on this cluster\n\nMedians, in seconds of the clock.\n")
    print("| rule | jobs | in Slurm | Snakemake, twice | imports | work |\n|---|---|---|---|---|---|")
    every["all of these"] = [job for made in every.values() for job in made]
    for rule, rows in every.items():
        middle = [statistics.median(column) for column in zip(*rows, strict=True)]
        twice = statistics.median(job.whole - job.script for job in rows)
        imports = statistics.median(job.script - job.work for job in rows)
        print(f"| {rule} | {len(rows)} | {middle[0]:.1f} | {twice:.1f} | {imports:.1f} | {middle[2]:.1f} |")


if __name__ == "__main__":
    main()

"""CPU seconds of every process of a run, and over those of the language model's first 3,000 training steps.

python benchmarks/yardstick.py [options of snakemake] > benchmarks/yardstick.txt

Runs snakemake in this folder, which must have no results yet. Every job's Python is timed by the shell that
starts it, so also what is too short for Snakemake's own records, and nothing of the jobs is changed.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from rllc.study import defaults
from rllc.study.reading import read

FIRST = 3000  # steps of the yardstick
EXPERIMENT = "language"
# bash reads this before each job's command, which calls `python` by that name
CLOCK = """python() {
  local TIMEFORMAT="%U %S $*"
  { time command python "$@" 2>&3; } 3>&2 2>>"$RLLC_CLOCK"
}
"""
LINE = re.compile(r"^([\d.]+) ([\d.]+) workflow/scripts/(\w+)\.py (.*)$")
PART = re.compile(r"--output \S+/parts/([\w.]+)/|--output \S+/(\w+)\.nc")


def jobs(clock: str) -> dict[str, list[float]]:
    """What was made -> CPU seconds of each job: a measure or an analysis by its dataset, else the script."""
    found = defaultdict(list)
    for user, system, script, flags in filter(None, map(_parsed, clock.splitlines())):
        name = PART.search(flags) if script in ("measure", "analyse") else None
        if script == "train":
            name = re.search(r"--checkpoints \S*?(\w+)/checkpoints/", flags)
        label = f"{script} {next(filter(None, name.groups()))}" if name else script
        found[label].append(float(user) + float(system))
    return found


def _parsed(line: str) -> tuple[str, ...] | None:
    match = LINE.match(line)  # a flag may hold line breaks: the rest of such a command is no line of ours
    return match.groups() if match else None


def main() -> None:
    """Run, and print the table and the ratio."""
    steps = read(defaults.load([])).experiments[EXPERIMENT].training.steps
    with tempfile.TemporaryDirectory() as folder:
        script, clock = Path(folder, "clock.sh"), Path(folder, "clock")
        script.write_text(CLOCK)
        clock.touch()
        subprocess.run(
            [sys.executable, "-m", "snakemake", *(sys.argv[1:] or ["--cores", "all"])],
            env={**os.environ, "BASH_ENV": str(script), "RLLC_CLOCK": str(clock)},
            stdout=sys.stderr,
            check=True,
        )
        made = jobs(clock.read_text())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = used.ru_utime + used.ru_stime
    print("| | jobs | CPU seconds |\n|---|---|---|")
    for label, seconds in sorted(made.items(), key=lambda item: -sum(item[1])):
        print(f"| {label} | {len(seconds)} | {sum(seconds):.0f} |")
    scripts = sum(map(sum, made.values()))
    print(f"| Snakemake, shells | | {whole - scripts:.0f} |\n| whole | | {whole:.0f} |")
    if trained := made.get(f"train {EXPERIMENT}"):
        first = sum(trained) * FIRST / steps
        print(f"\nThe first {FIRST} of {steps} steps: {first:.0f} CPU seconds.")
        print(f"The run: {whole / first:.2f} times as much.")


if __name__ == "__main__":
    main()

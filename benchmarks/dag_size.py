"""What planning costs, and how a study grows: dry runs of config/paper.yaml with more seeds, chunks, ... .

Run from the repository root: python benchmarks/dag_size.py > benchmarks/dag_size.md
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import yaml

PAPER = "config/paper.yaml"
LANGUAGE = yaml.safe_load(Path(PAPER).read_text())["experiments"]["language"]
EDGES = LANGUAGE["checkpoints"]["chunks"]
TEXTS = LANGUAGE["distributions"]


def language(**entry: object) -> dict:
    """An overlay of one experiment."""
    return {"experiments": {"language": entry}}


def seeds(count: int) -> list[int]:
    return list(range(1, count + 1))


GROWTH = {
    "as it is (4 seeds)": {},
    "5 seeds": language(seeds=seeds(5)),
    "10 seeds": language(seeds=seeds(10)),
    "10 seeds, half as many chunks": language(seeds=seeds(10), checkpoints={"chunks": EDGES[::2]}),
    "4 seeds, every second checkpoint": language(
        calibration=None,  # their checkpoints are some of those left out
        tokens=None,
        checkpoints={
            "ranges": [[first, end, 2 * every] for first, end, every in LANGUAGE["checkpoints"]["ranges"]]
        },
    ),
    "4 seeds, 2 more distributions": language(
        distributions=[*TEXTS, "arxiv", "wikipedia"],
    ),
    "4 seeds, 16 heads per layer": language(model={"n_heads": 16, "d_head": 16}),
    "4 seeds, twice the draws": language(
        sampling={"heads": {"draws": 400}, "full": {"draws": 400}},
        sampling_variants={"likelihood": {"heads": {"draws": 400}}},
    ),
}
SIZES = {"3 seeds": 3, "28 seeds": 28, "84 seeds": 84}


def dry(overlay: dict, *quiet: str) -> tuple[str, float, float, float]:
    """(output, wall seconds, CPU seconds, peak MB) of a dry run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "more.yaml"
        file.write_text(yaml.safe_dump(overlay))
        said = Path(folder) / "said"
        command = [sys.executable, "-m", "snakemake", "-n", "--configfile", PAPER, str(file), *quiet]
        started = time.monotonic()
        with said.open("w") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out)
            _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        if status:
            sys.exit(said.read_text())
        return said.read_text(), wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Print both tables as Markdown."""
    print("# Planning\n")
    print(
        f"`python benchmarks/dag_size.py`; Python {platform.python_version()}, "
        f"snakemake {version('snakemake')}, one core. Nothing of the study exists: every job is new.\n"
    )
    print(
        "## Building the DAG\n\nDry runs of `config/paper.yaml` with more seeds, without the list of jobs.\n"
    )
    print("| study | jobs | seconds | CPU seconds | peak MB |\n|---|---|---|---|---|")
    for name, count in SIZES.items():
        said, wall, cpu, peak = dry(language(seeds=seeds(count)), "--quiet", "rules", "progress")
        (jobs,) = re.search(r"([\d,]+) jobs to run", said).groups()
        print(f"| {name} | {jobs} | {wall:.0f} | {cpu:.0f} | {peak:.0f} |", flush=True)
    print("\n## How the study grows\n\nAs the line before a run says it.\n")
    print("| study | jobs | CPU hours | GPU hours | disk |\n|---|---|---|---|---|")
    for name, overlay in GROWTH.items():
        said, *_ = dry(overlay, "--quiet", "rules", "progress")
        jobs, cpu, gpu, disk = re.search(
            r"([\d,]+) jobs to run: about ([\d,.]+) CPU hours, ([\d,.]+) GPU hours.* and (.*) of disk", said
        ).groups()
        print(f"| {name} | {jobs} | {cpu} | {gpu} | {disk} |", flush=True)


if __name__ == "__main__":
    main()

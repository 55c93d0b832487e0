"""Where the minutes of a study go: jobs, seconds, CPU seconds and peak memory per rule.

Run after a study: python benchmarks/minutes.py [results] > benchmarks/default_study.md

Jobs have one thread, so with as many free cores as jobs at once their wall time is their CPU time; where it
is much longer, the machine was busy. CPU seconds are as Snakemake samples them: those of short jobs are low.
"""

import csv
import platform
import sys
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path


def jobs(results: Path) -> dict[str, list[dict[str, float]]]:
    """Rule -> one row per job, from Snakemake's own records."""
    rows = defaultdict(list)
    for path in sorted((results / "benchmarks").rglob("*.tsv")):
        rule = path.relative_to(results / "benchmarks").parts[0].removesuffix(".tsv")
        for row in csv.DictReader(path.read_text().splitlines(), delimiter="\t"):
            rows[rule].append(
                {k: float(row[k]) for k in ("s", "cpu_time", "max_rss") if row[k] not in ("NA", "-")}
            )
    return rows


def processor() -> str:
    """The processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    names = (
        [line for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else []
    )
    return names[0].partition(":")[2].strip() if names else platform.processor()


def main() -> None:
    """Print the table as Markdown."""
    results = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
    rows = jobs(results)
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "snakemake"))
    command = f"python benchmarks/minutes.py {results}"
    print(f"`{command}`; {processor()}, Python {platform.python_version()}, {packages}.\n")
    print("| rule | jobs | seconds | CPU seconds | longest job | peak MB |\n|---|---|---|---|---|---|")
    order = sorted(rows, key=lambda rule: -sum(row["s"] for row in rows[rule]))
    for rule in order:
        seconds = [row["s"] for row in rows[rule]]
        cpu = sum(row.get("cpu_time", 0) for row in rows[rule])
        memory = max(row.get("max_rss", 0) for row in rows[rule])
        times = f"{sum(seconds):.0f} | {cpu:.0f} | {max(seconds):.0f}"
        print(f"| {rule} | {len(seconds)} | {times} | {memory:.0f} |")
    every = [row for made in rows.values() for row in made]
    whole, cpu = (sum(row.get(name, 0) for row in every) for name in ("s", "cpu_time"))
    longest = max(row["s"] for row in every)
    print(f"| all of these | {len(every)} | {whole:.0f} | {cpu:.0f} | {longest:.0f} | |")


if __name__ == "__main__":
    main()

"""Where the minutes of a study go: jobs, wall and CPU seconds and peak memory per rule.

Run after a study: python benchmarks/minutes.py [results] > benchmarks/default_study.md
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
    print(
        f"`python benchmarks/minutes.py {results}`; {processor()}, Python {platform.python_version()}, {packages}.\n"
    )
    print("| rule | jobs | wall s | CPU s | peak MB |\n|---|---|---|---|---|")
    total = [0, 0.0, 0.0]
    for rule, made in sorted(rows.items(), key=lambda item: -sum(row.get("cpu_time", 0) for row in item[1])):
        wall, cpu = (sum(row.get(name, 0) for row in made) for name in ("s", "cpu_time"))
        total = [total[0] + len(made), total[1] + wall, total[2] + cpu]
        print(
            f"| {rule} | {len(made)} | {wall:.0f} | {cpu:.0f} | {max(row.get('max_rss', 0) for row in made):.0f} |"
        )
    print(f"| all of these | {total[0]} | {total[1]:.0f} | {total[2]:.0f} | |")


if __name__ == "__main__":
    main()

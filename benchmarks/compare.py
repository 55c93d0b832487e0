"""rllc against devinterp on the same weights, minibatches and settings: benchmarks/against_devinterp.md.

python benchmarks/compare.py --peer .venv-peer/bin/python [--cases lists text_128 text_1024 neox]

Both run alternately in processes of their own, with one thread and the same environment variables. Components
of a group are one call of ours and one call each of theirs. The cases are in two sections of the table,
attention-only transformers and models of transformers; a section without a case that ran stays as it is.
Exit status 1 where an estimate of a component is not that of the other.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from cases import make
from minutes import processor

HERE = Path(__file__).parent
ALL = [f"{layer}:{head}" for layer in range(2) for head in range(8)]
FULL = (["full"], ["full"])
# groups: (components of ours in one call, those of them of theirs); chains, draws
PLAN = {
    "lists": ([(["0:0", "0:1"], ["0:0", "0:1"]), FULL], 4, 20),
    "text_128": ([(ALL, ALL), FULL], 4, 4),
    "text_1024": ([(ALL, ["0:0", "1:0"]), FULL], 2, 4),
    "neox": (
        [([f"{layer}:{head}" for head in range(4)], [f"{layer}:0"]) for layer in (0, 3, 5)]
        + [([f"mlp:{layer}"], [f"mlp:{layer}"]) for layer in (0, 3, 5)],
        4,
        4,
    ),
}
OF_TRANSFORMERS = "## A model of Hugging Face\n"
MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(10**9)}
APART = 3.0  # differences above so many standard errors are none of chance
COMMAND = "python benchmarks/compare.py --peer .venv-peer/bin/python --cases neox"
HEAD = (
    "| case | component | ours | devinterp | apart | ours, ms per draw | devinterp, ms per draw | ratio |\n"
    "|---|---|---|---|---|---|---|---|"
)


def called(python: str, script: str, case: Path, *options: str) -> dict:
    """The JSON line that a script prints last."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}
    done = subprocess.run(
        [python, str(HERE / script), str(case), *options],
        env={**os.environ, **threads, **MEMORY},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{script} failed on {case.name}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measured(case: Path, peer: str) -> list[dict]:
    """One row per component of theirs; ours before and after theirs, the mean of the two."""
    groups, chains, draws = PLAN[case.name]
    extent = ["--chains", str(chains), "--draws", str(draws)]
    rows = []
    for ours, others in groups:
        before = called(sys.executable, "ours.py", case, "--components", ",".join(ours), *extent)
        found = [called(peer, "peer.py", case, "--component", name, *extent) for name in others]
        after = called(sys.executable, "ours.py", case, "--components", ",".join(ours), *extent)
        for row in found:
            own = np.array(before["llc_chain"])[ours.index(row["component"])]
            ms = (before["ms_per_draw"] + after["ms_per_draw"]) / 2
            rows.append({**row, "case": case.name, "ours": own.tolist(), "ours_ms": ms, "of": ours})
    return rows


def judged(rows: list[dict]) -> list[dict]:
    """Adds the difference in standard errors, their chains' relative sd being pooled over the rows."""
    chains = np.array([[row["ours"], row["llc_chain"]] for row in rows])  # [row, estimator, chain]
    mean = chains.mean(-1)
    relative = np.sqrt((chains.var(-1, ddof=1) / mean**2).mean())
    error = relative * np.abs(mean).mean(1) * np.sqrt(2 / chains.shape[-1])
    apart = (mean[:, 0] - mean[:, 1]) / error
    return [
        {**row, "mean": m, "sd": c.std(-1, ddof=1), "apart": a}
        for row, m, c, a in zip(rows, mean, chains, apart, strict=True)
    ]


def made_with(command: str, rows: list[dict], *packages: str) -> str:
    """The command, the machine and the versions."""
    named = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", *packages))
    python = f"Python {platform.python_version()}"
    return f"`{command}`; {processor()}, {python}, {named}, devinterp {rows[0]['version']}.\n"


def lines_of(rows: list[dict]) -> list[str]:
    """The lines of a table with ``HEAD``."""
    lines = []
    for row in rows:
        values = [f"{m:.3g} +- {s:.2g}" for m, s in zip(row["mean"], row["sd"], strict=True)]
        own, theirs = row["ours_ms"], row["ms_per_draw"]
        lines.append(
            f"| {row['case']} | {row['component']} | {values[0]} | {values[1]} | {row['apart']:+.1f} | "
            f"{own:.1f} | {theirs:.1f} | {theirs / own:.1f} |"
        )
    return lines


def ratio(rows: list[dict]) -> float:
    """Time of theirs over time of ours, both summed over the rows."""
    return sum(row["ms_per_draw"] for row in rows) / sum(row["ours_ms"] for row in rows)


def of_transformers(rows: list[dict], command: str) -> str:
    """The section of the case neox as Markdown."""
    heads = [row for row in rows if not row["component"].startswith("mlp")]
    last = [row for row in heads if row["component"].startswith("5:")]
    mlps = [row for row in rows if row not in heads]
    lines = [
        OF_TRANSFORMERS,
        made_with(command, rows, "transformers"),
        "GPT-NeoX of transformers: 6 layers, d_model 128, 4 heads, vocabulary 50,304, context 128, trained",
        "20 steps. Settings, batches and times as above; for ours, the heads of a layer in one call.\n",
        HEAD,
        *lines_of(rows),
        "",
        "| components | ratio |",
        "|---|---|",
        f"| heads of layers 0, 3 and 5 | {ratio(heads):.1f} |",
        f"| heads of the last layer | {ratio(last):.1f} |",
        f"| MLPs of layers 0, 3 and 5 | {ratio(mlps):.1f} |",
    ]
    return "\n".join(lines) + "\n"


def table(cases: dict[str, list[dict]], command: str) -> str:
    """The section of the attention-only cases as Markdown."""
    lines = [
        "# Against devinterp\n",
        made_with(command, next(iter(cases.values()))),
        "One thread, float32, SGLD with step_size 1e-3, n_beta 30, localization 200, every position scored;",
        "lists in batches of 512, text in batches of 8. Time is CPU time per chain and draw between one",
        "draw and the next; for ours all heads of the case in one call, divided by their number. Cost is",
        "linear in draws, so few are enough to time it. Estimates: mean and sd over chains. Apart: their",
        f"difference in standard errors (above {APART:g}: not the same).\n",
        HEAD,
        *(line for rows in cases.values() for line in lines_of(rows)),
        "",
        "| case | heads | ours, ms per draw and head | devinterp | ratio |",
        "|---|---|---|---|---|",
    ]
    for name, rows in cases.items():
        heads = [row for row in rows if row["component"] != "full"]
        theirs = np.mean([row["ms_per_draw"] for row in heads])  # as many of each layer
        own = heads[0]["ours_ms"]
        lines.append(f"| {name} | {len(heads[0]['of'])} | {own:.1f} | {theirs:.1f} | {theirs / own:.1f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--peer", required=True, help="the Python of devinterp's environment")
    parser.add_argument("--cases", nargs="+", choices=PLAN, default=list(PLAN))
    parser.add_argument("--work", type=Path, default=Path("build/bench"))
    parser.add_argument("--output", type=Path, default=HERE / "against_devinterp.md")
    options = parser.parse_args()
    make(options.work, *options.cases)
    cases, apart = {}, []
    before = options.output.read_text() if options.output.exists() else ""
    first, heading, second = before.partition(OF_TRANSFORMERS)
    for name in options.cases:
        rows = judged(measured(options.work / name, options.peer))
        apart += [row for row in rows if abs(row["apart"]) > APART]
        if name == "neox":
            heading, second = "", of_transformers(rows, COMMAND)
        else:
            cases[name] = rows
            first = table(cases, "make bench")
        parts = [part.strip() for part in (first, heading + second) if part.strip()]
        options.output.write_text("\n\n".join(parts) + "\n")
        print(options.output.read_text())
    for row in apart:
        print(f"{row['case']} {row['component']}: {row['mean']} are {row['apart']:.1f} standard errors apart")
    sys.exit(bool(apart))


if __name__ == "__main__":
    main()

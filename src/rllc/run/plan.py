"""The plan of a run, kept for its jobs: on a cluster they start hours later.

A job of a cluster reads the Snakefile, the config and the source again. So the main process writes its config
and fingerprints into one small file. It names the file in the environment, which every job inherits. A job
takes its config from the file, even if the overlay has changed. It also takes its fingerprint from there, so
`rllc.job.stage` refuses to run if the source has changed.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rllc.run.atomic_write import atomic_write
from rllc.run.fingerprint import fingerprint
from rllc.study.discovery import PATTERNS, modules

VARIABLE = "RLLC_PLAN"
FOLDER = Path(".snakemake/rllc")
# Modules that turn a config into the command lines of jobs, beside the specs that `rllc.study.table` finds.
MODULES = (
    "rllc.run.command",
    "rllc.run.settings_files",
    "rllc.study.layout",
    "rllc.study.parameters",
    "rllc.study.datasets",
    "rllc.study.table",
    "rllc.study.claims",
    "rllc.study.texts",
)


class Changed(ValueError):
    """The source has changed since the job was planned."""


def keep(config: dict[str, Any], codes: dict[str, str], *, root: Path) -> Path:
    """Write the plan of a run, and name its file in the environment. Equal plans share a file."""
    text = _text(config, codes, root)
    file = FOLDER.resolve() / name(config, codes, root=root)
    if not file.is_file():
        atomic_write(file, text)
    os.environ[VARIABLE] = str(file)
    return file


def name(config: dict[str, Any], codes: dict[str, str], *, root: Path) -> str:
    """Return the name of the file that ``keep`` would write."""
    return f"plan-{hashlib.sha256(_text(config, codes, root).encode()).hexdigest()[:16]}.json"


def _text(config: dict[str, Any], codes: dict[str, str], root: Path) -> str:
    plan = {"config": config, "codes": codes, "rules": rules_digest(root)}
    return json.dumps(plan, default=str, sort_keys=True)


def kept(*, root: Path) -> dict[str, Any] | None:
    """Return the plan of the run that this job belongs to; None if the environment names none.

    Raises Changed if the rules, or the modules that make command lines from the config, have changed since.
    """
    file = Path(os.environ.get(VARIABLE, ""))
    if not file.is_file():
        return None
    plan = json.loads(file.read_text(encoding="utf-8"))
    if plan["rules"] != rules_digest(root):
        raise Changed(
            "the source (workflow/ or src/rllc/study, src/rllc/run, a spec in src/rllc/measures) "
            "changed after this job was planned. Run snakemake again: it plans with the code as it is now"
        )
    return plan


def rules_digest(root: Path) -> str:
    """Return a hash of the Snakefile and the rules, without comments, and of the planning modules."""
    files = [root / "Snakefile", *sorted((root / "workflow" / "rules").glob("*.smk"))]
    lines = [line for file in files for line in _code_lines(file.read_text(encoding="utf-8"))]
    rows = [name for kind in PATTERNS for name in modules(kind, package=root / "src/rllc")]
    planning = fingerprint("src/rllc/run/command.py", *MODULES, *rows, root=root)
    return hashlib.sha256("\n".join([planning, *lines]).encode()).hexdigest()[:16]


def _code_lines(text: str) -> Iterable[str]:
    return (line.rstrip() for line in text.splitlines() if not re.match(r"\s*(#|$)", line))

"""What a run was planned with, kept for its jobs: on a cluster they start hours later.

A job of a cluster reads the Snakefile, the config and the source anew. So the main process writes the config
and the fingerprints that it planned with into one small file and names it in the environment, which every
job inherits. A job reads its config from there, whatever the overlay says by then, and is told the
fingerprint from there, so that `rllc.job.stage` refuses where the source has changed.
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
# What turns a config into the command lines of jobs, beside the rows that `rllc.study.table` finds.
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
    """The source is not what the job was planned with."""


def keep(config: dict[str, Any], codes: dict[str, str], *, root: Path) -> Path:
    """Write what a run was planned with, and name the file in the environment. Equal plans share a file."""
    text = _text(config, codes, root)
    file = FOLDER.resolve() / name(config, codes, root=root)
    if not file.is_file():
        atomic_write(file, text)
    os.environ[VARIABLE] = str(file)
    return file


def name(config: dict[str, Any], codes: dict[str, str], *, root: Path) -> str:
    """Name of the file that ``keep`` would write."""
    return f"plan-{hashlib.sha256(_text(config, codes, root).encode()).hexdigest()[:16]}.json"


def _text(config: dict[str, Any], codes: dict[str, str], root: Path) -> str:
    plan = {"config": config, "codes": codes, "rules": rules_digest(root)}
    return json.dumps(plan, default=str, sort_keys=True)


def kept(*, root: Path) -> dict[str, Any] | None:
    """What the run that this job belongs to was planned with; None where the job was not told.

    Raises Changed where the rules, or what makes command lines of the config, have changed since.
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
    """Hash of the Snakefile and the rules without comments and blank lines, and of the planning modules."""
    files = [root / "Snakefile", *sorted((root / "workflow" / "rules").glob("*.smk"))]
    lines = [line for file in files for line in _code_lines(file.read_text(encoding="utf-8"))]
    rows = [name for kind in PATTERNS for name in modules(kind, package=root / "src/rllc")]
    planning = fingerprint("src/rllc/run/command.py", *MODULES, *rows, root=root)
    return hashlib.sha256("\n".join([planning, *lines]).encode()).hexdigest()[:16]


def _code_lines(text: str) -> Iterable[str]:
    return (line.rstrip() for line in text.splitlines() if not re.match(r"\s*(#|$)", line))

"""Targets that no rule makes: suggest similar names, and the overlay that would make the target."""

import difflib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rllc.study import defaults

NEAR, LISTED = 0.6, 3
NAMED = ("figures", "animations", "experiments")  # tables whose entries give files their names


def refused(
    named: Iterable[str],
    *,
    rules: Sequence[Any],
    files: Iterable[str],
    results: str,
    measured: Mapping[str, Collection[str]],
    given: Iterable[Path],
) -> list[str]:
    """Return an error sentence for each target that cannot be made.

    named     the targets of the command line
    rules     Snakemake's rules
    files     files that a user would ask for, by name
    results   the folder of this study
    measured  experiment -> its datasets
    given     config files
    """
    names, problems = {rule.name for rule in rules}, []
    there = {file.resolve() for file in given}
    for target in named:
        if target in names:
            continue
        file = os.path.relpath(target) if not Path(target).is_absolute() else target
        if any(rule.is_producer(file) for rule in rules):
            problems += filter(None, [not_measured(file, results, measured)])
            continue
        overlays = [each for each in sorted(Path("config").glob("*.yaml")) if each.resolve() not in there]
        problems.append(problem(file, results, [*names, *files], overlays, known=measured))
    return problems


def problem(
    target: str, results: str, files: Iterable[str], overlays: Iterable[Path], known: Collection[str]
) -> str:
    """Return why a target cannot be made, with a suggestion.

    results   the folder of this study
    files     names of rules and files that exist as targets
    overlays  config files that were not given
    known     experiments of this study
    """
    said = f"no rule makes `{target}` under this config"
    if fitting := [str(overlay) for overlay in overlays if _makes(overlay, Path(target), results, known)]:
        every = " or ".join(fitting[:LISTED])
        return (
            f"{said}, but it has the name of a result of {every}: give it with --configfile {fitting[0]} --"
        )
    close = near(target, files)
    if close:
        return f"{said}. Did you mean {' or '.join(close)}?"
    return f"{said}. `results/README.md` lists the files, -n what a run would make"


def near(target: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are most like a target, best first: by file name, then by folder."""
    wanted = Path(target)

    def likeness(name: str) -> tuple[float, float]:
        file = Path(name)
        begins = 1.0 if file.stem.startswith(wanted.stem) else 0.0
        same = difflib.SequenceMatcher(None, wanted.stem, file.stem).ratio()
        folders = difflib.SequenceMatcher(None, str(wanted.parent), str(file.parent)).ratio()
        return max(same, begins), folders + (0.1 if wanted.suffix == file.suffix else 0.0)

    scores = {name: likeness(name) for name in known}
    close = [name for name, (same, _) in scores.items() if same >= NEAR]
    close.sort(key=lambda name: (*(-score for score in scores[name]), name))
    one_of_each = {
        Path(name).with_suffix(""): name for name in reversed(close)
    }  # .png, .pdf, ...: the nearest
    return [name for name in close if one_of_each[Path(name).with_suffix("")] == name][:LISTED]


def not_measured(target: str, results: str, measured: Mapping[str, Collection[str]]) -> str | None:
    """Return why a dataset of an experiment cannot be made where the experiment does not have it, else None.

    measured  experiment -> its datasets
    """
    file = Path(target)
    experiment, name = file.parent.name, file.name.removesuffix(".nc")
    if file.suffix != ".nc" or file.parent.parent != Path(results) or experiment not in measured:
        return None
    if name in measured[experiment]:
        return None
    others = [each for each, names in measured.items() if name in names]
    where = f" (it is in {', '.join(others)})" if others else ""
    return (
        f"`{target}`: the experiment {experiment} has no dataset {name}{where}; "
        f"its datasets are {', '.join(sorted(measured[experiment])) or 'none'}"
    )


def _makes(overlay: Path, target: Path, results: str, known: Collection[str]) -> bool:
    """Return whether an overlay makes this target, or a folder that contains it.

    known  experiments of the study without the overlay: their names do not point to the overlay
    """
    try:
        config = defaults.LOADER(overlay.read_text(encoding="utf-8")).get_single_data()
    except (yaml.YAMLError, OSError, ValueError):
        return False
    if not isinstance(config, dict):
        return False
    folder = Path(str(config.get("results", results)))
    if folder not in target.parents:
        return False
    if folder != Path(results) and folder not in Path(results).parents:
        return True
    tables = [config[table] for table in NAMED if isinstance(config.get(table), dict)]
    names = {str(name) for table in tables for name in table} - {*known}
    begins = any(target.stem == name or target.stem.startswith(f"{name}_") for name in names)
    return begins or target.parent.name in names

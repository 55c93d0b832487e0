"""Folders of imported checkpoints: the file of each step. Imports no torch."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from rllc.study.foreign import foreign
from rllc.study.inputs import as_input
from rllc.study.transformer_lens import described

SUFFIXES = (".safetensors", ".pt", ".pth")
LARGEST = 2**53  # largest integer that a float holds exactly: steps are also read as floats
# Characters around the last digits that make them part of another number: 1.5, 1e5, 1,000, 10k.
BEFORE, AFTER = re.compile(r"[0-9](?:[.,]|[eE][+-]?)$"), re.compile(r"[kKmM](?![a-zA-Z])")


def imported_files(folder: Path) -> dict[int, Path]:
    """Return step -> state dict of a folder, ascending. The step is the last number of the file name.

    Raises ValueError as ``state_dict_files`` does, and if the folder holds a model of another kind than an
    attention-only HookedTransformer (checked before names).
    """
    _check_folder(folder)
    if problem := foreign(folder):
        raise ValueError(f"imported checkpoints: {problem}")
    if (folder / "config.json").is_file():
        described(folder / "config.json")
    return state_dict_files(folder)


def state_dict_files(folder: Path) -> dict[int, Path]:
    """Return step -> state dict of a folder, ascending, whatever the model. Hidden files are left out.

    Raises ValueError if the folder is missing or holds no state dict. Also if a name has no whole number, or
    two names have the same.
    """
    _check_folder(folder)
    files: dict[int, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in SUFFIXES or path.name.startswith("."):
            continue
        step = _step(path)
        if step in files:
            raise ValueError(f"{files[step]} and {path} are both step {step}: keep one of them")
        if not path.is_file():
            found = "is a folder" if path.is_dir() else "is a link to a file that is not there"
            raise ValueError(f"{path} {found}: expected the file of one state dict")
        files[step] = Path(as_input(path))
    if not files:
        raise ValueError(f"no checkpoint in {folder}: expected files ending in {', '.join(SUFFIXES)}")
    return dict(sorted(files.items()))


def planned_files(folder: Path, family: str) -> Mapping[int, Path]:
    """Return the files of a model of a family, cached: all jobs of a plan must see the same files."""
    return _looked_up(folder, family, Path.cwd())


@cache
def _looked_up(folder: Path, family: str, _relative_to: Path) -> Mapping[int, Path]:
    return state_dict_files(folder) if family == "module" else imported_files(folder)


def input_files(folder: Path, family: str, steps: Iterable[int]) -> list[Path]:
    """Return the state dicts of steps, and the config.json where the family has one, as inputs of a rule."""
    config = [] if family == "module" else [folder / "config.json"]
    files = planned_files(folder, family)
    return [*config, *(files[step] for step in steps)]


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        found = f"{folder} is no folder" if folder.exists() else f"there is no folder {folder}"
        raise ValueError(f"imported checkpoints: {found}")


def _step(path: Path) -> int:
    found = list(re.finditer(r"[0-9]+", path.stem))
    if not found:
        raise ValueError(f"no step in the name of {path}: rename it, as in step_1000{path.suffix}")
    if re.search(r"[0-9]+-of-[0-9]+$", path.stem):
        raise ValueError(f"{path} is one of several shards: save every step as one file")
    last = found[-1]
    if (
        BEFORE.search(path.stem[: last.start()])
        or AFTER.match(path.stem[last.end() :])
        or int(last[0]) > LARGEST
    ):
        raise ValueError(
            f"the last number in the name of {path} is no whole number up to 2^53: rename it, as in "
            f"step_1000{path.suffix}"
        )
    return int(last[0])

"""The folder of every checkpoint of Hugging Face: snapshots of the hub's cache, or folders of the user."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rllc.huggingface_files import config_fields, weight_files
from rllc.study.huggingface.sections import HuggingFace, HuggingFaceCheckpoints
from rllc.study.inputs import as_input
from rllc.study.tokenizer_files import HUB_NAME

COMMIT = re.compile(r"[0-9a-f]{40}")
NAMED = 5  # at most so many names in an error


def planned_folders(model: HuggingFace, checkpoints: HuggingFaceCheckpoints, seed: int) -> Mapping[int, Path]:
    """Return step -> folder of a seed's checkpoints, ascending. Cached: all jobs of a plan see the same.

    Raises ValueError, with the key, where a checkpoint is missing or the folders are not those of one model.
    """
    revisions, steps = tuple(hub_revisions(model, checkpoints).items()), tuple(checkpoints.steps or ())
    if checkpoints.names and checkpoints.path is None and model.path and not is_of_the_hub(model.path):
        raise ValueError(
            f"checkpoints.revisions: model.path is the folder {model.path}; revisions are of the hub: give "
            "checkpoints.path, with {step} in it"
        )
    return _planned(model.path, checkpoints.path, revisions, steps, seed, Path.cwd())


def hub_revisions(model: HuggingFace, checkpoints: HuggingFaceCheckpoints) -> dict[int, str]:
    """Return step -> revision of the hub, of the steps that are read; empty where folders are read.

    A hub name without revisions stands for its branch `main`, whose step the config gives. Raises ValueError
    for a step that no revision has.
    """
    if checkpoints.path is not None or model.path is None or not is_of_the_hub(model.path):
        return {}
    steps = checkpoints.steps or ()
    named = checkpoints.names or dict.fromkeys(steps, "main")
    _refuse_missing(steps, list(named))
    return {step: name for step, name in named.items() if not steps or step in steps}


@cache
def _planned(
    model: str | None,
    path: str | None,
    revisions: tuple[tuple[int, str], ...],
    steps: tuple[int, ...],
    seed: int,
    _relative_to: Path,
) -> Mapping[int, Path]:
    if path is not None:
        found = _of_path(path.replace("{seed}", str(seed)), steps)
    elif model is None:
        raise ValueError("model.path: missing; the checkpoints name no folders")
    elif revisions:
        found = snapshots(model, dict(revisions))
    else:
        found = {steps[0]: Path(model).expanduser()}
    _refuse_missing(steps, list(found))
    return dict(sorted((step, folder) for step, folder in found.items() if not steps or step in steps))


def _refuse_missing(steps: Sequence[int], found: list[int]) -> None:
    """Raise ValueError where a step has no checkpoint."""
    if missing := [step for step in steps if step not in found]:
        there = ", ".join(map(str, found[:NAMED])) or "none"
        raise ValueError(
            f"checkpoints.steps: there is no checkpoint of step {_some(missing)}; the first are {there}"
        )


def input_files(folder: Path) -> list[str]:
    """Return the files of a checkpoint that its model depends on: config and weights, as inputs of a rule."""
    return [as_input(file) for file in (folder / "config.json", *weight_files(folder))]


def same_config(folders: Sequence[Path]) -> dict[str, Any]:
    """Return the fields of the config that all checkpoints share. Raises ValueError where two differ."""
    first = config_fields(folders[0])
    for folder in folders[1:]:
        other = config_fields(folder)
        differ = sorted(name for name in first.keys() | other.keys() if first.get(name) != other.get(name))
        if differ:
            name = differ[0]
            raise ValueError(
                f"checkpoints: {name} is {first.get(name)!r} in {folders[0] / 'config.json'} and "
                f"{other.get(name)!r} in {folder / 'config.json'}: expected checkpoints of one model"
            )
    return first


def is_of_the_hub(name: str) -> bool:
    """Return whether a model is named by its name on the hub, rather than by a folder."""
    return bool(HUB_NAME.fullmatch(name)) and not Path(name).expanduser().exists()


def cache_of(name: str) -> Path:
    """Return the folder of a model of the hub in the cache of the package huggingface_hub."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"


def snapshots(name: str, revisions: Mapping[int, str]) -> dict[int, Path]:
    """Return step -> folder of each revision in the cache of the hub. Raises ValueError for missing ones."""
    place = cache_of(name)
    found = {step: snapshot(place, revision) for step, revision in revisions.items()}
    missing = [revisions[step] for step, folder in found.items() if folder is None]
    if missing:
        raise ValueError(
            f"checkpoints.revisions: the cache of the hub lacks {_some(missing)} of {name} ({place}), and no "
            f"folder has this name.{_without_names(place)} Call `snakemake download` where there is a network"
        )
    return {step: folder for step, folder in found.items() if folder is not None}


def _without_names(place: Path) -> str:
    """Return a hint where a cache holds commits without the names of their revisions."""
    commits = sorted(folder.name for folder in place.glob("snapshots/*"))
    if not commits or (place / "refs").is_dir():
        return ""
    return f" It holds the commits {_some(commits)} without names (refs/): give a table of steps and commits."


def snapshot(place: Path, revision: str) -> Path | None:
    """Return the folder of one revision in the cache of a model; None where a file of it is absent."""
    ref = place / "refs" / revision
    commit = ref.read_text().strip() if ref.is_file() else revision
    folder = place / "snapshots" / commit
    if not COMMIT.fullmatch(commit) or not (folder / "config.json").is_file():
        return None
    try:
        weight_files(folder)
    except ValueError:  # a download that was interrupted
        return None
    return folder


def _of_path(path: str, steps: tuple[int, ...]) -> dict[int, Path]:
    """Return step -> folder of a path with ``{step}``, or of one folder."""
    if "{step}" not in path:
        return {steps[0]: _folder(Path(path).expanduser())}
    before, _, after = path.partition("{step}")
    if steps:
        return {step: _folder(Path(f"{before}{step}{after}").expanduser()) for step in steps}
    head, slash, prefix = before.rpartition("/")
    tail, _, below = after.partition("/")
    parent = Path(head + slash or ".").expanduser()
    if not parent.is_dir():
        raise ValueError(f"checkpoints.path: there is no folder {parent}")
    pattern = re.compile(rf"{re.escape(prefix)}(0|[1-9][0-9]*){re.escape(tail)}")
    found = {
        int(match[1]): _folder(each / below)
        for each in parent.iterdir()
        if (match := pattern.fullmatch(each.name)) and each.is_dir()
    }
    if not found:
        raise ValueError(f"checkpoints.path: no folder is named {path}, with a step for {{step}}")
    return found


def _folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise ValueError(
            f"checkpoints.path: there is no folder {folder} (from {Path.cwd()}); expected one that "
            "save_pretrained or a Trainer wrote"
        )
    return folder


def _some(names: list[str] | list[int]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(map(str, names[:NAMED])) + more

"""Fetch models and tokenizers of the hub into its cache: ``snakemake download``, where there is a network.

The cache is that of the package huggingface_hub (``HF_HOME``), which other programs share. What is in it
already is not asked for again. So a second call needs no network, and a branch that moves on does not change
a study.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rllc.huggingface_files import SINGLE, index_of, shard_names, weight_files
from rllc.run.atomic_write import atomic_write
from rllc.run.hub_errors import DownloadError, NoRevision, asked
from rllc.study.huggingface.folders import cache_of, snapshot
from rllc.study.huggingface.wanted import Wanted
from rllc.study.tokenizer_files import cached_json

# Files of tokenizers. Of a repository, only these, the config and the weights are fetched.
TOKENIZER = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "merges.txt", "tokenizer.model",
)  # fmt: skip
SHA256 = re.compile(r"[0-9a-f]{64}")


def download(wanted: Sequence[Wanted], *, dry: bool, say: Callable[[str], object]) -> None:
    """Fetch what is not in the cache of the hub.

    wanted  from ``rllc.study.huggingface.wanted``
    dry     only say what would be fetched
    say     shows one line of progress

    All revisions are looked up first, so that a missing one is known before anything is fetched. Raises
    DownloadError, with repository and revision, for what cannot be fetched.
    """
    if not wanted:
        say("nothing to download: no experiment reads a model or a tokenizer of the hub")
        return
    absent = [each for each in wanted if place_of(each) is None]
    if dry:
        for each in absent:
            say(f"would fetch {each.repository} {each.revision}")
        return
    infos = _infos(absent)
    for number, (each, info) in enumerate(infos.items(), 1):
        say(f"{each.repository} {each.revision} ({number} of {len(absent)}): commit {info.sha}")
        files = asked(each, lambda each=each, info=info: _fetch(each, info))
        _check(each, info, files)
        size = sum(file.stat().st_size for file in files)
        say(f"{each.repository} {each.revision}: {len(files)} files, {size / 1e6:,.1f} MB")
    there = "" if len(absent) == len(wanted) else ", the others are in the cache"
    say(f"download: {len(absent)} of {len(wanted)} revisions fetched{there}")


def write_record(wanted: Iterable[Wanted], record: Path) -> None:
    """Write commit, files, sizes and SHA-256 of what was fetched: repository -> revision -> files.

    The cache names a large file after its SHA-256, which was checked when the file came. Raises DownloadError
    where something is not in the cache.
    """
    found: dict[str, dict[str, Any]] = {}
    for each in wanted:
        folder = place_of(each)
        if folder is None:
            raise DownloadError(
                f"{each.key}: {each.repository} {each.revision} is not complete in "
                f"{cache_of(each.repository)}: call `snakemake download` again"
            )
        files = {
            path.name: {"bytes": path.stat().st_size, "sha256": _digest(path)}
            for path in _files(folder, each)
        }
        own = found.setdefault(each.repository, {}).setdefault(each.revision, {"files": {}})
        own["commit"] = folder.name
        own["files"] |= files
    try:
        atomic_write(record, json.dumps(found, indent=1, sort_keys=True) + "\n")
    except OSError as error:
        raise DownloadError(
            f"{record} cannot be written ({error.strerror}): make its folder writable"
        ) from None


def place_of(each: Wanted) -> Path | None:
    """Return the folder in the cache of what is wanted; None where it is not complete."""
    if each.weights:
        return snapshot(cache_of(each.repository), each.revision)
    file = cached_json(each.repository)
    return file.parent if file else None


def _infos(absent: Sequence[Wanted]) -> dict[Wanted, Any]:
    """Return the hub's information on each revision. Raises DownloadError that names all missing ones."""
    from huggingface_hub import HfApi

    def info(each: Wanted) -> Any:
        return HfApi().model_info(each.repository, revision=each.revision, files_metadata=True)

    found, problems = {}, []
    for each in absent:
        try:
            found[each] = asked(each, lambda each=each: info(each))
        except NoRevision as error:
            problems.append(str(error))
    if problems:
        raise DownloadError("\n".join(problems))
    return found


def _fetch(each: Wanted, info: Any) -> list[Path]:
    """Fetch the files of one revision; the weights last, so that a revision with weights is complete."""
    names = {file.rfilename for file in info.siblings}
    if not each.weights:
        _need("tokenizer.json" in names, each, "tokenizer.json: give a tokenizer that has one")
        return _get(each, ["tokenizer.json"])
    _need("config.json" in names, each, "config.json: expected a model that transformers saved")
    weights = [name for single in SINGLE for name in (single, index_of(single)) if name in names][:1]
    _need(bool(weights), each, f"weights: expected {' or '.join(SINGLE)}, or shards with an index")
    files = _get(each, [*(name for name in TOKENIZER if name in names), "config.json", *weights])
    return files if weights[0] in SINGLE else [*files, *_get(each, shard_names(files[-1]))]


def _need(there: bool, each: Wanted, lacks: str) -> None:
    if not there:
        raise DownloadError(f"{each.key}: the revision {each.revision} of {each.repository} has no {lacks}")


def _get(each: Wanted, names: Iterable[str]) -> list[Path]:
    """Fetch files, each unless it is there. By the revision's name, so that the cache knows it."""
    from huggingface_hub import hf_hub_download

    return [Path(hf_hub_download(each.repository, name, revision=each.revision)) for name in names]


def _check(each: Wanted, info: Any, files: Iterable[Path]) -> None:
    """Raise DownloadError where a file is of another commit, or a large one has not the SHA-256 of the hub.

    A damaged file is removed, since the cache would keep it.
    """
    expected = {file.rfilename: file.lfs.sha256 for file in info.siblings if file.lfs is not None}
    for file in files:
        again = "call `snakemake download` again"
        if file.parent.name != info.sha:
            raise DownloadError(
                f"{each.key}: the revision {each.revision} of {each.repository} changed meanwhile: {again}"
            )
        if file.name in expected and _sha256(file) != expected[file.name]:
            file.resolve().unlink()
            file.unlink(missing_ok=True)
            raise DownloadError(
                f"{each.key}: {file.name} of {each.repository} {each.revision} was damaged on its way and is "
                f"removed: {again}"
            )


def _files(folder: Path, each: Wanted) -> list[Path]:
    """Return the files of a snapshot that a study may read."""
    if not each.weights:
        return [folder / "tokenizer.json"]
    others = [*TOKENIZER, "config.json", *map(index_of, SINGLE)]
    return [*(folder / name for name in others if (folder / name).is_file()), *weight_files(folder)]


def _digest(path: Path) -> str:
    name = path.resolve().name
    return name if SHA256.fullmatch(name) else _sha256(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""Documents from a user's own files: any UTF-8 text, or one field of JSON lines."""

import glob
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rllc.tasks.language.documents import Document
from rllc.tasks.language.where import matching, some


def documents(
    *, path: str | Sequence[str], field: str | None = None, where: Mapping[str, str] | None = None
) -> Iterator[Document]:
    """Yield one document per file, or per line of a ``.jsonl`` file.

    path   a file, a glob (``**`` descends), or a list of these, relative to the working directory
    field  the key of the text in a line of a ``.jsonl`` file; not needed for other files
    where  selects lines of ``.jsonl`` files (``where.matching``); not allowed with other files

    Files are read once each, in the order of their names. A document's name is its path as written. For an
    absolute path, it is the part after the folder before the first wildcard, so that no name depends on the
    location of the folder.

    Raises ValueError where a path matches no file, a file cannot be read, is not UTF-8 or contains NUL bytes,
    a line is not a JSON object with text in ``field``, ``field`` or ``where`` is given for files other than
    JSON lines, or no line matches.
    """
    patterns = [path] if isinstance(path, str) else list(path)
    if not patterns:
        raise ValueError("path is an empty list: expected at least one file or glob, such as texts/*.md")
    found: dict[Path, str] = {}
    for pattern in patterns:
        for file, name in _matches(pattern):
            found.setdefault(file, name)
    if field is not None and not any(map(_of_json_lines, found)):
        raise ValueError(
            f"`field` is given, and none of {path} is a .jsonl file: remove `field`, or rename the files"
        )
    if where is not None and (plain := [str(file) for file in found if not _of_json_lines(file)]):
        raise ValueError(
            f"`where` needs .jsonl files, and {plain[0]} is not one: remove it from `path`, or remove `where`"
        )
    yield from some(_read_all(found, field, matching(where)), where, f"{path}")


def _read_all(
    found: Mapping[Path, str], field: str | None, chosen: Callable[[Mapping[str, object], str], bool]
) -> Iterator[Document]:
    for file, name in sorted(found.items(), key=lambda item: (item[1], item[0])):
        if _of_json_lines(file):
            yield from _lines(file, name, field, chosen)
        else:
            yield Document(_read(file), name)


def _of_json_lines(file: Path) -> bool:
    return file.suffix.lower() == ".jsonl"


def _matches(pattern: str) -> Iterator[tuple[Path, str]]:
    whole = Path(pattern).expanduser()
    if whole.is_dir():
        raise ValueError(
            f"{pattern} is a folder: give the files in it, for example {pattern.rstrip('/')}/**/*.txt"
        )
    if whole.is_file():
        files, fixed = [whole], whole.parent
    else:
        matches = glob.glob(str(whole), recursive=True)
        files = [file for file in map(Path, matches) if file.is_file()]
        fixed = whole
        while glob.has_magic(str(fixed)):
            fixed = fixed.parent
    if not files:
        raise ValueError(
            f"no file matches {pattern!r} (relative paths start at {Path.cwd()}): check the path; "
            "folders below are searched only with **"
        )
    for file in files:
        yield file, (file.relative_to(fixed) if file.is_absolute() else file).as_posix()


def _read(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} is not UTF-8 text (byte {error.start}): convert it to UTF-8 or leave it out of the path"
        ) from error
    except OSError as error:
        raise ValueError(
            f"{file} cannot be read ({error.strerror}): make it readable or leave it out of the path"
        ) from error
    if "\0" in text:  # UTF-16 without byte order mark is valid UTF-8 with NULs
        raise ValueError(
            f"{file} is not text (a NUL at character {text.index(chr(0))}: binary, or UTF-16): convert it to "
            "UTF-8 or leave it out of the path"
        )
    return text


def _lines_of(file: Path) -> Iterator[str]:
    """Yield the lines of a file, which may exceed memory. Raises the same errors as ``_read``."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            for line in lines:
                if "\0" in line:
                    raise UnicodeError
                yield line
    except (UnicodeError, OSError):
        _read(file)  # raises an error with the position
        raise


def _lines(
    file: Path, name: str, field: str | None, chosen: Callable[[Mapping[str, object], str], bool]
) -> Iterator[Document]:
    if field is None:
        raise ValueError(f"{file} has JSON lines: set `field` to the key of the text in a line")
    for number, line in enumerate(_lines_of(file), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", error)
            raise ValueError(f"{file}, line {number}, is not JSON ({reason}): expected one object") from error
        if not isinstance(record, dict):
            raise ValueError(f"{file}, line {number}, is not a JSON object: expected {{{field!r}: text}}")
        if not chosen(record, f"{file}, line {number},"):
            continue
        if not isinstance(record.get(field), str):
            raise ValueError(
                f"{file}, line {number}, has no text in {field!r}; its keys are {sorted(record)}: "
                "correct `field` or the line"
            )
        yield Document(record[field], f"{name}:{number}")

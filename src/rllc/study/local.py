"""Local files of tokenizers and data sets, which are inputs of the rules that read them."""

import json
import re
from pathlib import Path

from rllc.study.distributions import Hub, TextTokens
from rllc.study.inputs import as_input

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


def tokenizer_files(tokens: TextTokens) -> list[str]:
    """Return the local tokenizer.json of a tokenizer; none if it comes from the hub or is trained here.

    Raises ValueError if a path has no tokenizer.json.
    """
    path = _local(tokens.pretrained or "hub")
    if path is None:
        return []
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ValueError(
            f"there is no tokenizer.json at {tokens.pretrained} (from {Path.cwd()}): give the file, the "
            "folder it is in, or a name of the hub"
        )
    return [as_input(file)]


def data_set_files(entry: Hub) -> list[str]:
    """Return the files of a local data set without hidden ones; none if it comes from the hub.

    Raises ValueError if a path is not a folder with files.
    """
    path = _local(entry.name)
    if path is None:
        return []
    if path.is_file():
        raise ValueError(
            f"{entry.name} is a file: give the folder it is in, or read it by the source `files`"
        )
    files = [file for file in path.rglob("*") if file.is_file()]
    hidden = {file for file in files if any(part[0] == "." for part in file.relative_to(path).parts)}
    if not set(files) - hidden:
        raise ValueError(f"{entry.name} is neither a name of the hub nor a folder with files ({Path.cwd()})")
    return sorted(as_input(file) for file in files if file not in hidden)


def tokenizer_size(file: str) -> int:
    """Return the number of rows that an embedding needs: the largest id in a tokenizer.json plus one.

    Raises ValueError if the file is not a tokenizer.json.
    """
    try:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
        vocabulary = content["model"]["vocab"]
        ids = list(vocabulary.values()) if isinstance(vocabulary, dict) else list(range(len(vocabulary)))
        return max(ids + [token["id"] for token in content.get("added_tokens") or []]) + 1
    except OSError as error:
        raise ValueError(f"{file} cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        what = str(error) if isinstance(error, ValueError) else "it has no model with a vocab"
        raise ValueError(
            f"{file} is no tokenizer.json of the library `tokenizers` ({what}): save the tokenizer with "
            "its `save`, or `save_pretrained` of a fast one"
        ) from None


def _local(name: str) -> Path | None:
    """Return the local path of a name; None if no such path exists, so that it is a name of the hub."""
    try:
        path = Path(name).expanduser()
    except RuntimeError:
        raise ValueError(f"{name} begins with the name of a user that does not exist here") from None
    named = HUB_NAME.fullmatch(name) and not name.endswith(".json")
    return None if named and not path.exists() else path

"""Files of tokenizers by their names, and the number of their tokens."""

import json
import re
from pathlib import Path

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


def local_path(name: str) -> Path | None:
    """Return the local path of a name; None if no such path exists, so that it is a name of the hub."""
    try:
        path = Path(name).expanduser()
    except RuntimeError:
        raise ValueError(f"{name} begins with the name of a user that does not exist here") from None
    named = HUB_NAME.fullmatch(name) and not name.endswith(".json")
    return None if named and not path.exists() else path


def tokenizer_json(name: str) -> Path | None:
    """Return the local tokenizer.json of a file or folder; None for a name of the hub.

    Raises ValueError if a path has no tokenizer.json.
    """
    path = local_path(name)
    if path is None:
        return None
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ValueError(
            f"there is no tokenizer.json at {name} (from {Path.cwd()}): give the file, the folder it is in, "
            "or a name of the hub"
        )
    return file


def cached_json(name: str) -> Path | None:
    """Return the tokenizer.json of a name of the hub in its cache; None where it is not there."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "tokenizer.json")
    return Path(found) if isinstance(found, str) else None


def known_size(name: str) -> int:
    """Return the number of tokens of a tokenizer that is here; 0 where it is not, or cannot be read."""
    try:
        file = tokenizer_json(name) or cached_json(name)
        return tokenizer_size(str(file)) if file else 0
    except (ValueError, OSError):
        return 0  # the check of the files says why


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

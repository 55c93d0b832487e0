"""Documents from a data set of the Hugging Face hub, or a local folder that ``datasets`` can read."""

import errno
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from rllc.tasks.language.documents import Document
from rllc.tasks.language.where import matching, some

# Errors of a file system without locks; 524 is the kernel's ENOTSUPP, which has no name in Python.
NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, 524}


def documents(
    *,
    name: str,
    config: str | None = None,
    split: str = "train",
    field: str = "text",
    revision: str | None = None,
    streaming: bool = False,
    documents: int | None = None,
    where: Mapping[str, str] | None = None,
) -> Iterator[Document]:
    """Yield the first ``documents`` rows (None: all) of a split, in the order of ``datasets.load_dataset``.

    With ``where`` (``where.matching``), yield the first matching rows.

    Settings are the keys of ``rllc.study.distributions.Hub``. ``name`` may also be a local folder of .jsonl,
    .parquet, .csv or .txt files. Rows are named ``<name>/<split>/<number>``.

    Raises ValueError where the data set cannot be reached, has no such configuration, split or column, or no
    row matches.
    """
    name = str(Path(name).expanduser()) if name.startswith("~") else name
    if documents is not None and documents < 1:
        raise ValueError(f"documents is {documents}; expected at least 1, or none for all")
    label = Path(name).resolve().name if Path(name).is_dir() else name
    prefix = "/".join(part for part in (label, config, split) if part)
    rows, chosen = _rows(name, config, split, revision, streaming), matching(where)
    kept = (
        (number, row) for number, row in enumerate(rows) if chosen(row, f"row {number} of data set {name!r}")
    )
    for number, row in some(islice(kept, documents), where, f"data set {name!r}"):
        if not isinstance(row.get(field), str):
            raise ValueError(
                f"row {number} of data set {name!r} has no text in {field!r}; its columns are {sorted(row)}: "
                "correct `field`"
            )
        yield Document(row[field], f"{prefix}/{number}")


def _rows(name: str, config: str | None, split: str, revision: str | None, streaming: bool) -> Iterator[dict]:
    import datasets

    asked = {"split": split, "revision": revision, "streaming": streaming}
    try:  # a stream opens its files while it is read
        with _cache_of(name) as cache:
            yield from datasets.load_dataset(name, config, cache_dir=cache, **asked)
    except Exception as error:  # network, hub and builders raise many types of errors
        reason = str(error).strip().splitlines()
        if isinstance(error, OSError) and error.errno in NO_LOCKS:
            raise ValueError(
                f"data set {name!r} could not be loaded: the file system of its cache has no locks "
                f"({reason[0]}). Set HF_HOME to a folder on a local disk"
            ) from error
        raise ValueError(
            f"data set {name!r} could not be loaded ({type(error).__name__}: "
            f"{reason[0] if reason else 'no message'}). Check its name, config, split and revision; without "
            "a network, download it first on a machine that has one (the cache folder HF_HOME can be "
            "copied), or use a source `files` or `installed`"
        ) from error


@contextmanager
def _cache_of(name: str) -> Iterator[str | None]:
    """Context manager: yield a temporary cache folder for ``datasets`` if ``name`` is a local folder.

    The usual cache of ``datasets`` identifies a local file by name and modification time. So it could return
    old text after the file was replaced by one with the same time. For a data set of the hub, which the cache
    identifies by its commit, yield None: the usual cache.
    """
    import datasets.config

    if not Path(name).exists():
        yield None
        return
    usual = Path(datasets.config.HF_DATASETS_CACHE)  # where the user has reserved space
    usual.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rllc-", dir=usual, ignore_cleanup_errors=True) as folder:
        yield folder

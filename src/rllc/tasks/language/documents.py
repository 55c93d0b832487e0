"""Deduplicate, order and split the documents of one distribution by the hash of their text."""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute

from rllc.tasks.arrow import with_manifest

log = logging.getLogger("rllc")
# pyarrow creates the functions of this module at import, so type checkers do not know them.
pc: Any = pyarrow.compute

SCHEMA = pa.schema(
    {"text": pa.large_string(), "name": pa.string(), "sha256": pa.string(), "held_out": pa.bool_()}
)
LISTED_SOURCES = 40


class Document(NamedTuple):
    """One text and its name. The name is the same on every machine."""

    text: str
    name: str


def digest(text: str) -> str:
    """Return the SHA-256 of ``text`` in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_held_out(sha256: str, fraction: float) -> bool:
    """Return whether a document with this hash is held out: it is, as number in [0, 1), below ``fraction``.

    Only the text decides, so a document is on the same side in every distribution and mixture.
    """
    return int(sha256[:16], 16) < fraction * 2.0**64


def collect(
    documents: Iterable[Document], *, held_out_fraction: float, about: Mapping[str, object] | None = None
) -> pa.Table:
    """Return a table of the distinct texts among ``documents``, with its manifest.

    Columns are ``text``, ``name``, ``sha256`` and ``held_out``. Equal texts keep the first name in
    alphabetical order. Rows are sorted by hash, so the table does not depend on the order of ``documents``,
    and consecutive rows on one side of the split are a random sample of that side. The number of dropped
    documents, with an example, is logged.

    held_out_fraction  expected share of held-out documents, in (0, 1)
    about              further entries of the manifest (source settings, versions)

    Raises ValueError where there is no text, or no document on one side of the split.
    """
    if not 0 < held_out_fraction < 1:
        raise ValueError(f"held_out_fraction is {held_out_fraction}; expected a number between 0 and 1")
    kept: dict[str, Document] = {}
    equal: list[tuple[str, str]] = []
    blank: list[str] = []
    for document in documents:
        if not document.text or document.text.isspace():
            blank.append(document.name)
            continue
        text = _storable(document.text)
        sha256 = digest(text)
        if sha256 in kept:
            equal.append((document.name, kept[sha256].name))
        if sha256 not in kept or document.name < kept[sha256].name:
            kept[sha256] = Document(text, document.name)
    if equal:
        log.info(
            "documents with a text that another has, which counts once: %d, such as %r and %r",
            len(equal), *equal[0],
        )  # fmt: skip
    if blank:
        log.info("documents without text, which are left out: %d, such as %r", len(blank), blank[0])
    if not kept:
        raise ValueError(
            "the source yielded no text: every document was empty, or the source's filters left none; "
            "check its path, kind or packages"
        )
    hashes = sorted(kept)
    held_out = [is_held_out(sha256, held_out_fraction) for sha256 in hashes]
    if len(set(held_out)) == 1:
        which, other = ("every one", "smaller") if held_out[0] else ("none", "larger")
        raise ValueError(
            f"{which} of {len(hashes)} distinct documents is held out at held_out_fraction "
            f"{held_out_fraction}: give more (or shorter) documents, or a {other} fraction"
        )
    columns = [[kept[h].text for h in hashes], [kept[h].name for h in hashes], hashes, held_out]
    table = pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA)
    return with_manifest(table, manifest(table, held_out_fraction=held_out_fraction, **(about or {})))


def _storable(text: str) -> str:
    """Return a text with lone surrogates, which have no UTF-8, replaced; other texts unchanged."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def texts_of(table: pa.Table, *, held_out: bool) -> Iterator[str]:
    """Yield the texts of one side of the split, in order, without a copy of the whole side."""
    for text, out in zip(table["text"], table["held_out"], strict=True):
        if out.as_py() == held_out:
            yield text.as_py()


def never_trained_on(table: pa.Table, training: Iterable[pa.Table]) -> pa.Table:
    """Return ``table`` without the held-out documents that are on the training side of another table.

    If two distributions hold out different fractions, a document of both may be held out in one and trained
    on in the other. Rows of the training side stay.
    """
    seen = [
        other["sha256"].filter(pc.invert(other["held_out"])).combine_chunks() for other in training
    ]  # no text is copied
    if not seen:
        return table
    left_out = pc.and_(table["held_out"], pc.is_in(table["sha256"], pa.concat_arrays(seen)))
    if names := table["name"].filter(left_out).to_pylist():
        log.info(
            "documents held out here that are trained on in another distribution, left out: %d, such as %r",
            len(names), names[0],
        )  # fmt: skip
    return table.filter(pc.invert(left_out))


def manifest(table: pa.Table, **about: object) -> dict:
    """Return a summary of a table of documents as JSON data; equal tables have equal manifests.

    ``sha256`` is the hash of all names, hashes, sides (and parts) in order. ``sources`` counts documents and
    UTF-8 bytes by the first element of their names (a package, a folder), largest first, the rest as
    ``(others)``. ``about`` is added unchanged.
    """
    lengths = pc.utf8_length(table["text"]).to_pylist()
    held_out = table["held_out"].to_pylist()
    names = table["name"].to_pylist()
    sizes = pc.binary_length(table["text"]).to_pylist()
    whole = hashlib.sha256()
    columns = [name for name in table.column_names if name != "text"]
    for row in zip(*(table[column].to_pylist() for column in columns), strict=True):
        whole.update(repr(row).encode())
    return {
        "documents": len(lengths),
        "held_out_documents": sum(held_out),
        "characters": sum(lengths),
        "held_out_characters": sum(length for length, out in zip(lengths, held_out, strict=True) if out),
        "bytes": sum(sizes),
        "sha256": whole.hexdigest(),
        "sources": _by_source(names, sizes),
        **about,
    }


def _by_source(names: list[str], sizes: list[int]) -> dict[str, dict[str, int]]:
    counts: dict[str, list[int]] = {}
    for name, size in zip(names, sizes, strict=True):
        count = counts.setdefault(name.split("/")[0].split(":")[0], [0, 0])
        count[0] += 1
        count[1] += size
    ordered = sorted(counts.items(), key=lambda item: (-item[1][1], item[0]))
    listed, rest = ordered[:LISTED_SOURCES], ordered[LISTED_SOURCES:]
    if rest:
        listed.append(("(others)", [sum(c[0] for _, c in rest), sum(c[1] for _, c in rest)]))
    return {source: {"documents": count[0], "bytes": count[1]} for source, count in listed}

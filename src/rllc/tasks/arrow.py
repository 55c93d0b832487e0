"""Tables on disk: Arrow IPC streams that ``datasets.Dataset.from_file`` can open directly.

Every table of documents or blocks holds its manifest, as JSON, in the schema's metadata.
"""

import json
from collections.abc import Mapping
from os import PathLike

import numpy as np
import pyarrow as pa

MANIFEST = b"manifest"


def with_manifest(table: pa.Table, manifest: Mapping[str, object]) -> pa.Table:
    """Return ``table`` with ``manifest`` (any JSON data) in its schema's metadata."""
    return table.replace_schema_metadata({MANIFEST: json.dumps(manifest, sort_keys=True).encode()})


def read_manifest(table: pa.Table) -> dict:
    """Return the manifest of a table made by this package. Raises ValueError where it has none."""
    metadata = table.schema.metadata or {}
    if MANIFEST not in metadata:
        raise ValueError(
            "the table has no manifest: it was not written by rllc, or its schema metadata was dropped; run "
            "the rule that makes it"
        )
    return json.loads(metadata[MANIFEST])


def write_table(table: pa.Table, path: str | PathLike[str]) -> None:
    """Write ``table`` to ``path`` as an Arrow IPC stream, byte for byte the same for equal tables."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())


def read_table(path: str | PathLike[str]) -> pa.Table:
    """Return the table at ``path``, mapped into memory instead of read.

    Raises ValueError where the file is not an Arrow IPC stream.
    """
    try:
        with pa.memory_map(str(path)) as source:
            return pa.ipc.open_stream(source).read_all()
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"{path} is not a complete Arrow IPC stream ({error}): move it away and run again"
        ) from error


def as_array(table: pa.Table, column: str = "input_ids") -> np.ndarray:
    """Return nested lists of equal lengths as an array, without a copy where they are one chunk."""
    values = table[column]
    values = values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks)
    shape = [len(values)]
    while pa.types.is_fixed_size_list(values.type):
        shape.append(values.type.list_size)
        values = values.flatten()
    return values.to_numpy(zero_copy_only=True).reshape(shape)


def as_lists(array: np.ndarray) -> pa.Array:
    """Return a column from an array [rows, ...], a nested list per further axis. Inverse of ``as_array``."""
    column = pa.array(np.ascontiguousarray(array).reshape(-1))
    for size in reversed(array.shape[1:]):
        column = pa.FixedSizeListArray.from_arrays(column, size)
    return column

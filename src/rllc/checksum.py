"""The seal of a dataset: the SHA-256 of its bytes, at the end of the file.

HDF5 reads a file as far as its own account of its size goes, so everything opens a sealed netCDF-4 file as it
opens any other. Every byte is under the seal: numbers, labels and attributes. The checksums of the format
(fletcher32) would leave out text, scalars and attributes.
"""

import hashlib
from pathlib import Path

MARK = b"\nsha256\n"  # the last bytes of a sealed file; the digest stands before them
LENGTH = hashlib.sha256().digest_size + len(MARK)


def seal(path: Path) -> None:
    """Append the digest of a file's bytes and the mark."""
    with path.open("r+b") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
        file.write(digest + MARK)


def unsealed(path: Path) -> str | None:
    """What is wrong with a file by its seal; None where its bytes are those that were sealed."""
    content = memoryview(path.read_bytes())
    body, digest, mark = content[:-LENGTH], content[-LENGTH : -len(MARK)], content[-len(MARK) :]
    if mark != MARK:
        return "it does not end with its SHA-256: it is cut short, or something else wrote it"
    return None if hashlib.sha256(body).digest() == digest else "its SHA-256 is not the one at its end"

"""The seal of a dataset: the SHA-256 of its bytes, appended to the file.

HDF5 ignores bytes beyond the size recorded in its header, so every reader opens a sealed netCDF-4 file like
any other. The seal covers every byte: numbers, labels and attributes. The format's own checksums (fletcher32)
would leave out text, scalars and attributes.
"""

import hashlib
from pathlib import Path

# The last bytes of a sealed file; the digest stands before them. The mark changes when names in datasets do.
MARK = b"\nrllc-2\n"
EARLIER = b"\nsha256\n"  # the mark of versions with other names, as long as the present one
LENGTH = hashlib.sha256().digest_size + len(MARK)


def seal(path: Path) -> None:
    """Append the digest of a file's bytes and the mark."""
    with path.open("r+b") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
        file.write(digest + MARK)


def unsealed(path: Path) -> str | None:
    """Return what the seal says is wrong with a file; None where its bytes are intact."""
    content = memoryview(path.read_bytes())
    body, digest, mark = content[:-LENGTH], content[-LENGTH : -len(MARK)], content[-len(MARK) :]
    if mark == EARLIER:
        return "it was made by an earlier version"
    if mark != MARK:
        return "it does not end with its SHA-256: it is cut short, or something else wrote it"
    return None if hashlib.sha256(body).digest() == digest else "its SHA-256 is not the one at its end"

"""Weights on disk: safetensors with the model in the header. Nothing is unpickled."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as bytes_from_tensors
from torch import Tensor

from rllc.models.weights import check_weights
from rllc.store.atomic_write import whole

HEADER, CONTENT = "rllc", "tensors_sha256"


class CheckpointError(ValueError):
    """A checkpoint is missing, damaged, changed since it was written, or of another model."""


def save(tensors: Mapping[str, Tensor], path: str | Path, metadata: Mapping[str, Any]) -> None:
    """Write tensors (floating ones as float32) and JSON metadata atomically.

    Equal tensors and metadata give equal bytes. The header holds a digest of the tensors (``intact``).
    """
    path = Path(path)
    ready = {
        name: tensor.detach().to("cpu", torch.float32 if tensor.is_floating_point() else tensor.dtype)
        for name, tensor in tensors.items()
    }
    ready = {name: tensor.contiguous() for name, tensor in ready.items()}
    # One header entry holds all metadata: the order of several would not be fixed.
    header = json.dumps({**metadata, CONTENT: _digest(ready)}, sort_keys=True)
    content = bytes_from_tensors(ready, {HEADER: header})
    with whole(path) as temporary:
        temporary.write_bytes(content)


def read_metadata(path: str | Path) -> dict[str, Any]:
    """Return the metadata and the digest of the tensors, from the header. Tensors are not read."""
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get(HEADER)
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing: run the rule that makes it") from error
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is no sound safetensors file ({error}): make it again") from error
    if text is None:
        raise CheckpointError(f"{path} was not written by rllc: import it (see rllc.store.imported)")
    return json.loads(text)


def intact(path: str | Path) -> bool:
    """Return whether the tensors are unchanged since ``save``. Raises CheckpointError as ``load`` does."""
    return read_metadata(path).get(CONTENT) == _digest(load(path))


def load(path: str | Path, shapes: Mapping[str, tuple[int, ...]] | None = None) -> dict[str, Tensor]:
    """Return the tensors. If shapes are given, names and shapes must be exactly these.

    Raises CheckpointError if the file is missing or damaged, or holds another model.
    """
    return _tensors(_content(Path(path), "make it again"), Path(path), shapes)


def fitting(weights: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]], path: Path) -> None:
    """Raise CheckpointError if names or shapes are not those of the model."""
    try:
        check_weights(weights, shapes, path)
    except ValueError as error:
        raise CheckpointError(f"{error}. Give the model it was saved with, or make the file again") from error


def _content(path: Path, cure: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}): {cure}") from error


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 of names, shapes and values, in the order of the names."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        total.update(f"{name}{list(tensors[name].shape)}".encode())
        total.update(tensors[name].numpy().tobytes())
    return total.hexdigest()


def _tensors(content: bytes, path: Path, shapes: Mapping[str, tuple[int, ...]] | None) -> dict[str, Tensor]:
    try:
        tensors = tensors_from_bytes(content)
    except SafetensorError as error:
        raise CheckpointError(f"{path} is no sound safetensors file ({error}): make it again") from error
    if shapes is not None:
        fitting(tensors, shapes, path)
    return {name: tensors[name] for name in sorted(tensors)}  # safetensors does not fix their order

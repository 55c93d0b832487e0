"""Independent random streams, named rather than numbered.

A stream is identified by what it is for, never by the order in which streams are made, so adding a
seed, a head or a checkpoint changes no other stream. Nothing here touches a global generator.
"""

import hashlib

import numpy as np


def derive(*parts: int | float | str) -> int:
    """A 63-bit seed for the stream named by ``parts``: SHA-256 of their canonical text.

    ``derive(0, "sgld", 1500)`` and ``derive(0, "sgld", "1500")`` differ; the result is the same on
    every machine and in every Python.
    """
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(*parts: int | float | str) -> np.random.Generator:
    """NumPy generator for the stream named by ``parts``."""
    return np.random.default_rng(derive(*parts))

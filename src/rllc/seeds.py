"""Independent random streams, identified by names rather than numbers.

A stream's name states its purpose, never the order in which streams are made. So adding a seed, a head or a
checkpoint changes no other stream. Nothing here uses a global generator.
"""

import hashlib

import numpy as np


def derive(*parts: int | float | str) -> int:
    """Return a 63-bit seed for the stream named by ``parts``: SHA-256 of their canonical text.

    ``derive(0, "sgld", 1500)`` and ``derive(0, "sgld", "1500")`` differ; the result is the same on
    every machine and in every Python.
    """
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(*parts: int | float | str) -> np.random.Generator:
    """Return the NumPy generator of the stream named by ``parts``."""
    return np.random.default_rng(derive(*parts))

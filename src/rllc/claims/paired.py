"""Redraws of curves on shared contexts: errors of different checkpoints and heads are correlated.

A curve x has a value on each of B blocks of contexts (``<variable>_by_block``). A redraw is

    x + sum_b z_b (x_b - mean x_b) / sqrt(B (B - 1)),

with one normal number z_b per block for all curves of a seed: a bootstrap of blocks with normal weights. Its
covariances are those of the means over blocks, with B - 1 degrees of freedom. Curves on different contexts
are redrawn with the same numbers too. Their blocks are not correlated, so their covariance is zero up to
sampling.
"""

import zlib

import numpy as np
import xarray as xr

from rllc.claims.reading import REDRAW, REDRAWS, Redrawn

BLOCK = "block"  # dim of blocks of contexts


def known(value: xr.DataArray, blocks: xr.DataArray | None) -> bool:
    """Return whether every value is known on every block. A measure on too few contexts has no blocks."""
    return blocks is not None and bool(np.isfinite(blocks.where(value.notnull(), 0.0)).all())


def redrawn(value: xr.DataArray, blocks: xr.DataArray, seed: int) -> tuple[xr.DataArray, Redrawn]:
    """Return redraws [redraw, ...] of the value and the numbers they are made with.

    blocks  the value on each block of contexts: [..., block]
    """
    count = blocks.sizes[BLOCK]
    stream = np.random.default_rng(zlib.crc32(f"{BLOCK} {seed}".encode()))
    normals = xr.DataArray(stream.normal(size=(REDRAWS, count)), dims=(REDRAW, BLOCK))
    apart = (blocks - blocks.mean(BLOCK)) / np.sqrt(count * (count - 1))
    made = value + xr.dot(normals, apart, dim=BLOCK)
    drawn = Redrawn(normals.values, np.asarray([count - 1.0]), together=True)
    return made.transpose(REDRAW, *value.dims), drawn

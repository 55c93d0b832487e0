"""Curves over checkpoints, unchanged or interpolated to a uniform grid in log(step + 1).

Checkpoints are unevenly spaced. On this grid one unit of distance, or of lag, is the same ratio of training
steps. But much of the grid may lie before the first trained checkpoint, where a curve is a line from step 0.
"""

import numpy as np
import xarray as xr


def resample(values: xr.DataArray, *, points: int | None, standardize: bool = False) -> xr.DataArray:
    """Interpolate ``values`` linearly in ``log(step + 1)`` onto ``points`` uniform points.

    values       a dim ``step`` (its coordinate ascending) and any others; one curve per other index
    points       size of the grid, at least 2; its ends are the first and the last checkpoint; None: the
                 checkpoints themselves
    standardize  subtract each curve's mean over the grid and divide by its standard deviation
                 (a constant curve becomes 0)

    Returns the same dims with ``step`` replaced by ``grid``, last; coordinate ``grid`` holds
    ``log(step + 1)`` and ``grid_step`` the step it stands for. A missing (non-finite) cell is bridged by
    its neighbours, and the nearest value is held where the first or last cells are missing. A curve with
    fewer than two cells cannot be read: it is NaN throughout.

    Raises ValueError for fewer than 2 points or checkpoints, or steps that do not ascend.
    """
    if "step" not in values.dims or "step" not in values.coords:
        raise ValueError(f"resample needs a dim 'step' with its coordinate; the dims are {values.dims}")
    at = np.log1p(values["step"].values.astype(np.float64))
    if at.size < 2 or (points is not None and points < 2):
        raise ValueError(f"a grid needs 2 points and 2 checkpoints, got {points} and {at.size}")
    if not (np.diff(at) > 0).all():
        raise ValueError(
            "checkpoints must be in ascending order of step, each once: sort the dataset by step"
        )
    grid = at if points is None else np.linspace(at[0], at[-1], points)
    ordered = values.transpose(..., "step")
    curves = ordered.values.astype(np.float64).reshape(-1, at.size)
    out = np.full((len(curves), grid.size), np.nan)
    for row, curve in zip(out, curves, strict=True):
        known = np.isfinite(curve)
        if known.sum() >= 2:
            row[:] = np.interp(grid, at[known], curve[known])
    if standardize:
        out = z_score(out)
    coords = {name: coord for name, coord in ordered.coords.items() if "step" not in coord.dims}
    return xr.DataArray(
        out.reshape(*ordered.shape[:-1], grid.size),
        dims=(*ordered.dims[:-1], "grid"),
        coords={**coords, "grid": grid, "grid_step": ("grid", np.expm1(grid))},
        name=values.name,
        attrs=values.attrs,
    )


def z_score(curves: np.ndarray) -> np.ndarray:
    """Return curves with mean 0 and standard deviation 1 along the last axis; constant curves become 0."""
    centred = curves - curves.mean(axis=-1, keepdims=True)
    scale = centred.std(axis=-1, keepdims=True)
    flat = scale <= 1e-12 * (1 + np.abs(curves).max(axis=-1, keepdims=True, initial=0.0))
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, scale))

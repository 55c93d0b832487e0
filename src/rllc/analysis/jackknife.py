"""Jackknife error of a statistic of a curve: how much single checkpoints decide it."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from rllc.analysis.curves import NotJudged, measured

FEWEST = 4  # checkpoints: a statistic of those left needs three


def jackknife_error(statistic: Callable[[xr.DataArray], xr.DataArray], curve: xr.DataArray) -> xr.DataArray:
    """Return the standard error of a statistic over the choice of checkpoints.

    With x_i the statistic without checkpoint i of n, it is sqrt((n - 1) / n sum_i (x_i - mean x)^2). It has
    n - 1 degrees of freedom.

    Raises NotJudged with fewer than ``FEWEST`` checkpoints.
    """
    known = measured(curve)
    count = known.sizes["step"]
    if count < FEWEST:
        raise NotJudged(f"its error over checkpoints needs {FEWEST}, has {count}")
    left = [statistic(known.isel(step=np.flatnonzero(np.arange(count) != n))) for n in range(count)]
    return xr.concat(left, "left_out").std("left_out", ddof=0) * np.sqrt(count - 1)

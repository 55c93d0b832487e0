"""How often 95 % intervals contain the truth."""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr
from scipy import stats


def coverages(
    measured: Callable[[int], xr.Dataset], truth: Mapping[str, float], *, redraws: int, units: int
) -> dict[str, float]:
    """Return for each variable the share of redraws whose Student interval contains its truth.

    measured  variables and their ``_se``, by the number of the redraw; one value each
    truth     by variable
    units     that each redraw has
    """
    found = [measured(redraw) for redraw in range(redraws)]
    quantile = stats.t.ppf(0.975, units - 1)

    def hits(name: str) -> list[bool]:
        apart = [abs(float(each[name]) - truth[name]) for each in found]
        return [gap <= quantile * float(each[f"{name}_se"]) for gap, each in zip(apart, found, strict=True)]

    return {name: float(np.mean(hits(name))) for name in truth}

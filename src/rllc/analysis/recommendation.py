"""The rule applied to a sweep: which setting is recommended, and what it says of the settings in use."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from rllc.analysis.calibration import at_settings, recommend


def recommendation(
    datasets: Mapping[str, xr.Dataset],
    *,
    rule: Mapping[str, float],
    known: Mapping[str, Any],
    random_seed: int = 0,
) -> xr.Dataset:
    """Every criterion at every setting of ``calibration``, the choice, and where the known settings stand.

    known  kind of component -> setting -> its step_size, n_beta and localization
    """
    sweep = datasets["calibration"]
    made = recommend(sweep, **rule).merge(at_settings(sweep, known, **rule))
    if "distribution_label" in sweep.coords:
        named = dict(zip(sweep["distribution"].values, sweep["distribution_label"].values, strict=True))
        labels = [str(named.get(name, name)) for name in made["distribution"].values]
        made = made.assign_coords(distribution_label=("distribution", labels))
    return made.drop_attrs(deep=False)

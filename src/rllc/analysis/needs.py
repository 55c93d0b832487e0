"""The attribute that says what a variable needs to have a value. Tables of claims quote it."""

from collections.abc import Mapping

import xarray as xr

NEEDS = "needs"  # attribute: "two induction heads"


def needing(made: xr.Dataset, needed: Mapping[str, str]) -> xr.Dataset:
    """Write on each variable what it needs to have a value, and return the dataset."""
    for name, words in needed.items():
        made[name].attrs[NEEDS] = words
    return made

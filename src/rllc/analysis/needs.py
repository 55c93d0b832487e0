"""The attribute with the requirement of a variable. Tables of claims quote it."""

from collections.abc import Mapping

import xarray as xr

NEEDS = "needs"  # attribute: "two induction heads"


def needing(made: xr.Dataset, needed: Mapping[str, str]) -> xr.Dataset:
    """Set the requirement of each variable as attribute, and return the dataset."""
    for name, words in needed.items():
        made[name].attrs[NEEDS] = words
    return made

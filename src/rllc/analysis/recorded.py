"""Read the settings that a dataset records."""

import json
from typing import Any

import xarray as xr


def recorded(dataset: xr.Dataset, section: str) -> dict[str, Any]:
    """Return the settings of a section (attribute, JSON), as ``sampling``; empty if absent."""
    return json.loads(dataset.attrs.get(section, "{}"))

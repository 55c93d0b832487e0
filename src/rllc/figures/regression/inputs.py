"""What figures of in-context regression read off the datasets beside curves."""

import json
from collections.abc import Mapping
from typing import Any

import xarray as xr

from rllc.figures.style import step_text


def recorded(dataset: xr.Dataset, section: str) -> Mapping[str, Any]:
    """The settings that a measure recorded; empty where it recorded none."""
    return json.loads(dataset.attrs.get(section, "{}"))


def law(dataset: xr.Dataset, section: str) -> Mapping[str, Any]:
    """The law of the sequences among them."""
    return recorded(dataset, section).get("law", {})


def zero_loss(known: Mapping[str, Any]) -> float | None:
    """The loss of predicting 0: D + noise variance."""
    return known["dimension"] + known["noise_variance"] if known else None


def at(values: xr.DataArray, form: str = ".2f") -> str:
    """A value (no dims but scalar coordinates) and its step: "2.10 (step 1.2k)"."""
    return f"{float(values):{form}} (step {step_text(float(values['step']))})"


def least(values: xr.DataArray) -> xr.DataArray:
    """The smallest of ``values`` (step)."""
    return values[int(values.argmin("step"))]


def most(values: xr.DataArray) -> xr.DataArray:
    """The largest of ``values`` (step)."""
    return values[int(values.argmax("step"))]


def ends(values: xr.DataArray, form: str = ".2f") -> str:
    """ "0.13 to 0.02" of ``values`` (step)."""
    known = values.dropna("step")
    return f"{float(known[0]):{form}} to {float(known[-1]):{form}}" if known.size else "nothing measured"

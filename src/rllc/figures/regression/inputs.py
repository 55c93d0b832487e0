"""What figures of in-context regression read off the datasets beside curves, and their conditions."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from rllc.analysis.recorded import recorded
from rllc.figures.drawing import Datasets
from rllc.figures.stage_bands import BASE, bands, of_curve
from rllc.figures.stage_bands import of_stages as of_bands

PUBLISHED = "published"  # what the base setting, the paper's, is called in figures


def cell(datasets: Datasets, seed: int, setting: str = BASE) -> xr.Dataset | None:
    """What ``stages`` has of the LLC of one seed; None where it has nothing."""
    return of_curve(datasets, seed, None, setting)


def staged(datasets: Datasets, seed: int, setting: str = BASE) -> dict[str, Any]:
    """The part of a ``Panel`` that draws the stages of one seed, by its LLC at a setting."""
    return {"under": bands(cell(datasets, seed, setting))}


def of_stages(datasets: Datasets, seeds: xr.DataArray, setting: str = BASE) -> list[str]:
    """Return of which LLC the stages drawn are; nothing without stages."""
    every = {seed: cell(datasets, seed, setting) for seed in seeds.values.reshape(-1).tolist()}
    return of_bands(every, called(setting))


def called(setting: str) -> str:
    """Return what a sampling setting is called in figures."""
    return PUBLISHED if setting == BASE else setting


def law(dataset: xr.Dataset, section: str) -> Mapping[str, Any]:
    """The law of the sequences among them."""
    return recorded(dataset, section).get("law", {})


def of_sequences(source: xr.Dataset) -> list[str]:
    """Return on how many sequences predictions are measured, as ``in_context`` recorded."""
    count = recorded(source, "in_context").get("sequences")
    return [f"Measured on {count:,} sequences."] if count else []


def zero_loss(known: Mapping[str, Any]) -> float | None:
    """The loss of predicting 0: D + noise variance."""
    return known["dimension"] + known["noise_variance"] if known else None


def least(values: xr.DataArray) -> xr.DataArray:
    """The smallest of ``values`` (step)."""
    return values[int(values.argmin("step"))]


def most(values: xr.DataArray) -> xr.DataArray:
    """The largest of ``values`` (step)."""
    return values[int(values.argmax("step"))]

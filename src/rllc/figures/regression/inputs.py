"""Data and conditions of figures of in-context regression, read from their datasets."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from rllc.analysis.recorded import recorded
from rllc.figures.drawing import Datasets
from rllc.figures.stage_bands import BASE, bands, of_curve
from rllc.figures.stage_bands import of_stages as of_bands

PUBLISHED = "published"  # name of the base setting, the paper's, in figures


def cell(datasets: Datasets, seed: int, setting: str = BASE) -> xr.Dataset | None:
    """Return the data of ``stages`` about the LLC of one seed; None if it has none."""
    return of_curve(datasets, seed, None, setting)


def staged(datasets: Datasets, seed: int, setting: str = BASE) -> dict[str, Any]:
    """Return the keywords of a ``Panel`` that draw the stages of one seed, by its LLC at a setting."""
    return {"under": bands(cell(datasets, seed, setting))}


def of_stages(datasets: Datasets, seeds: xr.DataArray, setting: str = BASE) -> list[str]:
    """Return which LLC gives the stages drawn; nothing without stages."""
    every = {seed: cell(datasets, seed, setting) for seed in seeds.values.reshape(-1).tolist()}
    return of_bands(every, called(setting))


def called(setting: str) -> str:
    """Return the name of a sampling setting in figures."""
    return PUBLISHED if setting == BASE else setting


def law(dataset: xr.Dataset, section: str) -> Mapping[str, Any]:
    """Return the distribution of the sequences that an attribute of settings records."""
    return recorded(dataset, section).get("law", {})


def of_sequences(source: xr.Dataset) -> list[str]:
    """Return the number of sequences on which ``regression_predictions`` measured predictions."""
    count = recorded(source, "regression_predictions").get("sequences")
    return [f"Measured on {count:,} sequences."] if count else []


def zero_loss(known: Mapping[str, Any]) -> float | None:
    """Return the loss of predicting 0: D + noise variance."""
    return known["dimension"] + known["noise_variance"] if known else None


def of_minibatches(llc: xr.Dataset, distribution: str) -> list[str]:
    """Return from how many sequences the minibatches of an LLC come; nothing if that is not recorded."""
    held = recorded(llc, "inputs").get(distribution, {}).get("held_out", {})
    return [f"Minibatches: from {held['contexts']:,} sequences."] if "contexts" in held else []

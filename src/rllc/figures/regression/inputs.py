"""What figures of in-context regression read off the datasets beside curves."""

import json
from collections.abc import Mapping
from typing import Any

import xarray as xr

from rllc.figures import captions
from rllc.figures.drawing import Datasets
from rllc.figures.stage_bands import BASE, bands, of_curve, words
from rllc.figures.style import step_text

SEQUENCES = "The same sequences at all checkpoints and for all seeds."
HUES = "orange: rising, blue: falling, dotted: flat start's end"
PUBLISHED = "published"  # what the base setting, the paper's, is called in figures


def cell(datasets: Datasets, seed: int, setting: str = BASE) -> xr.Dataset | None:
    """What ``stages`` has of the LLC of one seed; None where it has nothing."""
    return of_curve(datasets, seed, None, setting)


def staged(datasets: Datasets, seed: int, setting: str = BASE) -> dict[str, Any]:
    """The part of a ``Panel`` that draws the stages of one seed, by its LLC at a setting."""
    return {"under": bands(cell(datasets, seed, setting))}


def boundaries(datasets: Datasets, seeds: xr.DataArray, setting: str = BASE) -> str:
    """What the bands are, and where they end in every one of ``seeds``; nothing without stages."""
    every = {seed: cell(datasets, seed, setting) for seed in seeds.values.reshape(-1).tolist()}
    said = "; ".join(f"seed {seed}: {words(one)}" for seed, one in every.items() if one is not None)
    name = PUBLISHED if setting == BASE else setting
    return captions.when(said, f"Bands: stages by the LLC, setting {name} ({HUES}); {said}.")


def recorded(dataset: xr.Dataset, section: str) -> Mapping[str, Any]:
    """The settings that a measure recorded; empty where it recorded none."""
    return json.loads(dataset.attrs.get(section, "{}"))


def law(dataset: xr.Dataset, section: str) -> Mapping[str, Any]:
    """The law of the sequences among them."""
    return recorded(dataset, section).get("law", {})


def of_sequences(source: xr.Dataset) -> str:
    """How many sequences predictions are measured on, as ``in_context`` recorded."""
    count = recorded(source, "in_context").get("sequences")
    return f"Measured on {count:,} sequences. {SEQUENCES}" if count else SEQUENCES


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

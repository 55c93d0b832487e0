"""Amount of held-out text behind a figure: the user's own text, and texts with few contexts."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from rllc.analysis.recorded import recorded
from rllc.figures.inputs import distribution_labels

OWN = ("files", "hub")  # sources of text that the user can enlarge


def fewer(dataset: xr.Dataset, count: int) -> str:
    """Return the texts with fewer than ``count`` different contexts: " Mine has only 41 different ones."."""
    if "distribution" not in dataset.coords:
        return ""
    held, labels = _held_out(dataset), distribution_labels(dataset)
    few = {name: held[name]["contexts"] for name in labels if name in held and held[name]["contexts"] < count}
    return "".join(f" {labels[name]} has only {contexts:,} different ones." for name, contexts in few.items())


def drawn_by_chain(setting: Mapping[str, Any]) -> int:
    """Return the number of contexts that a chain draws at a sampling setting; 0 if it is unknown."""
    return setting.get("draws", 0) * setting.get("thinning", 1) * setting.get("batch_size", 0)


def text(source: xr.Dataset, drawn: xr.Dataset) -> str:
    """Return the held-out contexts of the user's own text, and of text with fewer than chains draw.

    source  a dataset of estimates: its setting, and in ``inputs`` what its distributions hold
    drawn   what of it is drawn
    """
    if "distribution" not in drawn.coords:
        return ""
    setting, every = recorded(source, "sampling"), _held_out(source)
    count = drawn_by_chain(setting)
    sentences = []
    for name, label in distribution_labels(drawn).items():
        held = every.get(name, {})
        few = held.get("contexts", count) < count
        if few or held.get("source") in OWN:
            documents = f"{held['documents']:,} document{'s' * (held['documents'] != 1)}"
            drawn_by = f"; each chain draws {count:,}" if few else ""
            sentences.append(
                f"{label}: {held['contexts']:,} different held-out contexts of {documents}{drawn_by}."
            )
    return " ".join(sentences)


def _held_out(dataset: xr.Dataset) -> dict[str, dict]:
    """Return the held-out amounts of each text that the dataset records."""
    inputs = recorded(dataset, "inputs")
    facts = {name: each.get("held_out", {}) for name, each in inputs.items() if isinstance(each, dict)}
    return {name: each for name, each in facts.items() if "documents" in each}

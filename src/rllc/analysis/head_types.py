"""Classify each head by its attention scores at the last checkpoint."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.kinds import TYPES
from rllc.vocabulary import describe

SCORES = {
    "previous-token": "previous_token",
    "current-token": "current_token",
    "induction": "prefix_matching",
}
THRESHOLDS = {"previous_token": 0.2, "current_token": 0.2, "prefix_matching": 0.05}
# Prefix-matching score of any head at which induction begins, at any checkpoint; "early" ends there. Our
# value: five times the score of random weights in contexts of 128 tokens (0.011).
INDUCTION_BEGINS = 0.05
VARIABLES = {"head_type": ("type of the head by its attention scores at the last checkpoint", "1")}


def head_types(heads: xr.Dataset, *, thresholds: Mapping[str, float] = THRESHOLDS) -> xr.DataArray:
    """Return the type of each head: ``head_type`` (seed, head), strings from ``TYPES``.

    A head is previous-token, current-token or induction where ``previous_token``, ``current_token`` or
    ``prefix_matching`` (seed, step, head; mean attention weights in 0..1) at the last checkpoint is at
    least its threshold. If several are, the score that is largest **in units of its threshold** wins.
    A head below all thresholds is "multigram", the name of all other heads in arXiv 2410.02984, independent
    of its tokens. A head with a missing score and no score above its threshold is "unknown".

    Raises ValueError for a missing variable, or a threshold that is not positive.
    """
    for name in SCORES.values():
        if name not in heads:
            raise ValueError(f"head types need {', '.join(SCORES.values())}; the dataset has no {name!r}")
        if not thresholds.get(name, 0.0) > 0.0:
            raise ValueError(f"the threshold of {name!r} must be positive, got {thresholds.get(name)}")
    last = heads[list(SCORES.values())].sortby("step").isel(step=-1, drop=True).transpose("seed", "head")
    relative = last.map(lambda score: score / thresholds[score.name]).to_dataarray("score")
    best = relative.fillna(-np.inf).argmax("score")
    below = xr.where(relative.isnull().any("score"), TYPES.index("unknown"), TYPES.index("multigram"))
    index = xr.where(relative.max("score") >= 1.0, best, below)
    kinds = np.asarray(TYPES, dtype=object)[index.values]
    labels = xr.DataArray(kinds, index.coords, index.dims, name="head_type")
    labels.attrs["thresholds"] = ", ".join(f"{name} >= {thresholds[name]:g}" for name in SCORES.values())
    return describe(labels.to_dataset(), VARIABLES)["head_type"]


def types_at(types: xr.DataArray, labels: Mapping[str, Any]) -> xr.DataArray:
    """Return the types at these labels, "unknown" where a label is missing."""
    # xarray's stubs infer the type of fill_value from its default.
    return types.reindex(labels, fill_value="unknown")  # pyright: ignore[reportArgumentType]

"""What kind of head each head is, from its attention scores at the last checkpoint."""

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
# Mean attention to what followed the same token before at which induction has begun: here of any head, at any
# checkpoint; "early" ends with it. Ours: five times that of random weights in contexts of 128 tokens (0.011).
INDUCTION_BEGINS = 0.05
VARIABLES = {"head_type": ("type of the head by its attention scores at the last checkpoint", "1")}


def head_types(heads: xr.Dataset, *, thresholds: Mapping[str, float] = THRESHOLDS) -> xr.DataArray:
    """Type of each head: ``head_type`` (seed, head), strings from ``TYPES``.

    A head is previous-token, current-token or induction where ``previous_token``, ``current_token`` or
    ``prefix_matching`` (seed, step, head; mean attention weights in 0..1) at the last checkpoint is at
    least its threshold. Where several are, the score that is largest **in units of its threshold** wins.
    A head below all of them is "multigram", as arXiv 2410.02984 calls all the rest, whatever explains its
    tokens. A head with a missing score, and no other above its threshold, is "unknown".

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
    """Types at these labels of dims, "unknown" where there are none."""
    # xarray's stubs take the type of the default of fill_value for that of all its values.
    return types.reindex(labels, fill_value="unknown")  # pyright: ignore[reportArgumentType]

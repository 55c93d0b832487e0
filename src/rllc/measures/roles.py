"""Which heads play a part in a measure, by what other measures said at the last checkpoint."""

from collections.abc import Iterable, Mapping

import xarray as xr

from rllc.analysis.head_types import head_types
from rllc.vocabulary import layer_of


def of_type(heads: xr.Dataset, kind: str, *, thresholds: Mapping[str, float]) -> list[str]:
    """The heads of a type (``rllc.analysis.head_types``), layer by layer.

    heads  of ``attention_scores.nc`` one seed, its last checkpoint among the steps
    """
    types = head_types(heads, thresholds=thresholds).isel(seed=0)
    return [str(head) for head in types["head"].values[types.values == kind]]


def multigram(heads: xr.Dataset, layer: int, *, thresholds: Mapping[str, float]) -> list[str]:
    """The multigram heads of a layer, those that have none of the scores."""
    return [head for head in of_type(heads, "multigram", thresholds=thresholds) if layer_of(head) == layer]


def indices(labels: list[str]) -> list[tuple[int, int]]:
    """Layer and head of each label."""
    pairs = [label.split(":") for label in labels]
    return [(int(layer), int(head)) for layer, head in pairs]


def label(heads: Iterable[tuple[int, int]]) -> str:
    """The component of several heads, "1:0+1:1"; "" of none."""
    return "+".join(f"{layer}:{head}" for layer, head in sorted(heads))

"""Names shared by every dataset: head labels, and long names and units of variables.

Dims everywhere: ``seed, step, head, component, distribution, chain, draw, position``. The module
that computes a variable has its long name and unit in its ``VARIABLES`` table.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from rllc.units import NATS as NATS

STATUS = ("ok", "nonfinite", "diverged", "missing")
FREEDOM = "degrees_of_freedom"  # attribute of a standard error over few units: their number less one
# Attributes of an error over more units at some steps: these steps, and the degrees of freedom there. FREEDOM
# is then the smaller number, which holds at every step.
PRECISE_AT, PRECISE_FREEDOM = "precise_at", "precise_degrees_of_freedom"


def head_label(layer: int, head: int) -> str:
    """Return the label of a head, ``"layer:head"``, both counted from 0."""
    return f"{layer}:{head}"


def layer_of(head: str) -> int:
    """Return the layer of the label of a head or a group: 1 for "1:6" and for "group:1:6"."""
    return int(head.split(":")[-2])


def head_labels(n_layers: int, n_heads: int) -> list[str]:
    """Return the labels of all heads of a model, layer by layer."""
    return [head_label(layer, head) for layer in range(n_layers) for head in range(n_heads)]


def head_coords(labels: Sequence[str]) -> dict[str, tuple[str, np.ndarray]]:
    """Return the coordinates of the dim ``head``: label, layer, and index within the layer.

    labels  of heads ("1:6"), or of groups of heads that share keys and values ("group:1:0")
    """
    layers, indices = np.array([label.split(":")[-2:] for label in labels], dtype=np.int32).reshape(-1, 2).T
    return {
        "head": ("head", np.asarray(labels, dtype=object)),
        "layer": ("head", np.asarray(layers, dtype=np.int32)),
        "head_index": ("head", np.asarray(indices, dtype=np.int32)),
    }


def mlp_coords(labels: Sequence[str]) -> dict[str, tuple[str, np.ndarray]]:
    """Return the coordinates of the dim ``mlp``: the label ("mlp:1") and the layer."""
    layers = np.asarray([int(label.split(":")[1]) for label in labels], dtype=np.int32)
    return {"mlp": ("mlp", np.asarray(labels, dtype=object)), "mlp_layer": ("mlp", layers)}


def describe(dataset: xr.Dataset, variables: Mapping[str, tuple[str, str]]) -> xr.Dataset:
    """Give each variable found in ``dataset`` its ``(long_name, units)`` from ``variables``."""
    for name, (long_name, units) in variables.items():
        if name in dataset:
            dataset[name].attrs.pop("comment", None)  # inherited from the data it was computed from
            dataset[name].attrs.update(long_name=long_name, units=units)
    return dataset


def in_full(attributes: Mapping[str, Any], name: str) -> str:
    """Return the full description of a variable: its ``comment``, else its long name, else ``name``."""
    return str(attributes.get("comment") or attributes.get("long_name") or name)


def status_attributes() -> dict[str, object]:
    """Return the CF flag attributes of a ``status`` variable (int8; one value per chain)."""
    return {
        "long_name": "what became of the chain",
        "flag_values": np.arange(len(STATUS), dtype=np.int8),
        "flag_meanings": " ".join(STATUS),
    }

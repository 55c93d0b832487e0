"""The estimate of one replica of a toy model, and the table that results of a validation are put in."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from torch import Tensor

from rllc.estimator.llc import estimate
from rllc.validation import toys
from rllc.verdicts import MISSING, verdict_attributes
from rllc.vocabulary import describe

VARIABLES = {
    "llc": ("estimate per replica, mean over the ok chains", "1"),
    "llc_se": ("Monte Carlo standard error of the estimate", "1"),
    "rhat": ("rank-normalised split R-hat", "1"),
    "chains_ok": ("chains that are ok", "1"),
    "exact": ("what an exact run of the sampler gives at these settings", "1"),
    "posterior": ("n_beta E[loss] under the localised posterior", "1"),
    "coefficient": ("learning coefficient", "1"),
    "multiplicity": ("multiplicity of the learning coefficient", "1"),
    "localization": ("strength of the pull to the centre", "1"),
    "step_size": ("SGLD step size", "1"),
    "moves": ("moves of a chain, burn-in included", "1"),
    "layers": ("layers", "1"),
    "rank": ("rank of the true map", "1"),
    "parameters": ("parameters of one replica", "1"),
    "relative_error": ("(estimate - truth) / truth", "1"),
}
WHOLE = "full"


def replicated(
    loss: toys.ToyLoss,
    center: Mapping[str, Tensor],
    *,
    replicas: int,
    n_beta: float,
    masks: Mapping[str, Tensor] | None = None,
    batches: Sequence[Any] = (0.0,),
    **setting: Any,
) -> dict[str, float]:
    """Estimate of one replica of a toy model, from ``replicas`` of them in one loss.

    loss     over weights with a leading axis of replicas, and their mean (``rllc.validation.toys``)
    center   one replica's weights; masks: of one replica
    setting  the rest of what ``estimate`` takes

    Returns ``llc``, ``llc_se`` (of one replica), ``rhat``, ``chains_ok`` and ``verdict`` (of all together).
    """
    weights = toys.replicated(dict(center), replicas)
    selected = masks and {name: mask.expand(replicas, *mask.shape) for name, mask in masks.items()}
    found = estimate(
        loss, weights, batches, components={WHOLE: selected}, n_beta=n_beta * replicas, **setting
    ).isel(component=0)
    return {
        "llc": float(found["llc"]) / replicas,
        "llc_se": float(found["llc_se"]) / replicas,
        "rhat": float(found["rhat"]),
        "chains_ok": int((found["status"] == 0).sum()),
        "verdict": int(found["verdict"]),
    }


class Table:
    """Rows of a result, each at its labels; a dataset when all are there."""

    def __init__(self) -> None:
        self.rows: list[tuple[dict[str, Any], dict[str, float]]] = []

    def add(self, at: Mapping[str, Any], values: Mapping[str, float], *, truth: str) -> None:
        """One row: ``values`` at the labels ``at``, with its relative error against ``values[truth]``."""
        error = (values["llc"] - values[truth]) / values[truth]
        self.rows.append((dict(at), {**values, "relative_error": error}))

    def dataset(self) -> xr.Dataset:
        """All rows, along their labels in the order they came; NaN (verdict: missing) where there is none."""
        dims = tuple(self.rows[0][0])
        labels = {dim: list(dict.fromkeys(at[dim] for at, _ in self.rows)) for dim in dims}
        shape = tuple(len(each) for each in labels.values())
        arrays = {name: np.full(shape, np.nan) for name in self.rows[0][1]}
        arrays["verdict"] = np.full(shape, MISSING, dtype=np.int16)
        for at, values in self.rows:
            index = tuple(labels[dim].index(at[dim]) for dim in dims)
            for name, value in values.items():
                arrays[name][index] = value
        coords = {
            dim: (dim, np.asarray(each, dtype=object if isinstance(each[0], str) else None))
            for dim, each in labels.items()
        }
        dataset = xr.Dataset({name: (dims, values) for name, values in arrays.items()}, coords=coords)
        dataset["verdict"].attrs.update(verdict_attributes())
        return describe(dataset, VARIABLES)

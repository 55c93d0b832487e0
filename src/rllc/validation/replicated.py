"""Estimate one replica of a toy model, and tabulate the results of a validation."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr
from torch import Tensor

from rllc.estimator.llc import estimate
from rllc.quality import MISSING, QUALITY_DTYPE, quality_attributes
from rllc.validation import toys
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
    "relative_error": ("(estimate - truth) / truth: exact where it is known, else coefficient", "1"),
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
    """Return the estimate of one replica of a toy model, from ``replicas`` of them in one loss.

    loss     mean loss over weights with a leading axis of replicas (``rllc.validation.toys``)
    center   one replica's weights
    masks    one replica's masks
    setting  the other arguments of ``estimate``

    Returns ``llc``, ``llc_se`` (of one replica), ``rhat``, ``chains_ok`` and ``quality`` (of all replicas).
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
        "quality": int(found["quality"]),
    }


def table(rows: Iterable[Mapping[str, Any]], *, along: Sequence[str]) -> xr.Dataset:
    """Return the rows as a dataset along their labels, in the order of the rows, with relative errors.

    The errors are relative to ``exact`` where it is known, else to the learning coefficient.

    NaN (quality: missing) where there is no row.
    """
    frame = pd.DataFrame(rows)
    known = [frame[name].astype(float) for name in ("exact", "coefficient") if name in frame]
    truth = known[0].fillna(known[-1])
    frame["relative_error"] = (frame["llc"] - truth) / truth
    labels = {dim: frame[dim].drop_duplicates().to_numpy() for dim in along}
    dataset = frame.set_index(list(along)).astype(float).to_xarray().sel(labels).assign_coords(labels)
    quality = dataset["quality"].fillna(MISSING).astype(QUALITY_DTYPE)
    dataset["quality"] = quality.assign_attrs(quality_attributes())
    return describe(dataset, VARIABLES)

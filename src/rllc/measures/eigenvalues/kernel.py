"""The largest eigenvalues of the Hessian of the loss, by Lanczos iteration on its products."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.measures.data import Data, Measurement
from rllc.measures.hessian.kernel import hessian_times
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.seeds import generator


def eigenvalues(
    data: Data, *, contexts: int, scored_positions: int | None, count: int, tolerance: float
) -> Measurement:
    """The ``count`` largest on one minibatch, the same at every checkpoint."""
    (batch,) = data.batches("eigenvalues", count=1, batch_size=contexts, scored=scored_positions)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        seed = data.seed(step, seeded=True)
        return largest_eigenvalues(model.loss, weights, batch, count=count, tolerance=tolerance, seed=seed)

    return measure


def largest_eigenvalues(
    loss: Callable[[dict[str, Tensor], Any], Tensor],
    weights: Weights,
    batch: Any,
    *,
    count: int,
    tolerance: float,
    seed: int,
) -> xr.Dataset:
    """The ``count`` algebraically largest eigenvalues of the Hessian of ``loss(., batch)`` at ``weights``.

    tolerance  relative; scipy's ``eigsh`` (ARPACK), started at a random vector of ``seed``

    Returns ``hessian_eigenvalue`` (rank, from 1), descending, and ``hessian_products``, how many it took.
    Raises ValueError where the iteration does not come to an end.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    names, sizes = list(weights), [w.numel() for w in weights.values()]
    times, taken = hessian_times(loss, weights, batch), 0

    def product(vector: np.ndarray) -> np.ndarray:
        nonlocal taken
        taken += 1
        parts = torch.from_numpy(vector.ravel()).to(weights[names[0]]).split(sizes)
        moved = times({n: part.view(weights[n].shape) for n, part in zip(names, parts, strict=True)})
        return torch.cat([moved[n].flatten() for n in names]).double().cpu().numpy()

    # scipy has no types, and LinearOperator takes other arguments than its __init__ says.
    operator = LinearOperator((sum(sizes),) * 2, matvec=product, dtype=np.float64)  # pyright: ignore[reportCallIssue]
    start = generator(seed, "eigenvalues").standard_normal(sum(sizes))
    try:
        found = eigsh(
            operator,
            k=count,
            which="LA",
            v0=start,
            tol=tolerance,  # pyright: ignore[reportArgumentType]  # read as an int, as its default 0 is one
            return_eigenvectors=False,
        )
    except ArpackNoConvergence as error:
        raise ValueError(
            f"{len(error.eigenvalues)} of {count} eigenvalues were found: "
            f"raise `tolerance` above {tolerance:g}"
        ) from error
    ranks = {"rank": np.arange(1, count + 1)}
    return xr.Dataset(
        {"hessian_eigenvalue": ("rank", np.sort(found)[::-1].copy()), "hessian_products": taken}, coords=ranks
    )

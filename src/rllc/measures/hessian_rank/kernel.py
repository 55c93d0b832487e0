"""Rank of the Hessian of the loss: how many of its eigenvalues exceed a threshold, by three methods."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from torch import Tensor

from rllc.measures import spectrum
from rllc.measures.data import Data, Measurement
from rllc.measures.hessian.kernel import hessian_times
from rllc.measures.spectrum import Quadrature
from rllc.measures.traces import signs
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.seeds import derive

RANGES = ("fixed", "adaptive")
METHODS = ("chebyshev", "jackson", "lanczos")
SURE = 0.05  # share of the threshold within which a Ritz value is near an eigenvalue


def hessian_rank(data: Data, *, contexts: int, scored_positions: int | None, **settings: Any) -> Measurement:
    """``hessian_ranks`` on one minibatch, with the same probes at every checkpoint."""
    (batch,) = data.batches("hessian_rank", count=1, batch_size=contexts, scored=scored_positions)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        return hessian_ranks(model.loss, weights, batch, seed=data.seed(step, seeded=True), **settings)

    return measure


def hessian_ranks(
    loss: Callable[[dict[str, Tensor], Any], Tensor],
    weights: Weights,
    batch: Any,
    *,
    probes: int,
    degree: int,
    bounds: Sequence[float],
    threshold: float,
    adaptive_bound: float,
    adaptive_threshold: float,
    seed: int,
) -> xr.Dataset:
    """How many eigenvalues of the Hessian of ``loss(., batch)`` exceed a threshold: tr 1[H > threshold].

    Both ranges of arXiv 2410.02984, App. D.3, dim ``rank_range``: *fixed* (``bounds``, ``threshold``) and
    *adaptive* (+-``adaptive_bound`` and ``adaptive_threshold`` times the largest |eigenvalue|: the paper's
    multiples are lost, ours are the config's). Dim ``rank_method``:

    chebyshev  the paper's: tr p(H), p the step's Chebyshev expansion of ``degree`` on the range. p is not 0
               at 0, so each of the N weights counts some p(0) without any curvature:
               ``hessian_rank_offset`` = N p(0) is what would be counted of a Hessian of zeros
    jackson    the same with Jackson's damping
    lanczos    the masses of Ritz values above the threshold; ``hessian_rank_low`` and ``_high`` bracket what
               the probes see, whatever the spectrum is. No polynomial, so nothing leaks: its offset is 0

    All come from degree // 2 + 1 products per probe, of which the quadrature (spectrum.py) gives v . p(H) v
    exactly. Probe i of the signs is the stream (seed, "probe", i); means over probes, with standard errors
    (NaN of one probe) that do not hold the choice of text. By probes alone a count r has an error of about
    sqrt(2 r / probes).

    Returns ``hessian_rank``, ``_se``, ``_offset`` (rank_range, rank_method), of polynomials NaN where an
    eigenvalue is beyond the bounds; ``hessian_rank_low``, ``_high``, ``_threshold`` and ``_converged``
    (rank_range), the most Ritz values of a probe above the threshold of which each is within ``SURE`` of the
    threshold of an eigenvalue: a lower bound without noise; ``hessian_max_eigenvalue``,
    ``hessian_min_eigenvalue``, the outermost Ritz values, which lie within the true ones.

    Raises ValueError without probes, and as ``spectrum.lanczos`` and ``step_coefficients``.
    """
    if probes < 1:
        raise ValueError(f"{probes} probes: at least one is needed")
    times = hessian_times(loss, weights, batch)
    seen = [
        spectrum.lanczos(times, signs(weights, derive(seed, "probe", probe)), steps=degree // 2 + 1)
        for probe in range(probes)
    ]
    least, most = min(q.nodes[0] for q in seen), max(q.nodes[-1] for q in seen)
    size, largest = sum(w.numel() for w in weights.values()), max(abs(least), abs(most))
    fixed = _counts(seen, size, (bounds[0], bounds[1]), threshold, degree)
    bound = adaptive_bound * largest
    adaptive = xr.full_like(fixed, np.nan)  # of a Hessian of zeros, which has no scale
    if largest > 0:
        adaptive = _counts(seen, size, (-bound, bound), adaptive_threshold * largest, degree)
    ranges = xr.DataArray(np.asarray(RANGES, dtype=object), dims="rank_range", name="rank_range")
    counts = xr.concat([fixed, adaptive], ranges)
    return counts.assign(hessian_max_eigenvalue=most, hessian_min_eigenvalue=least)


def _counts(
    seen: Sequence[Quadrature], size: int, bounds: tuple[float, float], threshold: float, degree: int
) -> xr.Dataset:
    """All methods at one range and threshold."""
    curves = [
        spectrum.step_coefficients(bounds, threshold, degree, damped=damped) for damped in (False, True)
    ]
    lanczos = [spectrum.above(q, threshold) for q in seen]
    sure = max(spectrum.converged(q, threshold, tolerance=SURE) for q in seen)
    found = [[(q.masses * spectrum.polynomial(c, bounds, q.nodes)).sum() for q in seen] for c in curves]
    values = np.array([*found, [each.count for each in lanczos]])
    spread = values.std(1, ddof=1) / len(seen) ** 0.5 if len(seen) > 1 else np.full(len(METHODS), np.nan)
    offsets = [size * float(spectrum.polynomial(c, bounds, np.array(0.0))) for c in curves]
    return xr.Dataset(
        {
            "hessian_rank": ("rank_method", values.mean(1)),
            "hessian_rank_se": ("rank_method", spread),
            "hessian_rank_offset": ("rank_method", [*offsets, 0.0]),
            "hessian_rank_low": np.mean([each.low for each in lanczos]),
            "hessian_rank_high": np.mean([each.high for each in lanczos]),
            "hessian_rank_converged": float(sure),
            "hessian_rank_threshold": threshold,
        },
        coords={"rank_method": np.asarray(METHODS, dtype=object)},
    )

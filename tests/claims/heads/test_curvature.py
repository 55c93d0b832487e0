"""Curvature of the loss: claims against plain loops over a small run."""

import numpy as np
import pytest
import xarray as xr
from tests.claims.heads.small import STEPS, of
from tests.claims.runs import run

from rllc.analysis.curves import NotJudged
from rllc.claims.heads import curvature


def test_roughness_that_noise_explains_is_not_judged(datasets):
    """Four probes made a trace look rougher than the rLLC; with its errors known nothing is left to compare."""
    assert of(curvature.trace_rougher, datasets) > 1
    datasets["hessian"]["hessian_trace_head_se"] += 100.0
    with pytest.raises(NotJudged, match="noise"):
        curvature.trace_rougher(run(datasets))


def ranks(fixed, adaptive=(900, 910, 930, 960, 950, 940), *, zeros=100.0, error=1.0):
    """Published ranks over training, and the rank of a Hessian of zeros."""
    counts = np.asarray([fixed, adaptive], dtype=float).T[None, :, None, :, None]
    dims = ("seed", "step", "distribution", "rank_range", "rank_method")
    coords = {
        "seed": [0],
        "step": STEPS,
        "distribution": ["mixture"],
        "rank_range": ["fixed", "adaptive"],
        "rank_method": ["chebyshev"],
    }
    made = {
        "hessian_rank": counts,
        "hessian_rank_se": np.full_like(counts, error),
        "hessian_rank_offset": np.full_like(counts, zeros),
    }
    return {"hessian_rank": xr.Dataset({name: (dims, each) for name, each in made.items()}, coords)}


CHANGES = (200, 205, 210, 220, 215, 225)


def test_rank_that_changes_little_has_its_range_over_its_mean():
    assert of(curvature.rank_small_change, ranks(CHANGES)) == pytest.approx(25 / 212.5)


@pytest.mark.parametrize(
    "given",
    [
        ranks([100] * 6),  # zeros alone
        ranks([101, 99, 100, 102, 98, 100]),  # zeros and noise
        ranks(CHANGES, zeros=110.0),  # more than half of the mean, 212.5
        ranks(CHANGES, error=10.0),  # 212.5 less two errors is less than twice 100
    ],
)
@pytest.mark.parametrize("function", [curvature.rank_small_change, curvature.rank_methods_disagree])
def test_rank_of_a_hessian_of_zeros_is_not_judged(function, given):
    with pytest.raises(NotJudged, match="a Hessian of zeros would have the rank 1"):
        function(run(given))

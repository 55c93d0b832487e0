"""Curvature of the loss: claims against plain loops over a small run."""

import pytest
from tests.claims.heads.small import of
from tests.claims.runs import run

from rllc.analysis.curves import NotJudged
from rllc.claims.heads import curvature


def test_roughness_that_noise_explains_is_not_judged(datasets):
    """Four probes made a trace look rougher than the rLLC; with its errors known nothing is left to compare."""
    assert of(curvature.trace_rougher, datasets) > 1
    datasets["hessian"]["hessian_trace_head_se"] += 100.0
    with pytest.raises(NotJudged, match="noise"):
        curvature.trace_rougher(run(datasets))

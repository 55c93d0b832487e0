"""Claims on the curvature of the loss, by the Hessian."""

import xarray as xr

from rllc.analysis.curves import minimum_step, peak_step, places_reaching
from rllc.claims.claim import claim
from rllc.claims.regression.curves import BOUNDARIES, END, NEAR, PAPER
from rllc.claims.run import Run

ORDER = 7  # place of these claims among those of the work


def _trace(run: Run, *, from_step: float = 0) -> xr.DataArray:
    return run.curve("hessian.hessian_trace", from_step=from_step, distribution=run.text)


def _largest_eigenvalue(run: Run, *, from_step: float = 0) -> xr.DataArray:
    return run.curve("eigenvalues.hessian_eigenvalue", from_step=from_step, distribution=run.text, rank=1)


@claim(
    "The Hessian's trace rises with the LLC up to about 20k",
    source=f"{PAPER}, App. C.2.2",
    label="step of the largest Hessian trace",
    unit="steps",
    experiment="regression",
    at_least=10000,
    at_most=30000,
    reached=END,
    published="12,221",
)
def curv_trace(run: Run) -> xr.DataArray:
    """Return the step of the largest Hessian trace."""
    return peak_step(_trace(run))


@claim(
    "The Hessian's largest eigenvalue rises with the LLC up to about 20k",
    source=f"{PAPER}, App. C.2.2",
    label="step of the largest eigenvalue's maximum",
    unit="steps",
    experiment="regression",
    at_least=10000,
    at_most=30000,
    reached=END,
    published="13,954",
)
def curv_eigenvalue(run: Run) -> xr.DataArray:
    """Return the step of the maximum of the largest eigenvalue."""
    return peak_step(_largest_eigenvalue(run))


@claim(
    "Curvature rises again from about 120k",
    source=f"{PAPER}, App. C.2.2",
    label="step from which the largest eigenvalue rises again",
    unit="steps",
    experiment="regression",
    at_least=90000,
    at_most=160000,
    reached=END,
    published="116,161",
)
def curv_turn(run: Run) -> xr.DataArray:
    """Return the step of the least largest eigenvalue from step 40,000 on."""
    return minimum_step(_largest_eigenvalue(run, from_step=40_000))


@claim(
    "The Hessian's trace rises again from about 120k",
    source=f"{PAPER}, App. C.2.2",
    label="step from which the Hessian's trace rises again",
    unit="steps",
    experiment="regression",
    at_least=90000,
    at_most=160000,
    reached=END,
    published="171,717: fails",
)
def curv_turn_trace(run: Run) -> xr.DataArray:
    """Return the step of the least Hessian trace from step 40,000 on."""
    return minimum_step(_trace(run, from_step=40_000))


@claim(
    "The Hessian shows one of the four boundaries",
    source=f"{PAPER}, App. C.2.2",
    label="number of the published boundaries that ln of the Hessian's trace has",
    unit="boundaries",
    experiment="regression",
    at_most=1,
    reached=END,
    published="0: peak at 13,954, trough at 176,767",
)
def hess_misses(run: Run) -> xr.DataArray:
    """Return how many of the paper's boundaries the logarithm of the Hessian's trace has."""
    boundaries = run.curve("hessian_stages.at_boundary", distribution=run.text, kind="any")
    return places_reaching(boundaries, 1, BOUNDARIES, NEAR)

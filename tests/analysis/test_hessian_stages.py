import numpy as np
import pytest
import xarray as xr

from rllc.analysis.hessian_stages import hessian_stages
from rllc.analysis.stages import stages

STEP = np.array([0, *np.geomspace(100, 50_000, 40).astype(int)])


def bump(x, at, noise):
    return 3 * np.exp(-(((x - np.log(at)) / 0.8) ** 2)) + np.random.default_rng(0).normal(0, noise, x.size)


@pytest.fixture(scope="module")
def traces():
    """A peak of ln(trace) at another step in each seed, over a factor of 20."""
    x = np.log(np.maximum(STEP, 1))
    values = np.exp([bump(x, 1000, 0.02), bump(x, 4000, 0.02)])[..., None]
    values[1, 5] = -3.0
    coords = {"seed": [2, 7], "step": STEP, "distribution": ["pairs"]}
    return xr.Dataset({"hessian_trace": (("seed", "step", "distribution"), values)}, coords=coords)


@pytest.mark.parametrize(("seed", "at"), [(2, 1000), (7, 4000)])
def test_the_peak_of_a_trace_is_a_boundary(traces, seed, at):
    found = hessian_stages({"hessian": traces}, from_step=100)
    marked = found["at_boundary"].sel(seed=seed, distribution="pairs")
    peaks = marked.sel(kind="peak").dropna("step")
    (peak,) = peaks["step"].values[peaks.values > 0]
    assert peak == pytest.approx(at, rel=0.2)
    assert float(marked.sel(kind="any", step=peak)) == 2
    smooth = found["trace_smooth"].sel(seed=seed, distribution="pairs")
    assert float(smooth.max()) == pytest.approx(np.exp(3.0), rel=0.1)


def test_it_is_the_rule_of_llc_curves_on_the_logarithm(traces):
    own = hessian_stages({"hessian": traces}, from_step=100)["at_boundary"].sel(seed=2, distribution="pairs")
    curve = np.log(traces.sel(seed=[2]).rename(hessian_trace="llc"))
    curve = curve.assign(init_loss=curve["llc"]).assign_attrs(sampling='{"n_beta": 1.0}')
    other = stages({"llc": curve}, from_step=100, tolerance=8.0)["at_boundary"]
    other = other.sel(setting="sampling", distribution="pairs", seed=2)
    np.testing.assert_array_equal(own.transpose("step", "kind"), other.transpose("step", "kind"))


def test_checkpoints_before_the_first_and_traces_that_are_not_positive_are_left_out(traces):
    found = hessian_stages({"hessian": traces}, from_step=200)["trace_smooth"].sel(distribution="pairs")
    assert found["step"].values.tolist() == STEP.tolist()
    left_out = found.isnull()
    assert left_out.sel(seed=2).values.tolist() == (STEP < 200).tolist()
    assert left_out.sel(seed=7).values.tolist() == ((STEP < 200) | (np.arange(STEP.size) == 5)).tolist()

"""The traces of the Fisher information: every curve is drawn, and findings say where they end."""

import json

import numpy as np
import pytest
import xarray as xr

from rllc.figures.heads.curvature import rllc_fig15_fim_trace

NAMES = ("fim_trace", "fim_trace_ggn", "fisher_data")


@pytest.fixture
def fisher():
    dims = ("seed", "step", "distribution")
    values = np.arange(1.0, 13.0).reshape(2, 3, 2)
    variables = {n: (dims, 10.0 * i + values) for i, n in enumerate(NAMES)}
    variables |= {f"{n}_se": (dims, np.full(values.shape, 0.5)) for n in NAMES}
    coords = {"seed": [0, 1], "step": [0, 10, 100], "distribution": ["mixture", "code"]}
    attrs = {"fisher": json.dumps({"probes": 4, "batch_size": 2})}
    return xr.Dataset(variables, coords=coords, attrs=attrs)


def test_a_panel_per_seed_and_a_curve_per_trace(fisher):
    hessian = fisher.rename(fim_trace="hessian_trace", fim_trace_se="hessian_trace_se").isel(step=[0, 2])
    drawing = rllc_fig15_fim_trace({"fisher": fisher, "hessian": hessian}, distribution="code")
    shown = [ax for ax in drawing.figure.axes if ax.lines]
    assert len(shown) == 2
    for seed, ax in enumerate(shown):
        ends = sorted(line.get_ydata()[-1] for line in ax.lines if len(line.get_ydata()) > 1)
        last = fisher.isel(seed=seed, step=-1).sel(distribution="code")
        expected = sorted([float(last[n]) for n in NAMES] + [float(last["fim_trace"])])
        assert ends == pytest.approx(expected)
    last = fisher.isel(step=-1).sel(distribution="code")
    assert len(drawing.findings) == 4
    for finding, name in zip(drawing.findings, NAMES, strict=False):
        assert finding.value == pytest.approx(float(last[name].mean()))
        assert finding.error == pytest.approx(float(last[name].std(ddof=1)))
    assert "Contexts: 8 per checkpoint." in drawing.conditions


def test_the_hessian_is_left_out_where_there_is_none(fisher):
    drawing = rllc_fig15_fim_trace({"fisher": fisher}, seeds=[1])
    assert "hessian_trace" not in drawing.data
    last = fisher.isel(step=-1).sel(distribution="mixture", seed=1)
    assert [(f.value, f.error) for f in drawing.findings] == [(float(last[name]), 0.5) for name in NAMES]

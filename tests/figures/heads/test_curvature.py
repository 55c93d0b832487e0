"""Traces of the Hessian: which numbers stand in which panel."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from scipy.stats import spearmanr
from tests.figures.heads.small import SEEDS, along, curves, panels

from rllc.figures.heads.curvature import rllc_fig14_hessian_trace


def test_traces_of_the_model_and_of_heads_stand_by_layer_with_their_errors(two):
    data = two["hessian"].sel(distribution=["code", "mixture"])
    drawing = rllc_fig14_hessian_trace(two, distributions=["code", "mixture"])
    found = panels(drawing)
    assert len(found) == 2 * 2 * 3
    for n, (title, label, ax) in enumerate(found):
        seed, name, column = n // 6, ["code", "mixture"][n // 3 % 2], n % 3
        cell = data.sel(seed=seed, distribution=name)
        assert title.startswith(("full model", "layer 0", "layer 1")[column]) and f"seed {seed}" in title
        heads = cell["head"].values[cell["layer"].values == column - 1]
        of = cell["hessian_trace_head"].sel(head=heads) if column else cell["hessian_trace"]
        assert curves(ax, of.sizes["step"]) == along(of)
        error = cell["hessian_trace_head_se"].sel(head=heads) if column else cell["hessian_trace_se"]
        bands = [each for each in ax.collections if isinstance(each, PolyCollection)]
        edges = sorted(max(path.vertices[:, 1].max() for path in each.get_paths()) for each in bands)
        np.testing.assert_allclose(edges, sorted((of + error).max("step").values.ravel()))
        if column == 0:
            assert label.endswith("trace (nats/token)")
            assert label.startswith({"code": "code", "mixture": "mixture"}[name]) or "\n" in label


def test_the_order_of_traces_is_compared_with_that_of_estimates(two):
    rllc, trace = two["rllc"]["rllc"], two["hessian"]["hessian_trace_head"]
    names = [name for name in trace["distribution"].values if name in rllc["distribution"].values]
    each = [
        spearmanr(*(of.sel(seed=s, step=t, distribution=d).values for of in (rllc, trace)))[0]
        for s in SEEDS for t in rllc["step"].values for d in names
        if trace.sel(seed=s, step=t, distribution=d).notnull().all() and rllc.sel(seed=s, step=t, distribution=d).notnull().all()
    ]  # fmt: skip
    (found,) = (f for f in rllc_fig14_hessian_trace(two).findings if f.label.startswith("Spearman"))
    assert found.value == pytest.approx(np.nanmedian(each))


def test_bands_of_errors_over_four_probes_are_students_and_the_caption_says_so(two):
    """With 3 degrees of freedom, 68.3 % lie within 1.197 errors."""
    few = two["hessian"].copy(deep=True)
    for name in ("hessian_trace_se", "hessian_trace_head_se"):
        few[name].attrs["degrees_of_freedom"] = 3
    plain, wide = (rllc_fig14_hessian_trace({**two, "hessian": each}) for each in (two["hessian"], few))
    heights = [
        np.array([np.ptp(path.vertices[:, 1]) for each in ax.collections for path in each.get_paths()])
        for drawing in (plain, wide)
        for ax in [panels(drawing)[0][-1]]
    ]
    error, value = (two["hessian"][f"hessian_trace{end}"].isel(seed=0, distribution=0) for end in ("_se", ""))
    expected = [np.ptp([value - each * error, value + each * error]) for each in (1, 1.197)]
    assert [each.max() for each in heights] == pytest.approx(expected, rel=1e-3)
    assert any(each.startswith("Bands: one standard error over probes") for each in plain.conditions)
    (told,) = (each for each in wide.conditions if "68 % Student interval over probes" in each)
    assert told.endswith("3 degrees of freedom.")
    assert [each.error for each in wide.findings] == pytest.approx(
        [each.error for each in plain.findings], nan_ok=True
    )

"""Ablations: which numbers stand in which panel."""

import pytest
from tests.figures.heads.small import along, curves, panels

from rllc.figures.heads.ablations import rllc_fig17_ablations


def test_ablations_stand_by_layer_and_method(two):
    data = two["ablation"]["ablation"].sel(distribution="code")
    drawing = rllc_fig17_ablations(two, distribution="code")
    methods = data["method"].values.tolist()
    found = panels(drawing)
    assert len(found) == 2 * 2 * len(methods)
    for n, (title, label, ax) in enumerate(found):
        seed, layer, method = n // (2 * len(methods)), n // len(methods) % 2, methods[n % len(methods)]
        assert title.startswith(f"{method} ablation") and f"seed {seed}" in title
        if method == methods[0]:
            assert label == f"layer {layer}, loss added\n(nats/token)"
        cell = data.sel({"seed": seed, "method": method})
        assert curves(ax, cell.sizes["step"]) == along(cell.sel(head=cell["layer"].values == layer))
    one = data.isel(step=-1).max("head")
    for method, finding in zip(methods, drawing.findings, strict=True):
        values = one.sel({"method": method}).values
        assert method in finding.label
        assert (finding.value, finding.error) == pytest.approx((values.mean(), values.std(ddof=1)))


def test_captions_tell_how_many_contexts_were_read(drawn):
    assert "32 held-out contexts of each distribution" in drawn("rllc_fig17_ablations").caption

"""The rank of the Hessian: every count with what zeros count."""

import json

import numpy as np
import pytest
import xarray as xr

from rllc.measures.hessian_rank.figure import rllc_fig16_hessian_rank

METHODS = ["chebyshev", "jackson", "lanczos"]
WORDS = (
    "count by published method, ",
    "count by published method if all eigenvalues were 0, ",
    "count by Lanczos (at least 40, at most 60), ",
)


@pytest.fixture
def ranks():
    """(seed, step, distribution, rank_range, rank_method): 7,000 published, 7,100 of zeros, Lanczos 50."""
    shape = (2, 3, 1, 2, 3)
    dims = ("seed", "step", "distribution", "rank_range", "rank_method")
    counts = np.broadcast_to([7000.0, 300, 50], shape) + np.arange(3)[None, :, None, None, None]
    return xr.Dataset(
        {
            "hessian_rank": (dims, counts),
            "hessian_rank_se": (dims, np.full(shape, 4.0)),
            "hessian_rank_offset": (dims, np.broadcast_to([7100.0, 130, 0], shape)),
            "hessian_rank_low": (dims[:-1], np.full(shape[:-1], 40.0)),
            "hessian_rank_high": (dims[:-1], np.full(shape[:-1], 60.0)),
            "hessian_rank_converged": (dims[:-1], np.full(shape[:-1], 12.0)),
            "hessian_rank_threshold": (dims[:-1], np.full(shape[:-1], 0.5)),
            "hessian_max_eigenvalue": (dims[:3], np.full(shape[:3], 5.0)),
            "hessian_min_eigenvalue": (dims[:3], np.full(shape[:3], -0.5)),
        },
        coords={
            "seed": [0, 1], "step": [0, 10, 100], "distribution": ["mixture"],
            "rank_range": ["fixed", "adaptive"], "rank_method": METHODS,
        },
        attrs={
            "hessian_rank": json.dumps({"contexts": 3, "probes": 2, "bounds": [-1.0, 6.0], "threshold": 0.5})
        },
    )  # fmt: skip


def test_a_panel_per_range_and_seed_with_every_count_and_its_offset(ranks, misplaced):
    drawing = rllc_fig16_hessian_rank({"hessian_rank": ranks})
    shown = [ax for ax in drawing.figure.axes if ax.lines]
    assert [ax.get_title("left") for ax in shown[:2]] == ["fixed range, seed 0", "adaptive range, seed 0"]
    assert len(shown) == 4
    for ax in shown:
        ends = sorted(line.get_ydata()[-1] for line in ax.lines)
        assert ends == [12, 52, 130, 302, 7002, 7100]
        low, high = np.unique(ax.collections[0].get_paths()[0].vertices[:, 1])
        assert (low, high) == (40, 60)
    assert misplaced(drawing) == []


def found(drawing):
    """Values of the findings by range: of the published count, of zeros, of Lanczos."""
    ranges = {label: [f for f in drawing.findings if label in f.label] for label in ("fixed", "adaptive")}
    return {
        label: {name: f.value for name in WORDS for f in each if f.label.startswith(name)}
        for label, each in ranges.items()
    }


def test_hessian_rank_has_three_counts_of_each_range(ranks):
    drawing = rllc_fig16_hessian_rank({"hessian_rank": ranks})
    expected = dict(zip(WORDS, (7002, 7100, 52), strict=True))
    assert found(drawing) == {"fixed": expected, "adaptive": expected}
    assert not any("outside" in condition for condition in drawing.conditions)
    one = rllc_fig16_hessian_rank({"hessian_rank": ranks}, seeds=[1])
    assert one.findings[0].error == 4.0


def test_hessian_rank_with_a_range_too_narrow_has_no_published_count_of_it(ranks):
    polynomials = (ranks["rank_range"] == "fixed") & (ranks["rank_method"] != "lanczos")
    ranks["hessian_rank"] = ranks["hessian_rank"].where(~polynomials)
    ranks["hessian_max_eigenvalue"] += 2
    drawing = rllc_fig16_hessian_rank({"hessian_rank": ranks})
    assert found(drawing)["fixed"] == {WORDS[2]: 52}
    assert any("outside the fixed range of -1 to 6" in condition for condition in drawing.conditions)
    assert any("12 of 36 cells" in condition for condition in drawing.conditions)


def test_hessian_rank_counts_are_of_the_seeds_that_have_a_published_one(ranks):
    ranks["hessian_rank"] = ranks["hessian_rank"] + 100 * ranks["seed"]
    lost = (ranks["rank_range"] == "fixed") & (ranks["rank_method"] != "lanczos") & (ranks["seed"] == 1)
    ranks["hessian_rank"] = ranks["hessian_rank"].where(~lost)
    values = found(rllc_fig16_hessian_rank({"hessian_rank": ranks}))
    assert values["fixed"] == dict(zip(WORDS, (7002, 7100, 52), strict=True))
    assert values["adaptive"] == dict(zip(WORDS, (7052, 7100, 102), strict=True))

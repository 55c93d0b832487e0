"""The rank of the Hessian: every count with what zeros count, and a caption that says first what leaks."""

import json

import numpy as np
import pytest
import xarray as xr

from rllc.figures.heads.hessian_rank import rllc_fig16_hessian_rank

METHODS = ["chebyshev", "jackson", "lanczos"]


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


def test_the_leak_is_said_first(ranks):
    caption = rllc_fig16_hessian_rank({"hessian_rank": ranks}).caption
    assert caption.startswith(
        "The published method counts mostly zero eigenvalues: at step 100 7,002 on the fixed range (7,100 if all "
        "eigenvalues were 0; Lanczos: 52) and 7,002 on the adaptive range"
    )
    assert (
        "between -0.50 and 5.00 nats/token: the fixed range of -1 to 6 (threshold 0.5) holds them all"
        in caption
    )


def test_where_nothing_leaks_nothing_is_said_to(ranks):
    ranks["hessian_rank_offset"] = ranks["hessian_rank_offset"] / 100
    caption = rllc_fig16_hessian_rank({"hessian_rank": ranks}, seeds=[1]).caption
    assert caption.startswith("Published count: at step 100 7,002 on the fixed range (71 if all")


def test_a_range_that_is_too_narrow_is_said_to_be(ranks):
    polynomials = (ranks["rank_range"] == "fixed") & (ranks["rank_method"] != "lanczos")
    ranks["hessian_rank"] = ranks["hessian_rank"].where(~polynomials)
    ranks["hessian_max_eigenvalue"] += 2
    caption = rllc_fig16_hessian_rank({"hessian_rank": ranks}).caption
    assert "no count on the fixed range, which does not hold every eigenvalue (Lanczos: 52)" in caption
    assert "-1 to 6 (threshold 0.5) does not hold them all" in caption
    assert "12 of 36 cells of hessian_rank are missing" in caption


def test_both_counts_are_means_over_the_seeds_that_have_a_published_one(ranks):
    ranks["hessian_rank"] = ranks["hessian_rank"] + 100 * ranks["seed"]
    lost = (ranks["rank_range"] == "fixed") & (ranks["rank_method"] != "lanczos") & (ranks["seed"] == 1)
    ranks["hessian_rank"] = ranks["hessian_rank"].where(~lost)
    caption = rllc_fig16_hessian_rank({"hessian_rank": ranks}).caption
    assert (
        "7,002 on the fixed range (7,100 if all eigenvalues were 0; Lanczos: 52; mean of 1 of 2 seeds)"
        in caption
    )
    assert "7,052 on the adaptive range (7,100 if all eigenvalues were 0; Lanczos: 102)" in caption

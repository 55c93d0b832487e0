"""The summary of experiments."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from tests.figures.sorting.small import panel

from rllc.figures.sorting.summary import sort_summary


def test_points_of_estimates_that_are_not_reliable_are_hollow(sorting):
    claims = sorting.claims()
    share = np.zeros((claims.sizes["experiment"], 2))
    share[2, 1] = 0.9
    drawing = sort_summary({"claims": claims.assign(llc_fall_unreliable=(("experiment", "seed"), share))})
    lines = [a for a in panel(drawing, "fall of the LLC after it").get_lines() if a.get_linestyle() == "None"]
    (hollow,) = [a for a in lines if a.get_markerfacecolor() == "white"]
    np.testing.assert_array_equal(hollow.get_xdata(), claims["llc_fall"].isel(experiment=[2]).sel(seed=1))


def test_summary_has_a_bar_where_a_value_has_a_standard_error(sorting, misplaced):
    claims = sorting.claims()
    error = claims["llc_fall"].where(claims["seed"] == 1) * 0 + 0.6
    drawing = sort_summary({"claims": claims.assign(llc_fall_se=error, llc_peak_step_se=error * 1000)})
    assert misplaced(drawing) == []
    ax = panel(drawing, "fall of the LLC after it")
    bars = [line for c in ax.collections if isinstance(c, LineCollection) for line in c.get_segments()]
    known = claims["llc_fall"].sel(seed=1).values
    ends = sorted(line[:, 0].tolist() for line in bars if len(line) == 2 and np.isfinite(line).all())
    np.testing.assert_allclose(ends, sorted([value - 0.6, value + 0.6] for value in known))
    assert ax.get_xlim()[0] < known.min() - 0.6 and ax.get_xlim()[1] > known.max() + 0.6
    steps = panel(drawing, "step of the largest LLC").collections
    assert not any(isinstance(c, LineCollection) for c in steps)


def test_summary_has_a_point_per_seed_and_the_expected_range(sorting, misplaced):
    claims = sorting.claims()
    drawing = sort_summary({"claims": claims}, titles={"cumsum": "Cumulative sums"})
    assert misplaced(drawing) == []
    ax = panel(drawing, "fall of the LLC after it")
    points = [a for a in ax.get_lines() if a.get_linestyle() == "None"]
    for n, seed in enumerate(claims["seed"].values):
        np.testing.assert_array_equal(points[n].get_xdata(), claims["llc_fall"].sel(seed=seed))
    assert drawing.figure.axes[0].get_yticklabels()[-1].get_text() == "Cumulative sums"
    shaded = [c.get_paths()[0].get_extents() for c in panel(drawing, "step of the largest LLC").collections]
    assert [(box.x0, box.x1) for box in shaded] == [(500, 1300), (500, 1300)]
    low, high = panel(drawing, "step of the largest LLC").get_xlim()
    assert low < 500 and high > 1300
    dash = [t for t in panel(drawing, "fall of the overlap").texts if t.get_text() == "–"]
    assert len(dash) == 1 and dash[0].xy[1] == 0  # one head
    for title, per_cent in {"fall of the LLC after it": True, "step of the largest LLC": False}.items():
        axis = panel(drawing, title).xaxis
        assert (axis.get_major_formatter()(0.25, 0) == "25 %") == per_cent
    with pytest.raises(ValueError, match="no_such"):
        sort_summary({"claims": claims}, quantities={"no_such": "nothing"})


def test_no_step_of_the_largest_llc_is_drawn_where_it_is_the_last(sorting):
    claims = sorting.claims()
    claims["llc_fall"][:, 1] = 0.0
    drawing = sort_summary({"claims": claims})
    first, second = (
        line.get_xdata()
        for line in panel(drawing, "step of the largest LLC").get_lines()
        if line.get_linestyle() == "None"
    )
    np.testing.assert_array_equal(first, claims["llc_peak_step"].sel(seed=0))
    assert np.isnan(second).all()
    assert any("no peak is seen" in said for said in drawing.conditions)
    claims["llc_fall"][:] = 0.0
    assert not any("step of the" in each.label for each in sort_summary({"claims": claims}).findings)


def test_experiment_without_any_of_the_numbers_is_not_drawn(sorting):
    """A language model in the table has no number of the post."""
    claims = sorting.claims()
    names = [*claims["experiment"].values.tolist(), "language"]
    drawing = sort_summary({"claims": claims.reindex(experiment=names)})
    shown = [text.get_text() for text in drawing.figure.axes[0].get_yticklabels()]
    assert shown == names[:-1]

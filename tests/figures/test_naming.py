"""Names at the ends of lines and beside points: none over another."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.optimize import minimize

from rllc.figures.naming import Named, apart, at_ends, beside_points


@pytest.mark.parametrize("aim", [[0.0, 1.0, 1.5, 9.0, 9.1, 9.2, 30.0], [5.0, 5.0, 5.0], [0.0, 10.0], [3.0]])
def test_places_are_the_nearest_that_are_apart(aim):
    """Against a general solver of the same least squares."""
    aim, least = np.asarray(aim), 4.0
    found = apart(aim, least)
    limits = {"type": "ineq", "fun": lambda y: np.diff(y) - least}
    start = aim.mean() + least * np.arange(aim.size)
    best = minimize(lambda y: ((y - aim) ** 2).sum(), start, constraints=limits if aim.size > 1 else ())
    np.testing.assert_allclose(found, best.x, atol=1e-3)


def boxes(ax):
    ax.figure.draw_without_rendering()
    return {text.get_text(): text.get_window_extent() for text in ax.texts}


def test_names_of_lines_that_end_together_are_apart_and_in_order():
    ax = Figure(figsize=(3, 2), dpi=160, layout="constrained").subplots()
    ends = {"b": 1.01, "a": 1.0, "c": 1.02, "far": 9.0, "gone": np.nan}
    for y in ends.values():
        ax.plot([0, 1], [0, y])
    at_ends(ax, [Named(name, 1.0, y, "black") for name, y in ends.items()])
    found = boxes(ax)
    assert [*found] == ["a", "b", "c", "far"]
    assert not [pair for pair in combinations(found.values(), 2) if pair[0].overlaps(pair[1])]
    assert found["a"].y0 < found["b"].y0 < found["c"].y0
    assert all(box.x0 > ax.transData.transform((1.0, 0.0))[0] for box in found.values())


def test_names_of_points_cover_no_point_and_no_name():
    ax = Figure(figsize=(3, 2), dpi=160, layout="constrained").subplots()
    points = [(1.0, 1.0), (1.02, 1.0), (1.0, 1.05), (1.06, 1.06), (5.0, 5.0), (np.nan, 1.0)]
    ax.plot(*zip(*points, strict=True), "o")
    beside_points(ax, [Named(f"0:{n}", x, y, "black") for n, (x, y) in enumerate(points)])
    found = boxes(ax)
    assert [*found] == [f"0:{n}" for n in range(5)]
    assert not [pair for pair in combinations(found.values(), 2) if pair[0].overlaps(pair[1])]
    middles = ax.transData.transform(points[:5])
    assert not [1 for box in found.values() for middle in middles if box.contains(*middle)]
    inside = ax.get_window_extent()
    assert all(inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1) for box in found.values())

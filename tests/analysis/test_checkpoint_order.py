"""Checkpoints out of place, on paths whose truth is known."""

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.checkpoint_order import EQUAL, OUT_OF_PLACE, out_of_place

DIRECTION = np.asarray([3.0, -4.0, 12.0]) / 13


def series(path, steps=None):
    """What the measure says of checkpoints at these points: numbers on a line, or vectors."""
    points = np.asarray(path, dtype=float)
    points = points[:, None] * DIRECTION if points.ndim == 1 else points
    steps = list(range(len(points)) if steps is None else steps)

    def apart(back):
        gaps = np.linalg.norm(points[back:] - points[:-back], axis=1)
        return (("seed", "step"), [[*[np.nan] * back, *gaps]])

    return xr.Dataset(
        {
            "norm": (("seed", "step"), [np.linalg.norm(points, axis=1)]),
            "distance_to_previous": apart(1),
            "distance_to_second_previous": apart(2),
            "previous_step": (("seed", "step"), [[-1, *steps[:-1]]]),
            "digest": (("seed", "step"), np.asarray([[str(point) for point in points]], dtype=object)),
        },
        coords={"seed": [0], "step": steps},
    )


def found(path, flag, **given):
    """Steps with a flag."""
    outlier = out_of_place(series(path, **given))["outlier"].sel(seed=0)
    return outlier["step"].values[(outlier.values & flag) > 0].tolist()


def test_straight_line_turns_nowhere_and_has_no_detour():
    made = out_of_place(series([1.0, 2.0, 5.0, 5.5, 9.0])).sel(seed=0)
    np.testing.assert_allclose(made["turn"], [np.nan, 1, 1, 1, np.nan], atol=1e-12)
    np.testing.assert_allclose(made["detour"], [np.nan, 0, 0, 0, np.nan], atol=1e-12)
    np.testing.assert_allclose(made["relative_distance"], [np.nan, 1 / 2, 3 / 5, 0.5 / 5.5, 3.5 / 9])
    assert made["outlier"].values.tolist() == [0] * 5 and made["equal_to"].values.tolist() == [-1] * 5


def test_turn_is_the_cosine_and_detour_the_length_that_is_lost():
    made = out_of_place(series([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.0, 0.0]])).sel(seed=0)
    np.testing.assert_allclose(made["turn"], [np.nan, 0, -4 / 5, np.nan], atol=1e-12)
    np.testing.assert_allclose(made["detour"], [np.nan, 3 + 4 - 5, 4 + 5 - 3, np.nan])


@pytest.mark.parametrize("growth", [1.0, 1.2, 2.0])
@pytest.mark.parametrize(("one", "other"), [(2, 5), (3, 6), (2, 6)])
def test_two_exchanged_checkpoints_of_a_line_are_found_and_no_other(one, other, growth):
    path = np.cumsum(growth ** np.arange(9))
    path[[one, other]] = path[[other, one]]
    assert found(path, OUT_OF_PLACE) == [one, other]
    assert found(path, EQUAL) == []


@pytest.mark.parametrize(
    ("growth", "straight", "expected"),
    [(1.0, True, [2, 3]), (2.0, True, [2, 3]), (1.0, False, [2, 3]), (2.0, False, [2])],
)
def test_exchanged_neighbours_are_found_on_lines_and_in_independent_increments(growth, straight, expected):
    """Of increments that grow, the later one turns by less than 0.6, and one of the two is found."""
    sizes = growth ** np.arange(7)
    path = np.cumsum(sizes) if straight else np.cumsum(np.diag(sizes), axis=0)
    assert found(path, OUT_OF_PLACE) == []
    path[[2, 3]] = path[[3, 2]]
    assert found(path, OUT_OF_PLACE) == expected


def test_fluctuations_around_a_fixed_point_are_in_place():
    """Their turn is -1/2 in the limit of many weights."""
    path = np.random.default_rng(0).normal(size=(40, 20_000))
    made = out_of_place(series(path))
    np.testing.assert_allclose(made["turn"][0, 1:-1], -0.5, atol=0.05)
    assert found(path, OUT_OF_PLACE) == []


def test_checkpoint_of_another_run_is_found_alone():
    path = np.cumsum(np.eye(8), axis=0)
    path[4] = 50 * np.random.default_rng(0).normal(size=8)
    assert found(path, OUT_OF_PLACE) == [4]


def test_repeated_checkpoint_is_equal_and_explains_the_turn_before_it():
    path = [0.5, 1.0, 1.1, 5.0, 1.0, 6.0, 7.0]
    assert found(path, EQUAL, steps=[0, 10, 20, 30, 40, 50, 60]) == [40]
    made = out_of_place(series(path, steps=[0, 10, 20, 30, 40, 50, 60])).sel(seed=0)
    assert made["equal_to"].values.tolist() == [-1, -1, -1, -1, 10, -1, -1]
    assert made["turn"].sel(step=30) == pytest.approx(-1) and made["outlier"].sel(step=30) == 0


def test_adjacent_repeat_has_no_turn_and_is_equal():
    made = out_of_place(series([1.0, 2.0, 2.0, 3.0, 4.0])).sel(seed=0)
    assert made["outlier"].values.tolist() == [0, 0, EQUAL, 0, 0]
    assert np.isnan(made["turn"][:3]).all() and made["turn"][3] == 1


def test_three_equal_checkpoints_name_the_first():
    made = out_of_place(series([1.0, 5.0, 1.0, 1.0]))
    assert made["equal_to"].values.tolist() == [[-1, -1, 0, 0]]


def test_seeds_are_told_apart():
    one, other = series([1.0, 2.0, 3.0, 4.0]), series([1.0, 2.0, 1.0, 4.0])
    made = out_of_place(xr.concat([one, other.assign_coords(seed=[5])], "seed"))
    assert made["equal_to"].values.tolist() == [[-1] * 4, [-1, -1, 0, -1]]


def test_checkpoint_beside_a_missing_one_has_no_turn():
    """A part that is not there yet leaves out steps, and NaN where another seed has them."""
    whole = series([1.0, 5.0, 2.0, 3.0, 4.0, 5.5])
    made = out_of_place(whole.isel(step=[0, 1, 3, 4, 5]))
    assert made["turn"].notnull().values.tolist() == [[False, False, True, True, False]]
    holes = whole.where(whole["step"] != 2)
    assert out_of_place(holes)["turn"].notnull().values.tolist() == [[False, False, False, True, True, False]]
    assert out_of_place(holes)["equal_to"].dtype == np.int64


def test_rule_and_meanings_are_recorded():
    attrs = out_of_place(series([1.0, 2.0, 3.0]))["outlier"].attrs
    assert attrs["flag_meanings"].split() == ["out_of_place", "equal_tensors"]
    assert attrs["flag_masks"].tolist() == [OUT_OF_PLACE, EQUAL]
    assert "turn below -0.6" in attrs["rule"]

"""Marks, names and findings of the integrity of checkpoints."""

import json

import numpy as np
import pytest
import xarray as xr
from tests.figures.drawings import misplaced, unnamed

from rllc.analysis.checkpoint_order import EQUAL, OUT_OF_PLACE
from rllc.measures.integrity.figure import checkpoint_integrity


def dataset(count, flags=(), seeds=(0,)):
    """A smooth series with flagged checkpoints: (index, flag)."""
    steps = np.unique([0, *np.geomspace(1, 143_000, count - 1).astype(int)]) if count > 3 else [0, 10, 100]
    shape, dims = (len(seeds), len(steps)), ("seed", "step")
    curve = np.linspace(6, 3, shape[1]) + np.zeros(shape)
    outlier, equal = np.zeros(shape, np.int8), np.full(shape, -1)
    turn = np.full(shape, 0.8)
    for index, flag in flags:
        outlier[0, index] = flag
        turn[0, index] = -0.9
        equal[0, index] = steps[0] if flag & EQUAL else -1
    turn[:, [0, -1]] = np.nan
    return xr.Dataset(
        {
            "loss": (dims, curve, {"units": "nats/token"}),
            "loss_se": (dims, np.full(shape, 0.1), {"degrees_of_freedom": 31}),
            "relative_distance": (dims, np.where(np.arange(shape[1]) == 0, np.nan, 0.1 + 0 * curve)),
            "turn": (dims, turn),
            "equal_to": (dims, equal),
            "outlier": (dims, outlier),
        },
        coords={"seed": list(seeds), "step": steps},
        attrs={"integrity": json.dumps({"contexts": 32, "batch_size": 8, "distribution": "docs"})},
    )


def names(drawing):
    return [text.get_text() for text in drawing.figure.axes[0].texts]


def labels(drawing):
    return {finding.label: finding.value for finding in drawing.findings}


@pytest.mark.parametrize("count", [3, 12, 154])
def test_series_of_any_length_is_legible_and_complete(count):
    drawing = checkpoint_integrity({"checkpoints": dataset(count)})
    assert not misplaced(drawing) and not unnamed(drawing)
    loss, apart, turn = (max(len(line.get_xdata()) for line in ax.lines) for ax in drawing.figure.axes)
    steps = drawing.data.sizes["step"]
    assert (loss, apart, turn) == (steps, steps - 1, max(steps - 2, 2))  # two ends of the bound
    assert names(drawing) == []
    assert labels(drawing)["checkpoints out of place"] == 0
    assert "Loss on 32 contexts of docs." in drawing.conditions


def test_flagged_checkpoints_are_marked_and_named_with_the_one_that_they_equal():
    given = dataset(12, [(4, OUT_OF_PLACE), (7, EQUAL | OUT_OF_PLACE)])
    steps = given["step"].values
    drawing = checkpoint_integrity({"checkpoints": given})
    assert names(drawing) == [f"{steps[4]:,}", f"{steps[7]:,} = 0"]
    told = labels(drawing)
    assert told["checkpoints out of place"] == 2 and told["checkpoints equal to an earlier one"] == 1
    assert told[f"turn at step {steps[4]:,}"] == pytest.approx(-0.9)
    assert told[f"step with the tensors of step {steps[7]:,}"] == 0
    legend = [text.get_text() for text in drawing.figure.axes[0].get_legend().get_texts()]
    assert len(legend) == 2
    assert not misplaced(drawing)


def test_equal_neighbours_are_marked_where_their_distance_of_zero_has_no_place():
    given = dataset(12, [(5, EQUAL)])
    given["relative_distance"][0, 5] = 0.0
    marked = checkpoint_integrity({"checkpoints": given}).figure.axes[1].lines
    at = [line.get_ydata() for line in marked if line.get_xdata().tolist() == [given["step"].values[5]]]
    assert len(at) == 1 and np.isfinite(at[0]).all()


def test_seeds_have_columns_and_a_missing_checkpoint_has_no_mark():
    given = dataset(12, [(4, OUT_OF_PLACE)], seeds=(0, 1)).astype(float)
    given = given.where(given["step"] != given["step"][2])
    drawing = checkpoint_integrity({"checkpoints": given})
    assert len([ax for ax in drawing.figure.axes if ax.get_visible()]) == 6
    assert any("Crosses: 2 of 24" in each for each in drawing.conditions)
    assert labels(drawing)["checkpoints out of place"] == 1
    (one,) = checkpoint_integrity({"checkpoints": given}, seeds=[1]).data["seed"].values
    assert one == 1

"""The figure of numbers of tasks."""

import json

import numpy as np
import pytest
from tests.figures.regression.small import (
    LAW,
    line,
    panel,
)

from rllc.figures.regression.pools import stage_figC2


def test_every_number_of_tasks_has_its_distances(study, numbers):
    def of(tasks, factor):
        law = json.dumps({"sequences": 60, "law": LAW | {"tasks": tasks}})
        near = {"delta_prior": study["regression_predictions"]["delta_prior"] * factor}
        return study["regression_predictions"].assign(near).assign_attrs(regression_predictions=law)

    given = {
        "regression_predictions": of(16, 0.5),
        "regression_predictions@endless": of(None, 1.0),
        "regression_predictions@four": of(4, 0.25),
    }
    drawing = stage_figC2(given, seed=1)
    assert drawing.data["tasks"].values.tolist() == ["4", "16", "endless"]
    one = study["regression_predictions"].sel(seed=1)
    line(panel(drawing, "distance from the mean task's prediction"), one["delta_prior"] / 4)
    line(panel(drawing, "distance from 0"), one["delta_zero"])
    found = numbers(drawing)
    for tasks, factor in (("4", 0.25), ("16", 0.5)):
        assert found(f"ratio, tasks {tasks}").value == pytest.approx(
            factor * float(one["delta_prior"].min() / one["delta_zero"].min())
        )
    assert found("most tasks").value == 16
    other = numbers(stage_figC2(given | {"regression_predictions@more": of(65536, 4.0)}, seed=1))
    assert other("most tasks").value == 16 and other("tasks 65,536").value > 1


def test_least_distances_are_drawn_by_number_of_tasks_without_step_0(study):
    """The untrained model may be nearest to 0, and the claims leave it out too."""
    nearest = study["regression_predictions"].copy(deep=True)
    nearest["delta_zero"].loc[{"step": 0}] = 1e-9

    def of(tasks):
        law = json.dumps({"sequences": 60, "law": LAW | {"tasks": tasks}})
        return nearest.assign_attrs(regression_predictions=law)

    given = {f"regression_predictions{end}": of(n) for end, n in (("", None), ("@a", 256), ("@b", 4))}
    drawing = stage_figC2(given, seed=1)
    ax = panel(drawing, "least distance by number of tasks")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["4", "256", "endless"]
    later = nearest.sel(seed=1, step=slice(1, None))
    for name, variable in (("to_zero", "delta_zero"), ("to_prior", "delta_prior")):
        expected = [float(later[variable].min())] * 3
        assert any(np.array_equal(line.get_ydata(), expected) for line in ax.get_lines()), name
        assert drawing.data[f"least_{name}"].values.tolist() == expected

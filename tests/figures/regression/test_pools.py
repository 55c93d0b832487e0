"""The figure of numbers of tasks."""

import json

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
    line(panel(drawing, "mean squared distance from the mean task's prediction"), one["delta_prior"] / 4)
    line(panel(drawing, "mean squared distance from 0"), one["delta_zero"])
    found = numbers(drawing)
    for tasks, factor in (("4", 0.25), ("16", 0.5)):
        assert found(f"ratio, tasks {tasks}").value == pytest.approx(
            factor * float(one["delta_prior"].min() / one["delta_zero"].min())
        )
    assert found("most tasks").value == 16
    other = numbers(stage_figC2(given | {"regression_predictions@more": of(65536, 4.0)}, seed=1))
    assert other("most tasks").value == 16 and other("tasks 65,536").value > 1

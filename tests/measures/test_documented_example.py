"""The measure that docs/development.md shows as an example works as it is written there."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

import rllc
from rllc.study.specs import MeasureSpec

TEXT = (Path(__file__).resolve().parents[2] / "docs/development.md").read_text()
SPEC, KERNEL, FIGURE = re.findall(r'```python\n("""Entropy.*?)```', TEXT, re.S)


def run(code):
    names = {"__name__": "example"}
    exec(compile(code, "docs/development.md", "exec"), names)
    return names


def test_the_row_names_the_kernel_and_the_variable_that_it_returns():
    row = run(SPEC)["MEASURE"]
    module, _, function = row.kernel.partition(":")
    assert isinstance(row, MeasureSpec) and module == f"rllc.measures.{row.name}.kernel"
    assert function in run(KERNEL) and set(row.variables) == {"entropy"}


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_the_kernel_returns_the_entropy_of_the_predictions(scale):
    """Of weights that are all zero, the logarithm of the number of tokens."""
    shape = rllc.Architecture(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=16, d_vocab=11)
    model = rllc.AttentionOnly(shape)
    weights = {name: scale * weight for name, weight in model.initial_weights(seed=0).items()}
    data = rllc.InMemoryData(held_out=np.random.default_rng(0).integers(0, 11, (32, 16)))
    section = run(SPEC)["PredictionEntropy"](contexts=16, batch_size=8)
    settings = section.model_dump(exclude={"distributions"})
    found = run(KERNEL)["prediction_entropy"](data, **settings)(weights, model, 0)
    batches = data.batches("metrics", count=2, batch_size=8, scored=None)
    logits = torch.cat([model.outputs(weights, batch) for batch in batches])
    expected = torch.distributions.Categorical(logits=logits).entropy().mean().item()
    assert found["entropy"].item() == pytest.approx(expected, rel=1e-5)
    assert (found["entropy"].item() == pytest.approx(np.log(11), rel=1e-5)) == (scale == 0)


def test_the_figure_draws_a_line_for_every_distribution():
    values = np.linspace(2.0, 1.0, 12).reshape(1, 6, 2)
    coords = {"seed": [0], "step": [0, 1, 2, 4, 8, 16], "distribution": ["mixture", "code"]}
    data = xr.Dataset({"entropy": (("seed", "step", "distribution"), values)}, coords)
    data.attrs["prediction_entropy"] = json.dumps({"contexts": 16, "batch_size": 8})
    drawing = run(FIGURE)["prediction_entropy"]({"prediction_entropy": data})
    lines = [line.get_ydata() for axes in drawing.figure.axes for line in axes.get_lines()]
    for n in range(2):
        assert any(np.array_equal(line, values[0, :, n]) for line in lines)
    assert [finding.value for finding in drawing.findings] == [values[0, -1, 0], values[0, -1, 1]]

"""The figure of n-grams by layer and of attention to lone spaces."""

import json

import numpy as np
import pytest
import xarray as xr
from tests.analysis.test_migration import tokens

from rllc.analysis.migration import migration
from rllc.figures.heads.migration import ngram_migration
from rllc.study.figures import FIGURES


@pytest.fixture(scope="module")
def datasets():
    kinds = np.asarray([["multigram", "induction"]], dtype=object)
    types = xr.Dataset({"head_type": (("seed", "head"), kinds)}, {"seed": [0], "head": ["0:0", "1:0"]})
    made = tokens().assign_attrs(tokens=json.dumps({"top": 4, "searched": 12}))
    return {"tokens": made, "attention_scores": types}


def test_layers_and_heads_are_drawn_with_their_errors(datasets, misplaced, numbers):
    drawing = ngram_migration(datasets)
    made = migration(datasets["tokens"])
    left, right = drawing.figure.axes
    for n, container in enumerate(left.containers):
        np.testing.assert_allclose(
            container.lines[0].get_ydata(), made["ngram_effect_of_layer"].isel(seed=0, of_layer=n)
        )
    for n, container in enumerate(right.containers):
        np.testing.assert_allclose(
            container.lines[0].get_ydata(), made["space_attention"].isel(seed=0, step=n)
        )
    first = numbers(drawing)("n-grams' effect in layer 1 at step 100")
    cell = made.sel(seed=0, step=100)
    assert first.value == pytest.approx(100 * float(cell["ngram_effect_of_layer"].sel(of_layer=1)))
    assert first.error == pytest.approx(100 * float(cell["ngram_effect_of_layer_se"].sel(of_layer=1)))
    assert numbers(drawing)("heads, of 2, that attend to lone spaces", "at step 900").value == 0
    assert misplaced(drawing) == []
    assert drawing.caption.endswith(".") and len(drawing.caption.split()) <= 120


def test_heads_count_whose_interval_of_attention_to_lone_spaces_is_above_uniform(datasets, numbers):
    """Two examples of head 1:0 at the last step: 0.5 above uniform attention, and nearly as much or 0.27."""
    for second, number in ((0.83, 1), (0.6, 0)):
        given = datasets["tokens"].copy(deep=True)
        given["attention"][0, 1, 1] = [[0, 0.5, 0, 0.5, 0], [0, second, 1 - second, 0, 0]]
        found = numbers(ngram_migration({**datasets, "tokens": given}))
        assert found("that attend to lone spaces", "at step 900").value == number


def test_its_row_names_the_datasets_that_it_reads():
    row = FIGURES["ngram_migration"]
    assert row.needs == ("tokens",) and row.uses == ("attention_scores",)


def test_two_seeds_have_a_row_each_and_means(datasets, misplaced):
    both = datasets["tokens"].sel(seed=[0, 0]).assign_coords(seed=[0, 1])
    types = datasets["attention_scores"].sel(seed=[0, 0]).assign_coords(seed=[0, 1])
    drawing = ngram_migration({"tokens": both, "attention_scores": types})
    assert len(drawing.figure.axes) == 4
    assert all("mean and sd of 2 seeds" in each.label for each in drawing.findings)
    assert misplaced(drawing) == []


def test_a_vocabulary_without_a_lone_space_has_no_finding_on_spaces(datasets):
    named = datasets["tokens"].assign_coords(text=("token", np.asarray(["a"] * 5, dtype=object)))
    drawing = ngram_migration({**datasets, "tokens": named})
    assert not any("spaces" in each.label for each in drawing.findings)

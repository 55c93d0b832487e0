import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from rllc.analysis.across_heads import separation, silhouette
from rllc.analysis.ranks import spearman

TYPES = np.asarray(["a", "a", "b", "b", "a", "a", "b"], dtype=object)
LAYERS = np.asarray([0, 0, 0, 0, 1, 1, 1])
VALUES = np.random.default_rng(0).normal(size=(3, 7))


def over(name, values=VALUES, types=TYPES, layers=LAYERS):
    function = {"separation": separation, "silhouette": silhouette}[name]
    return function(np.asarray(values, dtype=float), types, layers)


def test_eta_squared_is_what_a_regression_on_types_explains_within_layers():
    """R^2 of least squares on an indicator of each type in each layer, of values less their layer's mean."""
    less = VALUES - np.stack([VALUES[:, layer == LAYERS].mean(1) for layer in LAYERS], 1)
    cells = sorted({*zip(TYPES, LAYERS, strict=True)})
    design = np.asarray(
        [[(t, n) == cell for cell in cells] for t, n in zip(TYPES, LAYERS, strict=True)], float
    )
    expected = []
    for row in less:
        left = row - design @ np.linalg.lstsq(design, row, rcond=None)[0]
        expected.append(1 - (left @ left) / (row @ row))
    np.testing.assert_allclose(over("separation"), expected, rtol=1e-12)
    deeper = np.stack([VALUES, VALUES[::-1]])  # [distribution, step, head]
    np.testing.assert_allclose(over("separation", deeper), [expected, expected[::-1]], rtol=1e-12)


def test_eta_squared_of_types_that_say_all_or_nothing():
    assert over("separation", [[1, 1, 5, 5, 20, 20, 28]]).item() == 1
    assert over("separation", [[1, 2, 1, 2, 3, 4, 3.5]]).item() == pytest.approx(0)
    assert np.isnan(over("separation", np.ones((1, 7)))).all()  # nothing varies
    alone = np.asarray(list("abcdefg"), dtype=object)
    assert np.isnan(over("separation", types=alone)).all()  # no type has two heads
    assert np.isnan(over("separation", types=np.full(7, "a", dtype=object))).all()  # one type alone


def test_silhouette_is_that_of_scikit_learn():
    expected = [silhouette_score(row[:, None], TYPES) for row in VALUES]
    np.testing.assert_allclose(over("silhouette"), expected, rtol=1e-12)
    single = np.asarray(["a", "a", "b", "a", "a", "a", "a"], dtype=object)
    expected = [silhouette_score(row[:, None], single) for row in VALUES]
    np.testing.assert_allclose(over("silhouette", types=single), expected, rtol=1e-12)
    assert np.isnan(over("silhouette", types=np.full(7, "a", dtype=object))).all()
    assert np.isnan(over("silhouette", VALUES[:, :2], TYPES[[0, 2]], LAYERS[:2])).all()


def test_rank_correlation_over_heads_at_each_checkpoint():
    other = np.stack([np.exp(VALUES[0]), -VALUES[1], VALUES[2] ** 3])
    np.testing.assert_allclose(spearman(VALUES, other), [1, -1, 1])

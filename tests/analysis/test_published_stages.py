import numpy as np
import pytest

from rllc.analysis.published_stages import published
from rllc.claims.published import DATA

CURVES = np.loadtxt(DATA / "published_llc.csv", delimiter=",", dtype=str, skiprows=4)


def curve(name):
    return CURVES[CURVES[:, 0] == name, 1:3].astype(float).T


@pytest.mark.parametrize("peak", [70, 300, 2000])
def test_a_plateau_is_at_the_checkpoint_of_the_minimum(peak):
    """A parabola in ln(step + 1): the slope is zero at the peak, and one checkpoint early it is not."""
    step = np.expm1(np.linspace(np.log(11), np.log(10_000), 24))
    at = int(np.abs(step - peak).argmin())
    value = 50 - 20 * (np.log1p(step) - np.log1p(step[at])) ** 2
    assert published(step, value, restarts=1).tolist() == [step[at]]


def test_the_published_regression():
    """Ten plateaus after step 900, where the paper has four boundaries.

    From 35k on a process without noise is fitted to checkpoints that lie a hundredth of its length apart: its
    matrix has a condition number of 6e14, and rounding moves minima by a checkpoint or two, or makes one. In
    50 digits they are 35353, 46003, 55555, 131313, 348484 and 489898.
    """
    plateaus = published(*curve("lr1"))
    assert plateaus[:7].tolist() == [2, 7, 10, 31, 1124, 15932, 25252]
    late = plateaus[7:]
    assert 6 <= late.size <= 9
    assert late[[0, 1, 2, 3, -2, -1]] == pytest.approx([36e3, 46003, 55555, 131313, 348484, 489898], rel=0.15)


def test_the_published_language_model():
    """A tolerance of 0.25 finds nothing before step 8,800, and one of 2 some 70 plateaus."""
    listed = published(*curve("lm2"), tolerance=0.25, minima=False, restarts=0)
    assert listed.min() > 8000
    wide = published(*curve("lm2"), tolerance=2.0, restarts=0)
    assert wide[:3].tolist() == [900, 6500, 8800]
    assert (wide > 16_000).sum() > 50

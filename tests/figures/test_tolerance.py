"""Numbers of stage boundaries by the tolerance of the rule."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit

from rllc.analysis.plateaus import FLATNESS, TOLERANCES
from rllc.analysis.stages import stages
from rllc.figures.tolerance import stage_tolerance

STEPS = np.geomspace(100, 50_000, 30).astype(int)
SEEDS = [0, 1]


@pytest.fixture(scope="module")
def datasets():
    x = np.log(STEPS)
    shape = 100 * expit((x - np.log(1000)) / 0.3) + 30 * expit((x - np.log(20_000)) / 0.2)
    values = np.stack([shape - depth * expit((x - np.log(6000)) / 0.2) for depth in (25, 0)])[..., None]
    dims, coords = (
        ("seed", "step", "distribution"),
        {"seed": SEEDS, "step": STEPS, "distribution": ["mixture"]},
    )
    made = xr.Dataset({"llc": (dims, values), "llc_se": (dims, np.full_like(values, 0.5))}, coords)
    loss = 8 - 0.4 * np.log(made["llc"]["step"]) + 0 * made["llc"]
    made = made.assign(init_loss=loss).assign_attrs(
        sampling=json.dumps({"n_beta": 30.0, "localization": 9.0})
    )
    return {"llc": made, "stages": stages({"llc": made}, tolerance=8.0)}


def lines(ax):
    return [line for line in ax.lines if len(line.get_xdata()) == len(TOLERANCES)]


def test_counts_of_every_seed_and_of_the_published_curve_are_drawn(datasets, misplaced, numbers):
    drawing = stage_tolerance(datasets)
    assert misplaced(drawing) == []
    table = datasets["stages"].sel(setting="sampling", distribution="mixture")
    for ax, name in zip(drawing.figure.axes, ("boundary_count", "determined_count"), strict=True):
        drawn = [line.get_ydata().tolist() for line in lines(ax)]
        theirs = drawing.data[f"published_{name}"]
        assert drawn == [*theirs.values.tolist(), *table[name].values.tolist()]
        assert lines(ax)[0].get_xdata().tolist() == list(TOLERANCES)
    both = table["boundary_count"].sel(flatness=FLATNESS).values
    assert numbers(drawing)("boundaries at 0.08, mean")[1:3] == pytest.approx((both.mean(), both.std(ddof=1)))


def test_published_curve_is_also_read_at_our_checkpoints(datasets):
    """Of ours at every second checkpoint, the authors' curve has another count."""
    thin = {name: data.isel(step=slice(None, None, 5)) for name, data in datasets.items()}
    full, few = (stage_tolerance(each).data["published_boundary_count"] for each in (datasets, thin))
    np.testing.assert_array_equal(full.sel(grid="all"), few.sel(grid="all"))
    assert (full.sel(grid="ours") != few.sel(grid="ours")).any()


def test_an_unknown_published_curve_is_refused(datasets):
    with pytest.raises(ValueError, match="no published curve 'lm3': expected one of lm2"):
        stage_tolerance(datasets, published="lm3")

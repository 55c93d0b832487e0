"""Landscapes of toy potentials."""

import numpy as np
import pytest
import xarray as xr

from rllc.figures.sampler.landscapes import POINTS, validation_landscapes
from rllc.validation.truths.potentials import POTENTIALS


@pytest.fixture
def potentials():
    names = ["sum_2_2_2", "sum_4_4", "crossing_2_2", "crossing_4_4", "sum_2_2", "two_wells_at_1"]
    value = [float(POTENTIALS[name].coefficient.value) for name in names]
    labels = np.asarray([POTENTIALS[name].label for name in names], dtype=object)
    coords = {"potential": np.asarray(names, dtype=object), "label": ("potential", labels)}
    data = xr.Dataset({"coefficient": ("potential", value)}, coords)
    return data.expand_dims(n_beta=[10.0, 100.0], localization=[10.0])


def test_landscapes_are_those_of_potentials_of_two_coordinates(potentials, misplaced, tmp_path):
    drawing = validation_landscapes({"potentials": potentials})
    assert misplaced(drawing) == []
    data = drawing.data
    order = data["potential"].values.tolist()
    assert set(order) == {"sum_2_2", "sum_4_4", "crossing_2_2", "crossing_4_4", "two_wells_at_1"}
    assert order[0] == "sum_2_2" and order[-1] == "crossing_4_4"
    assert data["loss"].shape == (5, POINTS, POINTS)
    quartic = float(
        data["loss"]
        .sel(
            potential="sum_4_4",
        )
        .isel(offset_1=120, offset_2=60)
    )
    assert quartic == pytest.approx(0.5**4 + 0.25**4)
    wells = float(
        data["loss"]
        .sel(
            potential="two_wells_at_1",
        )
        .isel(offset_1=120, offset_2=60)
    )
    assert wells == pytest.approx(0.5**2 * (1.5**2 + 0.25**2) ** 4)
    shares = {finding.label.split(", ")[1]: finding.value for finding in drawing.findings}
    assert list(shares) == order
    assert shares["sum_2_2"] == pytest.approx(100 * np.pi * 1e-3 / 4, rel=0.1)  # a disc of radius sqrt(0.001)
    assert shares["crossing_4_4"] > 10 * shares["sum_2_2"]
    assert len(drawing.caption.split()) <= 120
    data.to_netcdf(tmp_path / "a.nc")


def test_study_without_such_potentials_is_told_what_to_add(potentials):
    with pytest.raises(ValueError, match="add sum_4_4"):
        validation_landscapes({"potentials": potentials.sel(potential=["sum_2_2_2"])})

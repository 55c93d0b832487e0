"""LLCs on several texts: shifted copies, and numbers counted by hand."""

import numpy as np
import pytest
import xarray as xr

from rllc.analysis import domains as module
from rllc.analysis.domains import domains
from rllc.analysis.plateaus import PEAK, TROUGH

STEPS = np.asarray([0, 10, 100, 200, 400, 800, 1600, 3200, 6400])
NAMES = ["mixture", "stories", "physics", "python"]
BASE = np.asarray([5.0, 30.0, 60.0, 90.0, 100.0, 95.0, 80.0, 90.0, 110.0])


def study(error=0.0):
    """A copy with another offset, one with another scale, and one turned over from step 50 on."""
    python = np.where(STEPS >= 50, 200 - BASE, BASE)
    values = np.stack([BASE, BASE + 20, 2 * BASE, python], axis=-1)[None]
    dims = ("seed", "step", "distribution")
    coords = {"seed": [0], "step": STEPS, "distribution": NAMES}
    return {
        "llc": xr.Dataset({"llc": (dims, values), "llc_se": (dims, np.full(values.shape, error))}, coords)
    }


def of(datasets, **settings):
    told = {"reference": "mixture", "programming": ["python"], "science": ["physics"], "stage": [400, 1600]}
    return domains(datasets, **{**told, **settings}).isel(seed=0, step=0)


def test_copies_correlate_and_what_is_turned_over_does_not():
    made = of(study())
    np.testing.assert_allclose(made["correlation"], [1, 1, 1, -1])
    assert made["least_correlation"] == pytest.approx(1)
    assert made["correlation_gap"] == pytest.approx(2)
    assert made["science_fall"] == pytest.approx(0, abs=1e-12)  # twice the LLC falls by the same share
    scaled = study()
    scaled["llc"]["llc"][0, 6, 2] = 2 * 70
    assert of(scaled)["science_fall"] == pytest.approx(0.3 - 0.2)


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:invalid value")
def test_errors_are_the_spread_of_redrawn_curves(monkeypatch):
    made, random = of(study(error=5.0)), np.random.default_rng(3)
    late = STEPS >= 50
    a, b = (random.normal(curve[late], 5.0, (4000, late.sum())) for curve in (BASE, BASE + 20))
    truth = np.std([np.corrcoef(x, y)[0, 1] for x, y in zip(a, b, strict=True)])
    assert made["correlation_se"].sel(distribution="stories") == pytest.approx(truth, rel=0.1)
    fall = [1 - x / y for x, y in zip(*(random.normal(m, 5.0, 4000) for m in (80, 100)), strict=True)]
    other = [1 - x / y for x, y in zip(*(random.normal(m, 5.0, 4000) for m in (160, 200)), strict=True)]
    assert made["science_fall_se"] == pytest.approx(np.hypot(np.std(fall), np.std(other)), rel=0.1)
    found = []
    for draws in (1, 2):  # of the same stream: two redraws, whose sample deviation is known
        monkeypatch.setattr(module, "REDRAWS", draws)
        found.append(of(study(error=5.0))["science_fall_se"].item())
    drawn = np.random.default_rng(0)
    one, other = (drawn.normal(study()["llc"]["llc"].values[0], 5.0) for _ in range(2))
    falls = [(1 - x[6] / x[4])[2] - (1 - x[6] / x[4])[0] for x in (one, other)]
    assert np.isnan(found[0]) and found[1] == pytest.approx(abs(falls[0] - falls[1]) / 2**0.5)
    exact = of({"llc": study()["llc"].drop_vars("llc_se")})
    assert exact["least_correlation"] == pytest.approx(1) and exact["least_correlation_se"].isnull()


def test_extrema_are_compared_with_the_nearest_of_their_kind():
    """Known: half an octave off, none at all (the whole training, 6 octaves), and the other kind does not count."""
    steps = [[400.0, 1600.0], [400 * 2**0.5, 1600.0], [1600.0, np.nan], [400.0, np.nan]]
    kinds = [[PEAK, TROUGH], [PEAK, TROUGH], [TROUGH, ""], [PEAK, ""]]
    dims = ("setting", "distribution", "seed", "boundary")
    stages = xr.Dataset(
        {
            "boundary_step": (dims, np.asarray(steps)[None, :, None]),
            "boundary_kind": (dims, np.asarray(kinds, dtype=object)[None, :, None]),
        },
        coords={"setting": ["sampling"], "distribution": NAMES, "seed": [0], "boundary": [0, 1]},
    )
    whole = np.log2(6400 / 10)
    made = of({**study(), "stages": stages})
    assert made["boundary_shift"] == pytest.approx(np.median([0.5, 0, whole, 0, 0, whole]))
    assert of({**study(), "stages": stages.assign(boundary_kind=stages["boundary_kind"].copy(data=np.full((1, 4, 1, 2), "start", object)))})["boundary_shift"].isnull()  # fmt: skip
    assert of(study())["boundary_shift"].isnull()
    alike = stages.isel(distribution=[0] * 4).assign_coords(distribution=NAMES, seed=[1])
    both = {
        "llc": xr.concat([study()["llc"], study()["llc"].assign_coords(seed=[1])], "seed"),
        "stages": xr.concat([stages, alike], "seed"),
    }
    told = {"reference": "mixture", "programming": ["python"], "science": ["physics"], "stage": [400, 1600]}
    assert domains(both, **told)["boundary_shift"].values[:, 0].tolist() == [made["boundary_shift"].item(), 0]


def test_what_cannot_be_said_is_missing():
    made = of(study(), stage=[400, 9000])
    assert made["science_fall"].isnull() and made["science_fall_se"].isnull()
    assert of(study(), stage=[400, 6400])["science_fall"].notnull()  # training ends where the stage does
    made = of(study(), science=[], programming=[], stage=None)
    assert made["science_fall"].isnull() and made["correlation_gap"].isnull()
    assert made["least_correlation"] == pytest.approx(-1)
    few = study()
    few["llc"]["llc"][0, 4:, 1] = np.nan
    assert of(few)["correlation"].sel(distribution="stories").isnull()
    few["llc"]["llc"][0, 4, 1] = BASE[4]  # 3 checkpoints of step 50 and later, at which the curves rise
    assert of(few)["correlation"].sel(distribution="stories") > 0
    with pytest.raises(ValueError, match="no distribution prose; it has mixture, stories, physics, python"):
        of(study(), science=["prose"])


def test_it_is_kept_as_a_file(tmp_path):
    made = domains(study(), reference="mixture", programming=[], science=[], stage=None)
    made.to_netcdf(tmp_path / "domains.nc")
    assert all({"units", "long_name"} <= set(made[name].attrs) for name in made)

"""The targets `calibrate` and `validation` beside a finished CI study."""

import pytest
import xarray as xr

from rllc.quality import reliable
from rllc.study.figures import FIGURES

OWN = {
    "calibration",
    "dependence",
    "gather",
    "recommendation",
    "draw",
    "calibrate",
}


@pytest.fixture(scope="module")
def calibrated(finished, tmp_path_factory):
    """A checkout in which both targets have run too. Read only."""
    made = finished.copy(tmp_path_factory.mktemp("calibrated"))
    made.snakemake("--", "calibrate", "validation")
    return made


def test_calibrate_plans_a_few_jobs_of_its_own(finished, rules):
    plan = finished.plan("calibrate")
    assert rules(plan) == OWN
    sampled = [wildcards for rule, wildcards in plan if rule in ("calibration", "dependence")]
    assert len(sampled) <= 6
    assert {wildcards["start"] for wildcards in sampled} <= {"0", "20"}


def test_nothing_of_it_is_part_of_all(finished):
    assert not list((finished.root / "results/ci").rglob("*calibration*.nc"))
    assert not (finished.root / "results/ci/figures/regime_map.png").exists()


def test_a_changed_grid_leaves_all_alone(finished, checkout, rules):
    grid = checkout.write(
        "config/more.yaml", "experiments: {language: {calibration: {heads: {n_beta: [30]}}}}\n"
    )
    assert checkout.plan(overlays=(grid,)) == []
    rule = checkout.write(
        "config/rule.yaml", "experiments: {language: {calibration: {rule: {max_rhat: 1.5}}}}\n"
    )
    assert checkout.plan(overlays=(rule,)) == []


def test_both_targets_make_their_datasets_and_figures(calibrated):
    assert calibrated.plan("calibrate", "validation") == []
    results = calibrated.root / "results/ci"
    drawn = {name for name, figure in FIGURES.items() if figure.target in ("calibrate", "validation")}
    assert len(drawn) == 12
    for name in drawn:
        assert (results / f"figures/{name}.png").stat().st_size > 10_000
        assert (results / f"figures/{name}.txt").read_text(encoding="utf-8").strip()
    sweep = xr.open_dataset(results / "language/calibration.nc")
    assert sweep["status"].dtype.kind == sweep["quality"].dtype.kind == "i"
    assert reliable(sweep).dims == sweep["quality"].dims  # refuses what is no longer an integer
    assert sweep["llc"].sel(component="1:1", n_beta=30, localization=200).notnull().all()
    for name in ("shrinkage", "shrinkage_without_drift", "curvature_ratio", "llc_walked"):
        assert sweep[name].attrs["units"] == "1"
    advice = xr.open_dataset(results / "language/recommendation.nc")
    assert set(advice["kind"].values) == {"heads", "full"}
    assert all(str(said) for said in advice["said"].values.ravel())
    dependence = xr.open_dataset(results / "language/dependence.nc")
    assert {"1:1", "full"} == set(dependence["component"].values)
    wells = xr.open_dataset(results / "validation/quadratic.nc")
    assert wells["exact"].notnull().all() and wells["llc"].notnull().any()


def test_the_rule_alone_reruns_where_a_threshold_changes(calibrated, tmp_path, rules):
    checkout = calibrated.copy(tmp_path)
    rule = checkout.write(
        "config/rule.yaml", "experiments: {language: {calibration: {rule: {max_rhat: 1.5}}}}\n"
    )
    assert rules(checkout.plan("calibrate", overlays=(rule,))) == {"recommendation", "draw", "calibrate"}
    checkout.edit("src/rllc/analysis/rule.py", '"min_acceptance": 0.5', '"min_acceptance": 0.4')
    assert rules(checkout.plan("calibrate")) == {"gather", "recommendation", "draw", "calibrate"}

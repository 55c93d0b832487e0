"""The rule on sweeps of quadratic wells, whose estimates are known exactly at every setting."""

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.calibration import ALL, at_settings, best_step, criteria, recommend, recommendation, regime
from rllc.analysis.regime import meaning, quantities
from rllc.quality import MASKS
from rllc.vocabulary import STATUS

N_BETA, LOCALIZATION, STEP_SIZE = (10.0, 100.0, 1000.0), (50.0, 500.0), (1e-4, 1e-3)
SIZE = 6


def sweep(
    curvature=2.0, slope=0.0, *, error=0.05, components=("0:0", "1:0"), distributions=("mixture", "code")
):
    """Exact posterior means of loss = slope . x + curvature |x|^2 / 2 in SIZE dimensions, per n_beta."""
    dims = ("seed", "step", "component", "distribution", "localization", "n_beta", "step_size")
    coords = {
        "seed": [0], "step": [10, 20], "component": list(components), "distribution": list(distributions),
        "localization": list(LOCALIZATION), "n_beta": list(N_BETA), "step_size": list(STEP_SIZE),
    }  # fmt: skip
    grid = xr.Dataset(coords=coords)
    n_beta, pull = grid["n_beta"], grid["localization"]
    precision = n_beta * curvature + pull
    shift = -n_beta * slope / precision
    whole = xr.DataArray(np.ones([len(coords[dim]) for dim in dims]), dims=dims, coords=coords)
    drift_free = SIZE * n_beta * curvature / (2 * precision)
    walked = n_beta * (slope * shift + curvature * shift**2 / 2)
    off = SIZE * n_beta * curvature / (2 * pull)
    center = whole.isel(localization=0, n_beta=0, step_size=0, drop=True)
    return xr.Dataset(
        {
            "llc": whole * (drift_free + walked),
            "llc_se": error * whole,
            "llc_drift_free": whole * drift_free,
            "llc_walked": whole * walked,
            "llc_prior_only": whole * off,
            "rhat": whole,
            "drift": 0.0 * whole,
            "drift_se": 0.01 * whole,
            "quality": xr.zeros_like(whole, dtype=np.int16),
            "acceptance": 0.6 * whole,
            "acceptance_null": 0.6 * whole,
            "status": xr.zeros_like(whole, dtype=np.int8).expand_dims(chain=2, axis=-1).copy(deep=True),
            "hessian_trace": center * SIZE * curvature,
        }
    )


def test_quantities_of_a_quadratic_well_are_the_closed_forms():
    h = 2.0
    found = quantities(sweep(h))
    n_beta, pull = found["n_beta"], found["localization"]
    share = n_beta * h / (n_beta * h + pull)
    xr.testing.assert_allclose(found["shrinkage"], share.broadcast_like(found["shrinkage"]))
    xr.testing.assert_allclose(found["curvature_ratio"], (1 - share).broadcast_like(found["curvature_ratio"]))
    assert (found["drift_ratio"] == 0).all()


@pytest.mark.parametrize("curvature", [1e-6, 2.0, 50.0])
def test_a_slope_leaves_what_curvature_takes_away(curvature):
    flat, sloped = sweep(curvature), sweep(curvature, slope=0.3)
    found = quantities(sloped)
    added = abs(sloped["llc"] - flat["llc"]) / abs(sloped["llc"])
    xr.testing.assert_allclose(found["drift_ratio"], added.broadcast_like(found["drift_ratio"]))
    without = quantities(flat)["shrinkage"]
    xr.testing.assert_allclose(found["shrinkage_without_drift"], without, atol=1e-8)


def test_the_exponent_is_one_of_a_curvature_and_zero_of_an_llc():
    weak, strong = (quantities(sweep(h))["exponent"] for h in (1e-6, 1e6))
    np.testing.assert_allclose(weak, 1, atol=1e-3)
    np.testing.assert_allclose(strong, 0, atol=1e-3)
    assert quantities(sweep().isel(n_beta=[1]))["exponent"].isnull().all()
    assert quantities(sweep().isel(n_beta=[0, 1]))["exponent"].notnull().all()
    sloped = quantities(sweep(1e-6, slope=8e-4))["exponent"]  # what is walked grows with n_beta^2
    np.testing.assert_allclose(sloped, weak, rtol=1e-9)


def test_a_slope_is_not_taken_for_a_likelihood():
    """Curvature shrinks these estimates by 0.2 %; a slope lowers them by 20 %."""
    sloped = sweep(1e-3, slope=8e-4)
    assert quantities(sloped)["shrinkage"].max() > 0.2
    assert chosen(recommend(sloped, max_loss_rise=10.0))[1] == "curvature"


def chosen(found, kind="heads", distribution="mixture"):
    here = found.sel(kind=kind, distribution=distribution)
    return tuple(float(here[f"recommended_{name}"]) for name in ("localization", "n_beta", "step_size")), str(
        here["outcome"].attrs["flag_meanings"]
    ).split()[int(here["outcome"])]


def test_what_estimates_are_by_what_was_walked_and_what_the_loss_took():
    without_drift, walked = np.array([[0.9, 0.5], [0.9, 0.51], [0.19, 0], [0.21, 0], [0.9, np.nan]]).T
    of = meaning(xr.DataArray(without_drift, dims="cell"), xr.DataArray(walked, dims="cell"))
    np.testing.assert_array_equal(of, [1, 2, 0, 1, np.nan])


def test_the_smallest_relative_error_wins_among_likelihood_settings():
    # llc_se is constant, so the largest estimate wins: n_beta 1000, localization 50; both step sizes tie.
    found = recommend(sweep(), max_loss_rise=10.0)
    assert chosen(found) == ((50.0, 1000.0, 1e-3), "likelihood")
    assert list(found["distribution"].values) == ["mixture", "code", ALL]


def test_a_setting_of_the_likelihood_is_preferred_to_a_more_precise_curvature():
    calibration = sweep()
    calibration["llc_se"].loc[{"n_beta": 10.0, "localization": 500.0}] = 1e-6
    found = chosen(recommend(calibration, max_loss_rise=10.0))
    assert found == ((50.0, 1000.0, 1e-3), "likelihood")
    assert chosen(recommend(calibration, max_loss_rise=10.0, min_shrinkage=0.99))[0] == (500.0, 10.0, 1e-3)


@pytest.mark.parametrize("criterion", ["stable", "positive"])
def test_one_failed_chain_or_negative_estimate_is_too_many(criterion):
    calibration = sweep(components=[f"0:{i}" for i in range(6)])
    at = {"step": 20, "component": "0:1", "n_beta": 1000.0}
    if criterion == "stable":
        calibration["status"].loc[{**at, "chain": 0}] = STATUS.index("nonfinite")
    else:
        calibration["llc"].loc[at] = -0.1
    assert chosen(recommend(calibration, max_loss_rise=10.0, min_share=0.5))[0][1] == 100.0


def test_a_recommendation_names_distributions_as_the_sweep_and_keeps_none_of_its_attributes():
    """Of the sweep's job, as its settings and code, nothing is true of the advice; all distributions have no label."""
    labels = {"distribution_label": ("distribution", ["the mixture", "the code"])}
    calibration = sweep().assign_coords(labels).assign_attrs(code="of the sweep")
    setting = {"step_size": 1e-3, "n_beta": 1000.0, "localization": 50.0}
    rule, known = {"max_loss_rise": 10.0}, {"heads": {"base": setting}}
    found = recommendation({"calibration": calibration}, rule=rule, known=known)
    assert found["distribution_label"].values.tolist() == ["the mixture", "the code", ALL]
    assert found.attrs == {}
    by_hand = recommend(calibration, **rule).merge(at_settings(calibration, known, **rule))
    xr.testing.assert_equal(found.drop_vars("distribution_label"), by_hand)
    plain = recommendation({"calibration": sweep()}, rule=rule, known=known)
    assert "distribution_label" not in plain.coords


def test_ties_go_to_the_smaller_localization():
    calibration = sweep()
    calibration["llc_se"] = 0.01 * calibration["llc"]  # equal relative errors everywhere
    assert chosen(recommend(calibration, max_loss_rise=10.0))[0] == (50.0, 1000.0, 1e-3)


def test_where_the_localization_dominates_everywhere_a_curvature_is_recommended():
    found = recommend(sweep(0.001))
    (localization, n_beta, _), outcome = chosen(found)
    assert outcome == "curvature"
    assert (localization, n_beta) == (50.0, 1000.0)
    assert "curvature" in found["said"].sel(kind="heads", distribution="mixture").item()


@pytest.mark.parametrize("criterion", ["stable", "local", "equilibrated", "small_steps", "positive"])
def test_each_required_criterion_excludes_its_setting_and_is_named(criterion):
    calibration = sweep()
    at = {"localization": 50.0, "n_beta": 1000.0}
    if criterion == "stable":
        calibration["status"].loc[{**at, "step": 20, "component": "1:0", "chain": 0}] = STATUS.index(
            "diverged"
        )
    if criterion == "local":
        calibration["llc"].loc[at] = 1000.0 * 0.31
        calibration["llc_prior_only"].loc[at] = 1000.0
    if criterion == "equilibrated":
        calibration["drift"].loc[at] = 0.5 * calibration["llc"].loc[at]
    if criterion == "small_steps":
        calibration["acceptance"].loc[at] = 0.29
    if criterion == "positive":
        calibration["llc"].loc[{**at, "step": 10, "component": "0:0"}] = -0.1
    before = recommend(sweep())
    after = recommend(calibration)
    assert chosen(before)[0][:2] == (50.0, 1000.0)
    assert chosen(after)[0][:2] != (50.0, 1000.0)
    passes = after["passes"].sel(kind="heads", distribution="code", **at)
    assert (passes.sel(criterion=criterion) == 0).all()
    assert after["excluded_by"].sel(kind="heads", distribution="code") == criterion


def test_a_criterion_may_fail_in_a_small_share_of_cells():
    calibration = sweep(components=[f"0:{i}" for i in range(5)])
    calibration["drift"].loc[{"component": "0:3"}] = 5.0
    assert chosen(recommend(calibration, min_share=0.8, max_loss_rise=10.0))[1] == "likelihood"
    assert chosen(recommend(calibration, min_share=0.9, max_loss_rise=10.0))[1] == "none"


def test_a_large_drift_is_passed_over_but_taken_and_told_where_nothing_else_is_there():
    sloped = sweep(2.0, slope=0.05)
    ratio = quantities(sloped)["drift_ratio"].max(("seed", "step", "component", "distribution", "step_size"))
    large = ratio.sel(localization=50.0) > 0.1
    assert large.sel(n_beta=1000.0)
    assert not large.sel(n_beta=10.0)
    limits = {"max_loss_rise": 10.0, "max_drift_term": 0.1, "min_shrinkage": 0.25}
    (localization, n_beta, _), outcome = chosen(recommend(sloped, **limits))
    assert outcome == "likelihood"
    assert ratio.sel(localization=localization, n_beta=n_beta) <= 0.1
    only = recommend(sloped, **limits | {"max_drift_term": 1e-6})
    assert "must be reported" in only["said"].sel(kind="heads", distribution="mixture").item()


@pytest.mark.parametrize("reason", ["variance_not_equilibrated", "mean_not_equilibrated"])
def test_what_had_no_time_is_no_equilibrium(reason):
    calibration = sweep()
    calibration["quality"].loc[{"localization": 50.0, "step_size": 1e-3}] = MASKS[reason] | MASKS["nonlocal"]
    assert chosen(recommend(calibration, max_loss_rise=10.0))[0] == (50.0, 1000.0, 1e-4)
    assert (best_step(calibration).sel(localization=50.0) == 1e-4).all()
    assert regime(calibration, max_loss_rise=10.0)["meets_requirements"].all()
    calibration["quality"][:] = MASKS[reason]
    assert not regime(calibration, max_loss_rise=10.0)["meets_requirements"].any()


def test_steps_that_widen_the_localization_are_too_large():
    calibration = sweep()  # step_size x localization up to 0.5: variance up to 1 / (1 - 0.125)
    limits = {"max_loss_rise": 10.0, "max_widening": 1 / (1 - 0.05 / 4) - 1 + 1e-6}
    passes = recommend(calibration, **limits)["passes"].sel(
        kind="heads", distribution="mixture", n_beta=100.0
    )
    held = passes.sel(criterion="small_steps") == 1
    assert held.sel(localization=50.0).all()
    assert held.sel(localization=500.0).values.tolist() == [True, False]


def test_where_even_a_constant_loss_is_rejected_there_is_nothing_to_compare_with():
    calibration = sweep()
    calibration["acceptance"][:] = 0.0
    calibration["acceptance_null"][:] = 0.04
    assert chosen(recommend(calibration, max_loss_rise=10.0))[1] == "likelihood"
    calibration["acceptance_null"][:] = 0.06
    assert chosen(recommend(calibration, max_loss_rise=10.0))[1] == "none"
    calibration["acceptance_null"][:] = calibration["acceptance"][:] = np.nan  # as of too few draws
    assert chosen(recommend(calibration, max_loss_rise=10.0))[1] == "likelihood"


def test_the_drift_of_a_negative_estimate_is_held_against_its_size():
    calibration = sweep()
    calibration["llc"][:], calibration["drift"][:] = -10.0, 1.4
    assert (criteria(calibration).sel(criterion="equilibrated") == 1).all()
    calibration["drift"][:] = -1.6
    assert (criteria(calibration).sel(criterion="equilibrated") == 0).all()


def test_limits_belong_to_what_passes():
    calibration = sweep()
    calibration["rhat"][:], calibration["quality"][:] = 1.2, MASKS["nonlocal"]
    calibration["acceptance"][:], calibration["acceptance_null"][:] = 0.25, 0.5
    calibration["drift"][:], calibration["drift_se"][:] = 500.0, 250.0  # noise, however large
    calibration["llc"][:] = 0.25 * calibration["n_beta"]
    held = criteria(calibration, max_loss_rise=0.25)
    assert (held.sel(criterion=["local", "equilibrated", "small_steps"]) == 1).all()
    calibration["drift_se"][:] = 249.0
    assert (criteria(calibration).sel(criterion="equilibrated") == 0).all()


def test_a_setting_is_judged_by_the_cells_in_which_it_was_sampled():
    calibration = sweep()
    lost = {"step": 20, "component": "1:0"}
    for name in ("llc", "llc_se", "llc_drift_free", "llc_walked", "rhat", "drift", "drift_se"):
        calibration[name].loc[lost] = np.nan
    calibration["status"].loc[lost] = STATUS.index("missing")
    found = recommend(calibration, max_loss_rise=10.0)
    assert chosen(found) == ((50.0, 1000.0, 1e-3), "likelihood")
    assert (found["tested"] == 12).all()


def test_none_good_says_what_excluded_most():
    calibration = sweep()
    calibration["rhat"][:] = 3.0
    found = recommend(calibration)
    assert chosen(found) == pytest.approx((np.nan, np.nan, np.nan), nan_ok=True) or chosen(found)[1] == "none"
    assert np.isnan(chosen(found)[0]).all()
    assert found["said"].sel(kind="heads", distribution=ALL).item() == (
        "none of 12 settings passes; equilibrated fails at most of them (12)"
    )


def test_chains_that_all_failed_and_settings_never_sampled_are_told_apart():
    calibration = sweep()
    for name in ("llc", "llc_se", "rhat", "drift", "drift_se", "llc_prior_only"):
        calibration[name][:] = np.nan
    failed = calibration.copy(deep=True)
    failed["status"][:] = STATUS.index("nonfinite")
    found = recommend(failed)
    assert chosen(found)[1] == "none"
    assert found["excluded_by"].sel(kind="heads", distribution="mixture") == "stable"
    never = calibration.copy(deep=True)
    never["status"][:] = STATUS.index("missing")
    found = recommend(never)
    assert found["said"].sel(kind="heads", distribution="mixture") == "no setting was sampled"
    assert (found["passes"] == -1).all()


def test_the_whole_model_is_a_kind_of_its_own():
    calibration = sweep(components=("0:0", "full"))
    calibration["llc"].loc[{"component": "full"}] = -1.0
    found = recommend(calibration, max_loss_rise=10.0)
    assert chosen(found, "heads")[1] == "likelihood"
    assert chosen(found, "full")[1] == "none"


def test_all_distributions_together_need_one_setting_for_all():
    calibration = sweep()
    calibration["drift"].loc[{"distribution": "code", "n_beta": 1000.0}] = 50.0
    found = recommend(calibration, max_loss_rise=10.0)
    assert chosen(found)[0][1] == 1000.0
    assert chosen(found, distribution=ALL)[0][1] == 100.0


def test_unknown_thresholds_are_refused():
    with pytest.raises(ValueError, match="unknown threshold max_rat"):
        criteria(sweep(), max_rat=1.1)


def test_the_map_looks_at_the_largest_step_size_that_is_stable_and_best_equilibrated():
    calibration = sweep()
    assert (best_step(calibration) == 1e-3).all()
    calibration["status"].loc[{"step_size": 1e-3, "n_beta": 1000.0}] = STATUS.index("diverged")
    calibration["drift"].loc[{"step_size": 1e-3, "n_beta": 100.0}] = 50.0
    used = best_step(calibration)
    assert (used.sel(n_beta=[100.0, 1000.0]) == 1e-4).all()
    calibration["status"].loc[{"localization": 500.0}] = STATUS.index("nonfinite")
    found = regime(calibration)
    assert found["shrinkage"].sel(localization=500.0).isnull().all()
    assert found["shrinkage"].sel(localization=50.0, n_beta=1000.0) == pytest.approx(2000 / 2050)


def test_the_drift_term_of_the_map_has_the_sign_of_what_was_walked():
    """1000 (shift + shift^2) is walked down to shift = -1000 / 2050; curvature alone makes 6000 / 2050."""
    here = {"localization": 50.0, "n_beta": 1000.0}
    found = regime(sweep(2.0, slope=1.0)).sel(here)
    walked, drift_free = 1000 * ((1000 / 2050) ** 2 - 1000 / 2050), 6000 / 2050
    assert found["llc"] == pytest.approx(walked + drift_free)
    assert found["drift_term"] == pytest.approx(walked / abs(walked + drift_free))


def test_settings_in_use_are_looked_up_on_the_grid():
    known = {
        "heads": {
            "published": {"n_beta": 10.0, "localization": 500.0, "step_size": 1e-3},
            "else": {"n_beta": 7.0, "localization": 500.0, "step_size": 1e-3},
        }
    }
    found = at_settings(sweep(), known).sel(kind="heads", distribution=ALL)
    assert found["setting_shrinkage"].sel(setting="published") == pytest.approx(20 / 520)
    assert (found["setting_passes"].sel(setting="published", criterion="likelihood")) == 0
    assert np.isnan(found["setting_shrinkage"].sel(setting="else"))
    assert (found["setting_passes"].sel(setting="else") == -1).all()
    assert found["setting_n_beta"].sel(setting="else") == 7.0


def test_a_sweep_without_settings_in_use_has_none_of_them():
    found = at_settings(sweep(), {"heads": {}})
    assert found.sizes["setting"] == 0
    assert found["setting_passes"].dims == ("kind", "distribution", "setting", "criterion")


def test_a_cell_with_some_chains_missing_is_judged_by_those_that_there_are():
    calibration = sweep()
    calibration["status"][{"chain": 1}] = STATUS.index("missing")
    xr.testing.assert_identical(criteria(calibration), criteria(sweep()))


def test_settings_in_use_are_told_of_a_sweep_of_one_distribution():
    known = {"heads": {"published": {"n_beta": 10.0, "localization": 500.0, "step_size": 1e-3}}}
    found = at_settings(sweep(distributions=("code",)), known).isel(kind=0, setting=0)
    assert found["distribution"].values.tolist() == ["code"]
    assert (found["setting_n_beta"], found["setting_localization"]) == (10, 500)

"""The target `calibrate` beside a finished CI study."""

OWN = {
    "sweep_settings",
    "vary_sampling",
    "gather_calibration",
    "gather_dependence",
    "recommend",
    "draw",
    "calibrate",
}


def test_calibrate_plans_a_few_jobs_of_its_own(finished, rules):
    plan = finished.plan("calibrate")
    assert rules(plan) == OWN
    sampled = [wildcards for rule, wildcards in plan if rule in ("sweep_settings", "vary_sampling")]
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

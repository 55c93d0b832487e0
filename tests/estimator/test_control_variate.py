from dataclasses import asdict

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.stats import norm, t

from rllc.estimator.control_variate import coefficients, combined, looked_at, memory_of, shared_variance
from rllc.estimator.llc import estimate
from rllc.sampler_config import SamplerConfig
from rllc.validation.truths.quadratic import variances

CURVATURE, SLOPE = np.geomspace(0.1, 4.0, 12), np.linspace(-0.3, 0.3, 12)
LAW = {"n_beta": 30.0, "localization": 200.0, "step_size": 1e-3}
STRONG = {"n_beta": 2e4, "localization": 20.0, "step_size": 4e-5}  # the likelihood rules: nothing to gain


def well(weights, batch):
    """1/2 sum h w^2 + g . w, times the batch; 3 at w = 0."""
    w = weights["w"]
    return 3.0 + batch * (0.5 * torch.from_numpy(CURVATURE) * w**2 + torch.from_numpy(SLOPE) * w).sum()


def sampled(batches=(1.0,), component="full", **changes):
    setting = {
        **LAW,
        "chains": 4,
        "draws": 12,
        "burn_in": 3,
        "antithetic_pairs": 4,
        "vectorize": True,
    } | changes
    batches = [torch.tensor(each, dtype=torch.float64) for each in batches]
    return estimate(
        well, {"w": torch.zeros(12, dtype=torch.float64)}, batches, components={component: None}, **setting
    ).isel(component=0)


def expected(*, draws, burn_in, thinning=1, n_beta, localization, step_size):
    """The plain estimator's mean on the well: the variance of ``truths.quadratic`` and, by the slope, the way."""
    law = {"n_beta": n_beta, "localization": localization, "step_size": step_size}
    _, variance, a = variances(CURVATURE, draws=draws, thinning=thinning, **law)
    mean, means = np.zeros(12), []
    for _ in range((draws - 1) * thinning + 1):
        means.append(mean)
        mean = a * mean - step_size * n_beta / 2 * SLOPE
    at = np.array(means)[::thinning]
    rise = (0.5 * CURVATURE * (variance + at**2) + SLOPE * at).sum(1)
    return n_beta * rise[burn_in:].mean()


@pytest.mark.parametrize(
    "how",
    [
        {**LAW, "draws": 10, "burn_in": 0},
        {**LAW, "n_beta": 10.0, "localization": 0.0, "draws": 8, "burn_in": 3, "thinning": 2},
    ],
    ids=["from w*", "free, thinned"],
)
def test_the_expectation_is_the_plain_estimators_and_the_error_honest(how):
    found = [sampled(**how, seed=seed, antithetic_pairs=8) for seed in range(49)]
    assert np.mean([float(each.control_coefficient) for each in found]) > 0.2  # the control is used
    plain = np.array([float(each.llc_chain.mean()) for each in found])
    value, error = (np.array([float(each[name]) for each in found]) for name in ("llc", "llc_se"))
    truth = expected(**how)
    assert abs(value.mean() - truth) < 3 * value.std(ddof=1) / 7
    assert value.std() < 0.8 * plain.std()
    z = (value - truth) / error
    assert (abs(z) < norm.ppf(0.975)).mean() > 0.82  # 4 binomial errors below 95 %
    assert z.std() > 0.6


@pytest.mark.parametrize("report_control", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_where_the_likelihood_rules_the_estimate_is_the_plain_one_and_no_pair_is_evaluated(
    seed, report_control
):
    calls = []

    def counted(weights, batch):
        calls.append(batch)
        return 3 + 1.25 * weights["w"].square().sum() * batch

    def run(pairs):
        calls.clear()
        one = torch.ones((), dtype=torch.float64)
        weights = {"w": torch.zeros(12, dtype=torch.float64)}
        law = {**STRONG, "chains": 4, "draws": 60, "burn_in": 40, "seed": seed}
        how = {"antithetic_pairs": pairs, "report_control": report_control and pairs > 0}
        found = estimate(counted, weights, [one], components={"full": None}, **how, **law)
        return found.isel(component=0), len(calls)

    (found, with_pairs), (plain, without) = run(4), run(0)
    looks = 20 if report_control else 4  # of the control of each chain; pairs would be 160 more
    assert 4 * looks < with_pairs - without < 4 * looks + 5
    assert float(found.llc) == float(plain.llc)
    chains = plain.llc_chain.values
    assert float(found.llc_se) == pytest.approx(chains.std(ddof=1) / 2 * t.ppf(0.975, 3) / norm.ppf(0.975))
    assert (
        float(found.control_coefficient)
        == float(found.variance_reduction)
        == float(found.llc_se_control)
        == 0
    )
    control = found.llc_prior_only_chain
    if report_control:
        assert float(found.llc_prior_only) == pytest.approx(float(control.mean()))
    else:
        assert np.isnan(float(found.llc_prior_only)) and control.isnull().all()
    assert np.isnan(float(found.llc_se_data))  # one minibatch cannot say


@pytest.mark.parametrize("thinning", [1, 2])
def test_the_control_is_made_of_the_components_that_it_helps_and_changes_none_of_them(thinning):
    curvature = torch.tensor([1.0, 3e3], dtype=torch.float64).repeat_interleave(6)

    def loss(weights, batch):
        return 1e4 + batch * 0.5 * (curvature * weights["w"] ** 2).sum()

    def run(**how):
        parts = {name: {"w": curvature == c} for name, c in (("flat", 1.0), ("steep", 3e3))}
        batches = [torch.tensor(each, dtype=torch.float64) for each in np.linspace(0.8, 1.2, 40)]
        law = {**LAW, "chains": 5, "draws": 19, "burn_in": 4, "antithetic_pairs": 4, "thinning": thinning}
        return estimate(loss, {"w": torch.zeros_like(curvature)}, batches, components=parts, **law, **how)

    found, reported = run(), run(report_control=True)
    assert (found.control_coefficient > 0.5).values.tolist() == [True, False]
    xr.testing.assert_identical(found.sel(component="flat"), reported.sel(component="flat"))
    steep = reported.sel(component="steep")
    assert steep.llc_prior_only_chain.notnull().all() and np.isfinite(steep.llc_prior_only)
    without = found.sel(component="steep")
    missing = {name for name in found if without[name].isnull().all() and not steep[name].isnull().all()}
    assert missing == {"llc_prior_only", "llc_prior_only_se", "llc_prior_only_chain"}
    xr.testing.assert_identical(without.drop_vars(missing), steep.drop_vars(missing))


@pytest.mark.parametrize(("draws", "burn_in", "stride"), [(19, 4, 3), (12, 3, 2), (7, 6, 1), (41, 0, 9)])
def test_a_look_at_the_control_sees_draws_of_its_own(draws, burn_in, stride):
    whole = SamplerConfig(**LAW, chains=4, draws=draws, burn_in=burn_in, thinning=2, antithetic_pairs=4)
    look = looked_at(whole, stride)
    at = np.arange(0, draws, stride)
    assert (look.draws, look.draws - look.burn_in) == (len(at), (at >= burn_in).sum())
    how = {"components": {"full": None}, **LAW, "chains": 4, "gradient": False}
    own = {name: getattr(look, name) for name in ("draws", "burn_in", "thinning")}
    w = {"w": torch.zeros(12, dtype=torch.float64)}
    one = [torch.ones((), dtype=torch.float64)]
    seen = estimate(well, w, one, **how, **own)
    control = estimate(well, w, one, **how, draws=draws, burn_in=burn_in, thinning=2)
    np.testing.assert_array_equal(seen.loss, control.loss[..., ::stride])


def test_a_coefficient_is_the_least_squares_slope_shrunk_for_the_pairs_to_come():
    random = np.random.default_rng(3)
    y = random.normal(size=(5, 8))
    x = 2 * y + 0.6 * random.normal(size=(5, 8))
    a, b = ((each[1:] - each[1:].mean(0)).ravel() for each in (x, y))
    slope, correlation = np.polyfit(b, a, 1)[0], np.corrcoef(a, b)[0, 1]
    found = coefficients(x, y, pairs=4, memory=2.5)[0]
    assert found == pytest.approx(slope * correlation / (1 + 5 / (4 * 2.5)), rel=1e-3)
    law = {"n_beta": 1.0, "step_size": 0.1, "localization": 4.0}
    setting = SamplerConfig(**law, chains=4, draws=4, burn_in=1, thinning=3, antithetic_pairs=2)
    assert memory_of(setting) == (pytest.approx(1 + 2 * (2 / 3 * 0.8**6 + 1 / 3 * 0.8**12)))


@pytest.mark.parametrize(
    ("shared", "apart", "used"),
    [(0.99, 0.5, 1), (0.65, 0.9, 1), (0.65, 0.7, 0), (0.65, 1.4, 0), (0.2, 1.0, 0)],
)
def test_of_an_estimate_near_its_control_less_must_be_shared(shared, apart, used):
    random = np.random.default_rng(0)
    y = 100 + random.normal(size=(4, 400))
    noise = np.sqrt(1 / shared - 1) * random.normal(size=y.shape)
    assert (coefficients(100 * (apart - 1) + y + noise, y, pairs=4, memory=2.5) > 0).all() == used


def test_everything_of_single_chains_is_as_without_pairs():
    found, plain = sampled(), sampled(antithetic_pairs=0)
    assert float(found.llc) != float(plain.llc)
    for name in ("llc_chain", "rhat", "ess", "drift", "acceptance", "quality", "loss", "loss_at_center"):
        np.testing.assert_array_equal(found[name], plain[name], err_msg=name)
    for name in set(found.data_vars) - {"status", "quality"}:
        assert found[name].attrs["long_name"], name


@pytest.mark.parametrize(("noise", "least"), [(0.1, 0.8), (0.6, 0.6)])
def test_a_chains_coefficient_does_not_depend_on_the_chain(noise, least):
    random = np.random.default_rng(0)
    y = 10 + random.normal(size=(6, 20))
    x = y + noise * random.normal(size=(6, 20))
    before = coefficients(x, y, pairs=8, memory=5.0)
    assert (before > least).all()
    x[2], y[2] = random.normal(size=(2, 20))
    after = coefficients(x, y, pairs=8, memory=5.0)
    assert after[2] == before[2]
    assert (after != before).sum() == 5
    y[1] = np.nan
    assert coefficients(x, y, pairs=8, memory=5.0)[1] == 0
    assert not coefficients(x[:3], y[:3], pairs=8, memory=5.0).any()


@pytest.mark.parametrize(
    ("control_coefficient", "least", "most"), [(0.999, 1, 1), (0.95, 0.9, 1), (0.8, 0.5, 1), (0.5, 0.05, 0.5)]
)
def test_intervals_cover_the_truth_where_chains_are_few(control_coefficient, least, most):
    """Independent normal draws around 5, four chains; 95 +- 2.1 % (4 binomial errors of 1,600)."""
    random = np.random.default_rng(1)
    hits, count, used = 0, 1600, 0
    for _ in range(count):
        y = random.normal(size=(4, 10))
        x = 5 + control_coefficient * y + np.sqrt(1 - control_coefficient**2) * random.normal(size=(4, 10))
        y, rise = y + 5, 5 + random.normal(size=(10, 32))
        beta = coefficients(x, y, pairs=32, memory=1.0)
        used += beta.any()
        found = combined(x, y, beta, (rise, np.ones(10)) if beta.any() else None)
        hits += abs(x.mean() + found["change"] - 5) < 1.96 * found["llc_se"]
    assert least <= used / count <= most
    assert 0.929 < hits / count < 0.985


def test_the_error_from_the_choice_of_minibatches_is_the_known_one():
    """Minibatches multiply the well by 1 +- 0.5: the control's mean, and the estimate near it, do likewise."""
    law = {**LAW, "n_beta": 3.0}
    _, variance, _ = variances(CURVATURE, draws=12, gradient=False, **law)
    law |= {"draws": 12, "burn_in": 2, "antithetic_pairs": 8}
    of_one = 3.0 * (0.5 * CURVATURE * variance[2:]).sum(1)
    random = np.random.default_rng(0)
    found = []
    for seed in range(40):
        batches = random.choice([0.5, 1.5], 12)
        one = sampled(batches, **law, seed=seed)
        given = (of_one * batches[2:]).mean()
        off = (float(one.llc_prior_only) - given) / float(one.llc_prior_only_se)
        found.append([off, float(one.llc_se_data), float(one.control_coefficient)])
    off, data, control_coefficient = np.array(found).T
    assert control_coefficient.min() > 0.8
    assert np.sqrt((data**2).mean()) == pytest.approx(np.sqrt((of_one**2).sum()) * 0.5 / 10, rel=0.15)
    assert abs(off.mean()) < 3 / np.sqrt(40)
    assert off.std() == pytest.approx(1, abs=0.35)


def test_what_all_chains_have_in_common_is_told_from_their_own():
    random = np.random.default_rng(0)
    common = random.normal(size=(400, 1, 10))
    own = 3 * random.normal(size=(400, 6, 10))
    found = np.mean([shared_variance(trace) for trace in own + common])
    alone = np.mean([shared_variance(trace) for trace in own])
    assert found == pytest.approx(0.1, rel=0.3 + alone / 0.1)
    assert alone < 0.08


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"antithetic_pairs": 3}, "antithetic_pairs is 3: expected 0 .none. or an even number"),
        ({"chains": 3}, "antithetic_pairs 4 with chains 3: expected 4 chains or more"),
        ({"gradient": False}, "expected gradient=True"),
        ({"sampler": "rmsprop"}, "sampler sgld"),
        ({"pair_batches": [torch.ones(())] * 17}, "pair_batches has 17: expected 18, one for every two of 4"),
    ],
)
def test_what_cannot_be_reduced_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        sampled(**changes)


def test_where_all_chains_fail_nothing_is_said():
    found = combined(np.full((4, 9), np.nan), np.zeros((4, 9)), np.zeros(4), None)
    assert all(np.isnan(value).all() for value in found.values())


def test_the_setting_records_the_pairs():
    assert sampled().attrs["antithetic_pairs"] == 4
    assert asdict(SamplerConfig(**LAW, chains=4, draws=4, antithetic_pairs=2))["antithetic_pairs"] == 2


def test_one_chain_that_is_left_has_no_error_and_keeps_its_mean():
    x = np.full((4, 6), np.nan)
    x[1] = np.arange(6.0)
    found = combined(x, x, np.zeros(4), None)
    assert np.isnan(found["llc_se"])
    assert found["change"] == found["change_by_chain"][1] == 0


def test_correction_has_mean_zero_given_the_minibatches_and_a_bias_for_separate_ones():
    """One minibatch per run, of curvature 1 or 30: beta is large where the control is small."""
    runs, chains, step_size, localization = 400, 6, 0.02, 20.0
    random = np.random.default_rng(0)
    curvature = random.permutation(np.repeat([1.0, 30.0], runs // 2))[:, None]
    estimate_at = np.zeros((runs, chains))
    control_at, x, y, law = estimate_at.copy(), [], [], []
    a, variance = 1 - step_size * localization / 2, 0.0
    for _ in range(60):
        x.append(curvature * estimate_at**2 / 2)
        y.append(curvature * control_at**2 / 2)
        law.append(variance)
        move = step_size**0.5 * random.standard_normal((runs, chains))
        estimate_at = estimate_at - step_size / 2 * (curvature + localization) * estimate_at + move
        control_at = a * control_at + move
        variance = a * a * variance + step_size
    x, y = np.moveaxis(x, 0, -1), np.moveaxis(y, 0, -1)
    beta = np.stack([coefficients(*each, pairs=4, memory=1.0) for each in zip(x, y, strict=True)])
    given = curvature * np.mean(law) / 2  # the control's mean given the minibatch, and over both
    for mean, biased in ((given, False), (given.mean(), True)):
        correction = (beta * (y.mean(-1) - mean)).mean(1)
        error = correction.std() / runs**0.5
        assert (abs(correction.mean()) > 8 * error) == biased
        assert biased or abs(correction.mean()) < 4 * error

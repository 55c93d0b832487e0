from dataclasses import asdict

import numpy as np
import pytest
import torch
import xarray as xr

from rllc.estimator.diagnostics.acceptance import acceptance_null
from rllc.estimator.diagnostics.mixing import ess, rhat
from rllc.estimator.diagnostics.quality import LIMITS
from rllc.estimator.llc import estimate
from rllc.estimator.results import VARIABLES, summarise
from rllc.estimator.samplers.chains import Traces
from rllc.quality import reasons
from rllc.sampler_config import SamplerConfig

SETTING = {"n_beta": 30.0, "localization": 200.0, "step_size": 1e-3}


def traces(components=2, chains=4, draws=30, seed=0):
    random = np.random.default_rng(seed)
    at_center = 3 + 0.1 * random.normal(size=draws)
    loss = at_center + 0.1 + 0.02 * random.normal(size=(components, chains, draws))
    acceptance = random.uniform(0.2, 0.6, size=loss.shape)
    acceptance[..., [0, -1]] = np.nan
    return Traces(*map(torch.tensor, (loss, at_center, acceptance)))


def summary(given, **changes):
    components, chains, draws = given.loss.shape
    sizes = changes.pop("sizes", [100] * components)
    how = {name: changes.pop(name) for name in ("init_loss",) if name in changes}
    setting = SamplerConfig(**{**SETTING, "chains": chains, "draws": draws, "burn_in": 10, **changes})
    return summarise(given, sizes=dict(zip("abcd", sizes, strict=False)), setting=setting, **how)


def test_means_and_errors_are_those_of_the_kept_paired_losses():
    given = traces()
    ds = summary(given, init_loss=3.02)
    r = (given.loss - given.at_center).numpy()[..., 10:]
    assert ds.llc.values == pytest.approx(30 * r.mean((1, 2)))
    assert ds.llc_chain.values == pytest.approx(30 * r.mean(2))
    assert ds.ess.values == pytest.approx([ess(x) for x in r])
    assert ds.rhat.values == pytest.approx([rhat(x) for x in r])
    assert ds.llc_se.values == pytest.approx(30 * r.std((1, 2), ddof=1) / np.sqrt(ds.ess))
    assert ds.drift.values == pytest.approx(30 * (r[..., 10:] - r[..., :10]).mean((1, 2)))
    above_init = 30 * (given.loss.numpy()[..., 10:].mean((1, 2)) - 3.02)
    assert ds.llc_init.values == pytest.approx(above_init)
    assert summary(given, baseline="init", init_loss=3.02).llc.values == pytest.approx(above_init)


def test_acceptance_and_its_null_are_over_the_same_draws():
    given = traces()
    ds = summary(given, sizes=[100, 5000])
    assert ds.acceptance.values == pytest.approx(given.acceptance[:, :, 10:-1].numpy().mean((1, 2)))
    law = {"localization": 200.0, "step_size": 1e-3, "draws": 30}
    null = [acceptance_null(size=size, **law)[10:-1].mean() for size in (100, 5000)]
    assert ds.acceptance_null.values == pytest.approx(null)
    thinned = summary(given, sizes=[100, 5000], thinning=4)
    assert (thinned.acceptance_null > ds.acceptance_null).all()
    none = summary(given._replace(acceptance=torch.full_like(given.loss, float("nan"))))
    assert np.isnan([none.acceptance, none.acceptance_null]).all()
    assert not none.quality.any()


def test_burn_in_enters_nothing_that_is_kept():
    given = traces()
    loss = given.loss.clone()
    loss[..., :10] += 1.0
    one, other = summary(given), summary(given._replace(loss=loss))
    reading = ["loss", "half_length_change", "half_length_change_se"]
    assert one.drop_vars(reading).equals(other.drop_vars(reading))
    r = (loss - given.at_center).numpy()
    assert other.half_length_change.values == pytest.approx(
        30 * (r[..., 10:].mean((1, 2)) - r[..., 5:15].mean((1, 2)))
    )


def test_failed_chains_are_in_no_mean():
    given = traces(components=3)
    loss = given.loss.clone()
    loss[0, 1] = given.at_center + torch.linspace(0, 90, 30)
    loss[0, 2, 5] = float("inf")
    loss[2] = float("nan")
    ds = summary(given._replace(loss=loss))
    alone = summary(Traces(given.loss[:1, [0, 3]], given.at_center, given.acceptance[:1, [0, 3]]))
    assert ds.status.values.tolist() == [[0, 2, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
    for name in ("llc", "llc_se", "llc_init", "rhat", "ess", "drift", "drift_se", "acceptance"):
        assert ds[name][0].item() == pytest.approx(alone[name][0].item(), nan_ok=True), name
        assert np.isnan(ds[name][2]), name
    for name in ("llc_chain", "heidelberger_welch_p", "heidelberger_welch_halfwidth"):
        assert np.isnan(ds[name].values[0, 1:3]).all(), name
        assert np.isnan(ds[name].values[2]).all(), name
    assert np.isnan(ds.loss[0, 2, 5:]).all()
    assert [reasons(value) for value in ds.quality] == [
        ["chain_failed"], [], ["chain_failed", "all_chains_failed"]
    ]  # fmt: skip


def test_limits_of_the_quality_flags_are_recorded():
    recorded = summary(traces()).quality.attrs
    assert {f"limit_{name}": value for name, value in asdict(LIMITS).items()}.items() <= recorded.items()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("chains", "draws", "burn_in"), [(1, 1, 0), (1, 3, 0), (2, 9, 6), (3, 200, 0), (4, 1000, 0)]
)
def test_any_number_of_chains_and_draws_is_summarised(tmp_path, chains, draws, burn_in):
    ds = summary(traces(chains=chains, draws=draws), burn_in=burn_in)
    assert np.isfinite(ds.llc).all()
    tests = {"geweke": 82, "heidelberger_welch_p": 20, "raftery_lewis_factor": 937}
    there = [name for name in tests if name in ds]
    assert there == [name for name, least in tests.items() if draws - burn_in >= least]
    assert all(np.isfinite(ds[name]).all() for name in there)
    unknown, short = chains == 1 or draws - burn_in < 4, draws < 10
    expected = {"undiagnosed": unknown, "variance_not_equilibrated": short, "prior_not_explored": draws < 9}
    assert {*reasons(ds.quality[0])} == {name for name, there in expected.items() if there}
    described = {**ds.data_vars}
    for name in ("status", "quality"):
        assert described.pop(name).attrs["flag_meanings"]
    of_long_chains = {name for name in VARIABLES if name.startswith((*tests, "heidelberger"))}
    expected = {name: words for name, words in VARIABLES.items() if name in ds or name not in of_long_chains}
    assert {
        name: tuple(v.attrs[key] for key in ("long_name", "units")) for name, v in described.items()
    } == expected
    ds.to_netcdf(tmp_path / "llc.nc")
    with xr.open_dataset(tmp_path / "llc.nc") as found:
        xr.testing.assert_identical(found.load()["quality"], ds["quality"])


def quadratic(size, curvature, **changes):
    """Chains on curvature/2 |w|^2, whose moves are those of a localization of n_beta * curvature."""
    given = {
        "loss": lambda w, b: 1.0 + curvature / 2 * w["w"].square().sum(), "weights": {"w": torch.zeros(size)},
        "batches": [None], "components": {"all": None}, **SETTING, "chains": 40, "draws": 60, "burn_in": 20,
    }  # fmt: skip
    return estimate(**{**given, **changes})


@pytest.mark.parametrize("localization", [0.0, 80.0])
def test_sampled_moves_on_a_quadratic_are_accepted_as_often_as_known(localization):
    """n_beta * curvature + localization = 200 in both: the null at a localization of 200 is exact."""
    ds = quadratic(200, (200 - localization) / 30, localization=localization)
    known = acceptance_null(size=200, localization=200.0, step_size=1e-3, draws=60)[20:-1].mean()
    assert ds.acceptance.item() == pytest.approx(known, abs=0.01)
    if localization == 0:
        assert ds.acceptance_null.item() == 1


def test_noisy_gradients_at_a_long_step_are_rejecting():
    batches = list(torch.randn(60, 500, generator=torch.Generator().manual_seed(1)))
    noisy = {
        "loss": lambda w, b: 50 + w["w"].square().sum() / 2 + b @ w["w"],
        "batches": batches,
        "chains": 4,
    }
    long = quadratic(500, 1.0, **noisy, localization=20.0, step_size=1e-2)
    assert "rejecting" in reasons(long.quality.item())
    short = quadratic(500, 1.0, **noisy, localization=20.0, step_size=1e-4)
    assert "rejecting" not in reasons(short.quality.item())


def test_in_equilibrium_on_a_full_batch_even_a_long_step_is_accepted_half_the_time():
    long = quadratic(2000, 10.0, localization=20.0, step_size=6e-3, chains=4)  # twice the right LLC
    assert long.llc.item() == pytest.approx(2000 / 2 * 300 / 320 / (1 - 0.006 * 320 / 4), rel=0.05)
    assert long.acceptance.item() == pytest.approx(0.5, abs=0.05)


def test_a_chain_on_its_way_is_drifting():
    on_its_way = quadratic(500, 5.0, localization=1.0, step_size=1e-4, chains=4, draws=30, burn_in=0)
    assert "drifting" in reasons(on_its_way.quality.item())


def test_a_negative_loss_is_a_scale_by_its_size():
    given = traces()  # 3 at the centre
    far = given._replace(loss=given.loss - 38, at_center=given.at_center - 50)
    assert [reasons(value) for value in summary(far).quality] == [["nonlocal"]] * 2  # 12 above -47
    assert not summary(far._replace(loss=far.loss - 4)).quality.any()

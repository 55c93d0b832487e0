import numpy as np
import pytest
import xarray as xr

from rllc.estimator.diagnostics.quality import judge, judge_against_controls
from rllc.quality import reasons
from rllc.vocabulary import STATUS, status_attributes

NAN = float("nan")


def estimate(chains=4, **changes):
    """One component in which nothing is wrong, but for what is changed."""
    values = {
        "llc": 5.0, "llc_se": 0.1, "rhat": 1.0, "ess": 60.0, "drift": 0.0, "drift_se": 0.1,
        "acceptance": 0.5, "acceptance_null": 0.6, "half_length_change": 0.0, "half_length_change_se": 0.1, "equilibrated_variance": 0.95,
        "equilibrated_mean": 0.8,
    } | {name: value for name, value in changes.items() if np.ndim(value) == 0}  # fmt: skip
    by_chain = {
        "status": np.zeros(chains, dtype=np.int8), "geweke": np.zeros(chains),
        "heidelberger_welch_p": np.full(chains, 0.5), "raftery_lewis_factor": np.full(chains, NAN),
    } | {name: np.asarray(value) for name, value in changes.items() if np.ndim(value)}  # fmt: skip
    return xr.Dataset(
        {name: ("component", [value]) for name, value in values.items()}
        | {name: (("component", "chain"), value[None]) for name, value in by_chain.items()},
        coords={"component": ["a"], "chain": np.arange(chains)},
        attrs={"n_beta": 10.0, "draws": 1500, "burn_in": 500},
    )


def quality(level=3.0, **changes):
    found = judge(estimate(**changes), level=level)
    assert found.dtype == np.int32
    assert found.dims == ("component",)
    return reasons(found.item())


@pytest.mark.parametrize(("rhat", "expected"), [(1.7, []), (1.8, ["not_mixed"])])
def test_r_hat_of_few_draws_is_held_against_what_chance_alone_gives(rhat, expected):
    """Six draws of four chains: one independent trace in a thousand has more than 1.76."""
    few = estimate(rhat=rhat).assign_attrs(draws=18, burn_in=12)
    assert reasons(judge(few, level=3.0).item()) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"status": [0, STATUS.index("diverged"), 0, 0]}, ["chain_failed"]),
        ({"rhat": 1.21}, ["not_mixed"]),
        ({"rhat": 1.19}, []),
        ({"ess": 11.0}, ["few_effective_draws"]),
        ({"raftery_lewis_factor": [300, 400, 400, 300]}, ["few_effective_draws"]),  # 11 of 4,000 draws
        ({"raftery_lewis_factor": [300, 330, NAN, NAN]}, []),
        ({"equilibrated_variance": 0.89}, []),  # the trace shows that it settled
        ({"equilibrated_variance": 0.89, "half_length_change": 0.85}, ["variance_not_equilibrated"]),
        ({"equilibrated_variance": 0.91, "half_length_change": 0.85}, []),
        ({"equilibrated_variance": 0.51, "half_length_change": -0.7}, []),
        ({"equilibrated_variance": 0.49, "half_length_change": -0.7}, ["prior_not_explored"]),
        (
            {"equilibrated_variance": 0.1, "half_length_change": -0.7, "half_length_change_se": 0.2},
            ["variance_not_equilibrated", "prior_not_explored"],
        ),
        (
            {"equilibrated_variance": 0.1, "half_length_change": NAN},
            ["variance_not_equilibrated", "prior_not_explored"],
        ),
        ({"equilibrated_variance": NAN, "half_length_change": NAN}, ["variance_not_equilibrated"]),
        ({"equilibrated_variance": NAN}, []),
        ({"drift": -0.6}, ["drifting"]),
        ({"drift": 0.4}, []),  # significant, but 8 % of the estimate
        ({"llc": -5.0, "drift": 0.4}, ["negative"]),  # of a negative one too
        ({"drift": 0.6, "drift_se": 0.3}, []),  # large, but noise
        ({"drift": 0.6, "drift_se": NAN}, []),
        ({"llc": 0.01, "drift": 0.2}, []),  # an estimate of 0 has drifted by many times itself: noise
        ({"acceptance": 0.05}, ["rejecting"]),
        ({"acceptance": 0.002, "acceptance_null": 0.03}, []),  # the null itself says nothing
        ({"acceptance": NAN, "acceptance_null": NAN}, []),
        ({"geweke": [9, -9, 9, 0]}, ["not_stationary"]),
        ({"geweke": [9, 9, 0, 0]}, []),  # half is no majority
        ({"geweke": [9, NAN, NAN, NAN], "heidelberger_welch_p": [NAN] * 4}, ["not_stationary"]),
        ({"geweke": [NAN] * 4, "heidelberger_welch_p": [0.01, 0.01, 0.04, 0.9]}, ["not_stationary"]),
        ({"geweke": [9, 0, 0, 0], "heidelberger_welch_p": [0.9, 0.01, 0.04, 0.9]}, ["not_stationary"]),
        ({"geweke": [NAN] * 4, "heidelberger_welch_p": [NAN] * 4}, []),
        ({"llc": 6.1}, ["nonlocal"]),  # a rise of 0.61 from 3.0
        ({"llc": 60.0, "level": NAN}, []),
        ({"llc": -0.3}, ["negative"]),
        ({"llc": -0.15}, []),
        ({"rhat": NAN}, ["undiagnosed"]),
        ({"ess": NAN}, ["undiagnosed"]),
    ],
)
def test_reasons(changes, expected):
    assert quality(**changes) == expected


def test_nothing_but_failure_is_said_of_chains_that_all_failed():
    bad = np.full(4, STATUS.index("nonfinite"))
    none = dict.fromkeys(
        ("llc", "llc_se", "rhat", "ess", "drift", "drift_se", "half_length_change", "acceptance"), NAN
    )
    assert quality(status=bad, equilibrated_variance=0.1, geweke=[NAN] * 4, **none) == [
        "chain_failed",
        "all_chains_failed",
    ]


@pytest.mark.parametrize(
    ("off", "expected"),
    [(5.2, ["prior_dominated"]), (4.8, ["prior_dominated"]), (6.0, []), (-5.0, []), (0.0, []), (NAN, [])],
)
def test_an_estimate_that_is_its_control_is_the_localizations(off, expected):
    given = estimate()
    quality = judge(given, level=3.0)
    given = given.assign(quality=quality, llc_chain=given["llc"] * xr.ones_like(given["geweke"]))
    found = judge_against_controls(given, xr.full_like(given["llc_chain"], off))
    assert reasons(found.item()) == expected
    assert found.dtype == np.int32
    against = {quality.attrs.pop("judged_against"), found.attrs.pop("judged_against")}
    assert against == ({"no control"} if np.isnan(off) else {"no control", "prior_only"})
    assert found.attrs == quality.attrs
    assert found.attrs["limit_prior_share"] == 0.1
    assert found.attrs["flag_meanings"].startswith("chain_failed ")


def test_quality_has_masks_and_not_the_values_of_the_statuses_that_it_comes_from():
    given = estimate()
    given["status"].attrs = status_attributes()
    quality = judge(given, level=3.0)
    given = given.assign(quality=quality, llc_chain=given["llc"] * xr.ones_like(given["geweke"]))
    given["llc_chain"].attrs = status_attributes()
    found = judge_against_controls(given, given["llc_chain"])
    for each in (quality, found):
        assert {name for name in each.attrs if name.startswith("flag_")} == {"flag_masks", "flag_meanings"}
        assert each.attrs["flag_masks"].dtype == each.dtype
        assert each.attrs["long_name"].startswith("quality flags")


@pytest.mark.parametrize(
    ("drift_free", "expected"),
    [
        (5.2, []), (3.2, ["drift_dominated"]), (6.9, []), (50.0, ["mean_not_equilibrated", "drift_dominated"]),
        (7.1, ["mean_not_equilibrated"]), (2.9, ["mean_not_equilibrated", "drift_dominated"]), (NAN, []),
        (7.0, []), (10.0, ["mean_not_equilibrated"]),  # at the limits themselves nothing is said
    ],
)  # fmt: skip
def test_an_estimate_far_from_its_drift_free_control_is_the_drifts(drift_free, expected):
    """Of the way to the new mean 80 % are gone: a quarter of what was walked is ahead, 10 % of 5 may be."""
    given = estimate()
    given = given.assign(
        quality=judge(given, level=3.0), llc_chain=given["llc"] * xr.ones_like(given["geweke"])
    )
    controls = (xr.full_like(given["llc_chain"], value) for value in (20.0, drift_free))
    found = judge_against_controls(given, *controls)
    assert reasons(found.item()) == expected
    assert found.attrs["limit_walked_share"] == 0.5


@pytest.mark.parametrize("equilibrated_mean", [0.0, 0.05])
def test_where_the_localization_vouches_for_nothing_the_trace_speaks_of_the_mean_too(equilibrated_mean):
    given = estimate(equilibrated_variance=0.1, equilibrated_mean=equilibrated_mean)
    given = given.assign(
        quality=judge(given, level=3.0), llc_chain=given["llc"] * xr.ones_like(given["geweke"])
    )
    controls = (xr.full_like(given["llc_chain"], value) for value in (20.0, 5.2))
    assert reasons(judge_against_controls(given, *controls).item()) == ["prior_not_explored"]

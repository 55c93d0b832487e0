import numpy as np
import pytest
import xarray as xr

from rllc.estimator.diagnostics.verdict import judge, judge_against_controls
from rllc.verdicts import reasons
from rllc.vocabulary import STATUS

NAN = float("nan")


def estimate(chains=4, **changes):
    """One component in which nothing is wrong, but for what is changed."""
    values = {
        "llc": 5.0, "llc_se": 0.1, "rhat": 1.0, "ess": 60.0, "drift": 0.0, "drift_se": 0.1,
        "acceptance": 0.5, "acceptance_null": 0.6,
    } | {name: value for name, value in changes.items() if np.ndim(value) == 0}  # fmt: skip
    by_chain = {
        "status": np.zeros(chains, dtype=np.int8), "geweke": np.zeros(chains),
        "heidelberger_welch_p": np.full(chains, 0.5),
    } | {name: np.asarray(value) for name, value in changes.items() if np.ndim(value)}  # fmt: skip
    return xr.Dataset(
        {name: ("component", [value]) for name, value in values.items()}
        | {name: (("component", "chain"), value[None]) for name, value in by_chain.items()},
        coords={"component": ["a"], "chain": np.arange(chains)},
        attrs={"n_beta": 10.0},
    )


def verdict(level=3.0, **changes):
    found = judge(estimate(**changes), level=level)
    assert found.dtype == np.int16
    assert found.dims == ("component",)
    return reasons(found.item())


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"status": [0, STATUS.index("diverged"), 0, 0]}, ["chain_failed"]),
        ({"rhat": 1.21}, ["not_mixed"]),
        ({"rhat": 1.19}, []),
        ({"ess": 11.0}, ["few_effective_draws"]),
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
    assert verdict(**changes) == expected


def test_nothing_but_failure_is_said_of_chains_that_all_failed():
    bad = np.full(4, STATUS.index("nonfinite"))
    none = dict.fromkeys(("llc", "llc_se", "rhat", "ess", "drift", "drift_se", "acceptance"), NAN)
    assert verdict(status=bad, geweke=[NAN] * 4, **none) == ["chain_failed", "all_chains_failed"]


@pytest.mark.parametrize(
    ("off", "expected"),
    [(5.2, ["prior_dominated"]), (4.8, ["prior_dominated"]), (6.0, []), (-5.0, []), (0.0, []), (NAN, [])],
)
def test_an_estimate_that_is_its_control_is_the_localizations(off, expected):
    given = estimate()
    verdict = judge(given, level=3.0)
    found = judge_against_controls(verdict, given["llc"], xr.full_like(given["llc"], off))
    assert reasons(found.item()) == expected
    assert found.dtype == np.int16
    assert found.attrs == verdict.attrs
    assert found.attrs["limit_prior_share"] == 0.1
    assert found.attrs["flag_meanings"].startswith("chain_failed ")


@pytest.mark.parametrize(
    ("centred", "expected"),
    [(5.2, []), (3.2, ["drift_dominated"]), (50.0, ["drift_dominated"]), (0.0, []), (NAN, [])],
)
def test_an_estimate_far_from_its_centred_control_is_the_drifts(centred, expected):
    given = estimate()
    controls = (xr.full_like(given["llc"], value) for value in (20.0, centred))
    found = judge_against_controls(judge(given, level=3.0), given["llc"], *controls)
    assert reasons(found.item()) == expected
    assert found.attrs["limit_walked_share"] == 0.5

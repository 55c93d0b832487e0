"""A well with directions too flat for the chains: an estimate that is low although its trace is good."""

import pytest
import torch
from numpy import repeat

from rllc.estimator.llc import estimate
from rllc.quality import CAUTIONS, MASKS, reasons, reliable
from rllc.validation.truths.quadratic import posterior, transient

HALF = 100
SETTING = {"n_beta": 1000.0, "localization": 1.0, "step_size": 2e-5}
CHAIN = {"draws": 200, "burn_in": 100}


def found(flat, **changes):
    """The estimate of a well with half of its directions at n_beta h = ``flat`` localizations; and its curvatures."""
    curvature = repeat([10.0, flat * SETTING["localization"] / SETTING["n_beta"]], HALF)
    h = torch.from_numpy(curvature).float()
    setting = SETTING | CHAIN | changes
    made = estimate(
        lambda weights, batch: 3 + batch * (h * weights["w"].square()).sum() / 2,
        {"w": torch.zeros(2 * HALF)},
        [torch.tensor(1.0)],
        components={"full": {"w": torch.ones(2 * HALF, dtype=torch.bool)}},
        chains=4,
        report_control=True,
        vectorize=True,
        **setting,
    )
    return made, curvature


def test_estimate_that_lacks_the_flat_half_has_a_caution_and_no_fault():
    """55 for 98: R-hat, effective draws, drift and the change since half the length find nothing."""
    made, curvature = found(20.0)
    law = {name: SETTING[name] for name in ("n_beta", "localization")}
    truth = posterior(curvature, **law)
    estimated = made["llc"].item()
    assert estimated < 0.6 * truth
    assert estimated == pytest.approx(transient(curvature, **SETTING, **CHAIN), abs=5 * made["llc_se"].item())
    assert reasons(made["quality"].item()) == ["prior_not_explored"]
    assert reliable(made).item()


def test_estimate_whose_localization_equilibrates_has_no_caution():
    made, _ = found(20.0, localization=2000.0)
    assert made["equilibrated_variance"].item() > 0.9
    assert not made["quality"].item() & MASKS["prior_not_explored"]


def test_bit_of_the_caution_is_new():
    """Results of before keep the meaning of their flags."""
    assert MASKS["prior_not_explored"] == 32768 == max(MASKS.values())
    assert CAUTIONS & MASKS["prior_not_explored"]

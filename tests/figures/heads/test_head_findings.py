"""Findings about heads: the highest, the largest fall, ratios of groups and the prior-only control."""

import json

import numpy as np
import pytest
import xarray as xr

from rllc.figures.heads import head_findings

NAN = np.nan
STEPS = [0, 100, 200, 300, 400, 500, 600]


def curves(*values, seeds=(0,), error=0.1):
    """rLLC (seed, step, head) of heads 0:0, 0:1, ... with the same standard error everywhere."""
    table = np.stack([np.asarray(each, float) for each in values], -1)
    heads = [f"0:{n}" for n in range(len(values))]
    dims, shape = ("seed", "step", "head"), (len(seeds), *table.shape)
    kinds = np.full((len(seeds), len(heads)), "multigram", dtype=object)
    return xr.Dataset(
        {
            "rllc": (dims, np.broadcast_to(table, shape).copy()),
            "rllc_se": (dims, np.full(shape, error)),
            "head_type": (("seed", "head"), kinds),
        },
        {"seed": list(seeds), "step": STEPS, "head": heads, "layer": ("head", [0] * len(heads))},
    )


def test_highest_of_one_seed_names_the_head_with_its_error():
    last = curves([1.0] * 7, [2.0] * 7, [NAN] * 7).isel(step=-1)
    (found,) = head_findings.highest(last, "rllc", "rLLC", "of layer 0")
    assert (found.value, found.error) == (2.0, 0.1)
    assert "head 0:1 (multigram)" in found.label and "at step 600" in found.label


def test_highest_of_several_seeds_is_mean_and_sd_of_the_highest():
    data = curves([1.0] * 7, [2.0] * 7, seeds=(0, 1))
    data["rllc"].loc[{"seed": 1, "head": "0:0"}] = 5.0
    (found,) = head_findings.highest(data.isel(step=-1), "rllc", "rLLC", "of layer 0")
    assert (found.value, found.error) == pytest.approx((3.5, np.std([2, 5], ddof=1)))
    assert "0:" not in found.label


def test_highest_without_any_value_gives_no_finding():
    assert head_findings.highest(curves([NAN] * 7).isel(step=-1), "rllc", "rLLC", "of layer 0") == []


def test_at_end_is_the_last_checkpoint_with_a_value():
    data = curves([1.0, 2, 3, 4, NAN, NAN, NAN], [1.0, 2, 3, 4, 5, NAN, NAN])
    assert head_findings.at_end(data, "rllc")["step"].item() == 400
    assert head_findings.at_end(data.assign(rllc=data["rllc"] * NAN), "rllc")["step"].item() == 600


def test_largest_fall_is_of_means_of_three_checkpoints_from_step_50_on():
    """Head 0:1 peaks at mean 4 of steps 100 to 300 and ends at mean 3; its 99 is before step 50."""
    data = curves([1.0] * 7, [99.0, 4, 4, 4, 3, 3, 3])
    (found,) = head_findings.largest_fall(data)
    spread = 0.1 / np.sqrt(3) * np.hypot(1, 3 / 4) / 4
    assert (found.value, found.error) == pytest.approx((25.0, 100 * spread))
    assert "head 0:1" in found.label and found.unit == "%"
    assert found.label.endswith("from peak to end (3-checkpoint means), largest")


def test_largest_fall_leaves_missing_checkpoints_out():
    (found,) = head_findings.largest_fall(curves([1.0, 4, NAN, 4, 4, 2, 2]))
    assert found.value == pytest.approx(100 * (1 - (8 / 3) / 4))


def test_largest_fall_of_a_curve_that_rises_to_its_end_is_0_without_an_error():
    (found,) = head_findings.largest_fall(curves(range(7)))
    assert found.value == 0 and np.isnan(found.error)


def test_largest_fall_of_several_seeds_is_mean_and_sd():
    data = curves([1.0, 4, 4, 4, 3, 3, 3], seeds=(0, 1))
    data["rllc"].loc[{"seed": 1}] = data["rllc"].sel(seed=1).where(data["step"] < 400, 2.0)
    (found,) = head_findings.largest_fall(data)
    assert (found.value, found.error) == pytest.approx((37.5, np.std([25, 50], ddof=1)))


def test_largest_fall_of_too_few_checkpoints_gives_no_finding():
    assert head_findings.largest_fall(curves([1.0, 4, 3, 2, NAN, NAN, NAN])) == []


def test_geometric_ratios_are_of_the_last_step_and_of_the_distributions_drawn():
    dims = ("seed", "step", "against", "head_group")
    log2 = np.array([[[[9.0, 9.0]] * 2, [[1.0, NAN], [0.0, 0.0]]]])
    made = xr.Dataset(
        {"log2_ratio": (dims, log2), "log2_ratio_se": (dims, np.full(log2.shape, 0.1))},
        {
            "seed": [2],
            "step": [0, 9],
            "against": ["english", "poems"],
            "head_group": ["induction", "multigram"],
        },
        {"distribution": "code"},
    )
    said = {"code": "Python", "english": "English"}
    (found,) = head_findings.geometric_ratios(made, said)
    assert (found.value, found.error) == pytest.approx((2.0, 2 * np.log(2) * 0.1))
    assert "Python over English, geometric mean of induction heads at step 9" in found.label
    assert head_findings.geometric_ratios(made, {"english": "English"}) == []


def test_without_gradient_is_the_median_absolute_difference_over_the_chains_that_share_noise():
    data = curves([1.0] * 7)
    chains = data["rllc"].expand_dims(chain=2) * xr.DataArray([1.0, 9.0], dims="chain")
    data = data.assign(rllc_chain=chains, rllc_prior_only=data["rllc"] / 1.25)
    setting = {"sampling": json.dumps({"control_chains": 1})}
    (found,) = head_findings.without_gradient(data.assign_attrs(setting))
    assert found.value == pytest.approx(25.0) and found.unit == "%"
    assert head_findings.without_gradient(data.drop_vars("rllc_prior_only")) == []

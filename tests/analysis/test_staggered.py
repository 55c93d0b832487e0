"""Peaks and falls that were planted are found."""

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.staggered import staggered

STEPS = np.array([0, 50, 100, 200, 400, 800, 1600, 3200, 6400])


def bump(peak):
    return 1 - 0.1 * np.log2((STEPS + 1) / (peak + 1)) ** 2


def fall(half, most, depth=1.0):
    """A score that has fallen by just half at one step and by just 90 % at another."""
    return (
        -depth
        * np.select([half > STEPS, most > STEPS, STEPS[-1] > STEPS], [0.49, 0.51, 0.91], 1.0)
        * (STEPS > 0)
    )


def datasets(peaks=(800, 1600), falls=((400, 800), (800, 3200)), joint=800, plain=(400, 1600), left=0.15):
    heads = ["0:0", "1:0", "1:1"]
    types = [["previous-token", "induction", "induction"]]
    curves = np.stack([bump(100), *map(bump, peaks)], -1)[None, :, :, None]
    score = {"none": fall(*plain), "1:1": fall(*falls[0]), "1:0": fall(*falls[1]), "all": left * fall(*plain)}
    at = {"seed": [0], "step": STEPS, "distribution": ["code"]}
    return {
        "rllc": xr.Dataset({"rllc": (("seed", "step", "head", "distribution"), curves)}, {**at, "head": heads}),
        "attention_scores": xr.Dataset({"head_type": (("seed", "head"), types)}, {"seed": [0], "head": heads}),
        "induction_ablation": with_left(xr.Dataset(
            {"icl_score": (("seed", "step", "distribution", "ablated"), np.stack(list(score.values()), -1)[None, :, None])},
            {**at, "ablated": list(score)},
        )),
        "components": xr.Dataset(
            {"rllc": (("seed", "step", "component", "distribution"), bump(joint)[None, :, None, None])},
            {**at, "component": ["1:0+1:1"]},
        ),
    }  # fmt: skip


def with_left(icl):
    left = icl["icl_score"] / icl["icl_score"].sel(ablated="none", drop=True)
    return icl.assign(icl_left=left, icl_left_se=0.1 * left)


def found(made):
    got = staggered(made, distribution="code").squeeze()
    return {name: float(got[name]) for name in got.data_vars}


def test_planted_numbers_are_found():
    got = found(datasets())
    ones = dict.fromkeys(["spread", "same_order", "drop_at_peak", "joint_drop_at_peak"], 1.0)
    assert got == pytest.approx({**ones, "icl_left": 0.15, "icl_left_se": 0.015})
    assert staggered(datasets(), distribution="code")["step"].values.tolist() == [6400]


def test_a_score_that_rises_before_it_falls_has_fallen_by_its_whole_fall():
    made = datasets()
    score = made["induction_ablation"]["icl_score"].copy()
    score.loc[{"step": 50}] = 0.2
    got = found(
        {
            **made,
            "induction_ablation": with_left(
                made["induction_ablation"].assign(icl_score=score).drop_vars(["icl_left", "icl_left_se"])
            ),
        }
    )
    assert got == pytest.approx(found(made))


def test_heads_that_fall_in_the_other_order():
    assert found(datasets(falls=((800, 3200), (400, 800))))["same_order"] == 0
    assert np.isnan(found(datasets(falls=((400, 800), (400, 3200))))["same_order"])
    assert np.isnan(found(datasets(peaks=(800, 800)))["same_order"])


def test_the_joint_estimate_is_that_of_the_type_whose_members_the_heads_are():
    made = datasets()
    two = (
        made["components"].isel(component=[0, 0]).assign_coords(component=["x", "induction"]).copy(deep=True)
    )
    two["rllc"].loc[{"component": "x"}] = bump(50)[None, :, None]
    members = np.array(["0:0", "1:0+1:1"], dtype=object)
    two["members"] = (("step", "component"), np.tile(members, (len(STEPS), 1)))
    assert found({**made, "components": two})["joint_drop_at_peak"] == pytest.approx(1.0)
    two["members"][:] = np.array(["0:0", ""], dtype=object)
    assert np.isnan(found({**made, "components": two})["joint_drop_at_peak"])


def test_what_is_missing_is_nan():
    made = datasets()
    assert np.isnan(found({**made, "components": None})["joint_drop_at_peak"])
    one = made["attention_scores"].assign(
        head_type=made["attention_scores"]["head_type"].where(
            made["attention_scores"]["head"] != "1:1", "multigram"
        )
    )
    assert np.isnan(list(found({**made, "attention_scores": one}).values())).all()
    rising = made["induction_ablation"].assign(icl_score=-made["induction_ablation"]["icl_score"])
    got = found({**made, "induction_ablation": rising})
    assert np.isnan([got[name] for name in ("drop_at_peak", "icl_left", "icl_left_se", "same_order")]).all()
    assert got["spread"] == pytest.approx(1.0)

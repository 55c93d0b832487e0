"""Refined LLC and in-context learning of induction heads: every curve is where it belongs."""

import json

import numpy as np
import pytest
import xarray as xr

from rllc.figures.heads.staggered import rllc_fig10_staggered_induction
from rllc.vocabulary import head_coords, head_labels

STEPS = [0, 10, 100, 1000]


def study(kinds=("multigram", "previous-token", "induction", "induction"), seeds=(0,)):
    random = np.random.default_rng(0)
    at = {"seed": list(seeds), "distribution": ["mixture", "code"]}
    heads = head_coords(head_labels(2, 2))
    sizes = (len(seeds), 4, 4, 2)

    def pair(name, dims, shape):
        return {name: (dims, random.normal(size=shape)), f"{name}_se": (dims, np.full(shape, 0.1))}

    rllc = xr.Dataset(
        pair("rllc", ("seed", "step", "head", "distribution"), sizes), {**at, "step": [0, 20, 200, 1000], **heads},
        {"sampling": json.dumps({"n_beta": 30, "localization": 200, "step_size": 1e-3})},
    )  # fmt: skip
    several = [f"1:{n}" for n in (0, 1) if kinds[2 + n] == "induction"]
    ablated = ["none", *(several[::-1] if len(several) > 1 else []), *(["all"] if several else [])]
    shape = (len(seeds), 4, 2, len(ablated))
    icl = xr.Dataset(
        pair("icl_score", ("seed", "step", "distribution", "ablated"), shape), {**at, "step": STEPS, "ablated": ablated},
        {"induction_ablation": json.dumps({"contexts": 256})},
    )  # fmt: skip
    types = xr.Dataset(
        {"head_type": (("seed", "head"), np.asarray([kinds] * len(seeds), dtype=object))},
        {"seed": list(seeds), **heads},
    )
    components = xr.Dataset(
        pair("rllc", ("seed", "step", "component", "distribution"), (len(seeds), 2, 1, 1)),
        {"seed": list(seeds), "step": [20, 1000], "component": ["1:0+1:1"], "distribution": ["code"]},
    )
    return {"rllc": rllc, "induction_ablation": icl, "attention_scores": types, "components": components}


def curves(ax, points=4):
    return [
        line.get_ydata()
        for line in ax.lines
        if len(line.get_ydata()) == points and line.get_linewidth() > 0.9
    ]


def test_heads_are_left_and_all_of_them_right(misplaced, unlike):
    made = study()
    drawing = rllc_fig10_staggered_induction(made)
    heads, joint, without, plain = drawing.figure.axes
    code = {
        name: data.sel(seed=0, distribution="code")
        for name, data in made.items()
        if name != "attention_scores"
    }
    np.testing.assert_allclose(curves(heads), code["rllc"]["rllc"].sel(head=["1:0", "1:1"]).T)
    np.testing.assert_allclose(
        curves(without), code["induction_ablation"]["icl_score"].sel(ablated=["1:1", "1:0"]).T
    )
    np.testing.assert_allclose(
        curves(plain), code["induction_ablation"]["icl_score"].sel(ablated=["none", "all"]).T
    )
    np.testing.assert_allclose(curves(joint, 2), code["components"]["rllc"].T)
    last = code["induction_ablation"]["icl_score"].isel(step=-1)
    values = [finding.value for finding in drawing.findings]
    assert values[:4] == pytest.approx([float(last.sel(ablated=a)) for a in ("none", "all", "1:1", "1:0")])
    assert "1:0 as the only" in drawing.findings[2].label
    assert values[4] == pytest.approx(
        float(code["rllc"]["rllc"].sel(head=["1:0", "1:1"]).isel(step=-1).max())
    )
    assert {"rllc", "rllc_joint", "icl_score"} <= set(drawing.data.data_vars)
    assert misplaced(drawing) == []
    assert unlike(drawing, made) == ["rllc", "rllc_se"]  # over steps of their own


def test_the_joint_estimate_of_a_type_is_that_of_each_seeds_own_heads():
    made = study(seeds=(0, 2))
    components = made["components"].assign_coords(component=["induction"])
    members = np.full(components["rllc"].shape, "1:0+1:1", dtype=object)
    members[1] = ""  # of seed 2 nothing is finished yet
    made["components"] = components.assign(members=(components["rllc"].dims, members))
    drawing = rllc_fig10_staggered_induction(made)
    first, second = (drawing.figure.axes[n] for n in (1, 5))
    expected = components["rllc"].sel(seed=0, distribution="code").T
    np.testing.assert_allclose(curves(first, 2), expected)
    assert "not sampled" in second.get_title(loc="left") and not curves(second, 2)


def test_another_distribution_and_no_joint_estimate(misplaced):
    made = study(seeds=(0, 2))
    drawing = rllc_fig10_staggered_induction(made, distribution="mixture", seeds=[2])
    heads, joint, _, _ = drawing.figure.axes
    expected = made["rllc"]["rllc"].sel(seed=2, distribution="mixture", head=["1:0", "1:1"]).T
    np.testing.assert_allclose(curves(heads), expected)
    assert "not sampled" in joint.get_title(loc="left")
    both = rllc_fig10_staggered_induction(made)
    assert len(both.figure.axes) == 8
    assert misplaced(both) == []
    with pytest.raises(ValueError, match="no distribution english"):
        rllc_fig10_staggered_induction(made, distribution="english")


def test_scores_without_the_heads_of_another_seed_are_not_missing():
    made = study(seeds=(0, 2))
    made["attention_scores"]["head_type"][1, 2] = (
        "multigram"  # seed 2 has no 1:0, so no score without it or 1:1 alone
    )
    made["induction_ablation"]["icl_score"].loc[{"seed": 2, "ablated": ["1:0", "1:1"]}] = np.nan
    assert not any("missing" in said for said in rllc_fig10_staggered_induction(made).conditions)
    made["induction_ablation"]["icl_score"].loc[
        {"seed": 0, "ablated": "1:0", "step": 10, "distribution": "code"}
    ] = np.nan
    assert "1 of 24 cells of icl_score are missing" in rllc_fig10_staggered_induction(made).caption


@pytest.mark.parametrize("heads", [0, 1])
def test_with_one_induction_head_the_left_is_alone(heads, misplaced):
    kinds = ("multigram", "multigram", "induction" if heads else "multigram", "multigram")
    given = study(kinds)
    given["components"] = given["components"].assign_coords(component=["1:0"])  # no head beside it
    drawing = rllc_fig10_staggered_induction(given)
    assert "rllc_joint" not in drawing.data
    shown = [ax for ax in drawing.figure.axes if ax.get_visible()]
    assert len(shown) == 2
    assert [len(curves(ax)) for ax in shown] == [heads, 1 + heads]
    assert ("No induction head in seed 0." in drawing.conditions) == (not heads)
    assert len(drawing.findings) == (3 if heads else 1)
    assert misplaced(drawing) == []


@pytest.mark.parametrize("heads", [1, 2])
def test_the_score_of_the_intact_model_on_other_texts_is_drawn_beside(heads, misplaced, numbers):
    kinds = ("multigram", "previous-token", "induction", "induction" if heads > 1 else "multigram")
    made = study(kinds)
    texts = ["mixture", "code", "english"]
    random = np.random.default_rng(1)
    metrics = xr.Dataset(
        {
            "icl_score": (("seed", "step", "distribution"), random.normal(size=(1, 5, 3))),
            "icl_score_se": (("seed", "step", "distribution"), np.full((1, 5, 3), 0.02)),
        },
        {
            "seed": [0],
            "step": [0, 5, *STEPS[1:]],
            "distribution": texts,
            "distribution_label": ("distribution", ["training mixture", "Python code", "English prose"]),
        },
    )
    drawing = rllc_fig10_staggered_induction({**made, "metrics": metrics})
    shown = [ax for ax in drawing.figure.axes if ax.get_visible()]
    plain = shown[-1]
    expected = metrics["icl_score"].sel(seed=0, distribution=["mixture", "english"], step=STEPS)
    lines = [line.get_ydata() for line in plain.lines if len(line.get_ydata()) == 4]
    np.testing.assert_allclose(lines[:2], expected.transpose("distribution", "step"))
    found = numbers(drawing)("in-context learning score", "on training mixture")
    assert (found.value, found.error) == (pytest.approx(float(expected[-1, 0])), pytest.approx(0.02))
    assert not any("Python" in each.label for each in drawing.findings)
    assert misplaced(drawing) == []


def test_the_columns_of_published_scale_are_both_there(misplaced):
    """With the joint rLLC of ``sampling.other`` of config/paper.yaml: its component is the type."""
    made = study()
    made["components"] = made["components"].assign_coords(component=["induction"])
    members = np.full(made["components"]["rllc"].shape, "1:0+1:1", dtype=object)
    made["components"] = made["components"].assign(members=(made["components"]["rllc"].dims, members))
    drawing = rllc_fig10_staggered_induction(made)
    titles = [ax.get_title(loc="left") for ax in drawing.figure.axes if ax.get_visible()]
    assert titles == [
        "each induction head", "all together", "without the others", "as it is, and without all",
    ]  # fmt: skip
    assert drawing.data["rllc_joint"].notnull().any() and misplaced(drawing) == []

"""Curves, heads and errors as claims see them."""

import numpy as np
import pytest
import xarray as xr
from tests.claims.runs import HEADS, STEPS, rllc, run, scores

from rllc.analysis.curves import NotJudged
from rllc.claims.reading import REDRAW, REDRAWS
from rllc.claims.selection import Absent

TYPES = ["previous-token", "multigram", "induction", "induction"]


def test_curve_at_labels_equals_the_dataset():
    data = rllc(seeds=(0, 3))
    one = run({"rllc": data}, seed=3)
    got = one.curve("rllc.rllc", heads=["1:0", "0:1"], distribution="code", from_step=100, to_step=300)
    expected = data["rllc"].sel(seed=3, distribution="code", step=[100, 200, 300], head=["1:0", "0:1"])
    np.testing.assert_array_equal(got.transpose("step", "head"), expected)
    assert set(one.curve("rllc.rllc").dims) == {"step", "head", "distribution"}, "no label: all of them"


def test_curve_leaves_out_checkpoints_at_which_nothing_is_measured():
    data = rllc()
    data["rllc"] = data["rllc"].where(data["step"] != 200)
    got = run({"rllc": data}).curve("rllc.rllc", distribution="code")
    assert got["step"].values.tolist() == [0, 100, 300, 400]


@pytest.mark.parametrize(
    ("variable", "labels", "said"),
    [
        ("llc.llc", {}, "no llc"),
        ("rllc.other", {}, "rllc.other"),
        ("rllc.rllc", {"distribution": "tales"}, "tales"),
        ("rllc.rllc", {"method": "zero"}, "method"),
        ("rllc.rllc", {"heads": ["7:7"]}, "7:7"),
    ],
)
def test_curve_that_the_experiment_lacks_is_absent(variable, labels, said):
    with pytest.raises(Absent, match=said):
        run({"rllc": rllc()}).curve(variable, **labels)


def test_curve_without_a_value_is_not_judged():
    with pytest.raises(NotJudged, match="from step 500"):
        run({"rllc": rllc()}).curve("rllc.rllc", from_step=500)
    with pytest.raises(NotJudged, match="not measured"):
        run({"rllc": rllc(seeds=(0, 1))}, seed=2).curve("rllc.rllc")


def test_heads_are_chosen_by_type_and_layer_and_too_few_are_not_judged():
    one = run({"attention_scores": scores(TYPES), "rllc": rllc()})
    assert one.heads() == HEADS and one.heads(layer=1) == ["1:0", "1:1"] and not one.by_type
    assert one.heads("induction", at_least=2) == ["1:0", "1:1"] and one.by_type
    with pytest.raises(NotJudged, match="needs 1 induction head in layer 0, has none"):
        one.heads("induction", layer=0)
    with pytest.raises(NotJudged, match="needs 2 multigram heads, has 1"):
        one.heads("multigram", at_least=2)
    with pytest.raises(Absent):
        run({"rllc": rllc()}).heads("induction")


@pytest.mark.parametrize("noise", ["own", "common"])
def test_redraws_have_the_mean_and_the_errors_of_the_estimates(noise):
    data = rllc(error=0.5)
    one = run({"rllc": data}, noise=noise)
    drawn = one.curve("rllc.rllc", distribution="mixture")
    assert drawn.sizes[REDRAW] == REDRAWS
    measured = data["rllc"].sel(seed=0, distribution="mixture")
    np.testing.assert_allclose(drawn.mean(REDRAW), measured.transpose("step", "head"), atol=0.08)
    np.testing.assert_allclose(drawn.std(REDRAW), 0.5, rtol=0.1)
    steps = np.corrcoef(drawn.isel(head=0).values, rowvar=False)[0, 1]
    assert (steps > 0.99) if noise == "common" else abs(steps) < 0.1


def test_redraws_of_a_part_are_those_of_the_whole():
    whole = run({"rllc": rllc()}, noise="own").curve("rllc.rllc", distribution="code")
    part = run({"rllc": rllc()}, noise="own").curve(
        "rllc.rllc", distribution="code", heads=["1:1"], from_step=200
    )
    np.testing.assert_array_equal(part.sel(head="1:1"), whole.sel(head="1:1", step=[200, 300, 400]))


def test_control_stands_for_the_estimates_that_have_one():
    one = run({"rllc": rllc(), "attention_scores": scores(TYPES)}, control=True)
    assert bool((one.curve("rllc.rllc") == 5).all())
    assert float(one.curve("attention_scores.prefix_matching").max()) == 0.2
    assert [each.controlled for each in one.readings] == [True, False]


def test_share_of_unreliable_estimates_is_of_what_was_read():
    data = rllc()
    data["quality"] = data["quality"].where(~((data["step"] == 400) & (data["head"] == "0:0")), 1)
    one = run({"rllc": data})
    one.curve("rllc.rllc", heads=["0:0", "0:1"], distribution="code", from_step=300)
    assert one.readings[0].unreliable == pytest.approx(1 / 4)


def test_with_error_draws_a_number_anew():
    value, error = xr.DataArray(0.4), xr.DataArray(0.1)
    assert float(run({}).with_error(value, error, "a share")) == 0.4
    drawn = run({}, noise="own").with_error(value, error, "a share")
    assert float(drawn.mean()) == pytest.approx(0.4, abs=0.02) and float(drawn.std()) == pytest.approx(
        0.1, rel=0.1
    )


def test_last_step_of_a_curve_is_that_of_its_dataset():
    data = rllc()
    data["rllc"] = data["rllc"].where(data["step"] != STEPS[-1])
    assert int(run({"rllc": data}).curve("rllc.rllc", distribution="code")["last_step"]) == STEPS[-1]

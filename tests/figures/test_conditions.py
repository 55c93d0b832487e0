"""Conditions of captions: said where they apply, and nothing where they do not."""

import json

import numpy as np
import pytest
import xarray as xr

from rllc.figures import conditions
from rllc.quality import MASKS
from rllc.vocabulary import FREEDOM, PRECISE_AT, PRECISE_FREEDOM

NAN = np.nan
SETTING = {
    "n_beta": 30.0, "localization": 200.0, "step_size": 0.001, "reference_norm": None, "chains": 4, "draws": 30,
    "burn_in": 10, "thinning": 2, "batch_size": 8,
}  # fmt: skip


def estimates(values, quality=None, error=False, **setting):
    """``rllc`` (seed, step, head) of so many seeds and steps, two heads."""
    values = np.asarray(values, float).reshape(-1, 2, 2)
    dims = ("seed", "step", "head")
    data = {"rllc": (dims, values)}
    if quality is not None:
        data["quality"] = (dims, np.asarray(quality, np.int16).reshape(values.shape))
    if error:
        data["rllc_se"] = (dims, 0.1 * values)
    coords = {"seed": [*range(len(values))], "step": [0, 1342], "head": ["0:0", "1:0"]}
    return xr.Dataset(data, coords, {"sampling": json.dumps(SETTING | setting)})


def test_setting_has_what_the_level_depends_on():
    assert conditions.setting(estimates([1.0] * 4)) == [
        "Setting: n_beta 30, localization 200, step_size 0.001."
    ]
    (said,) = conditions.setting(estimates([1.0] * 4, reference_norm=20.0))
    assert said.endswith("reference_norm 20.")


def test_setting_that_is_not_recorded_gives_nothing():
    assert conditions.setting(estimates([1.0] * 4).drop_attrs()) == []


@pytest.mark.parametrize(
    ("section", "number"),
    [({"contexts": 4096, "batch_size": 2}, "4,096"), ({"probes": 3, "batch_size": 5}, "15")],
)
def test_contexts_are_those_of_the_measure_or_of_its_probes(section, number):
    (said,) = conditions.contexts(xr.Dataset(attrs={"x": json.dumps(section)}), "x")
    assert number in said


@pytest.mark.parametrize("attributes", [{}, {"x": json.dumps({"batch_size": 5})}])
def test_contexts_that_are_not_recorded_give_nothing(attributes):
    assert conditions.contexts(xr.Dataset(attrs=attributes), "x") == []


@pytest.mark.parametrize(
    ("seeds", "said"),
    [(3, ["Training seed 3."]), ([3], ["Training seed 3."]), ([0, 1], ["Training seeds 0, 1."])],
)
def test_seeds_are_named(seeds, said):
    assert conditions.seeds(xr.Dataset(coords={"seed": seeds})) == said


def test_seeds_of_data_without_them_give_nothing():
    assert conditions.seeds(xr.Dataset()) == []


def test_few_unreliable_cells_are_named_and_counted_among_those_with_a_value():
    flags = [0, MASKS["drifting"], MASKS["drifting"], MASKS["negative"]]  # the last is a caution
    (said,) = conditions.unreliable(estimates([1.0, 1.0, NAN, 1.0], flags), "rllc")
    assert "1 of 3 estimates" in said
    assert "1:0" in said and "step 0" in said and "seed" not in said


def test_an_unreliable_cell_of_several_seeds_is_named_with_its_seed():
    (said,) = conditions.unreliable(estimates([1.0] * 8, [*[0] * 7, MASKS["not_mixed"]]), "rllc")
    assert "1 of 8" in said and "1:0" in said and "step 1,342" in said and "seed 1" in said


def test_many_unreliable_cells_are_only_counted():
    (said,) = conditions.unreliable(estimates([1.0] * 8, [MASKS["drifting"]] * 8), "rllc")
    assert "8 of 8 estimates" in said and "0:0" not in said


@pytest.mark.parametrize("quality", [None, [0] * 4, [MASKS["negative"]] * 4])
def test_reliable_estimates_give_nothing(quality):
    assert conditions.unreliable(estimates([1.0] * 4, quality), "rllc") == []


def test_missing_cells_and_failed_chains_are_counted():
    data = estimates([1.0, NAN, NAN, 1.0])
    (said,) = conditions.missing(data, "rllc")
    assert "2 of 4" in said
    status = xr.DataArray(np.array([[0, 2], [1, 2]], np.int8), dims=("head", "chain"))
    (_, said) = conditions.missing(data.assign(status=status), "rllc")
    assert "1 nonfinite" in said and "2 diverged" in said and "of 4" in said


def test_no_missing_cell_and_no_failed_chain_give_nothing():
    data = estimates([1.0] * 4).assign(status=("chain", np.zeros(4, np.int8)))
    assert conditions.missing(data, "rllc") == []


def test_of_estimates_says_nothing_that_does_not_apply():
    calm = estimates([1.0] * 4, [0] * 4)
    assert conditions.of_estimates(calm.drop_attrs(), calm, "rllc") == ["Training seed 0."]
    wrong = estimates([1.0, NAN, 1.0, 1.0], [MASKS["drifting"], MASKS["missing"], 0, 0], error=True)
    said = conditions.of_estimates(wrong, wrong, "rllc")
    assert [each.split()[0] for each in said] == ["Bands:", "Setting:", "Rings:", "Crosses:", "Training"]


def test_of_several_estimates_counts_them_together():
    one = estimates([1.0, NAN, 1.0, 1.0], [MASKS["drifting"], MASKS["missing"], 0, 0], error=True)
    other = estimates([1.0] * 8)
    _, rings, crosses = conditions.of_several((one, "rllc"), (other, "rllc"))
    assert "1 of 11" in rings and "1 of 12" in crosses
    assert conditions.of_several((other, "rllc")) == conditions.of_several() == []


def test_recorded_settings_are_those_of_a_section():
    data = estimates([1.0] * 4)
    assert conditions.recorded(data, "sampling")["draws"] == 30
    assert conditions.recorded(data, "metrics") == {}


def test_contexts_and_bands_name_checkpoints_that_are_measured_on_more():
    section = {"probes": 4, "batch_size": 16, "precise": 64, "precise_at": [1342, 6500]}
    (said,) = conditions.contexts(xr.Dataset(attrs={"x": json.dumps(section)}), "x")
    assert said == (
        "Measured on 64 held-out contexts of each distribution "
        "(1,024 at step 1,342, 6,500: with other contexts, curves may jump there)."
    )
    facts = {FREEDOM: 3, PRECISE_FREEDOM: 63, PRECISE_AT: [1342, 6500]}
    said = conditions.band(xr.DataArray([0.1], dims="step", attrs=facts), "over probes")
    assert said.endswith("over probes, 3 degrees of freedom (63 at step 1,342, 6,500).")
    fewer = section | {"precise": 4}
    (said,) = conditions.contexts(xr.Dataset(attrs={"x": json.dumps(fewer)}), "x")
    assert said == "Measured on 64 held-out contexts of each distribution."


def test_minibatches_that_no_error_includes_are_said_with_their_size():
    """Errors of minibatches are 0.5 of 1 to 4, those given the minibatches 0.1 of them: 5 times as large."""
    source = estimates([1.0, 2.0, 3.0, 4.0], error=True)
    source["rllc_se_data"] = 0.5 * source["rllc"]
    drawn = source.drop_vars("rllc_se_data").sel(head=["1:0"])
    source["rllc_se_data"].loc[{"head": "0:0"}] = 9.0  # not drawn
    (said,) = conditions.minibatches(source, drawn, "rllc")
    assert said.startswith("Errors leave out the choice of minibatches") and "5 times as large" in said
    (said,) = conditions.minibatches(source.drop_vars("rllc_se_data"), drawn, "rllc")
    assert said == "Errors leave out the choice of minibatches."
    assert conditions.minibatches(source, drawn.drop_vars("rllc_se"), "rllc") == []

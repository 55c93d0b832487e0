"""What captions say, against datasets of a few cells."""

import json

import numpy as np
import pytest
import xarray as xr

from rllc.figures import against_controls, captions

NAN = np.nan
SETTING = {
    "n_beta": 30.0, "localization": 200.0, "step_size": 0.001, "reference_norm": None, "chains": 4, "draws": 30,
    "burn_in": 10, "thinning": 2, "batch_size": 8, "control_chains": 2,
}  # fmt: skip


def estimates(on, off=None, chains=None, heads=("0:0", "0:1", "1:0"), **setting):
    data = {"rllc": ("head", on), "rllc_gradient_off": ("head", on if off is None else off)}
    if chains is not None:
        data["rllc_chain"] = (("head", "chain"), chains)
    coords = {"head": list(heads[: len(on)]), "seed": 3}
    return xr.Dataset(data, coords, {"sampling": json.dumps(SETTING | setting)})


def test_the_finding_comes_first_and_the_rest_as_far_as_there_is_room():
    short, long = "Few words.", " ".join(["Word"] * 60) + "."
    caption, details = captions.compose(
        "", short, long, long, short, conditions=["Here.", ""], details=["D.", ""]
    )
    assert caption == f"{short} {long} Here."
    assert details == f"{long} {short} D."
    assert captions.compose("It rises.", title="Losses")[0] == "Losses: it rises."
    exact = " ".join(["word"] * (118))
    assert captions.compose("A b", exact) == (f"A b {exact}", "")
    assert captions.compose("A b c", exact) == ("A b c", exact)


def test_the_setting_is_said_in_three_lengths():
    data = estimates([1.0])
    assert captions.setting(data) == "Setting: n_beta 30, localization 200, step_size 0.001."
    assert captions.level(data) == " (n_beta 30, localization 200, step_size 0.001)"
    assert captions.chains(data) == (
        "n_beta 30, localization 200, step_size 0.001, chains 4, draws 30, burn_in 10, thinning 2, batch_size 8 "
        "(480 held-out contexts per chain)"
    )
    unknown = data.drop_attrs()
    assert captions.setting(unknown) == "The dataset does not record its sampling setting."
    assert captions.level(unknown) == captions.chains(unknown) == ""
    assert captions.level(estimates([1.0], reference_norm=20.0)).endswith("reference_norm 20)")


def test_a_measure_is_on_its_contexts_or_on_those_of_its_probes():
    for section, said in (
        ({"contexts": 4096, "batch_size": 2}, "4,096"),
        ({"probes": 3, "batch_size": 5}, "15"),
    ):
        data = xr.Dataset(attrs={"x": json.dumps(section)})
        assert captions.contexts(data, "x") == f"Measured on {said} held-out contexts of each distribution."
    assert captions.contexts(data, "y") == ""


@pytest.mark.parametrize(
    ("seeds", "said", "labels"),
    [(3, "Training seed 3.", []), ([3], "Training seed 3.", []), ([0, 1], "Training seeds 0, 1, each by itself.", [captions.LABELS])],
)  # fmt: skip
def test_seeds_are_named(seeds, said, labels):
    data = xr.Dataset(coords={"seed": seeds})
    assert captions.seeds(data) == said
    assert captions.labels(data) == labels


def test_missing_cells_and_chains_that_failed_are_counted():
    data = estimates([1.0, NAN, NAN])
    assert captions.failures(data, "rllc_gradient_off", "rllc") == (
        "2 of 3 cells of rllc_gradient_off are missing and marked with a cross; 2 of 3 cells of rllc are missing "
        "and marked with a cross."
    )
    data = estimates([1.0, 2.0]).assign(status=(("head", "chain"), np.array([[0, 2], [1, 2]], np.int8)))
    assert captions.failures(data, "rllc") == "Chains not ok: 1 nonfinite, 2 diverged of 4."
    assert captions.failures(data.assign(status=data.status * 0), "rllc") == "No cell drawn is missing."


def test_the_highest_heads_and_how_far_the_first_is_ahead():
    data = estimates([1.0, NAN, 3.0, 2.0], heads=("0:0", "0:1", "1:0", "1:1"))
    error = data["rllc"] / 10
    assert captions.highest(data["rllc"]) == "1:0"
    assert captions.largest(data["rllc"], error, count=2) == "1:0 (3.00 ± 0.30), 1:1 (2.00 ± 0.20)"
    assert captions.largest(data["rllc"], None, count=9) == "1:0 (3.00), 1:1 (2.00), 0:0 (1.00)"
    assert captions.largest(data["rllc"] * NAN, None, count=2) == "none measured"
    assert captions.by_head(data["rllc"], ".1f") == "0:0 1.0, 0:1 nan, 1:0 3.0, 1:1 2.0"
    assert captions.ahead(data) == ""
    chains = data["rllc"] + xr.DataArray([-0.1, 0.1, -0.1, 0.1], dims="chain") * data["rllc"]
    said = captions.ahead(data.assign(rllc_chain=chains))
    assert said.startswith(", 1.00 ± ") and said.endswith(" above 1:1") and "nan" not in said
    assert captions.ahead(data.assign(rllc_chain=chains).isel(head=[1, 2])) == ""
    assert captions.ahead(data.assign(rllc_chain=chains.isel(chain=[0]))) == ""


def test_the_change_by_the_gradient_is_over_the_chains_that_have_a_control():
    data = estimates([9.0], [2.0], [[1.0, 2.0, 50.0, 60.0]])
    assert against_controls.change_by_gradient(data) == pytest.approx(1 - 1.5 / 2)
    assert against_controls.change_by_gradient(data.drop_vars("rllc_chain")) == pytest.approx(1 - 9 / 2)
    assert against_controls.change_by_gradient(data.drop_attrs()) == pytest.approx(1 - 9 / 2)


@pytest.mark.parametrize(
    ("off", "trace", "said"),
    [
        (1.05, None, ["Without the loss gradient the estimates change by 5.0% in the median cell"]),
        (1.06, None, []),
        (0.9, None, []),
        (2.0, 4 / 0.3, ["n_beta / (2 localization) tr H is 1.00 to 1.00 times the estimate in eight of ten cells"]),
        (2.0, 4 / 0.3 * 0.76, ["n_beta / (2 localization) tr H is 0.76 to 0.76"]),
        (2.0, 4 / 0.3 * 0.74, []),
        (2.0, 4 / 0.3 * 1.24, ["n_beta / (2 localization) tr H is 1.24 to 1.24"]),
        (2.0, 4 / 0.3 * 1.26, []),
        (1.0, 4 / 0.3, ["Without the loss gradient", "n_beta / (2 localization) tr H"]),
        (2.0, NAN, []),
    ],
)  # fmt: skip
def test_an_estimate_that_is_the_localizations_is_said_to_be(off, trace, said):
    """At most 5 % from the control, or within a quarter of n_beta tr H / (2 localization) = 0.075 tr H."""
    data = estimates([1.0, 1.0], [1 / (1 - (off - 1)) if off < 1.5 else off] * 2)
    datasets = {} if trace is None else {
        "hessian": xr.Dataset({"hessian_trace_head": ("head", [trace] * 2)}, {"head": ["0:0", "0:1"]})
    }  # fmt: skip
    found = against_controls.localization_dominance(data, datasets, limit=0.0500001)
    assert len(found) == len(said)
    assert all(sentence.startswith(start) for sentence, start in zip(found, said, strict=True))


def by_text(*off):
    """One head with rLLC 1 on texts of several names, each with its control."""
    each = [estimates([1.0, 1.0], [value, value]) for value in off]
    names = [f"text{n}" for n in range(len(off))]
    made = xr.concat(each, xr.DataArray(names, dims="distribution", name="distribution"))
    labels = [f"my text {n}" for n in range(len(off))]
    return made.assign_coords(distribution_label=("distribution", labels))


def test_of_several_texts_the_controls_part_in_each_is_said():
    (found,) = against_controls.localization_dominance(by_text(1 / 0.98, 2.0), {})
    assert found == (
        "Without the loss gradient estimates change by a median of 2.0% on my text 0, 50.0% on my text 1. "
        "Up to 5%, on your own text too, they say how curved the loss there is."
    )
    (found,) = against_controls.localization_dominance(by_text(2.0, 4.0), {})
    assert found.endswith("a median of 50.0% on my text 0, 75.0% on my text 1.")
    (found,) = against_controls.localization_dominance(by_text(*np.linspace(1.25, 5, 7)), {})
    assert found.endswith("a median of 20.0% on my text 0 to 80.0% on my text 6.")


def test_without_a_pull_there_is_no_prediction_of_the_curvature():
    hessian = xr.Dataset({"hessian_trace_head": ("head", [1.0])}, {"head": ["0:0"]})
    assert against_controls.predicted(estimates([1.0], localization=0), {"hessian": hessian}) is None
    assert against_controls.predicted(estimates([1.0]), {}) is None


def test_types_are_those_of_the_heads_that_have_one():
    kinds = xr.DataArray(
        [["induction", "multigram"], ["multigram", "unknown"]],
        {"seed": [0, 1], "head": ["0:0", "0:1"]},
        ("seed", "head"),
    )
    assert "(seed 0: 0:0 induction; seed 1: none above a threshold)" in captions.types(kinds)
    assert captions.types(kinds.where(False, "unknown")) == captions.NO_HEADS


@pytest.mark.parametrize(("pairs", "source"), [(0, "effective sample size"), (12, "between pairs")])
def test_where_standard_errors_come_from(pairs, source):
    assert source in captions.error(xr.Dataset(attrs={"sampling": json.dumps({"pairs": pairs})}))


def test_ranges_over_seeds_are_short_and_leave_out_what_is_not_known():
    assert captions.spread([0.704, NAN, 0.77, 0.71], ".2f") == "0.70 to 0.77"
    assert captions.spread([0.701, 0.699], ".2f") == captions.spread([0.7], ".2f") == "0.70"
    assert captions.spread([NAN], ".2f") == "not known"
    assert captions.spread([2700, 900], lambda step: f"{step:,.0f}") == "900 to 2,700"
    values = xr.DataArray(
        [[1.0, 2.0, NAN], [3.0, 4.0, 5.0], [NAN] * 3], {"seed": [0, 4, 7]}, ("seed", "step")
    )
    assert captions.last(values) == [2.0, 5.0]
    assert captions.over(values) == " over 3 seeds" and captions.over(values.isel(seed=0)) == ""
    assert captions.of_seeds("All.", ["One."]) == (["One."], [])
    assert captions.of_seeds("All.", ["One.", "Two."]) == (["All."], ["One.", "Two."])

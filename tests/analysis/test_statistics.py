import json

import numpy as np
import pytest
import xarray as xr

from rllc.analysis.found import Found
from rllc.analysis.statistics import summarise

NAN = float("nan")
STEPS = [0, 10, 100, 1000]


def llc(values=((1.0, 2, 8, 6), (1, 9, 3, NAN))):
    return xr.Dataset(
        {"llc": (("seed", "step", "distribution"), np.array(values)[..., None])},
        coords={"seed": [3, 5], "step": STEPS, "distribution": ["lists"]},
    )


def circuits():
    random = np.arange(16.0).reshape(2, 4, 2)
    return xr.Dataset(
        {
            "anti_state": (("seed", "step", "head"), random % 5),
            "head_overlap": (("seed", "step"), np.array([[0.0, 5, 1, 1], [9, 2, 4, 3]])),
        },
        coords={"seed": [3, 5], "step": STEPS, "head": ["0:0", "0:1"]},
    )


def entry(of, statistic, **more):
    return {"of": of, "statistic": statistic, "label": "a label", "unit": "1", **more}


def summary(statistic, datasets=None):
    return summarise({"it": statistic}, datasets or {"llc": llc(), "circuits": circuits()})


def test_one_number_per_seed():
    found = summary(entry("llc.llc", "peak_step"))
    assert found["it"].dims == ("seed",) and found["seed"].values.tolist() == [3, 5]
    assert found["it"].values.tolist() == [100, 10]
    assert found["it"].attrs == {"long_name": "a label", "units": "1"}
    assert found["last_step"].values.tolist() == [1000, 100]


def test_last_step_is_that_of_any_curve():
    both = summarise(
        {"a": entry("llc.llc", "last"), "b": entry("circuits.head_overlap", "last")},
        {"llc": llc(), "circuits": circuits()},
    )
    assert both["last_step"].values.tolist() == [1000, 1000]


def test_missing_estimates_are_skipped_and_all_missing_is_nan():
    found = summary(entry("llc.llc", "fall"), {"llc": llc([(NAN, 4, NAN, 3), (NAN,) * 4])})
    np.testing.assert_allclose(found["it"], [0.25, NAN])
    np.testing.assert_allclose(found["last_step"], [1000, NAN])


def test_steps_are_sorted_and_early_ones_left_out():
    shuffled = {"llc": llc().isel(step=[2, 0, 3, 1])}
    assert summary(entry("llc.llc", "maximum"), shuffled)["it"].values.tolist() == [8, 9]
    assert summary(entry("llc.llc", "last"), shuffled)["it"].values[0] == 6
    assert summary(entry("llc.llc", "peak_step", from_step=100))["it"].values.tolist() == [100, 100]
    assert summary(entry("llc.llc", "peak_step", from_step=101))["it"].values[0] == 1000


def test_late_ones_left_out():
    found = summary(entry("llc.llc", "fall", to_step=100))
    np.testing.assert_allclose(found["it"], [0, 2 / 3])
    assert found["last_step"].values.tolist() == [100, 100]
    assert summary(entry("llc.llc", "peak_step", to_step=99))["it"].values.tolist() == [10, 10]


def test_a_running_mean_comes_first():
    found = summary(entry("llc.llc", "last", window=3))
    np.testing.assert_allclose(found["it"], [16 / 3, NAN])
    np.testing.assert_allclose(summary(entry("llc.llc", "minimum", window=3))["it"], [11 / 3, 13 / 3])
    assert found["it"].attrs["window"] == 3
    assert "window" not in summary(entry("llc.llc", "last"))["it"].attrs
    np.testing.assert_allclose(summary(entry("llc.llc", "last", window=4))["it"], [17 / 4, NAN])


def test_estimates_with_a_fault_are_counted_on_the_curve_alone():
    """Cautions, cells without an estimate and checkpoints before the first are none of it."""
    bits = np.array([[16, 0, 512, 4], [0, 4, 4, 2]])[..., None]
    dataset = llc().assign(verdict=(("seed", "step", "distribution"), bits))
    found = summary(entry("llc.llc", "last", from_step=10), {"llc": dataset})
    assert found["it_untrusted"].values.tolist() == [1 / 3, 1]
    both = entry("circuits.head_overlap", "step_lead", against="llc.llc", from_step=10)
    found = summary(both, {"llc": dataset, "circuits": circuits()})
    assert found["it_untrusted"].values.tolist() == [1 / 3, 1]
    sound = {"llc.long": dataset.assign(verdict=0 * dataset["verdict"]), "llc": dataset}
    for one, other in (("llc.long", "llc"), ("llc", "llc.long")):  # the curve with more faults counts
        two = entry(f"{one}.llc", "step_lead", against=f"{other}.llc", from_step=10)
        assert summary(two, sound)["it_untrusted"].values.tolist() == [1 / 3, 1]
    assert "it_untrusted" not in summary(entry("llc.llc", "last"))


def with_errors(errors):
    """Curves of two seeds with standard errors, one per seed and step."""
    return llc([(1.0, 2, 8, 6), (1, 9, 3, 2)]).assign(
        llc_se=(("seed", "step", "distribution"), np.broadcast_to(errors, (2, 4))[..., None])
    )


def test_a_value_has_the_standard_error_of_its_checkpoint():
    found = summary(entry("llc.llc", "last"), {"llc": with_errors([0.1, 0.2, 0.3, 0.5])})
    np.testing.assert_allclose(found["it_se"], 0.5, rtol=0.1)
    assert found["it_se"].attrs == {"long_name": "standard error of: a label", "units": "1"}


def test_a_fall_between_two_clear_checkpoints_has_the_error_of_their_ratio():
    """d(last / top) = ratio * sqrt((e_last / last)^2 + (e_top / top)^2), to first order."""
    found = summary(entry("llc.llc", "fall"), {"llc": with_errors(0.05)})
    first_order = [6 / 8 * np.hypot(0.05 / 6, 0.05 / 8), 2 / 9 * np.hypot(0.05 / 2, 0.05 / 9)]
    np.testing.assert_allclose(found["it_se"], first_order, rtol=0.1)


def test_a_running_mean_narrows_the_error():
    found = summary(entry("llc.llc", "last", window=3), {"llc": with_errors(0.3)})
    np.testing.assert_allclose(found["it_se"], 0.3 / np.sqrt(3), rtol=0.1)


def test_the_other_curve_may_have_labels_of_its_own():
    """The same variable at another label, and a variable that has no such dim."""
    two = xr.concat(
        [llc(), 3 * llc()], xr.DataArray(["lists", "sums"], dims="distribution", name="distribution")
    )
    at = {"at": {"distribution": "sums"}, "against_at": {"distribution": "lists"}}
    found = summary(entry("llc.llc", "mean_ratio", against="llc.llc", **at), {"llc": two})
    np.testing.assert_allclose(found["it"], [3, 3])
    given = {"llc": two, "circuits": circuits()}
    with_none = entry(
        "llc.llc", "rank_correlation", against="circuits.head_overlap", **at | {"against_at": {}}
    )
    plain = entry("llc.llc", "rank_correlation", against="circuits.head_overlap")
    np.testing.assert_allclose(summary(with_none, given)["it"], summary(plain)["it"])
    absent = summary(
        entry("llc.llc", "mean_ratio", against="llc.llc", **at | {"against_at": None}), {"llc": two}
    )
    np.testing.assert_allclose(absent["it"], [1, 1])


def test_errors_of_a_curve_that_it_is_held_against_count():
    at = entry("circuits.head_overlap", "step_lead", against="llc.llc")
    clear = summary(at, {"llc": with_errors(1e-6), "circuits": circuits()})
    wide = summary(at, {"llc": with_errors([0, 0, 5, 5]), "circuits": circuits()})
    np.testing.assert_allclose(clear["it_se"], 0, atol=1e-12)
    assert (wide["it_se"] > 0.5).all()


def test_no_error_where_there_is_none_to_take_it_from():
    assert "it_se" not in summary(entry("llc.llc", "last"))
    unknown = with_errors([[0.1, 0.1, np.nan, 0.1], [0.1] * 4])
    found = summary(entry("llc.llc", "last"), {"llc": unknown})
    assert found["it"].values.tolist() == [6, 2]
    np.testing.assert_array_equal(found["it_se"].isnull(), [True, False])
    without = entry("llc.llc", "first_step_reaching", threshold=8)  # which some redrawn curves do not
    assert summary(without, {"llc": with_errors(0.5)})["it_se"].isnull().all()
    infinite = with_errors([0.1, 0.1, 0.1, np.inf])
    assert summary(entry("llc.llc", "last"), {"llc": infinite})["it_se"].isnull().all()


def test_where_steps_share_their_noise_the_larger_error_counts():
    """A mean over 3 has e / sqrt(3) by independent errors and e by a common one; a fall has less by the latter."""
    seeded = with_errors(0.05).assign_attrs(sampling='{"seeded": true}')
    mean = summary(entry("llc.llc", "last", window=3), {"llc": seeded})
    np.testing.assert_allclose(mean["it_se"], 0.05, rtol=0.1)
    falls = [summary(entry("llc.llc", "fall"), {"llc": each}) for each in (seeded, with_errors(0.05))]
    np.testing.assert_array_equal(falls[0]["it_se"], falls[1]["it_se"])


def of_heads(errors=(0.02, 0.04, 9.0)):
    """Curves of three heads, two of them in layer 0: falls by 1/4 and 1/2; the third rises."""
    values = np.array([[4.0, 8, 2], [8, 4, 3], [6, 4, 9]])[None, ..., None]
    dims = ("seed", "step", "head", "distribution")
    return xr.Dataset(
        {"rllc": (dims, values), "rllc_se": (dims, np.broadcast_to(errors, (1, 3, 3))[..., None])},
        {"seed": [0], "step": [0, 10, 20], "head": ["0:0", "0:1", "1:0"], "distribution": ["mixture"]},
    )


def test_a_statistic_of_each_head_of_a_layer_and_its_error():
    of = {"datasets": {"rllc": of_heads()}}
    least = summary(entry("rllc.rllc", "fall", layer=0, of_heads="min"), **of)
    assert least["it"].item() == 1 - 6 / 8
    np.testing.assert_allclose(least["it_se"], 0.75 * np.hypot(0.02 / 6, 0.02 / 8), rtol=0.1)
    most = summary(entry("rllc.rllc", "fall", layer=0, of_heads="max"), **of)
    np.testing.assert_allclose(most["it_se"], 0.5 * np.hypot(0.04 / 4, 0.04 / 8), rtol=0.1)
    mean = summary(entry("rllc.rllc", "last", layer=0, over_heads="mean"), **of)
    assert mean["it"].item() == 5
    np.testing.assert_allclose(mean["it_se"], np.hypot(0.02, 0.04) / 2, rtol=0.1)
    absent = summary(entry("rllc.rllc", "fall", layer=2, of_heads="min"), **of)
    assert "no head in layer 2" in absent.attrs["absent.it"]
    gone = of_heads()
    gone["rllc"].loc[{"head": "0:1"}] = NAN
    assert summary(entry("rllc.rllc", "fall", of_heads="min"), {"rllc": gone})["it"].isnull().all()
    assert summary(entry("rllc.rllc", "last", over_heads="min"), {"rllc": gone})["it"].item() == 6


@pytest.mark.parametrize("over", ["max", "min", "mean"])
def test_over_heads(over):
    found = summary(entry("circuits.anti_state", "last", over_heads=over))
    last = circuits().anti_state.values[:, -1]
    assert found["it"].values.tolist() == [getattr(np, over)(row) for row in last]


def test_a_label_along_a_dim_with_several():
    found = summary(entry("circuits.anti_state", "last", at={"head": "0:1"}))
    assert found["it"].values.tolist() == circuits().anti_state.values[:, -1, 1].tolist()


def test_two_curves_over_the_seeds_of_both():
    data = {"llc": llc().isel(seed=[1]), "circuits": circuits()}
    found = summarise(
        {
            "lead": entry("circuits.head_overlap", "step_lead", against="llc.llc"),
            "last": entry("circuits.head_overlap", "last"),
        },
        data,
    )
    assert found["seed"].values.tolist() == [3, 5]
    np.testing.assert_allclose(found["lead"], [NAN, np.log2(11)])
    assert found["last"].values.tolist() == [1, 3]


def test_both_curves_are_smoothed_before_they_are_held_against_each_other():
    """One spike is the peak of either curve; of a running mean over 3 it is not."""
    early, late = (9.0, 0, 0, 4, 5, 4, 0, 0), (0.0, 0, 4, 5, 4, 0, 0, 9)
    curves = xr.Dataset(
        {"a": (("seed", "step"), [early]), "b": (("seed", "step"), [late])},
        coords={"seed": [0], "step": [0, 1, 3, 7, 15, 31, 63, 127]},
    )
    raw, smoothed = (
        summary(entry("it.a", "step_lead", against="it.b", window=window), {"it": curves})["it"].item()
        for window in (1, 3)
    )
    assert raw == 7  # 127 against 0
    assert smoothed == -1  # 7 against 15
    assert summary(entry("it.b", "step_lead", against="it.a", window=3), {"it": curves})["it"].item() == 1
    short = {"it": curves, "other": curves.isel(step=[0, 1])}
    assert summary(entry("it.a", "step_lead", against="other.b", window=3), short)["it"].isnull().all()


@pytest.mark.parametrize(
    ("statistic", "said"),
    [
        (entry("metrics.loss", "last"), "has no metrics.loss"),
        (entry("llc.rank", "last"), "has no llc.rank"),
        (entry("llc.llc", "last", at={"distribution": "sums"}), "no distribution 'sums'"),
        (entry("circuits.anti_state", "last"), "more than one head"),
        (entry("llc.llc", "step_lead", against="metrics.loss"), "has no metrics.loss"),
    ],
)
def test_what_an_experiment_lacks_is_left_out_and_says_why(statistic, said, tmp_path):
    found = summary(statistic)
    assert set(found.data_vars) == {"last_step"} and found["last_step"].isnull().all()
    found.to_netcdf(tmp_path / "summary.nc")
    assert said in xr.load_dataset(tmp_path / "summary.nc").attrs["absent.it"]


def test_a_sampling_setting_is_part_of_the_dataset_name():
    found = summary(entry("llc.long.llc", "maximum"), {"llc.long": llc()})
    assert found["it"].values.tolist() == [8, 9]


def seeds_apart(**more):
    values = [[1.0, 2, 8, 6], [1, 9, 3, NAN], [4, 2, 1, NAN]]
    data = xr.Dataset(
        {"llc": (("seed", "step"), np.array(values))}, coords={"seed": [3, 5, 9], "step": STEPS}
    )
    errors = {"llc_se": (("seed", "step"), np.array([[0.3] * 4, [0.4] * 4, [0.5, 0.5, 0.5, NAN]]))}
    return {"llc": data.assign(errors) if more.get("errors") else data}


def test_the_spread_over_seeds_is_one_curve():
    """By hand with numpy; at the last step one seed alone has no spread, and is left out."""
    spreads = [np.std([1, 1, 4], ddof=1), np.std([2, 9, 2], ddof=1), np.std([8, 3, 1], ddof=1)]
    found = summary(entry("llc.llc", "mean", over_seeds="sd"), seeds_apart())
    np.testing.assert_allclose(found["it"], [np.mean(spreads)] * 3)
    largest = summary(entry("llc.llc", "maximum", over_seeds="sd", to_step=10), seeds_apart())
    np.testing.assert_allclose(largest["it"], [spreads[1]] * 3)
    assert "it_se" not in found
    alone = {"llc": seeds_apart()["llc"].sel(seed=[3])}
    assert np.isnan(summary(entry("llc.llc", "mean", over_seeds="sd"), alone)["it"]).all()


def test_the_spread_over_seeds_has_the_error_of_one_by_the_others():
    """To first order, against normal draws of the three values at step 100."""
    given = seeds_apart(errors=True)
    found = summary(entry("llc.llc", "value_at", over_seeds="sd", step=100), given)
    draws = np.random.default_rng(1).normal([8, 3, 1], [0.3, 0.4, 0.5], (20_000, 3))
    np.testing.assert_allclose(found["it_se"], np.std(draws, axis=1, ddof=1).std(), rtol=0.08)
    for name in ("llc", "llc_se"):  # of two seeds, where one has no value
        given["llc"][name].loc[{"seed": 9, "step": 100}] = NAN
    two = summary(entry("llc.llc", "value_at", over_seeds="sd", step=100), given)
    np.testing.assert_allclose(two["it"], [np.std([8, 3], ddof=1)] * 2 + [NAN])
    np.testing.assert_allclose(two["it_se"][:2], np.hypot(0.3, 0.4) / 2**0.5, rtol=0.08)
    given["llc"]["llc_se"].loc[{"seed": 9, "step": 0}] = NAN
    unknown = summary(entry("llc.llc", "value_at", over_seeds="sd", step=100), given)
    assert np.isnan(unknown["it_se"]).all()


def test_a_fault_of_one_seed_is_one_of_the_spread():
    data = seeds_apart()["llc"]
    verdict = xr.zeros_like(data["llc"], dtype=np.int16)
    verdict.loc[{"seed": 5, "step": 10}] = 4
    found = summary(entry("llc.llc", "mean", over_seeds="sd"), {"llc": data.assign(verdict=verdict)})
    np.testing.assert_allclose(found["it_untrusted"], 1 / 3)


def typed(types=("induction", "multigram", "multigram", "induction")):
    """Curves of four heads of two layers on two distributions, with errors, and what types they have."""
    heads = ["0:0", "0:1", "1:0", "1:1"]
    base = np.array([[4.0, 8, 2, 1], [8, 4, 3, 5], [6, 4, 9, 7]])
    values = np.stack([base, base * [[1], [0.5], [0.25]]], -1)[None]
    dims = ("seed", "step", "head", "distribution")
    coords = {"seed": [0], "step": [0, 10, 20], "head": heads, "distribution": ["mixture", "one_layer"]}
    rllc = xr.Dataset(
        {"rllc": (dims, values), "rllc_se": (dims, np.full(values.shape, 0.01))}, coords
    ).assign(rllc_gradient_off=(dims, 2 * values), rllc_gradient_off_se=(dims, np.full(values.shape, 0.03)))
    kinds = np.asarray([types], dtype=object)
    scores = np.array([[0.0, 0, 0, 0], [0, 0, 0, 0.06], [0, 0, 0, 0.2]])[None]
    heads = xr.Dataset(
        {"head_type": (("seed", "head"), kinds), "prefix_matching": (("seed", "step", "head"), scores)},
        {"seed": [0], "step": [0, 10, 20], "head": heads},
    )
    return {"rllc": rllc, "heads": heads}


ON = {"at": {"distribution": "mixture"}}


@pytest.mark.parametrize(
    ("chosen", "last"),
    [
        ({"types": ["induction"]}, [6, 7]),
        ({"types": ["1:induction"]}, [7]),
        ({"types": ["0:induction", "1:multigram"]}, [6, 9]),
        ({"types": ["multigram"], "layer": 1}, [9]),
    ],
)
def test_heads_are_chosen_by_type_and_layer(chosen, last):
    for over in ("mean", "max"):
        found = summary(entry("rllc.rllc", "last", over_heads=over, **chosen, **ON), typed())
        assert found["it"].item() == getattr(np, over)(last)
        each = summary(entry("rllc.rllc", "last", of_heads=over, **chosen, **ON), typed())
        assert each["it"].item() == getattr(np, over)(last)


def test_silhouette_over_heads_is_by_their_types_without_being_told_any():
    """Of 6, 4, 9, 7: 1 apart and 2.5 from the others are 6 and 7, 5 and 2.5 are 4 and 9."""
    found = summary(entry("rllc.rllc", "last", over_heads="silhouette", **ON), typed())
    np.testing.assert_allclose(found["it"], (2 * (1 - 1 / 2.5) + 2 * (2.5 / 5 - 1)) / 4)


def test_a_type_that_no_head_has_is_said_and_counts_as_none():
    found = summary(entry("rllc.rllc", "last", over_heads="mean", types=["current-token"], **ON), typed())
    assert found["it"].isnull().all() and "no current-token head" in found["it"].attrs["not_judged"]
    for kind, number in (("current-token", 0), ("multigram", 2)):
        count = entry("rllc.rllc", "last", over_heads="count", types=[kind], **ON)
        assert summary(count, typed())["it"].item() == number


def test_what_needs_more_heads_than_there_are_has_no_value():
    two = entry("rllc.rllc", "last", over_heads="spread", types=["induction"], **ON)
    needs = {"needs": {"heads": 2, "types": ["induction"]}}
    assert summary({**two, **needs}, typed())["it"].item() == 1 / 6.5
    one = typed(("induction", "multigram", "multigram", "multigram"))
    found = summary({**entry("heads.prefix_matching", "last", over_heads="max"), **needs}, one)
    assert found["it"].isnull().all()
    assert "needs 2 induction heads, has 1" in found["it"].attrs["not_judged"]
    assert "it_se" not in found
    later = {"needs": {"heads": 1, "types": ["1:induction"]}}
    found = summary({**entry("heads.prefix_matching", "last", over_heads="max"), **later}, one)
    assert found["it"].isnull().all()
    assert "needs 1 layer-1 induction head, has none" in found["it"].attrs["not_judged"]


def test_a_curve_over_that_at_other_labels():
    """The ratio is 1, 1/2, 1/4 for every head; both have errors, of streams of their own."""
    ratio = {"at": {"distribution": "one_layer"}, "divided_by": {"distribution": "mixture"}}
    found = summary(entry("rllc.rllc", "last", over_heads="mean", **ratio), typed())
    assert found["it"].item() == 0.25
    ends = np.array([6.0, 4, 9, 7])
    of_head = np.hypot(0.01 / ends, 0.25 * 0.01 / ends)
    np.testing.assert_allclose(found["it_se"], np.sqrt((of_head**2).sum()) / 4, rtol=0.1)
    departs = summary(entry("rllc.rllc", "mean_departure", of_heads="mean", to_step=10, **ratio), typed())
    assert departs["it"].item() == 0.25
    share = entry("rllc.rllc", "log2_gain", step=0, of_heads="share", bound=-2.0, **ratio)
    assert summary(share, typed())["it"].item() == 1
    assert summary({**share, "bound": -2.1}, typed())["it"].item() == 0


def test_a_step_may_be_that_of_another_statistic():
    begins = entry("heads.prefix_matching", "first_step_reaching", threshold=0.05, over_heads="max")
    late = entry("rllc.rllc", "value_at", step="begins", of_heads="max", **ON)
    found = summarise({"begins": begins, "it": late}, typed())
    assert found["begins"].item() == 10 and found["it"].item() == 8
    early = entry("rllc.rllc", "maximum", to_step="begins", over_heads="mean", **ON)
    assert summarise({"it": early, "begins": begins}, typed())["it"].item() == 5
    never = summarise({"begins": {**begins, "threshold": 0.9}, "it": late}, typed())
    assert never["it"].isnull().all() and "begins" in never["it"].attrs["not_judged"]


def test_numbers_of_other_statistics_and_the_errors_that_they_share():
    """a - a has no error, a - b that of both, and of a mean of three the third counts for a third."""
    at = {"of_heads": "max", "types": ["0:induction"]}
    first, second = (
        entry("rllc.rllc", "last", **at, **ON),
        entry("rllc.rllc", "value_at", step=10, **at, **ON),
    )
    of = {"a": first, "b": second, "again": {**first, "of_heads": "min"}}
    combined = {
        name: {"label": name, "unit": "1", "statistic": statistic, "among": among}
        for name, (statistic, among) in {
            "less": ("difference_of", ["a", "b"]), "none": ("difference_of", ["a", "again"]),
            "mean": ("mean_of", ["a", "b", "again"]), "most": ("largest_of", ["a", "b"]),
        }.items()
    }  # fmt: skip
    found = summarise({**combined, **of}, typed())
    assert [found[name].item() for name in combined] == [-2, 0, 20 / 3, 8]
    assert found["none_se"].item() == 0
    np.testing.assert_allclose(found["less_se"], np.hypot(0.01, 0.01), rtol=0.1)
    np.testing.assert_allclose(found["mean_se"], np.hypot(2, 1) * 0.01 / 3, rtol=0.1)
    absent = summarise({"less": combined["less"], "a": first}, typed())
    assert "no statistic b" in absent.attrs["absent.less"]


def test_the_same_is_read_off_the_control():
    found = summary(entry("rllc.rllc", "last", of_heads="max", types=["induction"], **ON), typed())
    assert found["it_gradient_off"].item() == 14
    np.testing.assert_allclose(found["it_gradient_off_se"], 0.03, rtol=0.1)
    assert found["it_gradient_off"].attrs["long_name"] == "a label, of the control without the loss gradient"
    assert "it_gradient_off" not in summary(entry("heads.prefix_matching", "last", over_heads="max"), typed())
    pair = {
        "a": entry("rllc.rllc", "last", of_heads="max", **ON),
        "b": entry("rllc.rllc", "last", of_heads="min", **ON),
    }
    less = {"label": "l", "unit": "1", "statistic": "difference_of", "among": ["a", "b"]}
    assert summarise({**pair, "less": less}, typed())["less_gradient_off"].item() == 10


def test_a_rank_correlation_over_heads_of_two_variables():
    both = typed()
    both["hessian"] = xr.Dataset({"trace": both["rllc"]["rllc"] ** 2})
    of = entry("hessian.trace", "last", against="rllc.rllc", over_heads="spearman", **ON)
    assert summary(of, both)["it"].item() == 1
    both["hessian"]["trace"].loc[{"head": "1:0"}] = 0.0  # the largest of four at the end
    assert summary(of, both)["it"].item() == pytest.approx(-0.2)


def test_a_step_that_another_dataset_gives_for_one_seed_only_leaves_the_other_without_a_value():
    """The seeds of a study need not all have every dataset yet."""
    begins = entry("circuits.head_overlap", "first_step_reaching", threshold=5)
    late = entry("llc.llc", "value_at", step="begins")
    datasets = {"llc": llc(), "circuits": circuits().sel(seed=[3])}
    found = summarise({"begins": begins, "late": late}, datasets)["late"]
    np.testing.assert_allclose(found, [2, NAN])
    assert found.attrs["not_judged"] == '{"5": "begins, a step, has no value"}'


def test_the_error_is_the_larger_spread_of_the_two_modes_of_redraws():
    """Of [0, 2] and [1, 5] with n - 1: sqrt 2 and sqrt 8."""
    assert Found(0.0, np.array([[0.0, 2], [1, 5]])).error == pytest.approx(8**0.5)
    assert np.isnan(Found(0.0).error)


@pytest.mark.parametrize(
    ("statistic", "why"),
    [
        (entry("llc.llc", "last", from_step=200), "llc.llc has no value from step 200"),
        (entry("llc.llc", "maximum", window=4), "3 of 4 checkpoints that a running mean takes"),
        (
            entry("llc.llc", "first_step_reaching", threshold=50),
            "first_step_reaching has no value where no checkpoint reaches it (steps measured: 0 to 100)",
        ),
        (
            entry("circuits.anti_state", "last", over_heads="separation"),
            "separation has no value where no type has two heads in a layer, or no layer has two types "
            "(steps measured: 0 to 1,000)",
        ),
    ],
)
def test_why_there_is_no_value(statistic, why):
    heads = xr.Dataset({"head_type": (("seed", "head"), [["multigram"] * 2] * 2)}, circuits().coords)
    found = summary(statistic, {"llc": llc(), "circuits": circuits(), "heads": heads})["it"]
    assert json.loads(found.attrs["not_judged"])["5"] == why


def test_what_a_variable_needs_is_why_it_has_no_value():
    empty = llc(np.full((2, 4), NAN))
    assert (
        "llc.llc has no value" in summary(entry("llc.llc", "last"), {"llc": empty})["it"].attrs["not_judged"]
    )
    empty["llc"].attrs["needs"] = "two induction heads"
    found = summary(entry("llc.llc", "last"), {"llc": empty})["it"]
    assert json.loads(found.attrs["not_judged"]) == dict.fromkeys("35", "needs two induction heads")


def test_a_seed_that_is_not_measured_is_said():
    datasets = {"llc": llc(), "circuits": circuits().sel(seed=[3])}
    entries = {"it": entry("llc.llc", "peak_step"), "own": entry("circuits.head_overlap", "last")}
    both = entry("llc.llc", "correlation", against="circuits.head_overlap")
    among = entry(None, "mean_of", among=["it", "own"])
    found = summarise({**entries, "both": both, "among": among}, datasets)
    assert "not_judged" not in found["it"].attrs
    for name in ("own", "both"):
        assert json.loads(found[name].attrs["not_judged"])["5"] == "circuits is not measured in it"
    assert json.loads(found["among"].attrs["not_judged"])["5"] == "one of it, own is not measured in it"


def test_what_has_no_value_at_the_end_is_not_judged_by_an_earlier_checkpoint():
    """As the order of n-grams in heads, of which at the end none is about n-grams."""
    late = ("last", "fall", "rise", "kept_of_minimum", "log2_gain")
    options = {"log2_gain": {"step": 10}}
    entries = {name: entry("llc.llc", name, **options.get(name, {})) for name in (*late, "maximum")}
    found = summarise(entries, {"llc": llc()})
    np.testing.assert_allclose(found["last"], [6, NAN])
    np.testing.assert_allclose(found["maximum"], [8, 9])
    for name in late:
        assert json.loads(found[name].attrs["not_judged"])["5"] == "llc.llc has no value at step 1,000", name


def test_a_difference_of_last_values_wants_both():
    whole = llc(np.ones((2, 4)))
    own, other = entry("llc.llc", "last_difference", against="llc.own.llc"), "llc.own"
    for datasets, of in (
        ({"llc": whole, other: llc()}, "llc.own.llc"),
        ({"llc": llc(), other: whole}, "llc.llc"),
    ):
        found = summarise({"it": own}, datasets)["it"]
        assert json.loads(found.attrs["not_judged"]) == {"5": f"{of} has no value at step 1,000"}

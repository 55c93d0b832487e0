import numpy as np
import pytest
import xarray as xr

from rllc.analysis.claims import judge

NAN = float("nan")


def summary(last_step=(100.0, 100), seeds=(0, 1), absent=None, **statistics):
    data = {
        name: ("seed", np.array(values, dtype=float), {"units": "u"}) for name, values in statistics.items()
    }
    dataset = xr.Dataset({**data, "last_step": ("seed", np.array(last_step))}, {"seed": list(seeds)})
    return dataset.assign_attrs({f"absent.{k}": v for k, v in (absent or {}).items()})


def claim(**more):
    return {"text": "a text", "source": "us", "experiment": "a", "statistic": "x", **more}


def verdict(values, last_step=(100.0, 100), others=None, **bounds):
    summaries = {"a": summary(last_step, x=values)} | (others or {})
    return judge({"c": claim(**bounds)}, summaries)


@pytest.mark.parametrize(
    ("values", "bounds", "expected"),
    [
        ((1, 2), {"at_least": 1}, "holds"),
        ((1, 2), {"at_least": 1.5}, "half"),
        ((1, 2), {"at_least": 2.5}, "does not"),
        ((1, 2), {"at_most": 2}, "holds"),
        ((1, 2), {"at_least": 1.2, "at_most": 1.8}, "does not"),
        ((1, NAN), {"at_least": 1}, "holds"),
        ((0, NAN), {"at_least": 1}, "does not"),
        ((NAN, NAN), {"at_least": 1}, "not judged"),
        ((1, 2), {"at_least": 1, "reached": 100}, "holds"),
        ((1, 2), {"at_least": 1, "reached": 101}, "not reached"),
    ],
)
def test_truth_table(values, bounds, expected):
    assert verdict(values, **bounds)["verdict"].item() == expected


@pytest.mark.parametrize(
    ("values", "errors", "bounds", "expected"),
    [
        ((1.2, 1.2), (0.1, 0.1), {"at_least": 1}, "holds"),
        ((1.2, 1.2), (0.1, 0.11), {"at_least": 1}, "undecided"),  # 1.2 - 1.96 * 0.11 < 1
        ((0.8, 0.8), (0.1, 0.1), {"at_least": 1}, "does not"),
        ((0.8, 0.8), (0.1, 0.11), {"at_least": 1}, "undecided"),
        ((1.2, 0.8), (0.1, 0.1), {"at_least": 1}, "half"),
        ((1.2, 0.8), (0.2, 0.1), {"at_least": 1}, "undecided"),
        ((1152, 1152), (2000, 2000), {"at_least": 500, "at_most": 1300}, "undecided"),
        ((1152, 1152), (50, 50), {"at_least": 500, "at_most": 1300}, "holds"),
        ((1152, 1152), (50, 100), {"at_least": 500, "at_most": 1300}, "undecided"),
        ((0, 0), (0.009, 0.009), {"at_least": 0.05}, "does not"),
        ((1, 1), (0, 0), {"at_least": 1, "at_most": 1}, "holds"),  # bounds belong to what passes
        ((1.2, 1.2), (0.1, NAN), {"at_least": 1}, "undecided"),  # an error that is not known is not none
        ((1.2, NAN), (0.1, NAN), {"at_least": 1}, "holds"),
    ],
)
def test_an_interval_that_crosses_a_bound_decides_nothing(values, errors, bounds, expected):
    found = judge({"c": claim(**bounds)}, {"a": summary(x=values, x_se=errors)})
    assert found["verdict"].item() == expected


def test_one_seed_that_passes_and_one_that_fails_are_half_whatever_the_third_is():
    three = {"last_step": (9.0, 9, 9), "seeds": (0, 1, 2)}
    found = judge({"c": claim(at_least=1)}, {"a": summary(x=(2, 0, 1), x_se=(0.1,) * 3, **three)})
    assert found["passes"].values.tolist() == [[1, 0, -2]] and found["verdict"].item() == "half"
    flags = dict(
        zip(found["passes"].attrs["flag_meanings"].split(), found["passes"].attrs["flag_values"], strict=True)
    )
    assert flags == {
        "fails": 0,
        "passes": 1,
        "not_reached": -1,
        "undecided": -2,
        "not_judged": -3,
        "missing": -4,
    }


def test_estimates_most_of_which_cannot_be_trusted_decide_nothing():
    half = judge({"c": claim(at_least=1)}, {"a": summary(x=(2, 2), x_untrusted=(0.5, NAN))})
    assert half["verdict"].item() == "holds"
    most = judge({"c": claim(at_least=1)}, {"a": summary(x=(2, 2), x_untrusted=(0.51, 0))})
    assert most["passes"].values.tolist() == [[-2, 1]] and most["verdict"].item() == "undecided"
    other = {"a": summary(x=(2, 2), x_untrusted=(0, 0)), "b": summary(x=(1, 1), x_untrusted=(0.4, 0.9))}
    compared = judge({"c": claim(at_least=0, versus="b")}, other)
    assert compared["untrusted"].values.tolist() == [[0.65] * 2]  # the mean of the other's seeds
    assert compared["verdict"].item() == "undecided"


def test_what_a_claim_presupposes_has_to_pass_first():
    """The overlap cannot fall with an LLC that does not fall."""
    table = {"a": summary(x=(0.3, 0.3), y=(0.2, 0), y_se=(0.009, 0.009))}
    claims = {
        "with": claim(at_least=0.1, given="falls"),
        "falls": claim(statistic="y", at_least=0.05),
    }
    found = judge(claims, table)
    assert found["passes"].values.tolist() == [[1, -2], [1, 0]]
    assert found["verdict"].values.tolist() == ["undecided", "half"]
    assert found["given"].values.tolist() == ["falls", ""]
    for wrong in ("nothing", "with"):
        with pytest.raises(ValueError, match="expected a claim that presupposes none"):
            judge({**claims, "with": {**claims["with"], "given": wrong}}, table)


def test_a_seed_that_is_not_reached_is_not_judged():
    found = verdict((5, 1), last_step=(200.0, 100), at_most=2, reached=150)
    assert found["passes"].values.tolist() == [[0, -1]]
    assert found["value"].values.tolist() == [[5, 1]]
    assert found["verdict"].item() == "does not"


def test_seed_that_the_experiment_does_not_have_is_missing():
    """The other experiment has three seeds, and one of them alone is also the claim's."""
    summaries = {"a": summary(x=(5, 1)), "b": summary(last_step=(9.0,) * 3, seeds=(1, 2, 3), x=(1, 1, 1))}
    found = judge({"c": claim(at_least=2, reached=50)}, summaries)
    assert found["seed"].values.tolist() == [0, 1, 2, 3]
    assert found["passes"].values.tolist() == [[1, 0, -4, -4]]
    assert found["verdict"].item() == "half"


def test_control_at_a_seed_that_the_experiment_does_not_have_is_missing():
    summaries = {"a": summary(x=(5, 5), x_gradient_off=(1, 1)), "b": summary((9.0,), seeds=(2,), x=(1,))}
    found = judge({"c": claim(at_least=2)}, summaries)
    assert found["control_passes"].values.tolist() == [[0, 0, -4]]
    assert (found["verdict"].item(), found["control_verdict"].item()) == ("holds", "does not")


def test_seed_at_which_nothing_is_measured_is_not_judged_rather_than_not_reached():
    found = verdict((5, NAN), last_step=(100.0, NAN), at_least=2, reached=50)
    assert found["passes"].values.tolist() == [[1, -3]]
    assert "seed 1" in found["reason"].item()


def test_versus_is_the_mean_over_the_other_experiments_seeds():
    others = {"b": summary(last_step=(100.0, 100, 50), seeds=(1, 2, 3), x=(1, 3, 90))}
    less = verdict((5, 1), others=others, at_least=0, versus="b", reached=100)
    assert less["value"].sel(seed=[0, 1]).values.tolist() == [[3, -1]]
    assert less["verdict"].item() == "half" and less["compared_with"].item() == 2
    ratio = verdict((5, 1), others=others, at_most=2.5, versus="b", ratio=True, reached=100)
    assert ratio["value"].sel(seed=[0, 1]).values.tolist() == [[2.5, 0.5]]
    assert ratio["verdict"].item() == "holds"
    assert [found["comparison"].item() for found in (less, ratio)] == ["difference", "ratio"]
    assert verdict((5, 1), at_least=0)["comparison"].item() == ""
    nothing = {"b": summary(x=(NAN, NAN))}
    assert verdict((5, 1), others=nothing, at_least=0, versus="b")["verdict"].item() == "not judged"


def test_errors_of_differences_and_ratios():
    """To first order; the mean over n seeds has the error sqrt(sum of squares) / n."""
    others = {"b": summary(last_step=(100.0, 100, 50), seeds=(1, 2, 3), x=(10, 30, 90), x_se=(0.3, 0.4, 9))}
    mine = {"a": summary(x=(50, 10), x_se=(2, NAN)), **others}
    less = judge({"c": claim(at_least=0, versus="b", reached=100)}, mine)
    np.testing.assert_allclose(less["value_se"].sel(seed=[0, 1]), [[np.hypot(2, 0.25), NAN]])
    ratio = judge({"c": claim(at_least=0, versus="b", ratio=True, reached=100)}, mine)
    expected = 2.5 * np.hypot(2 / 50, 0.25 / 20)
    np.testing.assert_allclose(ratio["value_se"].sel(seed=[0, 1]), [[expected, NAN]])
    below = {**mine, "b": summary(seeds=(1, 2), x=(-10, -30), x_se=(0.3, 0.4))}
    negative = judge({"c": claim(at_least=-9, versus="b", ratio=True)}, below)
    np.testing.assert_allclose(negative["value_se"].sel(seed=[0, 1]), [[expected, NAN]])
    unknown = {**mine, "b": summary(seeds=(1, 2), x=(10, 30), x_se=(0.3, NAN))}
    assert judge({"c": claim(at_least=0, versus="b")}, unknown)["value_se"].isnull().all()
    alone = judge({"c": claim(at_least=0)}, mine)
    np.testing.assert_array_equal(alone["value_se"].sel(seed=[0, 1]), [[2, NAN]])
    assert verdict((5, 1), at_least=0)["value_se"].isnull().all()


def test_experiments_are_called_by_their_labels_and_else_by_their_names():
    summaries = {"b": summary(x=(1, 2)), "a": summary(x=(1, 2))}
    found = judge({"c": claim(at_least=0)}, summaries, {"a": "one head"})
    assert found["experiment_label"].sel(experiment=["a", "b"]).values.tolist() == ["one head", "b"]


def test_the_table_survives_a_netcdf_file(tmp_path):
    summaries = {
        "a": summary(x=(1, 2)),
        "b": summary(seeds=(1, 7), y=(8, 9)),
        "c": summary(seeds=(2,), last_step=(30.0,), x=(3,), y=(4,)),
    }
    claims = {
        "first": claim(at_least=1.5),
        "second": claim(experiment="b", statistic="y", at_most=1, reached=5),
    }
    judge(claims, summaries).to_netcdf(tmp_path / "claims.nc")
    found = xr.load_dataset(tmp_path / "claims.nc")
    assert found["verdict"].values.tolist() == ["half", "does not"]
    assert found["seed"].values.tolist() == [0, 1, 2, 7]
    assert found["x"].dims == ("experiment", "seed") and found["x"].attrs["units"] == "u"
    assert found["experiment"].values.tolist() == ["a", "b", "c"]
    n = NAN
    np.testing.assert_array_equal(found["x"], [[1, 2, n, n], [n, n, n, n], [n, n, 3, n]])
    np.testing.assert_array_equal(found["y"], [[n, n, n, n], [n, 8, n, 9], [n, n, 4, n]])
    np.testing.assert_array_equal(found["value"], [[1, 2, n, n], [n, 8, n, 9]])
    assert found["passes"].dtype == np.int8
    assert found["passes"].values.tolist() == [[0, 1, -4, -4], [-4, 0, -4, 0]]
    assert found["text"].values.tolist() == ["a text", "a text"]
    assert found["experiment_of_claim"].values.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found["at_least"], [1.5, n])
    np.testing.assert_array_equal(found["reached"], [n, 5])
    assert all(
        v.attrs["long_name"]
        for name, v in found.data_vars.items()
        if name not in "xy" and name != "last_step"
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"experiment": "z"}, "claim c: no experiment 'z'; expected one of a"),
        ({"statistic": "z"}, "a has no z .it is not among"),
        ({"statistic": "w"}, "a has no w .no such dataset"),
    ],
)
def test_what_is_not_there_is_named(wrong, said):
    summaries = {"a": summary(x=(1, 2), absent={"w": "no such dataset"})}
    with pytest.raises(ValueError, match=said):
        judge({"c": claim(at_least=0, **wrong)}, summaries)
    with pytest.raises(ValueError, match="give at least one"):
        judge({}, {})


def test_a_statistic_called_as_a_column_is_refused():
    with pytest.raises(ValueError, match="cannot be called value"):
        judge({}, {"a": summary(value=(1, 2))})


def test_a_seed_without_a_value_is_not_judged_and_the_reason_is_told():
    both = summary(x=(NAN, 2), seeds=(3, 4))
    both["x"].attrs["not_judged"] = '{"3": "needs 2 induction heads, has 1"}'
    found = judge({"c": claim(at_least=1)}, {"a": both})
    assert found["passes"].values.tolist() == [[-3, 1]] and found["verdict"].item() == "holds"
    assert found["reason"].item() == "seed 3: needs 2 induction heads, has 1"
    none = both.isel(seed=[0])
    none["x"].attrs |= both["x"].attrs
    alone = judge({"c": claim(at_least=1)}, {"a": none})
    assert (alone["verdict"].item(), alone["reason"].item()) == (
        "not judged",
        "needs 2 induction heads, has 1",
    )
    short = judge({"c": claim(at_least=1, reached=200)}, {"a": both})
    assert short["verdict"].item() == "not reached" and short["reason"].item() == ""


def test_the_control_is_judged_by_the_same_bounds():
    table = summary(x=(2, 0.5), x_gradient_off=(2, 2), x_gradient_off_se=(0.1, 9))
    found = judge({"c": claim(at_least=1)}, {"a": table})
    assert found["verdict"].item() == "half" and found["control_verdict"].item() == "undecided"
    assert found["control"].values.tolist() == [[2, 2]]
    assert found["control_passes"].values.tolist() == [[1, -2]]
    without = judge({"c": claim(at_least=1)}, {"a": summary(x=(2, 0.5))})
    assert without["control_verdict"].item() == "" and without["control"].isnull().all()

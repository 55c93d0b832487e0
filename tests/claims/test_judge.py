"""The engine: verdicts, errors, control, chance, comparisons."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.claims.runs import LANGUAGE, rllc, run, scores

from rllc.claims import Experiment, NotJudged, claim, last, maximum
from rllc.claims.claim import claims_of, number
from rllc.claims.columns import PASSES, VARIABLES
from rllc.claims.judge import decide, evaluate, judge, shuffles, verdict

PASS, FAIL, UNDECIDED, NOT_JUDGED = (PASSES[name] for name in ("passes", "fails", "undecided", "not_judged"))
TYPES = ["multigram", "multigram", "induction", "multigram"]


def claims(*functions):
    return [each for function in functions for each in function.claims]


def a_claim(function=None, **options):
    function = function or (
        lambda run: last(run.curve("rllc.rllc", heads=["0:0"], distribution="mixture")).squeeze()
    )
    options = {"label": "the last rLLC of 0:0", "at_least": 0.0} | options
    if not hasattr(function, "statistic"):
        function.__name__ = options.get("name", "a_claim")
    return claim(options.pop("text", "It is so"), source="a test", **options)(function)


def judged(*functions, datasets=None, experiment=LANGUAGE, **options):
    datasets = {"rllc": rllc(), "heads": scores(TYPES)} if datasets is None else datasets
    return judge(claims(*functions), {experiment.name: experiment}, {experiment.name: datasets}, **options)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"at_least": 1.0}, "holds"),
        ({"at_least": 2.0}, "does not"),
        ({"at_least": 1.45}, "undecided"),
        ({"at_most": 1.0}, "does not"),
        ({"at_least": 1.0, "at_most": 2.0}, "holds"),
        ({"at_least": 1.55, "at_most": 2.0}, "undecided"),
    ],
)
def test_verdict_where_the_interval_lies_within_beyond_or_across_a_bound(bounds, expected):
    """The last value of 0:0 is 2 - 0.25 * 2 = 1.5, with an error of 0.1."""
    made = judged(a_claim(**{"at_least": None, **bounds}))
    assert made["verdict"].item() == expected
    assert made["value"].item() == pytest.approx(1.5)
    assert made["value_se"].item() == pytest.approx(0.1, rel=0.08)
    assert set(made.data_vars) >= set(VARIABLES) - {"published_value"}


def test_error_of_a_mean_over_heads_is_that_of_independent_estimates():
    def mean_of_heads(run):
        return last(run.curve("rllc.rllc", distribution="mixture")).mean("head")

    made = judged(a_claim(mean_of_heads))
    assert made["value_se"].item() == pytest.approx(0.1 / 2, rel=0.08)


def test_noise_that_all_steps_share_cancels_in_a_difference_only_where_it_is_common():
    """Of seeded chains the larger of two errors is taken: independent noise of a difference, common noise of a sum."""

    def total(run):
        values = run.curve("rllc.rllc", heads=["0:0"], distribution="mixture").squeeze("head", drop=True)
        return values.sum("step")

    alone = evaluate(a_claim(total).statistic, run({"rllc": rllc()}))
    shared = evaluate(total.statistic, run({"rllc": rllc(seeded=True)}))
    assert alone.error == pytest.approx(0.1 * np.sqrt(5), rel=0.08)
    assert shared.error == pytest.approx(0.1 * 5, rel=0.08)


@pytest.mark.parametrize("loses", [float, lambda value: float(value.values.mean())], ids=["float", "values"])
def test_function_that_loses_the_redraws_is_refused_by_name(loses):
    """Else its error would be 0, and a verdict would stand where none is known."""

    def careless(run):
        return loses(last(run.curve("rllc.rllc", heads=["0:0"], distribution="mixture")).squeeze())

    with pytest.raises(ValueError, match=r"a_claim.*named dims"):
        judged(a_claim(careless))


def test_value_of_what_has_no_errors_is_exact():
    def score(run):
        return maximum(run.curve("heads.prefix_matching").max("head"))

    made = judged(a_claim(score, at_least=0.2))
    assert made["verdict"].item() == "holds" and np.isnan(made["value_se"].item())


def test_unknown_error_and_unreliable_estimates_are_undecided():
    data = rllc()
    unknown = data.assign(rllc_se=data["rllc_se"].where(data["step"] < 400))
    assert judged(a_claim(), datasets={"rllc": unknown})["verdict"].item() == "undecided"
    made = judged(a_claim(), datasets={"rllc": rllc(verdict=1)})
    assert made["verdict"].item() == "undecided" and made["untrusted"].item() == 1


def test_seeds_that_pass_and_fail_are_half_and_a_seed_without_a_value_has_its_reason():
    def at_least_seed(run):
        if run.seed == 2:
            raise NotJudged("needs two induction heads, has 1")
        return float(run.seed)

    data = {"rllc": rllc(seeds=(0, 1, 2))}
    made = judged(a_claim(at_least_seed, at_least=0.5), datasets=data)
    assert made["passes"].values.tolist() == [[FAIL, PASS, NOT_JUDGED]]
    assert made["verdict"].item() == "half"
    assert made["reason"].item() == "seed 2: needs two induction heads, has 1"


def test_claim_on_a_step_beyond_the_training_is_not_reached():
    assert judged(a_claim(reached=500))["verdict"].item() == "not reached"


def test_control_has_its_own_value_and_verdict():
    made = judged(a_claim(at_least=1.0, at_most=2.0))
    assert made["control"].item() == 5 and made["control_verdict"].item() == "does not"


def test_claim_without_its_curve_has_no_row():
    other = a_claim(lambda run: last(run.curve("llc.llc")), name="other")
    assert judged(a_claim(), other)["claim"].values.tolist() == ["a_claim"]


def test_claim_about_several_experiments_has_a_row_for_each():
    another = replace(LANGUAGE, name="another")
    data = {"rllc": rllc()}
    made = judge(
        claims(a_claim()), {"language": LANGUAGE, "another": another}, {"language": data, "another": data}
    )
    assert made["claim"].values.tolist() == ["a_claim.language", "a_claim.another"]
    only = claims(a_claim(experiment="ano*"))
    made = judge(only, {"language": LANGUAGE, "another": another}, {"language": data, "another": data})
    assert made["claim"].values.tolist() == ["a_claim"]


def test_presupposed_claim_that_fails_leaves_the_other_undecided():
    base = a_claim(at_least=2.0, name="base")
    other = a_claim(lambda run: 1.0, name="other", at_least=0.5, given="base")
    made = judged(base, other)
    assert made["verdict"].values.tolist() == ["does not", "undecided"]
    assert "presupposes base" in made["reason"].values[1]
    with pytest.raises(ValueError, match="presupposes"):
        judged(a_claim(lambda run: 1.0, name="other", given="nothing"))


@pytest.mark.parametrize("ratio", [False, True])
def test_comparison_with_another_experiment_propagates_both_errors(ratio):
    function = lambda run: last(run.curve("rllc.rllc", heads=["0:0"], distribution="mixture")).squeeze()  # noqa: E731
    made_of = a_claim(function, experiment="language", versus="other", ratio=ratio)
    other = {"rllc": rllc(seeds=(0, 1), error=0.3)}
    experiments = {"language": LANGUAGE, "other": replace(LANGUAGE, name="other")}
    made = judge(claims(made_of), experiments, {"language": {"rllc": rllc()}, "other": other})
    error = 0.3 / np.sqrt(2)
    assert made["compared_with"].item() == pytest.approx(1.5)
    assert made["value"].values[0, 0] == pytest.approx(1.0 if ratio else 0.0)
    expected = np.hypot(0.1, error) / (1.5 if ratio else 1)
    assert made["value_se"].values[0, 0] == pytest.approx(expected, rel=0.1)


# --- what cannot be judged says why


def of_file(function):
    return [replace(each, work="my_claims.py") for each in function.claims]


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (lambda run: last(run.curve("rllc.rlc")), {}, "rllc.rlc"),
        (lambda run: last(run.curve("rllc.rllc")), {"experiment": "langauge"}, "langauge"),
        (lambda run: 1.0, {"versus": "nothing"}, "nothing"),
    ],
)
def test_own_claim_about_nothing_is_an_error_and_not_a_missing_row(function, options, said):
    own = of_file(a_claim(function, **options))
    with pytest.raises(ValueError, match=rf"my_claims.py.*{said}"):
        judge(own, {"language": LANGUAGE}, {"language": {"rllc": rllc()}})


def test_claims_of_a_work_that_are_left_out_are_told():
    told = []
    judged(a_claim(lambda run: last(run.curve("llc.llc")), name="other"), a_claim(), tell=told.append)
    assert any("other" in line and "no llc" in line for line in told)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda run: run.curve("rllc.rllc").sel(head="9:9"), "KeyError"),
        (lambda run: last(run.curve("rllc.rllc", distribution="code")), "every head"),
    ],
)
def test_function_that_fails_is_named_with_its_run(function, said):
    with pytest.raises(ValueError, match=rf"a_claim on language, seed 0.*{said}"):
        judged(a_claim(function))


def test_two_claims_of_one_name_about_one_experiment_are_refused():
    with pytest.raises(ValueError, match="a_claim"):
        judged(a_claim(), a_claim())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"at_least": 1.45}, "crosses a bound"),
        ({"verdict": 1}, "100% of the estimates"),
        ({"error": np.nan}, "error is not known"),
    ],
)
def test_undecided_seeds_say_why(change, said):
    bounds = {"at_least": change.pop("at_least", 0.0)}
    made = judged(a_claim(**bounds), datasets={"rllc": rllc(**change)})
    assert made["verdict"].item() == "undecided" and said in made["reason"].item()


def test_seed_without_scores_is_left_out_of_the_shuffles():
    data = {"rllc": rllc(seeds=(0, 1)), "heads": scores(["multigram", "multigram", "induction", "multigram"])}
    made = judged(a_claim(lambda run: highest_induction(run), at_least=1.0), datasets=data)
    assert made["passes"].values.tolist()[0][1] == NOT_JUDGED and made["chance"].item() == 0.5


# --- few degrees of freedom


def trace(probes, values, errors):
    data = {"trace": (("seed", "step"), [values]), "trace_se": (("seed", "step"), [errors])}
    return xr.Dataset(
        data,
        {"seed": [0], "step": [100 * n for n in range(len(values))]},
        {"hessian": f'{{"probes": {probes}}}'},
    )


def test_interval_of_few_probes_is_students():
    """One value of 4 probes: 3 degrees of freedom, 3.18 errors to either side; 1.96 would have decided."""
    of_last = [a_claim(lambda run: last(run.curve("hessian.trace")), at_least=0.0) for _ in range(2)]
    made = judged(of_last[0], datasets={"hessian": trace(4, [9.0, 2.5], [1.0, 1.0])})
    assert made["degrees_of_freedom"].item() == pytest.approx(3, rel=0.15)
    assert made["verdict"].item() == "undecided"
    many = judged(of_last[1], datasets={"hessian": trace(400, [9.0, 2.5], [1.0, 1.0])})
    assert many["verdict"].item() == "holds"


def test_mean_of_many_values_has_the_degrees_of_freedom_of_welch_and_satterthwaite():
    function = lambda run: run.curve("hessian.trace").mean("step")  # noqa: E731
    errors = [1.0, 1.0, 2.0, 2.0, 1.0, 1.0]
    made = judged(a_claim(function), datasets={"hessian": trace(4, [1.0] * 6, errors)})
    squares = np.square(errors)
    welch = squares.sum() ** 2 / (squares**2 / 3).sum()
    assert made["degrees_of_freedom"].item() == pytest.approx(welch, rel=0.3)


@given(st.floats(-5, 5), st.floats(0.01, 3), st.integers(2, 50))
def test_decision_equals_a_two_sided_students_test(value, error, freedom):
    passes = decide(
        np.array([value]), np.array([error]), np.array([float(freedom)]), claims(a_claim(at_least=0.0))[0]
    )
    p = stats.t.sf(abs(value) / error, freedom)
    if abs(p - 0.025) > 1e-9:
        assert passes[0] == (UNDECIDED if p > 0.025 else PASS if value > 0 else FAIL)


# --- chance


def test_shuffles_are_all_different_orders_within_layers():
    types = scores(["a", "b", "c", "c"])["head_type"].isel(seed=0)
    made = [each.values.tolist() for each in shuffles(types, 200, np.random.default_rng(0))]
    assert sorted(made) == [["a", "b", "c", "c"], ["b", "a", "c", "c"]]


def test_shuffles_of_many_heads_are_random_and_keep_the_layers():
    heads = [f"{layer}:{n}" for layer in range(2) for n in range(8)]
    types = scores([*"aaaabbbb", *"cccddddd"], heads=heads)["head_type"].isel(seed=0)
    made = shuffles(types, 50, np.random.default_rng(0))
    assert len(made) == 50 and len({tuple(each.values) for each in made}) > 40
    for each in made:
        assert sorted(each.values[:8]) == [*"aaaabbbb"] and sorted(each.values[8:]) == [*"cccddddd"]


def highest_induction(run):
    """Whether the induction head has the largest rLLC of its layer at the end."""
    values = last(run.curve("rllc.rllc", heads=run.heads(layer=1), distribution="mixture"))
    return (values.sel(head=run.heads("induction")[0]) >= values.max("head")).astype(float)


def test_claim_that_shuffled_types_pass_too_often_is_not_judged():
    """1:1 is the induction head and the highest of two: of the orders of its layer a half passes."""
    few = {"rllc": rllc(error=1e-6), "heads": scores(["multigram", "multigram", "multigram", "induction"])}
    made = judged(a_claim(lambda run: highest_induction(run), at_least=1.0), datasets=few)
    assert made["chance"].item() == pytest.approx(0.5) and made["shuffles"].item() == 2
    assert made["verdict"].item() == "not judged" and "50%" in made["reason"].item().replace(" ", "")


def test_claim_that_few_shuffles_pass_is_judged():
    """With 30 heads in the layer 1 in 30 orders passes; over two seeds, shuffled each by itself, 1 in 900."""
    heads = ["0:0", *(f"1:{n}" for n in range(30))]
    types = ["multigram"] * 30 + ["induction"]
    data = {
        "rllc": rllc(seeds=(0, 1), heads=heads, error=1e-6),
        "heads": scores(types, seeds=(0, 1), heads=heads),
    }
    made = judged(a_claim(lambda run: highest_induction(run), at_least=1.0), datasets=data)
    assert made["verdict"].item() == "holds" and made["chance"].item() < 0.01


def test_claim_that_reads_no_types_has_no_chance_level():
    assert np.isnan(judged(a_claim())["chance"].item())


def test_analysis_of_types_is_made_again_for_each_shuffle():
    seen = []

    def again(datasets, types, seed, keywords):
        seen.append(tuple(types.values))
        return xr.Dataset({"number": (("seed", "step"), [[1.0]])}, {"seed": [seed], "step": [400]})

    data = {
        "rllc": rllc(),
        "heads": scores(TYPES),
        "composed": xr.Dataset({"number": (("seed", "step"), [[1.0]])}, {"seed": [0], "step": [400]}),
    }
    function = lambda run: last(run.curve("composed.number"))  # noqa: E731
    made = judged(a_claim(function, at_least=0.5), datasets=data, repeat={"composed": again})
    assert len(seen) == len(set(seen)) == 2
    assert made["verdict"].item() == "not judged" and made["chance"].item() == 1


def test_count_of_heads_of_a_type_that_no_shuffle_changes_is_judged():
    def count(run):
        return run.count("induction")

    made = judged(a_claim(count, at_least=1.0, at_most=1.0))
    assert made["verdict"].item() == "holds" and np.isnan(made["chance"].item())


# --- beside the claims


def test_listed_numbers_stand_beside_the_claims_by_experiment_and_seed():
    @number("largest rLLC of 0:0")
    def largest(run):
        return maximum(run.curve("rllc.rllc", heads=["0:0"], distribution="mixture")).squeeze()

    other = Experiment("other", "sorting")
    made = judge(
        claims(a_claim()), {"language": LANGUAGE, "other": other}, {"language": {"rllc": rllc()}, "other": {}},
        numbers=[largest.statistic],
    )  # fmt: skip
    assert made["largest"].sel(experiment="language", seed=0).item() == 2
    assert made["largest"].sel(experiment="other").isnull().all()
    assert made["largest_se"].sel(experiment="language", seed=0).item() == pytest.approx(0.1, rel=0.1)


def test_published_curves_give_their_number_by_seed():
    theirs = replace(LANGUAGE, label="theirs")
    each = [replace(one, work="heads") for one in claims(a_claim(experiment="language"))]
    made = judge(
        each, {"language": LANGUAGE}, {"language": {"rllc": rllc()}},
        published={"heads": [(theirs, {"rllc": 2 * rllc(seeds=(0, 4)).drop_vars("verdict")})]},
    )  # fmt: skip
    assert made["published_value"].values.tolist() == [[3.0, 3.0]] and made[
        "published_seed"
    ].values.tolist() == [0, 4]


@given(st.lists(st.sampled_from([PASS, FAIL, UNDECIDED]), min_size=1, max_size=6))
def test_verdict_is_that_of_every_way_in_which_undecided_seeds_turn_out(passes):
    def of(flags):
        return (
            "holds"
            if all(f == PASS for f in flags)
            else "does not"
            if all(f == FAIL for f in flags)
            else "half"
        )

    ways = [[]]
    for flag in passes:
        ways = [[*way, each] for way in ways for each in ((PASS, FAIL) if flag == UNDECIDED else (flag,))]
    expected = {of(way) for way in ways}
    assert verdict(np.asarray(passes)) == (expected.pop() if len(expected) == 1 else "undecided")


def test_module_with_two_claims_of_one_name_is_refused():
    import types

    module = types.ModuleType("some_claims")
    for name in ("one", "other"):
        function = a_claim(lambda run: 1.0, name="same")
        function.__module__ = "some_claims"
        setattr(module, name, function)
    with pytest.raises(ValueError, match="same"):
        claims_of(module, "some")

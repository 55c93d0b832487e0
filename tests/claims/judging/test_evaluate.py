"""Values of a statistic, their errors by redraws and degrees of freedom."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.claims.judged import a_claim, judged
from tests.claims.runs import rllc, run

from rllc.claims import last, maximum
from rllc.claims.judging.evaluate import evaluate


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
        return maximum(run.curve("attention_scores.prefix_matching").max("head"))

    made = judged(a_claim(score, at_least=0.2))
    assert made["verdict"].item() == "holds" and np.isnan(made["value_se"].item())


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


def trace(probes, values, errors):
    """A curve whose errors are over probes; None: how many is not recorded."""
    facts = {} if probes is None else {"degrees_of_freedom": probes - 1}
    data = {"trace": (("seed", "step"), [values]), "trace_se": (("seed", "step"), [errors], facts)}
    return xr.Dataset(data, {"seed": [0], "step": [100 * n for n in range(len(values))]})


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


@pytest.mark.parametrize(("recorded", "least", "most"), [(4, 0.92, 0.98), (None, 0.8, 0.9)])
def test_interval_from_four_probes_covers_95_percent_where_their_number_is_recorded(recorded, least, most):
    """The truth is 0. Without degrees of freedom the interval is 1.96 errors: 85.5 %."""
    covered, statistic = [], a_claim(lambda run: last(run.curve("hessian.trace"))).statistic
    for probes in np.random.default_rng(0).normal(size=(500, 4)):
        data = trace(recorded, [9.0, probes.mean()], [1.0, probes.std(ddof=1) / 2])
        found = evaluate(statistic, run({"hessian": data}))
        covered.append(abs(found.value) <= stats.t.ppf(0.975, found.freedom) * found.error)
    assert least < np.mean(covered) < most


def test_estimate_of_chains_has_the_degrees_of_freedom_of_its_effective_draws():
    """Not where its error comes from differences between chains: that one is widened already."""

    def of_one(run):
        return last(run.curve("rllc.rllc", heads=["0:0"], distribution="code")).squeeze()

    data = rllc()
    data["ess"] = xr.full_like(data["rllc"], 6.0)
    widened = data.assign(rllc_se_control=xr.zeros_like(data["rllc"]))
    statistic = a_claim(of_one).statistic
    found = [evaluate(statistic, run({"rllc": each})) for each in (rllc(), data, widened)]
    assert found[1].freedom == pytest.approx(5, rel=0.15)
    assert np.isinf([found[0].freedom, found[2].freedom]).all()
    assert found[0].error == found[1].error == found[2].error

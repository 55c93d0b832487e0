"""Made-up claims, and the table of them."""

from tests.claims.runs import LANGUAGE, rllc, scores

from rllc.claims import claim, last
from rllc.claims.columns import PASSES
from rllc.claims.judge import judge

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
    datasets = {"rllc": rllc(), "attention_scores": scores(TYPES)} if datasets is None else datasets
    return judge(claims(*functions), {experiment.name: experiment}, {experiment.name: datasets}, **options)

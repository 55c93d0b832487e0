"""What a claim is: bounds, names, and files of the user's own."""

import pytest
from tests.claims.judged import a_claim

from rllc.claims import Experiment, claim, heads, number, regression, sorting, stages
from rllc.claims.claim import claims_of, load, numbers_of

MODULES = {"heads": heads, "regression": regression, "sorting": sorting, "stages": stages}
OWN = """
from rllc.claims import claim, fall

@claim("Heads of layer 0 end below their peak", source="me", label="fall of the mean rLLC of layer 0", at_least=0.05)
def layer0_falls(run):
    values = run.curve("rllc.rllc", heads=run.heads(layer=0), distribution=run.text)
    return fall(values.mean("head"))
"""


def test_two_claims_on_one_function_share_its_number_and_keep_their_order():
    @claim("Less than one", source="a test", name="low", at_most=1)
    @claim("At least nothing", source="a test", name="high", label="a number", unit="steps", at_least=0)
    def something(run):
        return 0.5

    assert [each.name for each in something.claims] == ["low", "high"]
    assert {each.statistic.label for each in something.claims} == {"a number"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "without bounds"),
        ({"at_least": 2, "at_most": 1}, "no value"),
        ({"at_least": 1, "ratio": True}, "versus"),
        ({"at_least": 1, "source": ""}, "source"),
        ({"at_least": 1, "label": ""}, "label"),
    ],
)
def test_claim_that_always_holds_or_says_too_little_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        claim("It is so", **{"source": "a test", "label": "a number"} | options)(lambda run: 1.0)


def test_claim_is_about_experiments_of_its_name_or_kind():
    @claim(
        "It is so",
        source="a test",
        label="a number",
        at_least=1,
        experiment="sort_*",
        where=lambda e: e.layers == 1,
    )
    def something(run):
        return 1.0

    (one,) = something.claims
    assert one.applies(Experiment("sort_1head", "sorting"))
    assert not one.applies(Experiment("sort_1head", "sorting", layers=2))
    assert not one.applies(Experiment("language", "language"))


@pytest.mark.parametrize("work", MODULES)
def test_every_claim_of_a_work_has_its_facts_and_names_others_that_exist(work):
    found = claims_of(MODULES[work], work)
    names = {each.name for each in found}
    assert len(found) > 20 and len(names) == len(found)
    for each in found:
        assert each.source and each.statistic.label and each.statistic.unit, each.name
        assert each.at_least is not None or each.at_most is not None, each.name
        assert each.given is None or each.given in names, each.name
        given = next((other for other in found if other.name == each.given), None)
        assert given is None or given.given is None, "a claim that is presupposed presupposes none"


def test_own_file_is_loaded_and_nothing_is_written_beside_it(tmp_path):
    file = tmp_path / "my_claims.py"
    file.write_text(OWN)
    (one,) = claims_of(load(file), "my_claims.py")
    assert (one.name, one.work, one.at_least) == ("layer0_falls", "my_claims.py", 0.05)
    assert [each.name for each in tmp_path.iterdir()] == ["my_claims.py"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no Python file"),
        ("x = 1\n", "no function"),
        ("import nothing_of_this_name\n", "nothing_of_this_name"),
        ("def (", "SyntaxError"),
    ],
)
def test_own_file_that_cannot_be_used_is_refused_with_its_name(tmp_path, text, said):
    file = tmp_path / "my_claims.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=said) as error:
        load(file)
    assert "my_claims.py" in str(error.value)


def test_listed_numbers_are_those_with_the_decorator():
    @number("a number", unit="steps")
    def something(run):
        return 1.0

    module = type(heads)("some_claims")
    something.__module__ = "some_claims"
    module.something = something
    assert [(each.name, each.unit) for each in numbers_of(module)] == [("something", "steps")]
    assert claims_of(module, "some") == []


def test_module_with_two_claims_of_one_name_is_refused():
    import types

    module = types.ModuleType("some_claims")
    for name in ("one", "other"):
        function = a_claim(lambda run: 1.0, name="same")
        function.__module__ = "some_claims"
        setattr(module, name, function)
    with pytest.raises(ValueError, match="same"):
        claims_of(module, "some")

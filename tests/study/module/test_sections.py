"""The section of a module of the user: what it accepts, and what the config refuses before a job."""

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from rllc.study.families import CAPABILITIES, missing_capabilities
from rllc.study.module.sections import Module, check_component, check_tokens, facts

GIVEN = {"family": "module", "build": "mine.py:build", "vocabulary": 64, "context": 12}


def module(**given):
    return Module.model_validate(GIVEN | given)


def test_size_is_for_the_forecast_and_no_fact_of_the_model():
    assert module(weights=5).model_dump() == module().model_dump() == {**GIVEN, "options": {}}


@pytest.mark.parametrize("absent", ["build", "vocabulary", "context"])
def test_missing_key_is_refused(absent):
    with pytest.raises(ValidationError, match=absent):
        Module.model_validate({name: value for name, value in GIVEN.items() if name != absent})


def test_source_is_a_fact_that_follows_the_file(tmp_path, monkeypatch):
    found = []
    for folder, text in (("a", "x = 1"), ("b", "x = 1"), ("c", "x = 2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(f"{text}\ndef build():\n    pass\n")
        monkeypatch.chdir(tmp_path / folder)
        found.append(facts(module(), None)["source"])
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("component", ["full", "weights:mlp", r"weights:h\.(0|1)\.attn"])
def test_component_by_name_is_accepted(component):
    assert check_component(module(), component) is None


@pytest.mark.parametrize(
    ("component", "message"),
    [
        ("0:1", "whose parts have no known names"),
        ("mlp:0", "whose parts have no known names"),
        ("weights:(", "holds no regular expression"),
        ("weights:", "names no weights"),
        ("everything", "unknown component"),
    ],
)
def test_component_of_another_form_is_refused(component, message):
    assert message in (check_component(module(), component) or "")


def test_tokens_that_the_module_cannot_hold_are_refused():
    assert not list(check_tokens(module(), SimpleNamespace(context=12, vocabulary=60)))
    long, many = check_tokens(module(), SimpleNamespace(context=13, vocabulary=65))
    assert long.startswith("context: 12") and many.startswith("vocabulary: 64")


def test_capabilities_are_those_of_a_language_model_without_heads():
    lacks = missing_capabilities(module(), CAPABILITIES)
    assert "a model of the family module has no attention heads" in lacks
    assert not missing_capabilities(module(), ("positions", "tokens", "predictions"))

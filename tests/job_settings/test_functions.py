from dataclasses import dataclass

import pytest

from rllc.job_settings.functions import NamedFunction, named_in
from rllc.seeds import derive


@dataclass
class Told:
    kernel: NamedFunction
    finish: NamedFunction | None
    keywords: dict
    word: str


def test_function_is_found_by_its_path():
    named = NamedFunction("rllc.seeds:derive")
    assert named.load() is derive
    assert (named, named.module) == ("rllc.seeds:derive", "rllc.seeds")


def test_function_that_its_module_lacks_is_an_error():
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        NamedFunction("rllc.seeds:nothing_of_that_name").load()


def test_named_functions_of_settings_are_those_of_their_fields():
    kernel, other = NamedFunction("rllc.seeds:derive"), NamedFunction("rllc.seeds:generator")
    assert list(named_in(Told(kernel, None, {"a": other}, "rllc.memory:x"))) == [kernel]
    assert list(named_in(Told(kernel, other, {}, ""))) == [kernel, other]

"""Settings of jobs come back from their file as they were."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rllc.job_settings.compute import Compute
from rllc.job_settings.datasets import Gather
from rllc.job_settings.file import as_text, read_settings
from rllc.job_settings.functions import NamedFunction
from rllc.job_settings.measures import Measure

MEASURE = Measure(
    family=NamedFunction("rllc.models.attention_only:model"), kernel=NamedFunction("rllc.measures.attention_scores.kernel:attention_scores"), keywords={},
    attribute="attention_scores", steps=[0, 10], compute=Compute("cpu", "fp32", 1), side="held_out", stream=2**63 + 5, batch_stream=0,
)  # fmt: skip
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def through_a_file(settings, folder):
    file = folder / "settings.json"
    file.write_text(as_text(settings), encoding="utf-8")
    return read_settings(file, type(settings))


@given(keywords=st.dictionaries(st.text(), PLAIN, max_size=5))
def test_settings_come_back_as_they_were(tmp_path_factory, keywords):
    """Numbers to the last bit, whole numbers as such, texts with braces and quotes, order."""
    told = replace(MEASURE, keywords=keywords)
    back = through_a_file(told, tmp_path_factory.getbasetemp())
    assert repr(back) == repr(told)
    assert type(back.kernel) is NamedFunction and type(back.compute) is Compute


def test_files_functions_and_tuples_come_back_in_their_types(tmp_path):
    told = Gather(
        parts=[Path("results/a {b} 'c'.nc")], labels={"b": "B", "a": "A"}, variables={"loss": ("loss", "nats", ["head"], "")},
        freedom={"loss_se": 3}, traces=False, finish=None, keywords={}, whole={"seed": [0, 1]},
    )  # fmt: skip
    assert through_a_file(told, tmp_path) == told
    assert list(through_a_file(told, tmp_path).labels) == ["b", "a"]


def test_what_is_no_plain_data_is_not_told():
    with pytest.raises(TypeError, match="set"):
        as_text(replace(MEASURE, keywords={"a": {1}}))


@dataclass(frozen=True)
class Other:
    kernel: NamedFunction
    count: int


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"kernel": "a:b"}', "count"),
        ('{"kernel": "a:b", "count": "many"}', "count"),
        ('{"kernel": 3, "count": 3}', "kernel"),
        ('{"kernel": "a:b", "cou', "Unterminated"),
        ("", "Expecting value"),
    ],
)
def test_file_of_other_code_or_that_is_not_whole_is_refused_by_name(tmp_path, text, wrong):
    file = tmp_path / "settings.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=f"(?s)settings.json holds no Other.*{wrong}"):
        read_settings(file, Other)


def test_file_is_laid_out_for_diff():
    lines = as_text(MEASURE).splitlines()
    assert len(lines) > 10 and json.loads(as_text(MEASURE))["steps"] == [0, 10]

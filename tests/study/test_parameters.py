import json

from hypothesis import given
from hypothesis import strategies as st
from snakemake.io import get_wildcard_names

from rllc.study.parameters import as_json

TEXT = st.text(st.sampled_from('ab{}"\\ ,:$_')) | st.text()


@given(st.dictionaries(TEXT, TEXT | st.lists(TEXT) | st.integers()))
def test_braces_in_texts_are_no_wildcards_of_snakemake(value):
    assert json.loads(as_json(value)) == value
    assert get_wildcard_names(as_json(value)) == set()


def test_texts_without_braces_stay_as_they_were():
    value = {"a": ["b", {"c": 1.5}], "d": 'e "f" \\'}
    assert as_json(value) == json.dumps(value)

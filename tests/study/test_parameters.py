import json

from hypothesis import given
from hypothesis import strategies as st
from snakemake.io import get_wildcard_names

from rllc.study.parameters import as_json, compute
from rllc.study.reading import read

TEXT = st.text(st.sampled_from('ab{}"\\ ,:$_')) | st.text()


@given(st.dictionaries(TEXT, TEXT | st.lists(TEXT) | st.integers()))
def test_braces_in_texts_are_no_wildcards_of_snakemake(value):
    assert json.loads(as_json(value)) == value
    assert get_wildcard_names(as_json(value)) == set()


def test_texts_without_braces_stay_as_they_were():
    value = {"a": ["b", {"c": 1.5}], "d": 'e "f" \\'}
    assert as_json(value) == json.dumps(value)


def test_what_stays_on_the_cpu_beside_a_gpu_has_its_precision(config):
    config["compute"] |= {"device": "cuda", "precision": "bf16", "gpu_jobs": ["train"]}
    study = read(config)
    assert [compute(study, rule)["device"] for rule in ("train", "heads")] == ["cuda", "cpu"]
    assert [compute(study, rule)["precision"] for rule in ("train", "heads")] == ["bf16", "fp32"]
    config["compute"] |= {"device": "cpu"}
    assert [compute(read(config), rule)["precision"] for rule in ("train", "heads")] == ["bf16", "tf32"]

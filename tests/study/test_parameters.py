import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snakemake.io import get_wildcard_names

from rllc.study.parameters import as_json, compute, segment
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


@pytest.mark.parametrize(("schedule", "of"), [("constant", [1150, 6500]), ("linear", [6500, 6500])])
def test_a_segment_ends_where_the_rate_says(chunked, schedule, of):
    """Where it is constant a longer training runs no earlier segment again."""
    chunked["experiments"]["language"]["training"]["schedule"] = schedule
    study = read(chunked)
    parts = [segment(study, "language", start) for start in (0, 1250)]
    assert [(part["chunk"][-1], part["of"]) for part in parts] == [(1150, of[0]), (6500, of[1])]
    assert {(part["experiment"], part["context"]) for part in parts} == {("language", 128)}


def test_a_segment_of_imported_checkpoints_trains_nothing(config, tmp_path):
    for step in (0, 7):
        (tmp_path / f"step_{step}.pt").touch()
    theirs = {"source": "import", "path": str(tmp_path), "chunks": [0]}
    config["experiments"]["theirs"] = {
        "like": "language", "training": None, "checkpoints": theirs, "tokens": None, "brackets": None, "classification": None,
        "hessian_rank": None,
    }  # fmt: skip
    assert segment(read(config), "theirs", 0) == {"experiment": "theirs", "chunk": [0, 7], "context": 128}

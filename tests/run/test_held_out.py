"""Few held-out contexts are told of as soon as they are known."""

import json
from pathlib import Path

import pytest

from rllc.run.held_out import scarce
from rllc.study.reading import read


@pytest.fixture
def study(config, tmp_path, monkeypatch):
    """The default study in a folder without results: a chain draws 72 contexts, with the second setting 480."""
    monkeypatch.chdir(tmp_path)
    return read(config)


def cut(tokenizer, distribution, **held_out):
    file = Path(f"results/blocks/{tokenizer}/{distribution}.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"held_out": held_out}))


def test_nothing_is_said_before_there_are_blocks(study):
    assert scarce(study) == []


def test_texts_with_fewer_contexts_than_a_chain_draws_are_named(study):
    cut("bpe", "english", distinct=2000, documents=300)
    cut("bpe", "code", distinct=41, documents=1)
    cut(
        "bpe", "mixture", distinct=479, documents=20
    )  # few for the second setting, and for the teacher's contexts
    cut("numbers", "lists", distinct=10)  # generated: as many as were asked for
    found = scarce(study)
    assert [warning.partition(":")[0] for warning in found] == ["distributions.mixture", "distributions.code"]
    assert "different contexts 479, and each chain of language/rllc.likelihood.nc draws 480" in found[0]
    assert (
        "documents held out and used 1, different contexts 41, and each chain of language/rllc.nc draws 72"
        in found[1]
    )


def test_a_chain_draws_as_many_minibatches_as_it_makes_moves(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config["experiments"]["language"]["sampling"]["heads"]["thinning"] = 10
    config["experiments"]["language"]["calibration"] = None
    cut("bpe", "code", distinct=719, documents=90)
    cut("bpe", "mixture", distinct=720, documents=90)  # enough
    (said,) = scarce(read(config))
    assert "each chain of language/rllc.nc draws 720" in said


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"held_out": {"blocks": 3}}'])
def test_manifests_of_other_code_are_left_alone(study, content):
    cut("bpe", "code")
    Path("results/blocks/bpe/code.json").write_text(content)
    assert scarce(study) == []

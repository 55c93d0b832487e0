"""What a config asks of the hub, before it can be read."""

import pytest

from rllc.study.config_model import ConfigError
from rllc.study.huggingface.wanted import wanted

NAME = "EleutherAI/pythia-14m"


def experiment(path=NAME, **checkpoints):
    return {
        "task": "language",
        "tokenizer": "mine",
        "model": {"family": "huggingface", "path": path},
        "checkpoints": {"source": "huggingface", **checkpoints},
    }


def asked(experiments, tokenizers=None):
    found = wanted({"experiments": experiments, "tokenizers": tokenizers or {}})
    return [(each.repository, each.revision, each.weights) for each in found]


def test_revisions_are_wanted_in_the_order_of_their_steps():
    table = {7: "stage2-ingredient1-step7-tokens1B", 3: "a" * 40}
    assert asked({"one": experiment(revisions=["step512", "step0"])}) == [
        (NAME, "step0", True),
        (NAME, "step512", True),
    ]
    assert asked({"one": experiment(revisions=table)}) == [(NAME, table[3], True), (NAME, table[7], True)]
    assert asked({"one": experiment(steps=[143000])}) == [(NAME, "main", True)]
    assert asked({"one": experiment(revisions=table, steps=[7])}) == [(NAME, table[7], True)]


def test_step_without_a_revision_is_refused_with_its_key():
    with pytest.raises(
        ConfigError, match=r"experiments\.one\.checkpoints\.steps: .* of step 9; the first are 3"
    ):
        asked({"one": experiment(revisions={3: "step3"}, steps=[9])})


def test_experiments_like_another_and_removed_ones_are_resolved():
    first = experiment(revisions=["step0"])
    second = {"like": "one", "checkpoints": {"source": "huggingface", "revisions": ["step1", "step0"]}}
    assert asked({"one": first, "two": second, "three": None}) == [
        (NAME, "step0", True),
        (NAME, "step1", True),
    ]


def test_folders_and_other_families_are_not_wanted(tmp_path):
    assert (
        asked(
            {
                "one": experiment(path=None, path_=1)
                | {"checkpoints": {"source": "huggingface", "path": "a/{step}"}}
            }
        )
        == []
    )
    assert asked({"one": experiment(path=str(tmp_path), steps=[1])}) == []
    own = {"task": "language", "model": {"n_layers": 2}, "checkpoints": {"source": "train"}}
    assert asked({"one": own, "two": {"task": "language"}, "three": {**own, "model": "text"}}) == []


def test_invalid_section_is_left_to_the_reader_of_the_config():
    assert asked({"one": experiment(revisions=["main"]), "two": experiment(revisions=["step3"])}) == [
        (NAME, "step3", True)
    ]


def test_tokenizers_that_experiments_use_are_wanted(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    tokenizers = {
        "mine": {"pretrained": "owner/name"},
        "unused": {"pretrained": "owner/other"},
        "local": {"pretrained": str(tmp_path / "tokenizer.json")},
        "trained": {"corpus": "english"},
    }
    local = experiment(revisions=["step0"]) | {"tokenizer": "local"}
    trained = experiment(revisions=["step0"]) | {"tokenizer": "trained"}
    own = [(NAME, "step0", True)]
    assert asked({"one": experiment(revisions=["step0"])}, tokenizers) == [
        ("owner/name", "main", False),
        *own,
    ]
    assert asked({"one": local, "two": trained}, tokenizers) == own

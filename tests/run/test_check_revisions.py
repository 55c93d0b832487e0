"""Equal checkpoints of Hugging Face are refused before anything is planned."""

import json

import pytest

from rllc.run.check_revisions import equal_checkpoints
from rllc.run.contents import Contents
from rllc.study.reading import read

FIELDS = {
    "model_type": "gpt_neox", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 8, "vocab_size": 2000,
}  # fmt: skip


@pytest.fixture
def study(config, tmp_path):
    """Return a function that reads a study of checkpoints whose weights are these texts."""

    def of(weights, **given):
        for step, text in weights.items():
            folder = tmp_path / f"checkpoint-{step}"
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(FIELDS))
            (folder / "model.safetensors").write_text(text)
        config["experiments"]["mine"] = {
            "task": "language", "seeds": [0], "tokenizer": "bpe", "model": {"family": "huggingface"},
            "checkpoints": {"source": "huggingface", "path": f"{tmp_path}/checkpoint-{{step}}", **given},
        }  # fmt: skip
        return read(config)

    return of


def problems(study, tmp_path):
    return list(equal_checkpoints(study, Contents(tmp_path / "contents.json")))


def test_different_checkpoints_are_no_problem(study, tmp_path):
    assert problems(study({0: "a", 5: "b"}), tmp_path) == []


def test_equal_checkpoints_are_refused_as_a_pair(study, tmp_path):
    found = problems(study({0: "a", 5: "b", 10: "a"}), tmp_path)
    assert len(found) == 1
    assert found[0].startswith("experiments.mine.checkpoints: steps 0 and 10 have the same weights")


def test_equal_checkpoints_are_accepted_where_the_config_says_so(study, tmp_path):
    assert problems(study({0: "a", 5: "a"}, allow_equal=True), tmp_path) == []


def test_digest_of_a_blob_of_the_hub_is_its_name(tmp_path):
    blob = tmp_path / "blobs" / ("ab" * 32)
    blob.parent.mkdir()
    blob.write_text("not read")
    (tmp_path / "link").symlink_to(blob)
    contents = Contents(tmp_path / "contents.json")
    one = contents.digest([tmp_path / "link"])
    blob.write_text("something else")
    assert contents.digest([tmp_path / "link"]) == one

"""What the sections of measures on heads in roles are refused for."""

from pathlib import Path

import pytest
from refused import refused

from rllc.study import defaults
from rllc.study.reading import read

ROOT = Path(__file__).resolve().parents[2]


def changed(**language):
    config = defaults.load(root=ROOT)
    config["experiments"]["language"] |= language
    return config


def own(unnested, nested):
    base = defaults.load(root=ROOT)["experiments"]["language"]["brackets"]
    return {"brackets": base | {"sentences": {"unnested": unnested, "nested": nested}}}


def test_sentences_of_ones_own_are_read():
    study = read(changed(**own(["a (b)."], ["a (b (c))."])))
    assert study.experiments["language"].brackets.sentences.nested == ["a (b (c))."]


@pytest.mark.parametrize(
    ("language", "key"),
    [
        (own(["a (b."], ["a (b (c))."]), "brackets.sentences.unnested"),
        (own(["a b)(."], ["a (b (c))."]), "brackets.sentences.unnested"),
        (own(["a (b)."], ["a (b)."]), "brackets.sentences.nested"),
        (own(["a (b (c))."], ["a (b (c))."]), "brackets.sentences.unnested"),
        ({"tokens": None, "classification": None}, "brackets"),
        ({"head_types": None, "refinement": None, "classification": None}, "brackets"),
        ({"metrics": None, "stages": None}, "icl"),
        ({"icl": {"contexts": 10, "batch_size": 4}}, "icl"),
        ({"icl": None}, "staggered"),
        ({"staggered": {"distribution": "english"}}, "staggered.distribution"),
        ({"brackets": {"words_of": "headers", "examples": 4, "batch_size": 2}}, "brackets.words_of"),
        ({"brackets": {"words_of": "one_layer", "examples": 4, "batch_size": 2}}, "brackets.words_of"),
        ({"brackets": {"words_of": "english", "examples": 4, "batch_size": 2, "checkpoints": [7]}},
         "brackets.checkpoints"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused_by_its_key(language, key):
    assert f"experiments.language.{key}" in [found for found, _ in refused(changed(**language))]

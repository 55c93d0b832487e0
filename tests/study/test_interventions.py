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
    base = defaults.load(root=ROOT)["experiments"]["language"]["path_patching"]
    return {"path_patching": base | {"sentences": {"unnested": unnested, "nested": nested}}}


def test_sentences_of_ones_own_are_read():
    study = read(changed(**own(["a (b)."], ["a (b (c))."])))
    assert study.experiments["language"].path_patching.sentences.nested == ["a (b (c))."]


@pytest.mark.parametrize(
    ("language", "key"),
    [
        (own(["a (b."], ["a (b (c))."]), "path_patching.sentences.unnested"),
        (own(["a b)(."], ["a (b (c))."]), "path_patching.sentences.unnested"),
        (own(["a (b)."], ["a (b)."]), "path_patching.sentences.nested"),
        (own(["a (b (c))."], ["a (b (c))."]), "path_patching.sentences.unnested"),
        ({"tokens": None, "classification": None}, "path_patching"),
        ({"head_types": None, "refinement": None, "classification": None}, "path_patching"),
        ({"metrics": None, "stages": None}, "induction_ablation"),
        ({"induction_ablation": {"contexts": 10, "batch_size": 4}}, "induction_ablation"),
        ({"induction_ablation": None}, "staggered"),
        ({"staggered": {"distribution": "english"}}, "staggered.distribution"),
        ({"path_patching": {"words_of": "headers", "examples": 4, "batch_size": 2}}, "path_patching.words_of"),
        ({"path_patching": {"words_of": "one_layer", "examples": 4, "batch_size": 2}}, "path_patching.words_of"),
        ({"path_patching": {"words_of": "english", "examples": 4, "batch_size": 2, "checkpoints": [7]}},
         "path_patching.checkpoints"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused_by_its_key(language, key):
    assert f"experiments.language.{key}" in [found for found, _ in refused(changed(**language))]

"""What the sections of measures on heads in roles are refused for."""

from pathlib import Path

import pytest

from rllc.study import defaults
from rllc.study.reading import ConfigError, read

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
    ("language", "said"),
    [
        (own(["a (b."], ["a (b (c))."]), r"sentences.unnested: the round brackets of 'a \(b.' are absent or not"),
        (own(["a b)(."], ["a (b (c))."]), "are absent or not balanced"),
        (own(["a (b)."], ["a (b)."]), r"sentences.nested: .* are not nested; correct it"),
        (own(["a (b (c))."], ["a (b (c))."]), r"sentences.unnested: .* are nested; correct it"),
        ({"tokens": None, "classification": None}, "brackets: it reads what tokens.nc says .*; give tokens"),
        ({"head_types": None, "refinement": None, "classification": None}, "brackets: .*; give head_types"),
        ({"metrics": None, "stages": None}, "icl: the score is that of metrics; give metrics with icl_early"),
        ({"icl": {"contexts": 10, "batch_size": 4}}, "icl.*contexts 10 is no multiple of batch_size 4"),
        ({"icl": None}, "staggered: it is of icl, head_types and sampling.heads; give all three"),
        ({"staggered": {"distribution": "english"}}, "staggered.distribution: no distribution of icl.nc is"),
        ({"brackets": {"words_of": "headers", "examples": 4, "batch_size": 2}}, "words_of: no distribution"),
        ({"brackets": {"words_of": "one_layer", "examples": 4, "batch_size": 2}}, "is a model's predictions"),
        ({"brackets": {"words_of": "english", "examples": 4, "batch_size": 2, "checkpoints": [7]}},
         "brackets.checkpoints: step 7 is not measured; the nearest"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused_with_the_cure(language, said):
    with pytest.raises(ConfigError, match=said):
        read(changed(**language))

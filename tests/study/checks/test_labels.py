"""Texts that figures show, against the fonts that this machine has."""

import pytest

from rllc.study.checks.labels import undrawable_labels
from rllc.study.reading import read

NOWHERE = "\U0010fffd"  # for private use: in no font


def test_labels_of_the_default_study_and_of_greek_are_drawable(config):
    config["experiments"]["language"]["label"] = "β, λ̂ and naïve"
    assert undrawable_labels(read(config)) == []


@pytest.mark.parametrize(
    "place",
    [("distributions", "english", "label"), ("experiments", "language", "label"), ("figures", "corpus_summary", "options", "title")],
    ids=".".join,
)  # fmt: skip
def test_label_that_no_font_has_is_named_with_the_character(config, place):
    table = config
    for name in place[:-1]:
        table = table.setdefault(name, {})
    table[place[-1]] = f"a {NOWHERE}"
    (warning,) = undrawable_labels(read(config, checked=True))
    assert ".".join(place) in warning and repr(NOWHERE) in warning

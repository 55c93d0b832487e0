"""The overlays that measure one model on many texts."""

import re
from pathlib import Path

import pytest

from rllc.study import defaults
from rllc.study.claims import judged
from rllc.study.datasets import distributions, trained_on
from rllc.study.reading import read

ROOT = Path(__file__).parents[2]


def study(*overlays):
    return read(defaults.load([ROOT / "config" / name for name in overlays], ROOT))


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_stand_ins_are_of_the_lock_and_nothing_that_is_trained_on_is_held_out():
    lock = (ROOT / "envs/requirements.lock").read_text()
    pinned = {normal(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", lock, re.M)}
    made = study("distributions.yaml")
    language = made.experiments["language"]
    others = [made.distributions[name] for name in language.distributions if name != "mixture"]
    assert len(others) == 11 and all(entry.source == "installed" for entry in others)
    assert {normal(name) for entry in others for name in entry.packages} <= pinned
    for name in set(language.distributions) - {*made.distributions["mixture"].weights, "mixture"}:
        assert trained_on(made, name) == ["mixture"], (
            name
        )  # whose training text is taken out of what is held out
    assert distributions(language, "llc") == language.distributions


@pytest.mark.parametrize(
    "overlays", [("distributions.yaml",), ("paper.yaml", "distributions_paper.yaml")], ids=" ".join
)
def test_every_text_has_a_panel_and_claims_may_read_it(overlays):
    made = study(*overlays)
    figure, language = made.figures["rllc_fig12_drllc_datasets"], made.experiments["language"]
    measured = {*distributions(language, "llc")} - {language.domains.reference}
    assert measured == {*figure.options["families"]} and "domains" in judged(made)["language"]


@pytest.mark.parametrize(
    ("name", "hits", "misses"),
    [
        ("arxiv_math", "cs.LG math.ST", "math-ph"),
        ("arxiv_physics", "math-ph hep-th", "math.AG"),
        ("arxiv_physics", "cond-mat.str-el", "cs.CL"),
        ("arxiv_cs", "stat.ML cs.LG", "physics.cs"),
        ("arxiv_econ", "econ.EM", "q-fin.EC"),
        ("c", "C", "C++"),
    ],
)
def test_rows_are_chosen_by_the_patterns_of_the_paper(name, hits, misses):
    where = study("paper.yaml", "distributions_paper.yaml").distributions[name].where
    assert re.search(where.matches, hits) and not re.search(where.matches, misses)

"""Which trainings may have seen what is held out: said by the config alone."""

import re
from pathlib import Path

import pytest

from rllc.study import defaults
from rllc.study.datasets import trained_on
from rllc.study.reading import read


@pytest.mark.parametrize(
    ("english", "headers", "thesis", "seen"),
    [
        (0.1, 0.1, 0.1, []),
        (0.1, 0.1, 0.4, ["english", "mixture"]),
        (0.1, 0.1, 0.05, []),
        (0.05, 0.1, 0.1, ["english", "mixture"]),  # english is a part of the mixture
        (0.1, 0.05, 0.1, ["mixture"]),
        (0.4, 0.4, 0.2, ["mixture"]),  # code is a part, too
    ],
)
def test_only_what_holds_out_less_can_train_on_what_is_held_out(config, english, headers, thesis, seen):
    config["distributions"]["english"]["held_out"] = english
    config["distributions"]["headers"]["held_out"] = headers
    config["distributions"]["thesis"] = {
        "source": "files", "path": "*.md", "label": "mine", "held_out": thesis,
    }  # fmt: skip
    config["experiments"]["more"] = {"like": "language_1layer", "training": {"distribution": "english"}}
    assert trained_on(read(config), "thesis") == seen


def test_of_a_mixture_the_part_that_holds_out_most_counts(config):
    config["distributions"]["headers"]["held_out"] = 0.3
    assert trained_on(read(config), "mixture") == ["mixture"]
    assert trained_on(read(config), "english") == []


def test_texts_beside_the_mixture_are_of_the_lock_and_checked_against_it():
    """Every text of config/distributions.yaml is of pinned packages, and holds out nothing that is trained on."""
    root = Path(__file__).parents[2]
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==", (root / "envs/requirements.lock").read_text(), re.M)
    normal = {re.sub(r"[-_.]+", "-", name).lower() for name in pinned}
    study = read(defaults.load([root / "config/distributions.yaml"], root))
    language = study.experiments["language"]
    others = [study.distributions[name] for name in language.distributions if name != "mixture"]
    assert len(others) == 11 and all(entry.source == "installed" for entry in others)
    assert {re.sub(r"[-_.]+", "-", name).lower() for entry in others for name in entry.packages} <= normal
    mixed = set(study.distributions["mixture"].weights)
    for name in set(language.distributions) - mixed - {"mixture"}:
        assert trained_on(study, name) == ["mixture"], (
            name
        )  # whose training text is taken out of what is held out

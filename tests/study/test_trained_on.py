"""Which trainings may have seen what is held out: said by the config alone."""

import pytest

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

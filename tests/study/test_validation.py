import copy
from pathlib import Path

import pytest

from rllc.study import defaults
from rllc.study.datasets import validated
from rllc.study.reading import ConfigError, read
from rllc.study.validation import POTENTIAL_NAMES
from rllc.validation.truths.potentials import POTENTIALS

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = defaults.load(root=ROOT)


def refused(message, change):
    config = copy.deepcopy(DEFAULT)
    change(config)
    with pytest.raises(ConfigError) as caught:
        read(config)
    assert message in str(caught.value)


def test_every_family_is_configured_and_a_study_may_have_none():
    assert validated(read(DEFAULT)) == ["quadratic", "potentials", "reduced_rank", "deep_linear"]
    figures = {name: entry for name, entry in DEFAULT["figures"].items() if not name.startswith("validation")}
    assert validated(read(DEFAULT | {"validation": None, "figures": figures})) == []


def test_the_names_of_potentials_are_those_that_there_are():
    assert list(POTENTIALS) == list(POTENTIAL_NAMES)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("validation", "quadratic", "burn_in"), 400, "burn_in 400 leaves none of the 400 draws"),
        (("validation", "quadratic", "relative_step"), 4.0, "relative_step: input should be less than 4"),
        (("validation", "potentials", "names"), ["sum_5"], "validation.potentials.names.0"),
        (("validation", "deep_linear", "widths"), [9, 3], "smallest and largest: give them in that order"),
        (("validation", "reduced_rank", "at_zero", "sizes"), [[3, 3, 3]], "with inputs or hidden at most 2"),
        (("validation", "deep_linear"), None, "needs validation/deep_linear.nc; give validation.deep_linear"),
        (("figures", "validation_quadratic"), {"experiment": "language"}, "is of no experiment; take it out"),
        (("figures", "validation_quadratic"), {"options": {"bins": 3}}, "has no option 'bins'; it has none"),
        (("figures", "corpus_summary"), {}, "corpus_summary.experiment: missing; name the experiment"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_name(path, value, message):
    def change(config):
        *parents, last = path
        for name in parents:
            config = config[name]
        config[last] = value

    refused(message, change)

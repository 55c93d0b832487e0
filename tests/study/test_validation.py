from pathlib import Path

from rllc.study import defaults
from rllc.study.datasets import validated
from rllc.study.reading import read
from rllc.study.validation import POTENTIAL_NAMES
from rllc.validation.truths.potentials import POTENTIALS

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = defaults.load(root=ROOT)


def test_every_family_is_configured_and_a_study_may_have_none():
    assert validated(read(DEFAULT)) == ["quadratic", "potentials", "reduced_rank", "deep_linear"]
    figures = {name: entry for name, entry in DEFAULT["figures"].items() if not name.startswith("validation")}
    assert validated(read(DEFAULT | {"validation": None, "figures": figures})) == []
    three = DEFAULT["validation"] | {"potentials": None}
    assert validated(read(DEFAULT | {"validation": three, "figures": figures})) == [
        "quadratic", "reduced_rank", "deep_linear",
    ]  # fmt: skip


def test_the_names_of_potentials_are_those_that_there_are():
    assert list(POTENTIALS) == list(POTENTIAL_NAMES)

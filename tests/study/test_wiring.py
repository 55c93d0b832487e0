"""Every key of a section of the config reaches the kernel of its spec under its own name, with its own value."""

import importlib
import inspect
from functools import cache
from pathlib import Path

import pytest

from rllc.study import defaults
from rllc.study.config_model import ConfigModel
from rllc.study.reading import read
from rllc.study.specs import EXTENT
from rllc.study.study import work
from rllc.study.table import ANALYSES, MEASURES

# values that are of another kind are meant
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
HERE = Path(__file__).parent
# keys of a section that others read: where it is measured, and what the rows below it do
ELSEWHERE = {
    "calibration": EXTENT | {"dependence", "rule"},
    "dependence": EXTENT,
    "clusters": set(),
    "tokens": EXTENT | {"corpus", "share"},
    "path_patching": EXTENT | {"words_of"},
    "token_losses": EXTENT | {"distribution", "setting", "length"},
    "highlights": {"contexts", "batch_size"},
    "patched_paths": EXTENT | {"words_of", "words", "sentences", "examples", "batch_size"},
}


@cache
def study():
    return read(defaults.load([HERE / "every_key.yaml"], HERE.parents[1]))


def leaves(value, place=()):
    """Place -> value of all that is no table."""
    if isinstance(value, ConfigModel):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if not isinstance(value, dict) or not value:
        return {place: value}
    return {at: leaf for name, one in value.items() for at, leaf in leaves(one, (*place, name)).items()}


def other(value):
    """Another value of the kind, which nothing else has."""
    if isinstance(value, bool):
        return not value
    if value is None or isinstance(value, list):
        value = value or [7]
        return [*value, value[-1]]
    return f"{value}x" if isinstance(value, str) else (value or 7) * 1237


def put(section, place, value):
    """The section with another value at a place, unchecked."""
    name, *rest = place
    return section.model_copy(update={name: put(getattr(section, name), rest, value) if rest else value})


def declared():
    """Every spec with each section that an experiment has of it, and how the section is changed in place."""
    for spec in (*MEASURES, *ANALYSES):
        for name, experiment in study().experiments.items():
            sections = (spec.section_of if spec in ANALYSES else spec.declared)(experiment)
            each = sections if isinstance(sections, dict) else {spec.name: sections} if sections else {}
            for dataset, section in each.items():
                if type(section).model_fields:
                    yield pytest.param(spec, experiment, section, id=f"{name}.{dataset}")


def told(spec, experiment, section):
    return spec.settings(work(study(), experiment, section, []))


@pytest.mark.parametrize(("spec", "experiment", "section"), declared())
def test_a_key_changes_what_the_kernel_is_told_in_one_place_and_to_its_value(spec, experiment, section):
    before = told(spec, experiment, section)
    module, _, name = getattr(spec, "kernel", getattr(spec, "function", "")).partition(":")
    given = {"random_seed": 0} if spec in ANALYSES else {}
    inspect.signature(getattr(importlib.import_module(module), name)).bind({}, **given, **before)
    for place, value in leaves(section).items():
        if place[0] == "sampler_options" and value is None:  # not given: left out
            continue
        after = leaves(told(spec, experiment, put(section, place, other(value))))
        changed = {at[-1]: leaf for at, leaf in after.items() if leaf != leaves(before).get(at)}
        whence = {} if place[0] in ELSEWHERE.get(spec.name, EXTENT) else {place[-1]: other(value)}
        assert changed == whence, place
        assert len(after) == len(leaves(before))


@pytest.mark.parametrize("kind", ["heads", "full"])
def test_what_is_varied_and_swept_has_these_keys_of_the_base_setting_and_no_others(kind):
    """The minibatches and law of the base setting; chains and draws are the section's own."""
    experiment = study().experiments["language"]
    read_by = {
        "dependence": {
            "step_size", "n_beta", "localization", "batch_size", "scored_positions", "divergence_factor",
        },
        "calibration": {"divergence_factor"},
        "recommendation": {"step_size", "n_beta", "localization"},
    }  # fmt: skip
    for spec in (*MEASURES, *ANALYSES):
        for name in read_by.keys() & {spec.name}:
            sections = (spec.section_of if spec in ANALYSES else spec.declared)(experiment)
            section = sections[name] if isinstance(sections, dict) else sections
            before = leaves(told(spec, experiment, section))
            for (key,), value in leaves(getattr(experiment.sampling, kind)).items():
                base = put(experiment.sampling, (kind, key), other(value))
                after = told(spec, experiment.model_copy(update={"sampling": base}), section)
                changed = {at: leaf for at, leaf in leaves(after).items() if leaf != before[at]}
                assert [at[-1] for at in changed] == [key] * (key in read_by[name]), (name, key)
                assert all(kind in at and leaf == other(value) for at, leaf in changed.items()), (name, key)

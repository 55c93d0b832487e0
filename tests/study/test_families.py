import importlib
import math
from pathlib import Path

import pytest

from rllc.study import defaults
from rllc.study.config_model import ConfigError
from rllc.study.families import CAPABILITIES, FAMILIES, family_of, missing_capabilities
from rllc.study.parameters import model as facts_of
from rllc.study.reading import read
from rllc.study.tasks import GENERATORS, TASKS, settings


def function_at(path):
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("mixed", [True, False])
def test_the_number_of_weights_is_that_of_the_model(config, mixed):
    here = Path(__file__).parent
    every = defaults.load([here / "every_key.yaml"], here.parents[1])  # the default study has no InContext
    for study in (read(config), read(every)):
        for name, experiment in study.experiments.items():
            model = experiment.model
            if hasattr(model, "attention_output"):
                model = model.model_copy(update={"attention_output": mixed})
                experiment = experiment.model_copy(update={"model": model})
            row, facts = family_of(model), facts_of(study, experiment)
            assert facts.pop("family") == model.family
            shapes = function_at(row.model)(**facts).shapes()
            counted = row.weights(model, study.tokenizers[experiment.tokenizer])
            assert counted == sum(map(math.prod, shapes.values())), name


def test_what_a_family_lacks_is_said_in_words(config, monkeypatch):
    model = read(config).experiments["language"].model
    assert missing_capabilities(model, CAPABILITIES) == []
    monkeypatch.setitem(
        FAMILIES, "attention_only", family_of(model)._replace(capabilities=frozenset({"heads"}))
    )
    assert missing_capabilities(model, ("heads", "circuits")) == [
        "a model of the family attention_only has no QK and OV circuits"
    ]


def test_model_without_layers_has_no_heads_and_says_so(config):
    tokens = read(config).tokenizers["bpe"]
    for positions in ("shortformer", "standard"):
        config["experiments"]["language_1layer"]["model"] |= {"n_layers": 0, "positions": positions}
        model = read(config).experiments["language_1layer"].model
        family = family_of(model)
        facts = {**model.model_dump(exclude={"family"}), **family.facts(model, tokens)}
        shapes = function_at(family.model)(**facts).shapes()
        assert family.weights(model, tokens) == sum(map(math.prod, shapes.values()))
        assert family.heads(model) == 0
        lacks = ("heads", "attention", "circuits")
        assert missing_capabilities(model, lacks) == [
            f"a model without layers {CAPABILITIES[each]}" for each in lacks
        ]
        assert missing_capabilities(model, ("positions", "tokens", "predictions")) == []
        assert "none" in family.check_component(model, "0:0")


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_families_ask_and_offer_what_there_is_a_word_for(name):
    assert FAMILIES[name].capabilities <= set(CAPABILITIES)
    assert FAMILIES[name].section.model_fields["family"].annotation.__args__ == (name,)


def test_generators_take_the_keys_of_their_sections(config):
    """Tiny blocks of every generated distribution of the default study and of one more."""
    config["distributions"]["sums"] = {"source": "sums", "label": "sums"}
    config["tokenizers"]["small"] = {"largest": 3, "length": 5, "train_blocks": 10, "held_out_blocks": 10}
    study = read(config)
    for distribution, tokens in (("lists", "numbers"), ("sums", "small")):
        entry, section = study.distributions[distribution], study.tokenizers[tokens]
        made = function_at(GENERATORS[entry.source])(7, seed=0, **settings(entry, section))
        assert made.contexts.shape == (7, section.context)
        assert len(made.scorable()) == section.predictions
        largest = max(part.max() for part in (made.contexts, made.targets) if part is not None)
        assert largest == section.vocabulary - 1  # the separator, or the answer to a positive sum
    assert {row.makes for row in TASKS.values()} <= {"tokens", "vectors"}


def test_figures_and_analyses_of_circuits_are_refused_without_them(config, monkeypatch):
    row = FAMILIES["attention_only"]
    lacking = row._replace(capabilities=row.capabilities - {"circuits"})
    monkeypatch.setitem(FAMILIES, "attention_only", lacking)
    with pytest.raises(ConfigError) as raised:
        read(config)
    reason = "a model of the family attention_only has no QK and OV circuits"
    for place, what in (
        ("experiments.language.kcomposition", "set it to null"),
        ("experiments.language.path_patching", "set it to null"),
        ("figures.rllc_fig7_kcomposition", "take the figure out"),
    ):
        assert f"{place}: {reason}; {what}" in str(raised.value)
    assert "experiments.language.attention_scores" not in str(raised.value)

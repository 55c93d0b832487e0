"""Conditions on the held-out contexts of one's own text, and of text with fewer than chains draw."""

import json

import pytest

from rllc.figures import held_out
from rllc.figures.conditions import contexts, few_contexts, of_estimates, recorded
from rllc.study.table import MEASURES

SMALL = {"contexts": 41, "documents": 1, "tokens": 5240, "read": 5, "source": "files"}
LARGE = {"contexts": 2000, "documents": 300, "tokens": 900000, "read": 3000, "source": "files"}
INSTALLED = {**LARGE, "source": "installed"}


@pytest.fixture
def rllc(study):
    """Estimates whose chains draw 240 contexts."""
    setting = {**recorded(study["rllc"], "sampling"), "draws": 30, "batch_size": 8, "thinning": 1}
    return study["rllc"].assign_attrs(sampling=json.dumps(setting))


def holding(rllc, **distributions):
    inputs = {name: {"held_out_blocks": "digest", "held_out": facts} for name, facts in distributions.items()}
    return rllc.assign_attrs(inputs=json.dumps(inputs))


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (SMALL, "Python code: 41 different held-out contexts of 1 document; each chain draws 240."),
        (LARGE, "Python code: 2,000 different held-out contexts of 300 documents."),
        ({**SMALL, "source": "installed"}, "Python code: 41 different held-out contexts of 1 document; each chain draws 240."),
        (INSTALLED, ""),
        ({"contexts": 41}, ""),  # generated: as many as were asked for
    ],
)  # fmt: skip
def test_a_distribution_is_described(rllc, facts, said):
    drawn = rllc.sel(distribution=["mixture", "code"])
    label = dict(zip(rllc["distribution"].values, rllc["distribution_label"].values, strict=True))["code"]
    assert held_out.text(holding(rllc, mixture=INSTALLED, code=facts), drawn) == said.replace(
        "Python code", label
    )


def test_measures_on_fewer_contexts_than_they_read_say_so(study):
    metrics = study["metrics"].assign_attrs(metrics=json.dumps({"batch_size": 32, "contexts": 256}))
    name = str(metrics["distribution"].values[0])
    said = "Measured on 256 held-out contexts of each distribution"
    found = contexts(holding(metrics, **{name: SMALL}), "metrics")
    assert found == [f"{said}. {name} has only 41 different ones."]
    for source in (metrics, holding(metrics, **{name: LARGE}), holding(metrics, **{name: {"contexts": 41}})):
        assert contexts(source, "metrics") == [f"{said}."]


def test_only_what_is_drawn_is_described(rllc):
    source = holding(rllc, mixture=INSTALLED, code=SMALL)
    assert held_out.text(source, rllc.sel(distribution=["mixture"])) == ""
    assert held_out.text(rllc, rllc) == ""  # of another version, or by hand


def test_few_contexts_are_a_condition_of_estimates(rllc):
    source = holding(rllc, mixture=INSTALLED, code=SMALL)
    drawn = source.sel(distribution=["mixture", "code"])
    (said,) = few_contexts(source, drawn)
    assert "41 different held-out contexts of 1 document; each chain draws 240" in said
    assert said in of_estimates(source, drawn, "rllc")
    assert few_contexts(holding(rllc, code=INSTALLED), drawn) == []


def test_contexts_stand_under_the_names_that_the_config_has():
    read = {"metrics": ["contexts"], "ablation": ["contexts"], "hessian": ["probes", "batch_size"]}
    sections = {row.name: row.section for row in MEASURES if row.name in read}
    assert all(set(names) <= set(sections[row].model_fields) for row, names in read.items())

import json
import subprocess
import sys

import pytest
import yaml
from snakemake.utils import update_config

from rllc.study import defaults
from rllc.study.config_model import ConfigError

SNAKEFILE = """
for file in {files}:

    configfile: file

import json
print("CONFIG " + json.dumps(config))
rule all:
"""


def test_overlays_are_merged_as_snakemake_merges_them(tmp_path, monkeypatch):
    """Its own configfile statements and --configfile, with what merges can get wrong: tables under null, null
    under tables, lists, tables in place of values, empty tables, and a removal that a later file undoes.
    """
    first = {"a": {"x": 1, "y": [1, 2], "gone": {"z": 0}}, "b": 1, "c": None, "e": {"deep": {"er": 1}}}
    second = {"a": {"late": {"n": 1}, "removed": {"n": 2}}, "d": {"only": "here"}}
    overlays = [
        {"a": {"y": [3], "gone": None, "removed": None}, "b": {"table": 1}, "d": None},
        {"c": {"over": None}, "e": {"deep": {"er": {}, "new": 2.5}}, "d": {"again": True}, "a": {"gone": {}}},
    ]
    files = [f"{name}.yaml" for name in ("first", "second", "over", "last")]
    for file, config in zip(files, (first, second, *overlays), strict=True):
        (tmp_path / file).write_text(yaml.safe_dump(config))
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(files=files[:2]))
    command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "all", "--cores", "1"]
    done = subprocess.run(
        [*command, "--configfile", *files[2:]], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("CONFIG ")]
    monkeypatch.setattr(defaults, "FILES", files[:2])
    found = defaults.load([tmp_path / file for file in files[2:]], tmp_path)
    assert json.dumps(found) == line.removeprefix("CONFIG ")  # keys in their order, too
    assert found["a"]["late"] == {"n": 1} and found["a"]["removed"] is None


def test_a_merged_config_is_an_overlay_of_the_same(tmp_path):
    """Also where one overlay removes a default, and another what the first had added."""
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    added = "{like: language, label: mine}"
    first.write_text(f"experiments: {{mine: {added}, sort_1head: null}}\n", encoding="utf-8")
    second.write_text("experiments: {mine: null}\n", encoding="utf-8")
    merged = defaults.load([first, second])
    assert merged["experiments"]["mine"] is None
    alone = tmp_path / "merged.json"
    alone.write_text(json.dumps(merged), encoding="utf-8")
    with pytest.raises(ConfigError, match="null removes nothing"):
        defaults.load([alone])
    alone.write_text(json.dumps(defaults.as_overlay(merged)), encoding="utf-8")
    again = defaults.load([alone])
    assert again["experiments"].pop("mine", None) is None
    del merged["experiments"]["mine"]
    assert again == merged and again["experiments"]["sort_1head"] is None


NESTED = (
    "experiments={language: {seeds: [0, 2], sampling: {heads: {step_size: 1.0e-3, antithetic_pairs: 2, drift_free: true}}}}",
    "experiments={language: {label: '3', metrics: null}}",
    "compute={threads: 2}",
    "seed=7",
    "results=results/mine",
)


def test_tables_on_the_command_line_equal_those_of_an_overlay(tmp_path):
    """Snakemake reads every number in them as text."""
    (tmp_path / "Snakefile").write_text(
        "import json\nfrom rllc.study import defaults\n"
        "defaults.read_values(config, workflow.config_settings.config_args)\n"
        "print('CONFIG ' + json.dumps(config))\nrule all:\n"
    )
    base = tmp_path / "base.yaml"
    base.write_text("experiments: {language: {seeds: [0, 1], label: a}, other: {}}\ncompute: {device: cpu}\n")
    command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "all", "--cores", "1"]
    done = subprocess.run(
        [*command, "--configfile", base, "--config", *NESTED], cwd=tmp_path, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("CONFIG ")]
    expected = yaml.safe_load(base.read_text())
    for entry in NESTED:
        key, _, value = entry.partition("=")
        update_config(expected, {key: yaml.safe_load(value)})
    assert json.loads(line.removeprefix("CONFIG ")) == expected


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ("experiments={language: {seeds: [0], seeds: [1]}}", "language.seeds"),
        ("experiments={language: {seeds: [0]", "line"),
    ],
)
def test_a_table_on_the_command_line_that_says_two_things_or_none_is_refused(entry, key):
    with pytest.raises(ConfigError, match=f"--config experiments.*{key}"):
        defaults.read_values({"experiments": {}}, [entry])

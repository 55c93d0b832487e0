import json
import subprocess
import sys

import yaml

from rllc.study import defaults

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

"""Nothing is unpickled, no text of a config reaches a shell unquoted, files get the user's permissions."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr

from rllc.run.command import command
from rllc.store import manifest
from rllc.store.atomic_write import write_text
from rllc.store.datasets import write_dataset

ROOT = Path(__file__).parents[1]
SOURCES = [
    path for folder in ("src", "workflow", "examples", "benchmarks") for path in (ROOT / folder).rglob("*.py")
]
UNPICKLING = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
NASTY = [
    "it's",
    'a "b"',
    "a; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "a b\tc",
    "*",
    "-rf",
    "{x}",
    "ü\n",
]


def calls(tree):
    """(dotted name, call) of every call."""
    return [(ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def keywords(call):
    return {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_unpickled_or_evaluated(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {name.split(".")[0] for name in names} & UNPICKLING
    for name, call in calls(tree):
        given = keywords(call)
        if name.endswith("torch.load"):
            assert given.get("weights_only") == "True", f"{path}:{call.lineno}"
            # not on the device that they were saved from
            assert given.get("map_location") in ("'cpu'", "'meta'")
        assert name not in ("eval", "exec", "os.system", "os.popen", "yaml.load", "yaml.unsafe_load"), (
            f"{path}:{call.lineno}"
        )
        assert given.get("allow_pickle", "False") == "False"
        assert given.get("shell", "False") == "False"
        assert given.get("trust_remote_code", "False") == "False"


def test_the_rules_quote_every_value():
    for path in (ROOT / "workflow" / "rules").glob("*.smk"):
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"shell:\s*\n\s*(\w+)", text) == re.findall(r"shell:\s*\n\s*(command)", text), path
    for watch in (False, True):
        for placeholder in re.findall(
            r"(?<!\{)\{(?!\{)[^{}]+\}", command("train", input="blocks", watch=watch)
        ):
            assert placeholder.endswith(":q}")


@pytest.mark.parametrize("value", NASTY)
def test_a_value_reaches_the_script_as_it_is(tmp_path, value):
    """The shell text of a rule, formatted as Snakemake does, run by a shell with a script that repeats its flags."""
    from snakemake.utils import format as formatted

    folder = tmp_path / "workflow" / "scripts"
    folder.mkdir(parents=True)
    (folder / "say.py").write_text("import json, sys; print(json.dumps(sys.argv[1:]))")
    params = type("Params", (), {"code": "0", "settings": "s.json", "value": value})
    text = formatted(command("say", params="value"), params=params, log=[str(tmp_path / "a log.txt")])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # as jobs have it
    subprocess.run(["bash", "-c", text], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)
    said = json.loads((tmp_path / "a log.txt").read_text())
    assert said == ["--code", "0", "--settings", "s.json", "--value", value]
    assert not (tmp_path / "pwned").exists()
    assert shlex.split(text)[0] == "python"


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_results_get_the_users_permissions(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_text("x", tmp_path / "a" / "text.json")
        write_dataset(xr.Dataset({"x": ("y", [1.0])}), tmp_path / "b" / "data.nc")
        manifest.write(tmp_path / "c" / "manifest.json", x=1)
    finally:
        os.umask(before)
    for path in tmp_path.rglob("*"):
        full = 0o777 if path.is_dir() else 0o666
        assert path.stat().st_mode & 0o777 == full & ~umask, path

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_the_estimator_runs_alone_on_a_model_of_ones_own():
    script = ROOT / "examples/own_model.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = {line.split("  ")[0]: line.split()[-7:] for line in done.stdout.splitlines()[2:]}
    llc = {name: float(row[0]) for name, row in rows.items()}
    assert all(row[-1] == "sound" for row in rows.values())
    long = {"full": 7.70, "first layer": 6.73, "unit 0": 0.98}  # 32 chains of 2,500 draws
    assert all(abs(llc[name] / value - 1) < 0.15 for name, value in long.items())
    assert set(llc) == {"full", "first layer", "unit 0"}
    assert llc["full"] > llc["first layer"] > llc["unit 0"] > 0
    assert len(script.read_text().splitlines()) <= 50


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda each: each.stem)
def test_what_examples_import_is_there(script):
    """Also of those that take a finished study."""
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "rllc":
            module = importlib.import_module(node.module)
            assert [name.name for name in node.names if not hasattr(module, name.name)] == []

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_estimator_runs_alone_on_a_model_of_ones_own():
    script = ROOT / "examples/own_model.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = {line.split("  ")[0]: line.split()[-4:] for line in done.stdout.splitlines()[2:]}
    llc = {name: float(row[0]) for name, row in rows.items()}
    assert set(llc) == {"full", "first layer", "unit 0"}
    assert llc["full"] > llc["first layer"] > llc["unit 0"] > 0
    assert len(script.read_text().splitlines()) <= 50

import re
import tomllib
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from rllc.run import lock
from rllc.study import document
from rllc.study.figure_options import options
from rllc.study.figures import ANIMATIONS, FIGURES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["config/README.md", "results/README.md", "docs/figures.md"])
def test_tables_are_generated(name):
    text = (ROOT / name).read_text()
    assert text == document.generated(name, text), "run `make docs`"


def test_the_conda_file_equals_the_lock():
    text = (ROOT / lock.LOCK).read_text()
    assert (ROOT / lock.CONDA).read_text() == lock.conda(text), "run `make lock`"
    packages = yaml.safe_load((ROOT / lock.CONDA).read_text())["dependencies"]
    assert packages[-1]["pip"] == lock.pins(text)


def test_the_lock_has_no_local_builds_and_not_what_is_left_out(monkeypatch):
    found = {"torch": "2.13.0+cpu", "Babel": "2.1", "arviz": "1.0", "pip": "26.0"}
    made = [SimpleNamespace(metadata={"Name": name}, version=version) for name, version in found.items()]
    monkeypatch.setattr(lock, "distributions", lambda: made)
    assert lock.installed(without={"pip"}) == ["arviz==1.0", "Babel==2.1", "torch==2.13.0"]


def test_every_pin_is_exact():
    pins = lock.pins((ROOT / lock.LOCK).read_text())
    assert len(pins) > 100
    assert all(pin.count("==") == 1 and "+" not in pin for pin in pins)
    assert "torch==2.13.0" in pins


def test_every_direct_dependency_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    given = (ROOT / "envs/requirements.in").read_text().splitlines()
    given += [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    wanted = [re.split(r"[\[=<>]", line)[0].lower() for line in given if line and line[0] not in "#."]
    locked = {pin.split("==")[0].lower() for pin in lock.pins((ROOT / lock.LOCK).read_text())}
    assert set(wanted) - {"rllc"} <= locked


def test_figures_lists_every_option_with_its_kind_and_default(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["document", "figures"])
    document.main()
    rows = {
        line.split("`")[1]: line for line in capsys.readouterr().out.splitlines() if line.startswith("| `")
    }
    assert set(rows) == {*FIGURES, *ANIMATIONS}
    for name, spec in (FIGURES | ANIMATIONS).items():
        assert [f"`{option}`: " in rows[name] for option in options(spec)] == [True] * len(options(spec)), (
            name
        )
    assert "`layer`: a whole number, `null`" in rows["rllc_by_distribution"]
    assert '`reference`: text, `"code"`' in rows["rllc_by_distribution"]
    assert "[1.0, 3.0, 5.0, 10.0]" in rows["stage_fig6a"]


def test_a_part_that_is_not_generated_is_refused_by_name(monkeypatch):
    monkeypatch.setattr("sys.argv", ["document", "figure"])
    with pytest.raises(SystemExit, match="figures"):
        document.main()

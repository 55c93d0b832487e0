from types import SimpleNamespace

import yaml

from rllc.run import lock


def packages(conda):
    return yaml.safe_load(conda)["dependencies"][-1]["pip"]


def test_the_lock_pins_what_is_installed_but_what_is_ours_and_tests_alone(tmp_path, monkeypatch):
    """Without the tag of a build; capitals do not count in the order."""
    versions = {"torch": "2.13.0+cpu", "rllc": "1.0", "Zebra": "1.0", "attrs": "26.1", "torchvision": "0.1"}
    found = [SimpleNamespace(metadata={"Name": name}, version=each) for name, each in versions.items()]
    monkeypatch.setattr(lock, "distributions", lambda: found)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "envs").mkdir()
    lock.main()
    pins = ["attrs==26.1", "torch==2.13.0", "Zebra==1.0"]
    assert lock.LOCK.read_text() == lock.HEADER + "\n".join(pins) + "\n"
    assert packages(lock.CONDA.read_text()) == lock.pins(lock.LOCK.read_text()) == pins


def test_the_conda_file_that_comes_along_is_that_of_the_lock_that_does():
    every = [line for line in lock.LOCK.read_text().splitlines() if not line.startswith("#")]
    assert len(every) > 50 and packages(lock.CONDA.read_text()) == every

from types import SimpleNamespace

import pytest

from rllc.run import executor
from rllc.run.slurm import SlurmError, StatusSource

SOURCE = StatusSource(("squeue",), "")


def test_another_version_of_the_plugin_is_refused(monkeypatch):
    monkeypatch.setattr(executor, "VERSION", "0.1")
    with pytest.raises(SlurmError, match=r"is 2.8.0 here.*made for 0.1: install that"):
        executor.mend(SimpleNamespace(array_jobs=set()), SOURCE)


def test_arrays_are_refused():
    with pytest.raises(SlurmError, match="slurm-array-jobs can wait for ever"):
        executor.mend(SimpleNamespace(array_jobs={"all"}), SOURCE)

from pathlib import Path

import pytest
import xarray as xr

from rllc.run.unusable import Unusable
from rllc.store.datasets import write_dataset


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    return Path("results")


def test_output_is_judged_again_when_it_changed(results):
    file, unusable = results / "a.nc", Unusable(results)
    assert unusable.problem(file) is None, "there is none"
    file.write_bytes(b"cut short")
    assert unusable.problem(file)
    write_dataset(xr.Dataset({"x": ("step", [1.0])}), file)
    assert unusable.problem(file) is None


def test_unrecorded_and_unusable_outputs_are_in_the_way(results):
    names = ("recorded.txt", "foreign.txt", "cut.txt", "absent.txt", "dangling.txt")
    recorded, foreign, cut, absent, dangling = (f"results/{name}" for name in names)
    for file in (recorded, foreign):
        Path(file).write_text("whole\n")
    Path(cut).write_text("no end of line")
    Path(dangling).symlink_to("nowhere")
    outputs = [recorded, foreign, cut, absent, dangling]
    found = Unusable(results).in_the_way(outputs, {recorded, cut})
    assert list(map(str, found)) == [foreign, cut, dangling]
    assert all(str(file) in reason for file, reason in found.items())

import numpy as np
import pytest
import xarray as xr

from rllc.job.cells import over_steps

CHECKPOINTS = [{"step": step, "sha256": f"sha of {step}"} for step in (0, 5, 10)]


@pytest.fixture
def measuring(tmp_path):
    """A measure that counts its calls, and may be told to fail at a step."""
    calls = []

    def measure(checkpoint, fail_at=None):
        calls.append(checkpoint["step"])
        if checkpoint["step"] == fail_at:
            raise KeyboardInterrupt
        return xr.Dataset({"value": 2.0 * checkpoint["step"]})

    def run(checkpoints=CHECKPOINTS, made_by="settings", fail_at=None):
        calls.clear()
        dataset = over_steps(
            lambda checkpoint: measure(checkpoint, fail_at),
            checkpoints=checkpoints, made_by={"by": made_by}, output=tmp_path / "part.nc",
        )  # fmt: skip
        return dataset, list(calls)

    return run


def test_every_checkpoint_is_measured_once(measuring, caplog):
    dataset, calls = measuring()
    assert calls == [0, 5, 10]
    assert dataset["value"].dims == ("step",)
    assert dataset["value"].sel(step=10).item() == 20
    assert measuring()[1] == []
    assert not caplog.messages  # as a cell that cannot be read has


def test_an_interrupted_job_goes_on_where_it_was(measuring):
    with pytest.raises(KeyboardInterrupt):
        measuring(fail_at=10)
    dataset, calls = measuring()
    assert calls == [10]
    assert dataset["step"].values.tolist() == [0, 5, 10]


def test_an_added_checkpoint_alone_is_measured(measuring):
    measuring()
    added = sorted([*CHECKPOINTS, {"step": 7, "sha256": "x"}], key=lambda entry: entry["step"])
    dataset, calls = measuring(checkpoints=added)
    assert calls == [7]
    assert dataset["step"].values.tolist() == [0, 5, 7, 10]


def test_other_settings_and_other_weights_are_measured_again(measuring):
    measuring()
    assert measuring(made_by="others")[1] == [0, 5, 10]
    changed = [{**CHECKPOINTS[0], "sha256": "y"}, *CHECKPOINTS[1:]]
    assert measuring(made_by="others", checkpoints=changed)[1] == [0]


def test_cells_that_nothing_uses_are_removed(measuring, tmp_path):
    measuring()
    measuring(made_by="others")
    assert len(list((tmp_path / "part.cells").iterdir())) == 3


def cut(content):
    return content[:100]


def changed(content):
    """The value itself, in a file that is sound otherwise."""
    before = np.float64(10).tobytes()
    assert content.count(before) == 1
    return content.replace(before, np.float64(11).tobytes())


@pytest.mark.parametrize("spoil", [cut, changed])
def test_a_spoilt_cell_is_computed_again(measuring, tmp_path, caplog, spoil):
    measuring()
    (cell,) = (tmp_path / "part.cells").glob("0000005.*")
    cell.write_bytes(spoil(cell.read_bytes()))
    dataset, calls = measuring()
    assert calls == [5] and "computing it again" in caplog.text
    assert dataset["value"].sel(step=5).item() == 10


def test_foreign_files_beside_cells_are_left_alone(measuring, tmp_path):
    measuring()
    folder = tmp_path / "part.cells"
    (folder / "my notes.nc").write_text("mine")
    (folder / "a folder").mkdir()
    (folder / f".0000005.{'0' * 16}.nc.left_by_a_kill.nc").write_text("half")
    measuring(CHECKPOINTS[:2])
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith("0")) == [
        "a folder", "my notes.nc",
    ]  # fmt: skip

"""Which file of a folder is which step, by its name alone."""

from pathlib import Path

import pytest

from rllc.study.imported import imported_files, planned_files


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (["model_100.pt", "model_20.safetensors", "config.json", "notes.txt"], [20, 100]),
        (["L2W12-step_00300.pth"], [300]),
        (["checkpoint-500.pt", "checkpoint-0.pt"], [0, 500]),  # a hyphen, not a minus
        (["10-final.pt"], [10]),
        (["seed0.step7.PT", "seed0.step8.SafeTensors"], [7, 8]),
        (["._step_5.pt", "step_5.pt", ".step_6.pt"], [5]),  # what macOS and editors leave behind
        (["a { of\nmine 12 µ.pt"], [12]),
        (["step_100k5.pt"], [5]),
    ],
)
def test_steps_are_read_off_the_names(tmp_path, names, steps):
    for name in names:
        (tmp_path / name).touch()
    assert list(imported_files(tmp_path)) == steps


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no checkpoint in"),
        (["config.json", "step_5.bin", "step_5.ckpt"], "ending in .safetensors, .pt, .pth"),
        (["final.pt"], "no step in the name of"),
        (["step_².pt"], "no step in the name of"),
        (["a_20.pt", "b_20.safetensors"], "are both step 20: keep one of them"),
        (["step_20.pt", "step_020.pt"], "are both step 20: keep one of them"),
        (["step_1.5.pt"], "is no whole number up to 2^53: rename it, as in step_1000.pt"),
        (["step_1e5.pt"], "is no whole number"),
        (["step_1,000.pt"], "is no whole number"),
        (["step_10k.pt"], "is no whole number"),
        (["step_10k_final.pt"], "is no whole number"),
        ([f"step_{2**53 + 1}.pt"], "is no whole number"),
        (["a {b} 1.pt"], "has a name in braces, which Snakemake takes for a wildcard: rename it"),
        (["model-00001-of-00002.safetensors"], "is one of several shards"),
    ],
)
def test_names_that_could_be_misread_are_refused(tmp_path, names, message):
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(ValueError) as caught:
        imported_files(tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        imported_files(tmp_path / "none")
    (tmp_path / "step_1.pt").mkdir()
    with pytest.raises(ValueError, match=r"step_1.pt is a folder: expected the file of one state dict"):
        imported_files(tmp_path)
    (tmp_path / "step_0.pt").symlink_to("step_0.pt")
    with pytest.raises(ValueError, match=r"step_0.pt is a link to a file that is not there"):
        imported_files(tmp_path)
    with pytest.raises(ValueError, match="is no folder"):
        imported_files(Path(__file__))


def test_a_plan_looks_into_a_folder_once(tmp_path):
    (tmp_path / "step_1.pt").touch()
    assert list(planned_files(tmp_path)) == [1]
    (tmp_path / "step_2.pt").touch()
    assert list(planned_files(tmp_path)) == [1]

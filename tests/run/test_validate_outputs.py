import json

import matplotlib.pyplot as plt
import pyarrow as pa
import pytest
import xarray as xr

from rllc.figures.drawing import Animation, Drawing
from rllc.run.validate_outputs import problem
from rllc.store import manifest
from rllc.store.animation import write_animation
from rllc.store.datasets import write_dataset
from rllc.store.figure import Files, write_figure
from rllc.tasks.language.tokenizer import save, train

DATASET = xr.Dataset({"x": ("step", [1.0, 2.0])})


@pytest.fixture
def vouched(tmp_path):
    """A large file and the manifest that stands for it."""
    large, small = tmp_path / "step1.safetensors", tmp_path / "from0.json"
    large.write_bytes(b"0123456789" * 100)
    manifest.write(small, checkpoints=[manifest.file_entry(large, step=1)])
    return large, small


def test_manifest_of_complete_files_has_no_problem(vouched):
    assert problem(vouched[1]) is None


def test_manifest_of_cut_file_names_file_and_sizes(vouched):
    large, small = vouched
    large.write_bytes(large.read_bytes()[:-9])
    assert f"{large} has 991 bytes" in problem(small)


def test_manifest_of_missing_file_names_it(vouched):
    large, small = vouched
    large.unlink()
    assert f"{large} is missing" in problem(small)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[1",
        "[]",
        "{}",
        json.dumps({"my": "notes", "checkpoints": None}),
        '{"checkpoints": 3}',
        "[" * 100_000,
    ],
)
def test_json_that_is_no_manifest_has_a_problem(tmp_path, content):
    file = tmp_path / "code.json"
    file.write_text(content)
    assert str(file) in problem(file)


def test_cut_dataset_has_a_problem_that_names_its_size(tmp_path):
    file = tmp_path / "a.nc"
    write_dataset(DATASET, file)
    assert problem(file) is None
    content = file.read_bytes()
    for kept in (0, 20, 4000, len(content) - 50, len(content) - 1):
        file.write_bytes(content[:kept])
        assert f"{file} has {kept} bytes" in problem(file)


@pytest.mark.parametrize(
    ("engine", "form"), [("netcdf4", "NETCDF4"), ("scipy", "NETCDF3_64BIT"), ("h5netcdf", None)]
)
def test_dataset_that_something_else_wrote_has_a_problem(tmp_path, engine, form):
    """Nothing foreign is taken for a result."""
    if engine == "h5netcdf":
        pytest.importorskip("h5netcdf")
    file = tmp_path / "a.nc"
    DATASET.to_netcdf(file, engine=engine, **({"format": form} if form else {}))
    assert str(file) in problem(file)


def test_folder_in_the_place_of_a_file_has_a_problem(tmp_path):
    (tmp_path / "a.png").mkdir()
    assert str(tmp_path / "a.png") in problem(tmp_path / "a.png")


def test_cut_pictures_captions_and_tokenizers_have_a_problem(tmp_path):
    figure, axes = plt.subplots()
    axes.plot([1, 3])
    drawing = Drawing(figure, xr.Dataset({"x": ("step", [1.0])}), "A caption.", "")
    (tmp_path / "tokenizers").mkdir()
    files = [tmp_path / f"a.{suffix}" for suffix in ("png", "pdf", "nc", "txt", "gif")]
    write_figure(drawing, Files(*files[:4]), {})
    write_animation(
        Animation(figure, 3, lambda n: axes.lines, "A caption."), files[4], {}, frames_per_second=2
    )
    files.append(tmp_path / "tokenizers" / "a.json")
    save(train(pa.table({"text": ["some text"], "held_out": [False]}), vocabulary_size=260), files[-1])
    for file in files:
        assert problem(file) is None
        whole = file.read_bytes()
        for kept in (0, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:kept])
            assert str(file) in problem(file)

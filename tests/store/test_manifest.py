import json
from pathlib import Path

import matplotlib.pyplot as plt
import pyarrow as pa
import pytest
import xarray as xr

from rllc.figures.drawing import Animation, Drawing
from rllc.run.sidecars import broken, broken_results
from rllc.store import manifest
from rllc.store.animation import write_animation
from rllc.store.datasets import write_dataset
from rllc.store.figure import Files, write_figure
from rllc.store.whole import UnreadableResult
from rllc.tasks.language.tokenizer import save, train


@pytest.fixture
def vouched(tmp_path):
    """A large file under corpora/ and the manifest that stands for it."""
    folder = tmp_path / "corpora"
    folder.mkdir()
    large, small = folder / "a.arrow", folder / "a.json"
    large.write_bytes(b"0123456789" * 100)
    manifest.write(small, documents=manifest.file_entry(large, blocks=3), note="x")
    return large, small


def truncated(content):
    return content[:-9]


def flipped(content):
    return content[:-1] + bytes([content[-1] ^ 1])


def test_a_sound_file_is_verified(vouched):
    large, small = vouched
    assert manifest.verified(small, manifest.read(small)["documents"]) == large
    assert broken(small) is None


@pytest.mark.parametrize(("spoil", "what"), [(truncated, "991 bytes"), (flipped, "SHA-256")])
def test_a_spoilt_file_is_not_used(vouched, spoil, what):
    large, small = vouched
    large.write_bytes(spoil(large.read_bytes()))
    with pytest.raises(
        UnreadableResult, match=f"{large} cannot be used: .*{what}.*Move it away and run again"
    ):
        manifest.verified(small, manifest.read(small)["documents"])


def test_a_missing_file_is_named(vouched):
    large, small = vouched
    large.unlink()
    with pytest.raises(UnreadableResult, match=f"^{large} is missing. Run again: it is made anew"):
        manifest.verified(small, manifest.read(small)["documents"])


@pytest.mark.parametrize("text", ["", "[", "\x00"])
def test_what_is_no_manifest_is_refused(vouched, text):
    _, small = vouched
    small.write_text(text)
    with pytest.raises(UnreadableResult, match=f"{small} is not a readable manifest"):
        manifest.read(small)


def test_manifests_of_truncated_files_are_found_before_a_run(vouched, tmp_path):
    large, small = vouched
    assert broken_results(tmp_path, ()) == {}
    large.write_bytes(truncated(large.read_bytes()))
    ((file, message),) = broken_results(tmp_path, ()).items()
    assert file == small
    assert "a.arrow has 991 bytes" in message


def test_checkpoints_of_a_chunk_are_looked_at_too(tmp_path):
    folder = tmp_path / "language" / "checkpoints" / "seed0"
    folder.mkdir(parents=True)
    file = folder / "step0000001.safetensors"
    file.write_bytes(b"x" * 10)
    manifest.write(folder / "from0.json", checkpoints=[manifest.file_entry(file, step=1)])
    assert broken_results(tmp_path, ()) == {}
    file.unlink()
    (message,) = broken_results(tmp_path, ()).values()
    assert "step0000001.safetensors is missing" in message


def test_equal_content_gives_equal_bytes(tmp_path):
    manifest.write(tmp_path / "a.json", b=1, a=[2])
    manifest.write(tmp_path / "b.json", a=[2], b=1)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": [2], "b": 1}


@pytest.mark.parametrize("place", ["language/parts/hessian", "language", "."])
def test_datasets_that_are_cut_short_are_found_before_a_run(tmp_path, place):
    file = tmp_path / place / "a.nc"
    write_dataset(xr.Dataset({"x": ("step", [1.0, 2.0])}), file)
    assert broken_results(tmp_path, ()) == {}
    content = file.read_bytes()
    for kept in (0, 20, 4000, len(content) - 50, len(content) - 1):
        file.write_bytes(content[:kept])
        assert f"{file} has {kept} bytes" in broken_results(tmp_path, ())[file]


def test_a_dataset_that_something_else_wrote_is_left_alone(tmp_path):
    xr.Dataset({"x": ("step", [1.0, 2.0])}).to_netcdf(tmp_path / "mine.nc")
    assert broken_results(tmp_path, ()) == {}


def test_pictures_captions_and_tokenizers_that_are_cut_short_are_found_before_a_run(tmp_path):
    figure, axes = plt.subplots()
    axes.plot([1, 3])
    drawing = Drawing(figure, xr.Dataset({"x": ("step", [1.0])}), "A caption.", "")
    files = [tmp_path / f"a.{suffix}" for suffix in ("png", "pdf", "nc", "txt", "gif", "json")]
    write_figure(drawing, Files(*files[:4]), {})
    animation = Animation(figure, 3, lambda n: axes.lines, "A caption.")
    write_animation(animation, files[4], {}, frames_per_second=2)
    save(train(pa.table({"text": ["some text"], "held_out": [False]}), vocabulary_size=260), files[5])
    others = [str(file) for file in files if file.suffix != ".nc"]
    assert broken_results(tmp_path, [*others, str(tmp_path / "not there.png")]) == {}
    for file in map(Path, others):
        whole = file.read_bytes()
        for kept in (0, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:kept])
            assert broken_results(tmp_path, others) == {
                file: f"{file} is cut short: it does not end as it should"
            }
        file.write_bytes(whole)

import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from rllc.figures.sorting.animation import sort_animation
from rllc.figures.sorting.inputs import llc_peak
from rllc.store.animation import LAST, _write_gif, write_animation

STEPS = (0, 30, 100, 300, 1000, 3000)


@pytest.fixture(scope="module")
def given(sorting):
    return sorting.study(vocabulary=12, steps=STEPS)


@pytest.fixture(scope="module")
def animation(given):
    return sort_animation(given, title="Two heads", seed=1)


def frames(path):
    with Image.open(path) as image:
        for n in range(image.n_frames):
            image.seek(n)
            yield np.asarray(image.convert("RGB")).astype(int), image.info["duration"]


def test_every_frame_is_its_checkpoint(animation, given):
    assert animation.frames == len(STEPS)
    maps = [ax for ax in animation.figure.axes if ax.get_images()]
    for n, step in enumerate(STEPS):
        animation.show(n)
        truth = given["circuits"].sel(seed=1, step=step)
        drawn = [np.asarray(ax.get_images()[0].get_array()) for ax in maps]
        for kind in ("qk", "ov"):
            for head in range(2):
                assert any(np.array_equal(one, truth[kind].isel(head=head)) for one in drawn)
        marks = [
            a for ax in animation.figure.axes for a in ax.get_lines() if list(a.get_xdata()) == [step] * 2
        ]
        assert len(marks) >= 5
        assert animation.figure.get_suptitle().startswith(f"Two heads:  step {step:,}, accuracy 0.")


def test_the_caption_has_title_peak_and_conditions(animation, given):
    title, *rest = animation.caption.splitlines()
    assert title.startswith("Two heads: ")
    assert llc_peak({"llc": given["llc"].sel(seed=1, distribution="lists")}) is None
    assert "step of the largest LLC" not in animation.caption and "dotted" not in animation.caption
    assert "The last mean is the largest: no fall is seen." in rest
    assert sum(line.startswith("- ") for line in rest) <= 2
    assert rest[-1] == "Training seed 1."


def test_the_gif_moves_only_where_it_should(animation, tmp_path):
    path = tmp_path / "deep" / "a.gif"
    write_animation(animation, path, {"code": "abc"}, frames_per_second=5)
    seen = list(frames(path))
    assert len(seen) == len(STEPS)
    assert [duration for _, duration in seen] == [200] * (len(STEPS) - 1) + [200 * LAST]
    changed = np.abs(np.diff([frame for frame, _ in seen], axis=0)).max((0, -1)) > 40
    assert 0.02 < changed.mean() < 0.6
    assert not changed[:, :5].any() and not changed[-3:].any()
    with Image.open(path) as image:
        comment = json.loads(image.info["comment"])
    assert comment["code"] == "abc" and comment["caption"] == animation.caption
    assert path.stat().st_size < 1e6
    assert [p.name for p in path.parent.iterdir()] in (["a.gif"], ["a.gif", "a.mp4"], ["a.mp4", "a.gif"])


def test_what_has_no_colour_gets_none(tmp_path):
    """A tint of the palette in the middle of the colours would look like a weak value."""
    levels = np.linspace(230, 255, 26).astype(np.uint8)
    grey = np.repeat(levels, 8)[None, :, None].repeat(40, 0).repeat(3, 2)
    random = np.random.default_rng(0).integers(0, 256, (200, grey.shape[1], 3), dtype=np.uint8)
    picture = Image.fromarray(np.concatenate([grey, random]))
    _write_gif([picture] * 2, tmp_path / "a.gif", "", 5)
    first = next(frames(tmp_path / "a.gif"))[0][:40]
    assert (np.ptp(first, axis=-1) == 0).all()
    assert (np.abs(first - grey) < 4).all()  # what the quantizer looks up is exact to 4 levels


@pytest.mark.parametrize(("count", "rate"), [(0, 5), (1, 0), (1, 5)])
def test_one_frame_is_an_animation_and_none_is_refused(animation, count, rate, tmp_path):
    some = animation._replace(frames=count)
    if not count or not rate:
        with pytest.raises(ValueError, match="expected one or more, and a positive rate"):
            write_animation(some, tmp_path / "a.gif", {}, frames_per_second=rate)
        return
    write_animation(some, tmp_path / "a.gif", {}, frames_per_second=rate)
    assert len(list(frames(tmp_path / "a.gif"))) == 1


def test_frames_drawn_over_the_still_part_are_those_drawn_anew(sorting, tmp_path):
    """The same frame from a figure that is drawn in whole."""
    given = sorting.study(seeds=(0,), n_heads=1, vocabulary=12, steps=STEPS)
    animation = sort_animation(given, curves=["accuracy", "rank"])
    write_animation(animation, tmp_path / "a.gif", {}, frames_per_second=5)
    fast = [frame for frame, _ in frames(tmp_path / "a.gif")][2]
    whole = sort_animation(given, curves=["accuracy", "rank"])
    whole.show(2)
    whole.figure.savefig(tmp_path / "b.png", dpi=whole.figure.dpi)
    slow = np.asarray(Image.open(tmp_path / "b.png").convert("RGB")).astype(int)
    assert fast.shape == slow.shape
    assert (np.abs(fast - slow).max(-1) > 60).mean() < 0.02  # what the palette rounds


@pytest.mark.parametrize("heads", [1, 4])
def test_one_and_four_heads_fit(heads, sorting, misplaced):
    given = sorting.study(seeds=(0,), n_heads=heads, vocabulary=12, steps=STEPS)
    animation = sort_animation(given, curves=["accuracy", "llc"])
    assert misplaced(animation) == []
    strips = [child for ax in animation.figure.axes for child in ax.child_axes]
    assert len(strips) == (heads if heads > 1 else 0)
    names = [text.get_text() for ax in animation.figure.axes if ax.get_images() for text in ax.texts]
    assert names == ([f"head 0:{n}" for n in range(4)] if heads > 1 else [])


def test_an_mp4_is_written_where_ffmpeg_is_and_its_failure_is_no_error(
    animation, tmp_path, monkeypatch, caplog
):
    program = tmp_path / "ffmpeg"
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\n"
        "data = sys.stdin.buffer.read()\n"
        "pathlib.Path(sys.argv[-1]).write_text(' '.join(sys.argv[1:-1]) + f' {len(data)}')\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    write_animation(animation, tmp_path / "a.gif", {}, frames_per_second=5)
    said = (tmp_path / "a.mp4").read_text()
    width, height = (animation.figure.get_size_inches() * animation.figure.dpi).astype(int)
    assert f"-s {width}x{height} -r 5" in said and "libx264" in said
    assert said.endswith(f" {width * height * 3 * (len(STEPS) + LAST - 1)}")
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no libx264')\n")
    write_animation(animation, tmp_path / "b.gif", {}, frames_per_second=5)
    assert (tmp_path / "b.gif").exists() and not (tmp_path / "b.mp4").exists()
    assert "no libx264" in caplog.text


def test_bad_rates_are_refused(animation, tmp_path):
    with pytest.raises(ValueError, match="positive rate"):
        write_animation(animation, tmp_path / "a.gif", {}, frames_per_second=0)
    assert not (tmp_path / "a.gif").exists()


def test_drawing_imports_no_torch():
    modules = "animation, circuits, curves, specialization, summary"
    code = f"import sys, rllc.figures.claims; from rllc.figures.sorting import {modules}; print({{'torch'}} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"

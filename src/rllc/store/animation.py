"""Write an animation as GIF, and the same frames as MP4 if ffmpeg is installed."""

import json
import logging
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from rllc.figures.drawing import Animation
from rllc.figures.style import RC
from rllc.store.atomic_write import whole

log = logging.getLogger("rllc")
# Levels of grey in the palette. Without them, a tinted grey would look like a weak value of a circuit.
NEUTRAL = (0, *range(230, 256))
LAST = 8  # the last frame lasts as long as so many frames


def write_animation(
    animation: Animation, gif: Path, attributes: dict[str, str], *, frames_per_second: float
) -> None:
    """Write the GIF atomically, with caption and ``attributes`` (JSON) in its comment.

    If ffmpeg is on the PATH, an MP4 of the same name is written beside it.

    Raises ValueError if there is no frame, or the frame rate is not positive.
    """
    if animation.frames < 1 or not frames_per_second > 0:
        raise ValueError(
            f"{animation.frames} frames at {frames_per_second} per second: expected one or more, and a "
            "positive rate"
        )
    images = list(_frames(animation))
    comment = json.dumps({**attributes, "caption": animation.caption}, sort_keys=True)
    with whole(gif) as temporary:
        _write_gif(images, temporary, comment, frames_per_second)
    program = shutil.which("ffmpeg")
    if program is None:
        log.info("ffmpeg is not on the PATH: %s has no .mp4 beside it", gif.name)
        return
    try:
        with whole(gif.with_suffix(".mp4")) as temporary:
            _write_mp4(program, images, temporary, frames_per_second)
    except subprocess.CalledProcessError as error:
        why = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
        log.warning("%s has no .mp4 beside it: ffmpeg failed (%s)", gif.name, *(why or ["no message"]))


def _frames(animation: Animation) -> Iterator[Image.Image]:
    """Yield every frame. The background, which does not change, is drawn only once."""
    canvas = FigureCanvasAgg(animation.figure)
    with rc_context(RC):
        moving = animation.show(0)
        for artist in moving:
            artist.set_animated(True)
        canvas.draw()
        still = canvas.copy_from_bbox(animation.figure.bbox)
        for frame in range(animation.frames):
            canvas.restore_region(still)
            for artist in animation.show(frame):
                animation.figure.draw_artist(artist)
            yield Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())


def _write_gif(images: list[Image.Image], path: Path, comment: str, frames_per_second: float) -> None:
    """Write a GIF with one palette, made from the first, middle and last frame, so that nothing flickers."""
    chosen = [images[0], images[len(images) // 2], images[-1]]
    width, height = images[0].size
    together = Image.new("RGB", (width, height * len(chosen)))
    for n, image in enumerate(chosen):
        together.paste(image, (0, n * height))
    palette = together.quantize(
        256 - len(NEUTRAL), method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )
    found = palette.getpalette()
    assert found is not None
    palette.putpalette([*found[: 3 * (256 - len(NEUTRAL))], *(level for level in NEUTRAL for _ in range(3))])
    flat = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    each = 1000 / frames_per_second
    flat[0].save(
        path,
        format="GIF",
        save_all=True,
        append_images=flat[1:],
        duration=[*[each] * (len(flat) - 1), LAST * each],
        loop=0,
        optimize=False,
        comment=comment.encode(),
    )


def _write_mp4(program: str, images: list[Image.Image], path: Path, frames_per_second: float) -> None:
    """Write H.264 that every player reads: even width and height, and chroma at half resolution."""
    width, height = images[0].size
    held = [*images, *[images[-1]] * (LAST - 1)]
    subprocess.run(
        [
            program, "-y", "-loglevel", "error",
            "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{frames_per_second:g}",
            "-i", "-",
            "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white", "-c:v", "libx264", "-crf", "20",
            "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-fflags", "+bitexact", str(path),
        ],
        input=b"".join(image.tobytes() for image in held),
        capture_output=True,
        check=True,
    )  # fmt: skip

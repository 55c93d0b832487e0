"""Make one animation: a GIF, and an MP4 beside it if ffmpeg is installed."""

from pathlib import Path

from rllc.job.stage import run
from rllc.job_settings.figures import Animate
from rllc.store.animation import write_animation
from rllc.store.named import read_named
from rllc.store.provenance import attributes


def main(settings: Animate, code: str, gif: Path) -> None:
    """Call an animating function with the datasets that it reads."""
    read, inputs = read_named(settings.datasets)
    animation = settings.function.load()(read, **settings.options)
    facts = attributes(function=settings.function, options=settings.options, code=code, inputs=inputs)
    write_animation(animation, gif, facts, frames_per_second=settings.rate)


if __name__ == "__main__":
    run(main)

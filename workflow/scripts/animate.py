"""One animation: a GIF, and an MP4 beside it where ffmpeg is there."""

import importlib
from pathlib import Path

from rllc.job.stage import run
from rllc.store.animation import write_animation
from rllc.store.named import read_named
from rllc.store.provenance import attributes


def main(
    function: str, names: dict, datasets: list[Path], options: dict, rate: float, code: str, gif: Path
) -> None:
    """Call an animating function with the datasets it names; ``rate`` is in frames per second."""
    module, _, name = function.partition(":")
    read, inputs = read_named(names["datasets"], datasets)
    animation = getattr(importlib.import_module(module), name)(read, **options)
    facts = attributes(function=function, options=options, code=code, inputs=inputs)
    write_animation(animation, gif, facts, frames_per_second=rate)


if __name__ == "__main__":
    run(main, module_flag="function")

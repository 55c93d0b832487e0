"""One figure: PNG, PDF, the dataset drawn, and its caption."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rllc.job.stage import run
from rllc.store.figure import Files, write_figure
from rllc.store.named import read_named
from rllc.store.provenance import attributes


def main(
    function: Callable, names: dict, datasets: list[Path], options: dict, code: str, files: Files
) -> None:
    """Call a drawing function with the datasets it names."""
    read, inputs = read_named(names["datasets"], datasets)
    drawing = function(read, **options)
    unfinished = [
        f"{key}.nc holds {d.attrs['unfinished']}" for key, d in read.items() if "unfinished" in d.attrs
    ]
    if unfinished:
        note = f"Unfinished: {'; '.join(unfinished)}; the rest is blank."
        drawing = replace(drawing, title=f"{note}\n{drawing.title}")
    write_figure(drawing, files, attributes(function=function, options=options, code=code, inputs=inputs))


if __name__ == "__main__":
    run(main)

"""One figure: PNG, PDF, the dataset drawn, and its caption."""

import importlib
from pathlib import Path

from rllc.record import manifest
from rllc.record.datasets import read_dataset
from rllc.record.figure import Files, write_figure
from rllc.record.provenance import attributes
from rllc.record.stage import run


def main(function: str, names: dict, datasets: list[Path], options: dict, code: str, files: Files) -> None:
    """Call a drawing function with the datasets it names."""
    module, _, name = function.partition(":")
    given = dict(zip(names["datasets"], datasets, strict=True))
    read = {key: read_dataset(path) for key, path in given.items()}
    drawing = getattr(importlib.import_module(module), name)(read, **options)
    unfinished = [
        f"{key}.nc holds {d.attrs['unfinished']}" for key, d in read.items() if "unfinished" in d.attrs
    ]
    if unfinished:
        note = f"Unfinished: {'; '.join(unfinished)}; the rest is blank."
        drawing = drawing._replace(caption=f"{note} {drawing.caption}")
    inputs = {key: manifest.sha256(path) for key, path in given.items()}
    write_figure(drawing, files, attributes(function=function, options=options, code=code, inputs=inputs))


if __name__ == "__main__":
    run(main, module_flag="function")

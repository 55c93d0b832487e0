"""One figure: PNG, PDF, the dataset drawn, and its caption."""

import importlib
from pathlib import Path

from rllc.record.figure import write_figure
from rllc.record.stage import run
from rllc.record.store import read_dataset


def main(
    function: str,
    names: dict,
    datasets: list[Path],
    options: dict,
    png: Path,
    pdf: Path,
    data: Path,
    caption: Path,
) -> None:
    """Call a drawing function with the datasets it names."""
    module, _, name = function.partition(":")
    read = {key: read_dataset(path) for key, path in zip(names["datasets"], datasets, strict=True)}
    drawing = getattr(importlib.import_module(module), name)(read, **options)
    write_figure(drawing, png=png, pdf=pdf, data=data, caption=caption)


if __name__ == "__main__":
    run(main, module_flag="function")

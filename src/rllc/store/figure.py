"""Writing a figure: the same drawing as PNG and PDF, with the dataset drawn and the caption."""

from dataclasses import dataclass
from pathlib import Path

from rllc.figures.drawing import Drawing, save
from rllc.store.datasets import write_dataset
from rllc.store.provenance import stamp
from rllc.store.whole import whole, write_text


@dataclass(frozen=True)
class Files:
    """The four files of a figure."""

    png: Path
    pdf: Path
    data: Path
    caption: Path


def write_figure(drawing: Drawing, files: Files, attributes: dict[str, str]) -> None:
    """Write all four files, each whole or not at all; ``attributes`` go into the dataset drawn."""
    with whole(files.png) as png, whole(files.pdf) as pdf:
        save(drawing, png=png, pdf=pdf)
    words = {"caption": drawing.caption, "details": drawing.details}
    drawn = drawing.data.assign_attrs({**attributes, **stamp(), **words})
    write_dataset(drawn, files.data)
    write_text(drawing.caption + "\n", files.caption)

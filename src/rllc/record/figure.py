"""Writing a figure: the same drawing as PNG and PDF, with the dataset drawn and the caption."""

from pathlib import Path

from rllc.figures.drawing import Drawing, save
from rllc.record.provenance import stamp
from rllc.record.store import whole, write_dataset, write_text


def write_figure(drawing: Drawing, *, png: Path, pdf: Path, data: Path, caption: Path) -> None:
    """Write all four files of a ``Drawing``, each whole or not at all."""
    with whole(png) as first, whole(pdf) as second:
        save(drawing, png=first, pdf=second)
    write_dataset(drawing.data.assign_attrs({**stamp(), "caption": drawing.caption}), data)
    write_text(drawing.caption + "\n", caption)

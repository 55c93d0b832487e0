"""Writing a figure: the same drawing as PNG and PDF, with the dataset drawn and the caption."""

from pathlib import Path
from typing import Any

from rllc.record.provenance import stamp
from rllc.record.store import whole, write_dataset, write_text


def write_figure(drawing: Any, *, png: Path, pdf: Path, data: Path, caption: Path) -> None:
    """Write all four files of a ``Drawing``, each whole or not at all."""
    with whole(png) as temporary:
        drawing.figure.savefig(temporary, dpi=160)
    with whole(pdf) as temporary:
        drawing.figure.savefig(temporary, metadata={"CreationDate": None, "ModDate": None})
    write_dataset(drawing.data.assign_attrs({**stamp(), "caption": drawing.caption}), data)
    write_text(drawing.caption + "\n", caption)

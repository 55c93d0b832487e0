"""Writing a figure: the same drawing as PNG and PDF, with the dataset drawn and the caption."""

from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from rllc.figures.drawing import Drawing, save
from rllc.store.datasets import write_dataset
from rllc.store.provenance import stamp
from rllc.store.whole import whole, write_text
from rllc.verdicts import verdict_attributes
from rllc.vocabulary import status_attributes

FLAGS = {"status": status_attributes, "verdict": verdict_attributes}


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
    drawn = flagged(drawing.data).assign_attrs({**attributes, **stamp(), **words})
    write_dataset(drawn, files.data)
    write_text(drawing.caption + "\n", files.caption)


def flagged(drawn: xr.Dataset) -> xr.Dataset:
    """The dataset with the flag attributes of ``FLAGS`` on integers of that kind, as ``status_long``."""
    drawn = drawn.copy()
    for name, variable in drawn.data_vars.items():
        kind = str(name).partition("_")[0]
        if kind in FLAGS and variable.dtype.kind == "i":
            own = {key: value for key, value in variable.attrs.items() if not key.startswith("flag_")}
            drawn[name] = variable.drop_attrs().assign_attrs(own | FLAGS[kind]())
    return drawn

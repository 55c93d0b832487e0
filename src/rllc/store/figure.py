"""Write a figure: the drawing as PNG and PDF, the dataset drawn with the findings, and the caption."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from rllc.figures.drawing import Drawing, Finding, save
from rllc.quality import quality_attributes
from rllc.store.atomic_write import whole, write_text
from rllc.store.datasets import write_dataset
from rllc.store.provenance import stamp
from rllc.vocabulary import describe, status_attributes

FINDINGS = {
    "finding_value": ("number of the caption", "as finding_unit says"),
    "finding_error": ("standard error of the number", "as finding_unit says"),
    "finding_unit": ("unit of the number", "1"),
}
FLAGS = {"status": status_attributes, "quality": quality_attributes}


@dataclass(frozen=True)
class Files:
    """The four files of a figure."""

    png: Path
    pdf: Path
    data: Path
    caption: Path


def write_figure(drawing: Drawing, files: Files, attributes: dict[str, str]) -> None:
    """Write all four files atomically. ``attributes`` go into the dataset drawn."""
    with whole(files.png) as png, whole(files.pdf) as pdf:
        save(drawing, png=png, pdf=pdf)
    drawn = with_findings(flagged(drawing.data), drawing.findings)
    drawn = drawn.assign_attrs({**attributes, **stamp(), "caption": drawing.caption})
    write_dataset(drawn, files.data)
    write_text(drawing.caption + "\n", files.caption)


def with_findings(drawn: xr.Dataset, findings: Sequence[Finding]) -> xr.Dataset:
    """Return the dataset with the values, errors and units of its findings, along the dim ``finding``."""
    if not findings:
        return drawn
    labels, values, errors, units = zip(*findings, strict=True)
    made = xr.Dataset(
        {
            "finding_value": ("finding", np.asarray(values, dtype=float)),
            "finding_error": ("finding", np.asarray(errors, dtype=float)),
            "finding_unit": ("finding", np.asarray(units, dtype=object)),
        },
        {"finding": np.asarray(labels, dtype=object)},
    )
    return drawn.merge(describe(made, FINDINGS), combine_attrs="override")


def flagged(drawn: xr.Dataset) -> xr.Dataset:
    """Return the dataset with flag attributes (``FLAGS``) on integer variables such as ``status_long``."""
    drawn = drawn.copy()
    for name, variable in drawn.data_vars.items():
        kind = str(name).partition("_")[0]
        if kind in FLAGS and variable.dtype.kind == "i":
            own = {key: value for key, value in variable.attrs.items() if not key.startswith("flag_")}
            drawn[name] = variable.drop_attrs().assign_attrs(own | FLAGS[kind]())
    return drawn

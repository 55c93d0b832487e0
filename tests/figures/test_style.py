"""How figures look is the code's: no setting of a user's matplotlib has a part in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRAW = """
import sys
import numpy as np, xarray as xr
from matplotlib.figure import Figure
from rllc.figures.drawing import Drawing, save
from rllc.figures.style import styled

@styled
def draw():
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    axes.plot(np.linspace(0, 1, 20), np.linspace(0, 1, 20) ** 2 * 1e-9, label="a")
    axes.imshow(np.eye(4), extent=(0, 1, 0, 1e-9), aspect="auto")
    axes.set(xlabel="x", title="$t_x$")
    axes.legend()
    return Drawing(figure, xr.Dataset(), "")

save(draw(), png=sys.argv[1], pdf=sys.argv[2])
"""
HOSTILE = """
axes.facecolor: black
axes.prop_cycle: cycler(color=["red"])
axes.formatter.limits: -20, 20
figure.figsize: 3, 9
figure.dpi: 50
image.cmap: hot
lines.linestyle: --
mathtext.fontset: stix
savefig.transparent: True
savefig.bbox: tight
xtick.direction: in
"""


def drawn(folder: Path, **variables: str) -> tuple[bytes, bytes]:
    folder.mkdir(exist_ok=True)
    files = folder / "a.png", folder / "a.pdf"
    subprocess.run(
        [sys.executable, "-c", DRAW, *files], cwd=folder, check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")} | variables,
    )  # fmt: skip
    return files[0].read_bytes(), files[1].read_bytes()


@pytest.mark.parametrize("place", ["MATPLOTLIBRC", "MPLCONFIGDIR", "folder"])
def test_figure_is_the_same_whatever_matplotlibrc_says(tmp_path, place):
    folder = tmp_path / "settings"
    folder.mkdir()
    (folder / "matplotlibrc").write_text(HOSTILE)
    told = {} if place == "folder" else {place: str(folder)}
    assert drawn(folder if place == "folder" else tmp_path / "work", **told) == drawn(tmp_path / "plain")

"""Characters of other scripts are drawn where the machine has a font for them, and named where it has not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

ROOT = Path(__file__).resolve().parents[2]
DRAW = """
import sys, warnings
from matplotlib import font_manager
for file in sys.argv[2:]:
    font_manager.fontManager.addfont(file)
from matplotlib.figure import Figure
import xarray as xr
from rllc.figures.drawing import Drawing, save
from rllc.figures.fonts import undrawable
from rllc.figures.style import styled

@styled
def draw(title):
    figure = Figure(figsize=(2, 1))
    figure.text(0.1, 0.5, title)
    return Drawing(figure, xr.Dataset(), "")

warnings.simplefilter("error")
save(draw("plain"), png=f"{sys.argv[1]}.png", pdf=f"{sys.argv[1]}.pdf")
print(undrawable("plain \\u03b2 \\u6211\\u4e00"))
if len(sys.argv) > 2:
    save(draw("\\u6211"), png=f"{sys.argv[1]}-han.png", pdf=f"{sys.argv[1]}-han.pdf")
"""


@pytest.fixture
def font(tmp_path):
    """A font that has one Chinese character, under a name that fonts of that script have."""
    pen = TTGlyphPen(None)
    for point in (0, 0), (0, 700), (900, 700):
        (pen.lineTo if pen.points else pen.moveTo)(point)
    pen.closePath()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "han"])
    builder.setupCharacterMap({0x6211: "han"})
    builder.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "han": pen.glyph()})
    builder.setupHorizontalMetrics({".notdef": (1000, 0), "han": (1000, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Symbola", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "han.ttf")
    return tmp_path / "han.ttf"


def drawn(stem: Path, *fonts: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", DRAW, str(stem), *map(str, fonts)], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_character_of_another_script_is_drawn_by_a_font_of_the_machine(tmp_path, font):
    without, with_one = tmp_path / "without", tmp_path / "with"
    assert set(drawn(without)) <= set("\u6211\u4e00")
    assert "\u6211" not in drawn(with_one, font)
    assert (tmp_path / "with-han.png").stat().st_size > 0
    for suffix in ".png", ".pdf":  # what DejaVu has stays as it was
        assert without.with_suffix(suffix).read_bytes() == with_one.with_suffix(suffix).read_bytes()

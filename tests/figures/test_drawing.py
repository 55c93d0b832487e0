"""Findings as text, and captions made of title, findings and conditions."""

import math

import pytest
import xarray as xr
from matplotlib.figure import Figure

from rllc.figures.drawing import Drawing, Finding, rounded


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (3.3312, 0.0712, "3.33 ± 0.07"),
        (3.3312, 0.0212, "3.331 ± 0.021"),
        (11.927, 1.26, "11.9 ± 1.3"),
        (1342.4, 12.4, "1,342 ± 12"),
        (0.0, 0.5, "0.0 ± 0.5"),
    ],
)
def test_rounded_with_an_error_has_its_decimals(value, error, text):
    assert rounded(value, error) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1342.0, "1,342"),
        (16_500_000.0, "16,500,000"),
        (1342.4, "1,342"),
        (0.51234, "0.512"),
        (5.0, "5"),
        (0.0, "0"),
        (-0.99, "-0.99"),
    ],
)
@pytest.mark.parametrize("error", [math.nan, 0.0, math.inf])
def test_rounded_without_an_error_has_three_digits_or_all_of_a_whole_number(value, error, text):
    assert rounded(value, error) == text


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_rounded_of_no_number_is_none(value):
    assert rounded(value, 0.1) == "none"


def test_finding_reads_as_label_number_and_unit():
    assert str(Finding("fall of head 0:2", 16.2, 1.4, "%")) == "fall of head 0:2: 16.2 ± 1.4 %"
    assert str(Finding("regions", 4)) == "regions: 4"
    assert str(Finding("peak", 1342, unit="steps")) == "peak: 1,342 steps"


def test_caption_is_title_findings_and_conditions_line_by_line():
    found = [Finding("a", 1), Finding("b", 2.0, 0.1)]
    drawing = Drawing(Figure(), xr.Dataset(), "What is drawn.", found, ["Seed 0.", "", "Bands."])
    assert drawing.caption.splitlines() == [
        "What is drawn.",
        "- a: 1",
        "- b: 2.00 ± 0.10",
        "Seed 0.",
        "Bands.",
    ]


def test_caption_without_findings_is_the_title():
    assert Drawing(Figure(), xr.Dataset(), "What is drawn.").caption == "What is drawn."

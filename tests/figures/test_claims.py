"""The table of claims as a figure and as a page."""

import re

import numpy as np
import pytest
import xarray as xr

from rllc.figures.claims import ROWS, claims
from rllc.figures.claims_page import claims_page
from rllc.figures.sorting.summary import sort_summary


@pytest.fixture
def table(sorting):
    return sorting.claims()


def texts(drawing):
    return [text.get_text() for ax in drawing.figure.axes for text in ax.texts]


def test_counts_by_verdict_are_findings_and_stand_in_the_bars(table, misplaced):
    drawing = claims({"claims": table})
    verdicts = table["verdict"].values.tolist()
    for finding in drawing.findings:
        verdict = re.search(r"'(.*)'", finding.label)[1]
        assert finding.value == verdicts.count(verdict)
    assert sum(finding.value for finding in drawing.findings) == len(verdicts)
    bars = drawing.figure.axes[0]
    assert sum(patch.get_width() for patch in bars.patches) == len(verdicts)
    assert misplaced(drawing) == []


def test_claims_that_fail_in_a_seed_are_listed_with_bound_and_values(table):
    drawing = claims({"claims": table})
    shown = " ".join(texts(drawing))
    for n, verdict in enumerate(table["verdict"].values):
        first = str(table["text"].values[n])[:30]
        assert (first in shown) == (verdict in ("does not", "half"))


def test_values_of_many_seeds_stand_in_lines_beside_their_bound(table, misplaced):
    """Long ones of five seeds ran out of the figure, which pushed all columns over each other."""
    many = xr.concat([table.isel(seed=0)] * 5, "seed").assign_coords(seed=range(5))
    many = many.assign(
        text=table["text"], verdict=table["verdict"].copy(data=["does not"] * table.sizes["claim"])
    )
    for name in ("family", "label", "unit", "at_least", "at_most"):
        many[name] = table[name]
    many["at_least"][:], many["at_most"][:] = -0.95, 0.95
    many["value"] = many["value"] * 0 - 0.98942 - many["seed"] * 1e-3
    many["value_se"] = many["value"] * 0 + 0.00101
    many["value"], many["value_se"] = many["value"].fillna(-0.98765), many["value_se"].fillna(0.00111)
    drawing = claims({"claims": many})
    assert misplaced(drawing) == []
    assert len([text for text in texts(drawing) if text.count("±") == 2]) >= 2


def test_more_failing_claims_than_are_legible_are_cut_and_counted(sorting):
    many = sorting.claims(repeat=12)
    many["verdict"][:] = "does not"
    drawing = claims({"claims": many})
    said = [text for text in texts(drawing) if "claims.html" in text]
    assert len(said) == 1 and f"{ROWS} of {many.sizes['claim']}" in said[0]
    width, height = drawing.figure.get_size_inches()
    assert width <= 11 and height <= 20


def test_works_choose_claims_and_one_without_claims_is_refused(table):
    assert claims({"claims": table}, works=["sorting"]).data.sizes["claim"] == table.sizes["claim"]
    with pytest.raises(ValueError, match="heads"):
        claims({"claims": table}, works=["heads"])


def test_page_has_a_row_for_every_claim_and_every_text_stays_text(table):
    table = table.copy(deep=True)
    table["text"][0] = "<script>alert(1)</script> & more"
    page = claims_page({"claims": table})
    assert "<script>" not in page and "&lt;script&gt;alert(1)" in page
    for name in table["claim"].values:
        assert page.count(f'id="{name}"') == 1
    assert page.count("<tr") == page.count("</tr>") and page.count("<td") == page.count("</td>")
    assert "http" not in re.sub(r"http-equiv", "", page), "nothing is loaded"


def test_page_shows_value_error_and_sign_of_every_seed(table):
    table = table.isel(claim=[0]).assign(value_se=table["value"].isel(claim=[0]) * 0 + 0.05)
    table["value"][:] = [[0.5, 0.7]]
    table["passes"][:] = [[1, 0]]
    page = claims_page({"claims": table})
    assert "0: 0.50 ± 0.05 ✓" in page and "1: 0.70 ± 0.05 ✗" in page


def test_summary_finds_the_least_and_the_largest_of_its_numbers(table):
    findings = {finding.label: finding for finding in sort_summary({"claims": table}).findings}
    falls = table["llc_fall"]
    largest = next(f for label, f in findings.items() if label.startswith("largest fall of the LLC"))
    assert largest.value == pytest.approx(100 * float(falls.max())) and largest.unit == "%"
    where = falls.where(falls == falls.max(), drop=True)
    assert f"{where['experiment'].item()}, seed {where['seed'].item()}" in largest.label
    assert len(findings) <= 8
    assert np.isfinite([finding.value for finding in findings.values()]).all()

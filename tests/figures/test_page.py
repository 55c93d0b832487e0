"""What pages have in common: templates with escaped texts, and signs for blanks."""

import re
from pathlib import Path

import jinja2
import pytest
from pages import HOSTILE

from rllc.figures.page import capital, marked, percent, plain, render
from rllc.figures.templates import FOLDERS

CLAIM = dict.fromkeys(
    ("claim", "text", "label", "unit", "source", "experiment_of_claim", "versus", "comparison", "given", "correction",
     "reason", "control_verdict", "published", "verdict", "threshold", "chance"),
    "",
)  # fmt: skip
CLAIMS = {"title": "", "looks": {}, "verdicts": []}


def test_line_ends_and_tabs_have_signs_and_spaces_of_marked_tokens_have_dots():
    assert marked("a b\n<\t") == "a·b↵\n<⇥\t"
    sign = '<span class="n" aria-hidden="true">{}</span>'
    assert plain("a b\n<\t") == f"a b{sign.format('↵')}\n&lt;{sign.format('⇥')}\t"


def test_words_of_numbers_and_sentences():
    assert [percent(share) for share in (0.123, 1.0, float("nan"))] == ["12 %", "100 %", "–"]
    assert (capital("a b"), capital("")) == ("A b", "")


@pytest.mark.parametrize("text", [piece.decode("utf-8", "replace") for piece in HOSTILE if b"<" in piece])
@pytest.mark.parametrize("name", [*CLAIM, "seeds", "title", "family"])
def test_every_text_of_a_claim_stays_text(name, text):
    claim = CLAIM | {"seeds": [text] if name == "seeds" else []} | ({name: text} if name in CLAIM else {})
    family = text if name == "family" else "family"
    title = text if name == "title" else ""
    made = render("claims.html", **(CLAIMS | {"title": title, "families": {family: [claim]}}))
    assert text not in made
    if name != "comparison":  # a choice, which is not shown
        assert jinja2.filters.do_forceescape(text) in made


def test_template_that_reads_a_value_that_is_not_given_is_refused():
    with pytest.raises(jinja2.UndefinedError, match="families"):
        render("claims.html", **CLAIMS)
    with pytest.raises(jinja2.UndefinedError, match="published"):
        claim = {name: text for name, text in CLAIM.items() if name != "published"} | {"seeds": []}
        render("claims.html", **CLAIMS, families={"family": [claim]})


def test_no_template_takes_a_text_for_markup():
    files = [file for folder in FOLDERS for file in Path(folder).glob("*.html")]
    assert len(files) >= 5
    assert [
        file.name for file in files if re.search(r"\|\s*safe\b|autoescape|Markup", file.read_text())
    ] == []

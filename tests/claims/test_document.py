"""Tables of claims in the docs: corrections equal the code, verdicts are those of a table of claims."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.claims.runs import LANGUAGE, rllc

from rllc.claims import claim, document, last
from rllc.claims.claim import claims_of, load
from rllc.claims.judge import judge

ROOT = Path(__file__).resolve().parents[2]
DOCS = (ROOT / "docs/claims.md").read_text(encoding="utf-8")
PLACE = "Before.\n<!-- claims: heads -->\nNot written yet.\n<!-- end of claims -->\nAfter.\n"


@claim("It ends | high", source="a test", at_least=1.0, published="2.5")
@claim("It ends low", source="a test", name="low", label="last rLLC of 0:0", at_most=1.0, published="2.5")
def high(run):
    return last(run.curve("rllc.rllc", heads=["0:0"], distribution="mixture")).squeeze()


@pytest.fixture
def claims():
    """Two claims on the last rLLC of 0:0, which is 1.5 with an error of 0.1 in both seeds."""
    made = [replace(each, work="heads") for each in high.claims]
    return judge(made, {"language": LANGUAGE}, {"language": {"rllc": rllc(seeds=(0, 2))}})


def test_corrections_in_the_docs_equal_the_code():
    assert document.written(DOCS) == DOCS, "run `make docs`"


def test_corrections_name_every_corrected_claim_once():
    corrected = [
        each.name
        for work, module in document.WORKS.items()
        for each in claims_of(module, work)
        if each.correction
    ]
    rows = document.corrections().splitlines()[2:]
    assert sorted(re.findall(r"`(\w+)`", " ".join(row.split("|")[2] for row in rows))) == sorted(corrected)
    assert len({row.split("|", 3)[3] for row in rows}) == len(rows)


def test_written_fills_the_table_of_verdicts_and_keeps_the_rest(claims):
    text = document.written(PLACE, claims)
    assert text.startswith("Before.\n<!-- claims: heads -->\n2 claims: 1 hold, 1 do not hold.\n")
    assert text.endswith("<!-- end of claims -->\nAfter.\n")
    assert "Not written yet" not in text
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}
    assert set(rows) == {"high", "low"}
    assert rows["high"].startswith(
        r"| `high`: It ends \| high (a test) | ≥ 1 | 1.5 ± 0.1; 1.5 ± 0.1 | 2.5 | "
    )
    assert rows["high"].endswith("| holds (so does the prior-only control) |")
    assert "| ≤ 1 |" in rows["low"]
    assert rows["low"].endswith("| does not (so does the prior-only control) |")


def test_bound_of_a_claim_on_every_run_names_its_seeds(claims):
    claims["seeds_needed"][:] = [3, 1]
    rows = [line.split(" | ")[1] for line in document.table(claims, "heads").splitlines()[2:]]
    assert rows == ["≥ 1, in 3 seeds", "≤ 1"]


def test_written_again_changes_nothing(claims):
    once = document.written(PLACE, claims)
    assert document.written(once, claims) == once


def test_columns_without_any_entry_are_left_out(claims):
    header = document.written(PLACE, claims).partition("| claim")[2].partition("\n")[0]
    assert "chance" not in header
    assert "their data" in header
    bare = claims.assign(published=claims["published"].copy(data=["", ""]))
    assert "their data" not in document.written(PLACE, bare)


def test_without_claims_tables_of_verdicts_stay(claims):
    both = f"{PLACE}<!-- corrections -->\n<!-- end of corrections -->\n"
    text = document.written(both)
    assert text.startswith(PLACE)
    assert document.corrections() in text


def test_a_text_without_a_place_for_the_table_is_refused(claims):
    with pytest.raises(ValueError, match=r"no list of corrections: expected <!-- corrections -->"):
        document.written(PLACE)
    with pytest.raises(ValueError, match=r"no table of claims: expected <!-- claims: WORK -->"):
        document.written("Nothing.", claims)
    with pytest.raises(ValueError, match=r"none of sorting: it has heads"):
        document.written(PLACE.replace("heads", "sorting"), claims)


@pytest.mark.parametrize("name", ["heads", "stages", "regression", "sorting"])
def test_docs_of_a_work_have_a_place_for_its_table(name):
    text = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
    assert [match[2] for match in document.BLOCK.finditer(text)] == [name]


def test_the_file_of_own_claims_in_the_docs_is_complete_and_judged(tmp_path):
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL) if "@claim" in block]
    file = tmp_path / "my_claims.py"
    file.write_text(code, encoding="utf-8")
    made = judge(
        claims_of(load(file), "my_claims.py"), {"language": LANGUAGE}, {"language": {"rllc": rllc()}}
    )
    assert made["verdict"].item() == "holds"
    assert made["value"].item() == pytest.approx(0.25)
    assert made["value_se"].item() > 0

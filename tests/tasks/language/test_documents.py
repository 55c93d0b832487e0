import hashlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rllc.tasks.arrow import read_manifest
from rllc.tasks.language.documents import Document, collect, manifest

TEXTS = [f"text number {i} ({'x' * i})" for i in range(200)]


def documents(texts=TEXTS):
    return [Document(text, f"folder/{i}") for i, text in enumerate(texts)]


def test_equal_texts_and_blank_texts_count_once_or_not_at_all():
    before = [Document(TEXTS[7], "later"), Document(" \n", "blank")]
    after = [Document(TEXTS[5], "another/name")]
    table = collect([*before, *documents(), *after], held_out_fraction=0.1)
    assert sorted(table["text"].to_pylist()) == sorted(TEXTS)
    names = dict(zip(table["text"].to_pylist(), table["name"].to_pylist(), strict=True))
    assert (names[TEXTS[5]], names[TEXTS[7]]) == ("another/name", "folder/7")
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in table["text"].to_pylist()]
    assert table["sha256"].to_pylist() == hashes


@given(st.permutations(range(40)))
def test_the_table_does_not_depend_on_the_order_of_the_documents(order):
    given_documents = documents()[:40]
    table = collect([given_documents[i] for i in order], held_out_fraction=0.3)
    assert table.equals(collect(given_documents, held_out_fraction=0.3), check_metadata=True)


def test_a_document_lies_on_the_same_side_whatever_else_is_there():
    def sides(texts):
        table = collect(documents(texts), held_out_fraction=0.3)
        return dict(zip(table["text"].to_pylist(), table["held_out"].to_pylist(), strict=True))

    alone, among = sides(TEXTS[:60]), sides(TEXTS)
    assert alone.items() <= among.items()
    assert sum(among.values()) == pytest.approx(0.3 * len(TEXTS), abs=4 * (0.21 * len(TEXTS)) ** 0.5)


def test_more_is_held_out_as_the_fraction_grows():
    few, many = (set(held_out_texts(fraction)) for fraction in (0.1, 0.4))
    assert few < many


def held_out_texts(fraction):
    table = collect(documents(), held_out_fraction=fraction)
    return [
        text for text, out in zip(*(table[c].to_pylist() for c in ("text", "held_out")), strict=True) if out
    ]


def test_the_manifest_counts_what_is_there():
    texts = ["é" * 10, *TEXTS]
    table = collect(documents(texts), held_out_fraction=0.3, about={"packages": {"numpy": "2"}})
    found = read_manifest(table)
    assert found == manifest(table, held_out_fraction=0.3, packages={"numpy": "2"})
    assert found["documents"] == len(texts)
    assert found["characters"] == sum(map(len, texts))
    assert found["bytes"] == found["characters"] + 10
    assert found["held_out_characters"] == sum(map(len, [*held_out_texts_of(table)]))
    assert found["sources"] == {"folder": {"documents": len(texts), "bytes": found["bytes"]}}


def held_out_texts_of(table):
    return table.filter(table["held_out"])["text"].to_pylist()


def test_the_manifest_hash_sees_a_name_a_text_and_a_side():
    base = collect(documents(), held_out_fraction=0.3)
    renamed = base.set_column(1, "name", pa.array(["other", *base["name"].to_pylist()[1:]]))
    moved = base.set_column(
        3, "held_out", pa.array([not base["held_out"][0].as_py(), *base["held_out"].to_pylist()[1:]])
    )
    other = collect(documents([*TEXTS[:-1], "else"]), held_out_fraction=0.3)
    assert len({manifest(table)["sha256"] for table in (base, renamed, moved, other)}) == 4


def test_many_sources_are_listed_largest_first_with_the_rest_summed():
    texts = [Document("y" * (i + 1), f"folder{i}/file") for i in range(60)]
    sources = read_manifest(collect(texts, held_out_fraction=0.3))["sources"]
    assert next(iter(sources)) == "(others)" or "folder59" in sources
    assert sources["(others)"] == {"documents": 20, "bytes": sum(range(1, 21))}
    assert sum(source["bytes"] for source in sources.values()) == sum(range(1, 61))


def test_half_a_surrogate_pair_is_replaced():
    table = collect([Document("a\ud800b", "broken"), *documents()], held_out_fraction=0.3)
    assert "a?b" in table["text"].to_pylist()


@pytest.mark.parametrize(
    ("texts", "fraction", "message"),
    [
        ([], 0.1, "no text"),
        ([" ", ""], 0.1, "no text"),
        (TEXTS[:3], 1e-9, "none of 3 distinct documents is held out"),
        (TEXTS[:3], 1 - 1e-9, "every one of 3 distinct documents"),
        (TEXTS, 0, "between 0 and 1"),
        (TEXTS, 1.5, "between 0 and 1"),
    ],
)
def test_what_cannot_be_split_is_refused(texts, fraction, message):
    with pytest.raises(ValueError, match=message):
        collect(documents(texts), held_out_fraction=fraction)


def test_documents_left_out_are_counted_and_named(caplog):
    caplog.set_level("INFO", logger="rllc")
    twice = [Document(TEXTS[5], "a copy"), Document(TEXTS[7], "folder/copy"), Document(" \n", "blank")]
    collect([*documents(), *twice], held_out_fraction=0.3)
    assert ": 2, such as" in caplog.text
    assert "'folder/5'" in caplog.text
    assert "'a copy'" in caplog.text
    assert ": 1, such as" in caplog.text
    assert "'blank'" in caplog.text


def test_documents_that_differ_leave_no_word(caplog):
    caplog.set_level("INFO", logger="rllc")
    collect(documents(), held_out_fraction=0.3)
    assert caplog.text == ""

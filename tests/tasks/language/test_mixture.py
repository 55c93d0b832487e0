import pytest

from rllc.tasks.arrow import read_manifest, with_manifest
from rllc.tasks.language.documents import Document, collect
from rllc.tasks.language.mixture import mix

WEIGHTS = {"english": 0.2, "code": 0.5, "headers": 0.3}


def rows(table, held_out):
    side = table.filter(table["held_out"] if held_out else [not out for out in table["held_out"].to_pylist()])
    return side.to_pylist()


def characters(rows_of_table):
    return sum(len(row["text"]) for row in rows_of_table)


@pytest.mark.parametrize("held_out", [False, True])
def test_the_mixture_is_as_large_as_the_scarcest_part_allows(tables, held_out):
    mixed = rows(mix(tables, WEIGHTS, seed=3), held_out)
    available = {part: characters(rows(table, held_out)) for part, table in tables.items()}
    largest = min(available[part] / weight for part, weight in WEIGHTS.items())
    scarce = min(WEIGHTS, key=lambda part: available[part] / WEIGHTS[part])
    for part, weight in WEIGHTS.items():
        chosen = [row for row in mixed if row["part"] == part]
        longest = max(len(row["text"]) for row in rows(tables[part], held_out))
        assert abs(characters(chosen) - weight * largest) <= longest / 2
    assert characters([row for row in mixed if row["part"] == scarce]) == available[scarce]


def test_shares_are_of_characters_not_of_bytes():
    parts = {
        name: collect((Document(f"{n:03d}" + letter * 30, f"{n}") for n in range(60)), held_out_fraction=0.5)
        for name, letter in (("greek", "\N{GREEK SMALL LETTER ALPHA}"), ("latin", "a"))
    }
    mixed = rows(mix(parts, {"greek": 0.5, "latin": 0.5}, seed=0), False)
    greek, latin = (characters([row for row in mixed if row["part"] == part]) for part in parts)
    assert abs(greek - latin) <= 33


def test_documents_are_of_their_part_on_their_side_and_come_once(tables):
    mixed = mix(tables, WEIGHTS, seed=3)
    assert len(set(mixed["sha256"].to_pylist())) == mixed.num_rows
    for row in mixed.to_pylist():
        original = {r["sha256"]: r for r in tables[row["part"]].to_pylist()}[row["sha256"]]
        assert {key: row[key] for key in original} == original


def test_every_stretch_has_about_the_shares(tables):
    mixed = rows(mix(tables, WEIGHTS, seed=3), False)
    longest = max(len(row["text"]) for row in mixed)
    for stop in range(10, len(mixed), 10):
        start = mixed[:stop]
        for part, weight in WEIGHTS.items():
            inside = characters([row for row in start if row["part"] == part])
            assert abs(inside - weight * characters(start)) <= 2 * longest


def test_the_order_is_a_function_of_the_seed(tables):
    first, again, other = (mix(tables, WEIGHTS, seed=seed) for seed in (3, 3, 4))
    assert first.equals(again, check_metadata=True)
    assert first["sha256"].to_pylist() != other["sha256"].to_pylist()


def test_a_text_in_two_parts_counts_for_the_first(tables):
    shared = tables["english"].to_pylist()[-1]
    documents = [Document(row["text"], row["name"]) for row in [*tables["code"].to_pylist(), shared]]
    twice = {**tables, "code": collect(documents, held_out_fraction=0.2)}
    found = [
        row["part"] for row in mix(twice, WEIGHTS, seed=0).to_pylist() if row["sha256"] == shared["sha256"]
    ]
    assert found in ([], ["english"])
    only = mix({"a": tables["english"], "b": twice["code"]}, {"a": 0.9, "b": 0.1}, seed=0)
    assert [r["part"] for r in only.to_pylist() if r["sha256"] == shared["sha256"]] == ["a"]


def test_the_manifest_says_what_limited_it_and_what_was_left_over(tables):
    mixed = mix(tables, WEIGHTS, seed=3)
    found = read_manifest(mixed)
    training = rows(mixed, False)
    assert found["weights"] == WEIGHTS
    for part, count in found["training_shares"]["characters"].items():
        assert count == characters([row for row in training if row["part"] == part])
        left = found["training_shares"]["unused_characters"][part]
        assert count + left == characters(rows(tables[part], False))
    assert found["training_shares"]["unused_characters"][found["training_shares"]["limited_by"]] == 0
    assert found["characters"] == characters(mixed.to_pylist())


def test_a_mixture_can_be_mixed_again(tables):
    inner = mix({part: tables[part] for part in ("english", "code")}, {"english": 0.5, "code": 0.5}, seed=0)
    outer = mix({"inner": inner, "headers": tables["headers"]}, {"inner": 0.6, "headers": 0.4}, seed=0)
    assert set(outer["part"].to_pylist()) == {"inner", "headers"}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"english": 0.5, "code": 0.5}, "expected the same names"),
        ({"english": 0.5, "code": 0.5, "headers": 0.0}, "must be above 0, but {'headers': 0.0}"),
        ({"english": 0.5, "code": 0.5, "headers": 0.5}, "sum to 1.5"),
    ],
)
def test_bad_weights_are_refused(tables, weights, message):
    with pytest.raises(ValueError, match=message):
        mix(tables, weights, seed=0)


def test_a_part_without_text_of_its_own_is_refused(tables):
    same = {"a": tables["english"], "b": with_manifest(tables["english"], {})}
    with pytest.raises(ValueError, match="part 'b' of the mixture has no training text"):
        mix(same, {"a": 0.5, "b": 0.5}, seed=0)


def test_documents_of_several_parts_are_counted_and_named(tables, caplog):
    caplog.set_level("INFO", logger="rllc")
    shared, other = tables["english"]["text"].to_pylist()[:20], tables["code"]["text"].to_pylist()
    own = collect((Document(text, f"{i}") for i, text in enumerate(shared + other)), held_out_fraction=0.2)
    mix({"english": tables["english"], "own": own}, {"english": 0.5, "own": 0.5}, seed=0)
    assert ": 20, such as" in caplog.text
    assert "'own'" in caplog.text

from rllc.tasks.language.documents import Document, collect, never_trained_on


def corpus(texts, fraction):
    return collect((Document(text, f"{i}.txt") for i, text in enumerate(texts)), held_out_fraction=fraction)


def test_a_document_trained_on_elsewhere_is_no_longer_held_out():
    texts = [f"document number {i}" for i in range(200)]
    training, measured = corpus(texts[:120], 0.1), corpus(texts[60:], 0.9)
    trained_on = {row["sha256"] for row in training.to_pylist() if not row["held_out"]}
    kept = never_trained_on(measured, [training]).to_pylist()
    held_out = {row["sha256"] for row in kept if row["held_out"]}
    assert held_out
    assert not held_out & trained_on
    before = {row["sha256"] for row in measured.to_pylist() if row["held_out"]}
    assert held_out == before - trained_on
    assert [row for row in kept if not row["held_out"]] == [
        row for row in measured.to_pylist() if not row["held_out"]
    ]


def test_its_own_held_out_side_stays():
    table = corpus([f"document number {i}" for i in range(100)], 0.3)
    assert never_trained_on(table, [table]).num_rows == table.num_rows


def test_documents_left_out_are_counted_and_named(caplog):
    caplog.set_level("INFO", logger="rllc")
    texts = [f"document number {i}" for i in range(200)]
    training, measured = corpus(texts[:120], 0.1), corpus(texts[60:], 0.9)
    left_out = measured.num_rows - never_trained_on(measured, [training]).num_rows
    assert f": {left_out}, such as" in caplog.text
    assert ".txt'" in caplog.text

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest

from rllc.tasks.arrow import as_array, read_manifest, read_table, write_table
from rllc.tasks.language import blocks as blocks_module
from rllc.tasks.language.blocks import blocks
from rllc.tasks.language.documents import Document, collect
from rllc.tasks.language.mixture import mix
from rllc.tasks.language.pieces import pieces
from rllc.tasks.language.tokenizer import bos_id, train

CONTEXT = 16


@pytest.fixture(scope="module")
def tokenizer(tables):
    return train(tables["english"], vocabulary_size=300)


def naive(table, tokenizer, held_out, *, opened=True):
    """The blocks as sets of tuples, one token at a time."""
    bos = bos_id(tokenizer)
    stream = []
    for row in table.to_pylist():
        if row["held_out"] == held_out:
            stream += ([bos] if stream else []) + tokenizer.encode(row["text"], add_special_tokens=False).ids
    first, found = ((bos,) if opened else ()), []
    free = CONTEXT - len(first)
    while len(stream) >= free:
        found.append((*first, *stream[:free]))
        stream = stream[free:]
    return found


def make(table, tokenizer, **settings):
    return blocks(table, tokenizer, **{"context": CONTEXT, "held_out": False, "seed": 0, **settings})


@pytest.mark.parametrize("held_out", [False, True])
def test_blocks_are_the_concatenation_cut_and_shuffled(tables, tokenizer, held_out):
    expected = naive(tables["english"], tokenizer, held_out)
    found = [tuple(row) for row in as_array(make(tables["english"], tokenizer, held_out=held_out)).tolist()]
    assert sorted(found) == sorted(expected)
    assert found != expected


def test_blocks_without_bos_have_one_more_token_of_text_and_parted_documents(tables, tokenizer):
    expected = naive(tables["english"], tokenizer, False, opened=False)
    for limit in (None, 5):
        found = [
            tuple(row) for row in as_array(make(tables["english"], tokenizer, bos=None, limit=limit)).tolist()
        ]
        assert sorted(found) == sorted(expected[:limit])


def test_a_limit_takes_the_first_blocks_and_shuffles_them(tables, tokenizer):
    expected = naive(tables["code"], tokenizer, False)
    for limit in (1, 7, len(expected), len(expected) + 5):
        found = [tuple(row) for row in as_array(make(tables["code"], tokenizer, limit=limit)).tolist()]
        assert sorted(found) == sorted(expected[:limit])


def test_every_limit_is_met_where_documents_are_short(tokenizer):
    documents = [Document(f"the head {i} attends" + " to a token" * (i % 4), str(i)) for i in range(60)]
    table = collect(documents, held_out_fraction=0.3)
    expected = naive(table, tokenizer, False)
    for limit in range(1, len(expected) + 2):
        found = [tuple(row) for row in as_array(make(table, tokenizer, limit=limit)).tolist()]
        assert sorted(found) == sorted(expected[:limit])


def test_text_decodes_to_what_was_written(tables, tokenizer):
    table = tables["english"].filter([not out for out in tables["english"]["held_out"].to_pylist()])[:1]
    ids = as_array(make(table, tokenizer, limit=1))[0]
    assert table["text"][0].as_py().startswith(tokenizer.decode(ids[1:].tolist()))


def test_the_order_is_a_function_of_the_seed(tables, tokenizer):
    first, again, other = (make(tables["code"], tokenizer, seed=seed) for seed in (1, 1, 2))
    assert first.equals(again, check_metadata=True)
    assert not np.array_equal(as_array(first), as_array(other))


def test_the_manifest_counts_what_was_encoded(tables, tokenizer):
    mixed = mix(tables, {"english": 0.2, "code": 0.5, "headers": 0.3}, seed=0)
    found = read_manifest(make(mixed, tokenizer))
    training = [row["text"] for row in mixed.to_pylist() if not row["held_out"]]
    assert found["characters"] == sum(map(len, training))
    assert found["documents"] == len(training)
    ids = [len(tokenizer.encode(text, add_special_tokens=False).ids) for text in training]
    assert found["tokens"] == sum(ids) + len(training) - 1
    assert found["text"] == read_manifest(mixed)["sha256"]


def test_blocks_survive_the_disk_without_a_copy_and_open_in_datasets(tables, tokenizer, tmp_path):
    table = make(tables["code"], tokenizer)
    path = tmp_path / "blocks.arrow"
    write_table(table, path)
    found = read_table(path)
    assert found.equals(table, check_metadata=True)
    array = as_array(found)
    assert array.dtype == np.uint16
    assert array.base is not None
    assert not array.flags.writeable
    opened = datasets.Dataset.from_file(str(path)).with_format("numpy")
    np.testing.assert_array_equal(opened["input_ids"][:], array)
    write_table(make(tables["code"], tokenizer), tmp_path / "again.arrow")
    assert (tmp_path / "again.arrow").read_bytes() == path.read_bytes()


def test_documents_open_in_datasets(tables, tmp_path):
    write_table(tables["code"], tmp_path / "documents.arrow")
    opened = datasets.Dataset.from_file(str(tmp_path / "documents.arrow"))
    assert opened["text"][:] == tables["code"]["text"].to_pylist()


def test_an_array_of_several_chunks_or_a_slice(tables, tokenizer):
    table = make(tables["code"], tokenizer)
    whole = as_array(table)
    np.testing.assert_array_equal(
        as_array(pa.concat_tables([table[5:9], table[2:4]])), whole[[5, 6, 7, 8, 2, 3]]
    )
    np.testing.assert_array_equal(as_array(table[3:6]), whole[3:6])


def test_a_large_vocabulary_takes_wider_integers(tables, tokenizer):
    wide = type(tokenizer).from_str(tokenizer.to_str())
    wide.add_tokens([f"unused{i}" for i in range(2**16)])
    table = make(tables["english"], wide)
    assert table.schema.field("input_ids").type.value_type == pa.int32()
    np.testing.assert_array_equal(as_array(table), as_array(make(tables["english"], tokenizer)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"context": 10**6}, r"the training text has \d+ tokens, fewer than the 999999 of one block"),
        ({"context": 10**6, "held_out": True}, "the held-out text .* a larger held_out_fraction"),
        ({"context": 1}, "context is 1"),
        ({"limit": 0}, "limit is 0"),
        ({"vocabulary_size": 299}, "has 300 tokens, the model's vocabulary 299"),
    ],
)
def test_what_makes_no_block_is_refused(tables, tokenizer, settings, message):
    with pytest.raises(ValueError, match=message):
        make(tables["english"], tokenizer, **settings)


def test_a_file_that_is_no_table_is_refused(tmp_path):
    (tmp_path / "blocks.arrow").write_bytes(b"ARROW1 but not a stream")
    with pytest.raises(ValueError, match="not a complete Arrow IPC stream"):
        read_table(tmp_path / "blocks.arrow")
    with pytest.raises(ValueError, match="has no manifest"):
        read_manifest(pa.table({"a": [1]}))


MEMORY = """
import re, sys
from pathlib import Path
from rllc.tasks.language.blocks import blocks
from rllc.tasks.language.documents import Document, collect
from rllc.tasks.language.tokenizer import learnt
words = "the head attends, to a token (that came before) and copies\\nwhat followed it."
documents = [Document(f"{i} {words} " * (int(sys.argv[1]) // 80 if i == 3 else 3), f"{i}") for i in range(40)]
table = collect(documents, held_out_fraction=0.3)
held_out = table["held_out"].to_pylist()[table["name"].to_pylist().index("3")]
def most():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
before = most()
tokenizer = learnt([documents[3].text], 300)
made = blocks(table, tokenizer, context=16, held_out=held_out, seed=0)
print(most() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="only Linux says it so")
def test_large_text_takes_less_than_thirty_bytes_of_memory_per_character():
    """As a whole, 10 million characters took 140 bytes each, in each of two stages."""
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, "-c", MEMORY, str(10**7)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert 10**4 < int(done.stdout) < 0.3 * 10**6  # kB


@pytest.mark.parametrize("limit", [None, 5])
def test_blocks_of_a_divided_text_equal_those_of_the_whole(tables, tokenizer, monkeypatch, limit):
    table = tables["english"]
    whole = make(table, tokenizer, limit=limit)
    monkeypatch.setattr(blocks_module, "pieces", partial(pieces, size=40))
    divided = make(table, tokenizer, limit=limit)
    assert divided.equals(whole)
    assert read_manifest(divided) == read_manifest(whole)


def test_text_that_cannot_be_divided_is_encoded_whole_and_said(tokenizer, monkeypatch, caplog):
    monkeypatch.setattr(blocks_module, "BATCH_CHARACTERS", 100)
    unbroken = [Document("中" * 150 + str(i), str(i)) for i in range(20)]
    make(collect(unbroken, held_out_fraction=0.3), tokenizer)
    assert "of one text are encoded as a whole" in caplog.text

import os
import random
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rllc.tasks.arrow import write_table
from rllc.tasks.language.documents import Document, collect
from rllc.tasks.language.tokenizer import BOS, bos_id, learnt, load, pretrained, save, train, vocabulary_size


@pytest.fixture(scope="module")
def trained(tables):
    return train(tables["code"], vocabulary_size=300)


@given(st.text())
def test_any_text_comes_back_whole_and_never_holds_bos(trained, text):
    ids = trained.encode(text, add_special_tokens=False).ids
    assert bos_id(trained) not in ids
    assert trained.decode(ids, skip_special_tokens=False) == text


def test_a_text_that_spells_bos_is_read_as_characters(trained, tmp_path):
    save(trained, tmp_path / "tokenizer.json")
    for tokenizer in (trained, load(tmp_path / "tokenizer.json")):
        assert bos_id(tokenizer) not in tokenizer.encode(f"a{BOS}b", add_special_tokens=False).ids


def test_only_training_documents_are_learnt_from():
    def text(i):
        return f"common words {i} " * 3

    documents = [Document(text(i), str(i)) for i in range(50)]
    table = collect(documents, held_out_fraction=0.3)
    held_out = table.filter(table["held_out"])["text"].to_pylist()
    alone = table.filter([not out for out in table["held_out"].to_pylist()])
    assert held_out
    assert train(table, vocabulary_size=400).to_str() == train(alone, vocabulary_size=400).to_str()


def test_the_first_merge_is_the_most_frequent_pair():
    documents = [Document("xyxyxyxyxy ab", "a"), Document("xyxyxy", "b"), Document("xy cd", "c")]
    table = collect(documents, held_out_fraction=0.5)
    table = table.set_column(3, "held_out", [[False] * 3])
    vocabulary = train(table, vocabulary_size=258).get_vocab()
    assert vocabulary["xy"] == 257


TRAIN = """
import sys
import time
from rllc.tasks.arrow import read_table
from rllc.tasks.language.tokenizer import train
tokenizer = train(read_table(sys.argv[1]), vocabulary_size=300)
ids = tokenizer.encode_batch(["def return self"] * 50)[-1].ids
print(tokenizer.to_str(), ids)
"""


def test_threads_do_not_change_the_tokenizer(tables, trained, tmp_path):
    write_table(tables["code"], tmp_path / "code.arrow")
    outputs = set()
    for parallel in ("true", "false"):
        environment = {**os.environ, "TOKENIZERS_PARALLELISM": parallel, "RAYON_NUM_THREADS": "2"}
        command = [sys.executable, "-c", TRAIN, str(tmp_path / "code.arrow")]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        outputs.add(result.stdout)
    assert len(outputs) == 1
    assert outputs.pop().startswith(trained.to_str())


def test_a_saved_tokenizer_is_found_by_file_and_by_folder(trained, tmp_path):
    save(trained, tmp_path / "tokenizer.json")
    for tokenizer in (
        load(tmp_path / "tokenizer.json"),
        *map(pretrained, [str(tmp_path), f"{tmp_path}/tokenizer.json"]),
    ):
        assert tokenizer.to_str() == trained.to_str()
        assert vocabulary_size(tokenizer) == 300


def test_a_tokenizer_that_truncates_and_pads_does_neither_here(trained, tmp_path):
    other = load_copy(trained)
    other.enable_truncation(3)
    other.enable_padding(length=50)
    (tmp_path / "tokenizer.json").write_text(other.to_str())
    text = "def return self self.weights " * 4
    assert pretrained(str(tmp_path)).encode(text).ids == trained.encode(text).ids


def load_copy(tokenizer):
    return type(tokenizer).from_str(tokenizer.to_str())


def test_the_opening_token_of_other_tokenizers(trained):
    from tokenizers import Tokenizer, models

    gpt2 = Tokenizer(models.WordLevel({"a": 0, "<|endoftext|>": 7}, unk_token="a"))
    assert bos_id(gpt2) == 7
    assert vocabulary_size(gpt2) == 8
    added = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    added.add_special_tokens(["<|endoftext|>"])
    assert (bos_id(added), vocabulary_size(added)) == (2, 3)
    assert bos_id(gpt2, "a") == 0
    with pytest.raises(ValueError, match="none of the tokens \\['<s>'\\]"):
        bos_id(gpt2, "<s>")


def test_what_is_no_tokenizer_is_refused(tables, tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match=r"is not a tokenizer\.json"):
        load(tmp_path / "tokenizer.json")
    with pytest.raises(ValueError, match=r"no tokenizer\.json at absent\.json"):
        pretrained("absent.json")
    with pytest.raises(ValueError, match="at least 257"):
        train(tables["code"], vocabulary_size=256)
    with pytest.raises(ValueError, match="no training document"):
        train(tables["code"].filter(tables["code"]["held_out"]), vocabulary_size=300)


def test_without_a_network_the_error_names_the_tokenizer():
    code = (
        "from rllc.tasks.language.tokenizer import pretrained; pretrained('no-such-owner/no-such-tokenizer')"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "ValueError: tokenizer 'no-such-owner/no-such-tokenizer' could not be loaded" in result.stderr


def test_tokenizer_in_the_cache_of_the_hub_is_read_without_a_network(trained, tmp_path):
    place = tmp_path / "hub/models--owner--name"
    snapshot = place / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs/main").write_text("a" * 40)
    save(trained, snapshot / "tokenizer.json")
    code = "from rllc.tasks.language.tokenizer import pretrained; print(pretrained('owner/name').to_str())"
    for offline in ({"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}):
        environment = {**os.environ, "HF_HOME": str(tmp_path), **offline}
        environment.pop("HF_HUB_CACHE", None)
        result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert result.stdout.strip() == trained.to_str(), result.stderr


def test_long_unbroken_run_is_learnt_from_in_seconds_and_said(caplog):
    """As a whole, 500,000 letters took over a minute."""
    letters = "".join(random.Random(0).choices("acgt", k=500_000))
    begun = time.process_time()
    tokenizer = learnt([letters, "and a word"], 2048)
    assert time.process_time() - begun < 20
    assert vocabulary_size(tokenizer) == 2048
    assert "500000 characters" in caplog.text

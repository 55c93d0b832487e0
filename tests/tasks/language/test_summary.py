import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rllc.tasks.arrow import as_array, read_manifest
from rllc.tasks.language.blocks import blocks
from rllc.tasks.language.summary import VARIABLES, corpus_summary, repeated_share, unigram_entropy
from rllc.tasks.language.tokenizer import train

BOS = 2


def test_the_entropy_of_equal_frequencies_is_the_logarithm_of_their_number():
    ids = np.array([[BOS, 0, 1, 3], [BOS, 4, BOS, 0], [BOS, 1, 3, 4]], dtype=np.uint16)
    assert unigram_entropy(ids, bos=BOS) == pytest.approx(math.log(4))


@given(arrays(np.uint16, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=st.integers(0, 6)))
def test_the_repeated_share_counts_tokens_seen_in_their_block(tokens):
    ids = np.concatenate([np.full((len(tokens), 1), BOS, np.uint16), tokens], axis=1)
    repeats = total = 0
    for row in ids.tolist():
        for position, token in enumerate(row):
            if token != BOS:
                total += 1
                repeats += token in row[:position]
    if total:
        assert repeated_share(ids, bos=BOS) == pytest.approx(repeats / total)


def test_the_summary_has_one_value_per_distribution(tables):
    tokenizer = train(tables["code"], vocabulary_size=300)
    sides = [
        {
            name: blocks(t, tokenizer, context=16, held_out=out, seed=0, limit=limit)
            for name, t in tables.items()
        }
        for out, limit in ((False, 40), (True, None))
    ]
    summary = corpus_summary(tables, *sides)
    assert summary["distribution"].values.tolist() == list(tables)
    for name, table in tables.items():
        one = summary.sel(distribution=name)
        assert one["documents"] == table.num_rows
        assert one["characters"] == sum(map(len, table["text"].to_pylist()))
        assert one["tokens"] == 40 * 16
        assert one["held_out_tokens"] == as_array(sides[1][name]).size
        encoded = read_manifest(sides[0][name])
        assert one["characters_per_token"] == encoded["characters"] / encoded["tokens"]
        assert 0 < one["unigram_entropy"] < math.log(300)
    for name, (long_name, units) in VARIABLES.items():
        assert summary[name].attrs == {"long_name": long_name, "units": units}
    with pytest.raises(ValueError, match="expected the same distributions"):
        corpus_summary({}, *sides)

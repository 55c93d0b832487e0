"""Bigrams and n-grams: values by hand on small runs."""

import numpy as np
import pytest
from tests.claims.stages.small import CLAIMS, N, curves, run

from rllc.claims.experiment import Experiment
from rllc.claims.judge import judge
from rllc.claims.selection import Absent
from rllc.claims.stages import ngrams


@pytest.mark.parametrize(
    ("function", "dataset", "expected"),
    [
        (
            ngrams.bigram_minimum_excess,
            {"ngrams": curves(bigram_excess=[3, 2, 1, 0.4, 0.5, 1, 1, 1, 1, 1])},
            0.4,
        ),
        (ngrams.bigram_minimum_step, {"ngrams": curves(bigram_score=[7, 5, 4, 5, 5, 5, 5, 5, 5, 5])}, 800),
        (ngrams.bigram_departure, {"ngrams": curves(bigram_score=[7, 5, 4, 5, 5, 5, 5, 5, 5, 5.5])}, 1.5),
    ],
)
def test_number_of_one_curve_is_that_by_hand(function, dataset, expected):
    assert float(function(run(**dataset))) == pytest.approx(expected, rel=1e-12)


def test_scores_of_n_grams_are_of_their_n():
    score = np.stack([np.ones(N), 1 + np.arange(N), 1 + 2 * np.arange(N)], -1)
    model = run(ngrams=curves(("n",), {"n": [2, 3, 4]}, ngram_score=score))
    assert float(ngrams.ngram3(model)) == 10
    assert float(ngrams.ngram4(model)) == 19
    assert float(ngrams.ngram3_lm2(model)) == 6 / 4
    assert float(ngrams.ngram4_lm2(model)) == 11 / 7


def test_a_model_without_the_dataset_has_no_claim_about_it():
    with pytest.raises(Absent, match="ngrams"):
        ngrams.ngram3(run())


def test_one_layer_is_compared_with_two():
    two = Experiment("language", "language", 2, text="mixture", steps=50000)
    one = Experiment("language_1layer", "language", 1, text="mixture", steps=50000)
    late = curves(bigram_score=[7, 5, 4, 3, 5, 5, 5, 5, 5, 5])
    early = curves(bigram_score=[7, 5, 4, 5, 5, 5, 5, 5, 5, 5])
    table = judge(
        CLAIMS,
        {"language": two, "language_1layer": one},
        {"language": {"ngrams": early}, "language_1layer": {"ngrams": late}},
    )
    found = table.sel(claim="one_layer_same", seed=0)
    assert found["value"].item() == 900 / 800
    assert found["verdict"].item() == "holds"

"""The majority vote of clusterings."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from rllc.analysis.consensus import SHAPE_WEIGHT, agreement, majority_vote, weights

PAIRS = np.array([0, 0, 1, 1])
CROSSED = np.array([0, 1, 0, 1])


def test_equal_clusterings_are_their_own_vote():
    votes = np.stack([PAIRS, PAIRS, 1 - PAIRS])
    vote = majority_vote(votes, np.ones(3))
    np.testing.assert_array_equal(vote, PAIRS)
    assert agreement(votes, np.ones(3), vote) == 1


def test_the_majority_wins_and_one_half_is_none():
    assert majority_vote(np.stack([PAIRS, PAIRS, CROSSED]), np.ones(3)).tolist() == [0, 0, 1, 1]
    assert majority_vote(np.stack([PAIRS, CROSSED]), np.ones(2)).tolist() == [0, 1, 2, 3]
    assert majority_vote(np.stack([PAIRS, CROSSED]), np.array([1, SHAPE_WEIGHT])).tolist() == [0, 1, 0, 1]


def test_a_head_without_a_majority_is_alone():
    votes = np.array([[0, 0, 1, 1, 0], [0, 0, 1, 1, 1], [0, 0, 1, 1, 2]])
    assert majority_vote(votes, np.ones(3)).tolist() == [0, 0, 1, 1, 2]


def test_shape_based_clusterings_have_more_weight():
    assert weights(["ward", "sbd_kmeans", "shape_kmeans"]).tolist() == [1, SHAPE_WEIGHT, 1]


def test_agreement_is_the_weighted_mean_index_of_those_that_vote():
    votes = np.stack([PAIRS, CROSSED, np.full(4, -1)])
    weight = np.array([2.0, 1.0, 5.0])
    vote = majority_vote(votes, weight)
    np.testing.assert_array_equal(vote, PAIRS)
    expected = (2 + adjusted_rand_score(CROSSED, PAIRS)) / 3
    assert agreement(votes, weight, vote) == pytest.approx(expected)
    assert majority_vote(votes[2:], weight[2:]).tolist() == [-1] * 4
    assert np.isnan(agreement(votes[2:], weight[2:], np.full(4, -1)))

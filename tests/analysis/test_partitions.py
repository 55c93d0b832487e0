"""Against all orders, gone through one by one."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from rllc.analysis.partitions import adjusted_rand, share_as_alike

LABELS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc")), min_size=2, max_size=5)


@settings(max_examples=60, deadline=None)
@given(LABELS)
def test_p_is_the_share_of_all_orders(pairs):
    a, b = map(np.asarray, zip(*pairs, strict=True))
    if len(set(b.tolist())) < 2:
        assert np.isnan(share_as_alike(a, b)) and np.isnan(adjusted_rand(a, b))
        return
    every = [adjusted_rand_score(np.asarray(order), b) for order in permutations(a.tolist())]
    assert share_as_alike(a, b) == pytest.approx(np.mean(np.asarray(every) >= adjusted_rand(a, b) - 1e-12))
    if np.ptp(every):  # else every order is the same
        assert np.mean(every) == pytest.approx(0.0, abs=1e-12)


def test_known_values():
    kinds = np.asarray(["previous", "previous", "current", "other", "other", "other", "other", "other"])
    same = np.asarray([2, 2, 0, 1, 1, 1, 1, 1])
    assert adjusted_rand(same, kinds) == 1
    assert share_as_alike(same, kinds) == pytest.approx(
        1 / 168
    )  # 8! / (2! 1! 5!) tables, one of them the same
    assert adjusted_rand(np.zeros(8), kinds) == 0
    assert share_as_alike(np.zeros(8), kinds) == 1
    assert np.isnan(share_as_alike(np.asarray([]), np.asarray([])))

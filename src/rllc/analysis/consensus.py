"""The majority vote of several clusterings of the same heads (arXiv 2410.02984, F.5.4).

The paper recommends a majority vote in which shape-based clustering has more weight, and gives no rule. Here
two heads belong together where the weighted share of clusterings with both in one cluster exceeds one half.
Average linkage of these shares makes clusters of such pairs (evidence accumulation, Fred and Jain 2005). A
head on whose place no majority agrees is alone in its cluster. So the number of clusters is a result.
"""

from collections.abc import Sequence

import numpy as np

from rllc.analysis.partitions import canonical

SHAPE_BASED = ("sbd_kmeans",)  # the paper's own K-means with the shape-based distance
SHAPE_WEIGHT = 2.0  # ours: a vote of it counts as two
MAJORITY = 0.5
NAN = float("nan")


def weights(algorithms: Sequence[str]) -> np.ndarray:
    """Return the weight of a clustering by each algorithm."""
    return np.asarray([SHAPE_WEIGHT if name in SHAPE_BASED else 1.0 for name in algorithms])


def majority_vote(clusterings: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the cluster of each head by majority vote: [clustering, head], [clustering] -> [head].

    Clusterings with a head that is not clustered (-1) do not vote. -1 for all heads without a vote.
    """
    votes = (clusterings >= 0).all(axis=1)
    if not votes.any():
        return np.full(clusterings.shape[1], -1, dtype=np.int32)
    return _linked(_together(clusterings[votes], weight[votes]))


def agreement(clusterings: np.ndarray, weight: np.ndarray, vote: np.ndarray) -> float:
    """Return the weighted mean of the adjusted Rand index between each clustering that votes and the vote.

    1: all clusterings are the vote; 0: chance level. NaN without a vote.
    """
    from sklearn.metrics import adjusted_rand_score

    votes = (clusterings >= 0).all(axis=1)
    if not votes.any():
        return NAN
    each = [adjusted_rand_score(labels, vote) for labels in clusterings[votes]]
    return float(np.average(each, weights=weight[votes]))


def _together(clusterings: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted share of clusterings that have each pair of heads in one cluster: [head, head]."""
    same = clusterings[:, :, None] == clusterings[:, None, :]
    return np.average(same, axis=0, weights=weight)


def _linked(share: np.ndarray) -> np.ndarray:
    """Return clusters of average linkage whose merges all have a mean share above one half."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(share) < 2:
        return np.zeros(len(share), dtype=np.int32)
    apart = squareform(1 - share, checks=False)
    below = 1 - MAJORITY - 1e-9  # a share of exactly one half is not a majority
    return canonical(fcluster(linkage(apart, "average"), below, criterion="distance"))

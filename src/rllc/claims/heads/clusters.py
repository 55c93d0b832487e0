"""Claims on clusters of heads by their curves (App. F.5).

The estimates' errors enter none of them.
"""

from functools import partial

from rllc.analysis.clusters_by_type import AGREEMENT
from rllc.analysis.curves import NotJudged, last
from rllc.claims.claim import claim as any_claim
from rllc.claims.heads.curves import PAPER, Number, several_layers
from rllc.claims.run import Run

ORDER = 2  # place of these claims among those of the work

claim = partial(any_claim, where=several_layers, family="clusters (F.5)")


@claim(
    "Clusters of the heads' curves coincide with the types of heads (k-Shape)",
    source=f"{PAPER}, 4.1, fig 1",
    label="adjusted Rand index of k-Shape clusters, as many as types, with the types of heads, mean "
    "over scopes",
    at_least=0.5,
)
def types_cluster(run: Run) -> Number:
    return last(run.curve("clusters.rand_types_kshape"))


@claim(
    "Clusters of the heads' curves coincide with the types of heads (K-means with the "
    "shape-based distance, as in the paper)",
    source=f"{PAPER}, 4.1, F.5.3",
    label="adjusted Rand index of clusters (K-means, shape-based distance), as many as types, with "
    "the types of heads",
    at_least=0.5,
)
def types_cluster_shape(run: Run) -> Number:
    return last(run.curve("clusters.rand_types_shape"))


@claim(
    "Clusters of the heads' curves coincide with the types of heads (Euclidean K-means, as in the paper's "
    "final classification)",
    source=f"{PAPER}, 4.1, F.5.4",
    label="adjusted Rand index of clusters (Euclidean K-means), as many as types, with the types of heads, "
    "mean over scopes",
    at_least=0.5,
    correction="Added after results were seen, because the paper classifies heads by this algorithm. Its "
    "bound is that of the other algorithms: nearer to equal clusters (1) than to chance (0).",
)
def types_cluster_euclidean(run: Run) -> Number:
    return last(run.curve("clusters.rand_types_euclidean"))


@claim(
    "Two clusters of layer 1 are the induction heads and all others",
    source=f"{PAPER}, F.5.3",
    label="adjusted Rand index of two clusters of layer 1 with induction heads against the rest, median",
    at_least=0.8,
)
def first_split_layer1(run: Run) -> Number:
    return last(run.curve("clusters.first_split_layer1"))


@claim(
    "Two clusters of layer 0 separate previous- and current-token heads from most others",
    source=f"{PAPER}, F.5.3",
    label="adjusted Rand index of two clusters of layer 0 with previous- and current-token heads against "
    "the rest",
    at_least=0.5,
)
def first_split_layer0(run: Run) -> Number:
    return last(run.curve("clusters.first_split_layer0"))


@claim(
    "With the largest number of clusters, induction heads are in different clusters",
    source=f"{PAPER}, F.5.3",
    label="share of algorithms that have induction heads in different clusters",
    at_least=0.5,
)
def induction_split(run: Run) -> Number:
    return last(run.curve("clusters.induction_split"))


@claim(
    "Four clustering algorithms agree closely",
    source=f"{PAPER}, F.5.4",
    label=f"{AGREEMENT}, and over scopes, by curves at the checkpoints",
    at_least=0.8,
    shuffle=False,
)
def algorithms_agree(run: Run) -> Number:
    return last(run.curve("clusters.algorithms_agree"))


@claim(
    "Clusters hardly change if the curves are standardised first",
    source=f"{PAPER}, F.5.3",
    label="adjusted Rand index of Euclidean clusters with and without z-scores, mean",
    at_least=0.8,
    shuffle=False,
)
def standardising_harmless(run: Run) -> Number:
    return last(run.curve("clusters.standardizing_keeps"))


@claim(
    "Silhouette, Calinski-Harabasz and Davies-Bouldin do not find the number of types",
    source=f"{PAPER}, F.5.4",
    label="number of these three indices whose best number of clusters is that of types",
    at_most=1,
    correction="Indices that pick a number of clusters at random pass too, so a pass is not judged. The "
    "reason says how often they do.",
    shuffle=False,
)
def indices_useless(run: Run) -> Number:
    right = last(run.curve("clusters.indices_right"))
    if float(right) > 1:
        return right
    numbers = run.dataset("clusters").sizes["n_clusters"]
    pick = 1 / numbers
    chance = (1 - pick) ** 3 + 3 * pick * (1 - pick) ** 2
    raise NotJudged(
        f"chance passes: three indices that each pick one of {numbers} numbers at random pass in {chance:.0%}"
    )


@claim(
    "Clusters of one training seed carry over to other seeds",
    source=f"{PAPER}, App. G",
    label="adjusted Rand index of the first seed's clusters with the types of other seeds' heads, mean",
    at_least=0.5,
)
def transfer(run: Run) -> Number:
    return last(run.curve("transfer.rand_types_mean"))


@claim(
    "In most other seeds, few permutations of the heads fit the carried-over clusters as well",
    source=f"{PAPER}, App. G; the p is ours",
    label="p-value that most of the other seeds' scopes do not exceed",
    at_most=0.05,
)
def transfer_in_most(run: Run) -> Number:
    return last(run.curve("transfer.p_of_most"))


@claim(
    "Shape-based clusters carry over to other seeds better than others",
    source=f"{PAPER}, F.5.4",
    label="adjusted Rand index in other seeds, shape-based clusters less the best other algorithm",
    at_least=0,
)
def shape_transfers_best(run: Run) -> Number:
    return last(run.curve("transfer.shape_lead"))

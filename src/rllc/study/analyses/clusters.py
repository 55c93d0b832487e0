"""Heads by their rLLC curves: clusters, and clusters of one seed in others. Config and specs."""

from collections.abc import Iterator
from typing import Literal

from pydantic import model_validator

from rllc.measures.attention_scores.spec import AttentionScores
from rllc.study.checks.names import refer
from rllc.study.config_model import ConfigModel, config_field
from rllc.study.roles import HeadTypes
from rllc.study.sampling import BASE_SETTING, setting
from rllc.study.specs import AnalysisSpec, Variable, Work
from rllc.study.values import RLLC, Distinct, Name


class Clusters(ConfigModel):
    """Clusters of heads by their rLLC curves."""

    distributions: Distinct[Name] = config_field("whose curves are channels of a head", min_length=1)
    algorithms: Distinct[Literal["euclidean_kmeans", "ward", "dtw_kmeans", "shape_kmeans", "sbd_kmeans"]] = (
        config_field(
            "each makes its own clusters; shape_kmeans: k-Shape; sbd_kmeans: K-means by shape-based distance",
            source=f"{RLLC}, App. F.5: all but shape_kmeans",
            min_length=1,
        )
    )
    n_clusters: Distinct[int] = config_field("numbers of clusters", min_length=1)
    points: int = config_field("points of the uniform grid in log(step + 1)", ge=4)
    standardize: bool = config_field(
        "z-score every interpolated curve first (shape_kmeans and sbd_kmeans always do)"
    )


class Transfer(ConfigModel):
    """Clusters of the first training seed's heads, carried over to the heads of the others."""

    distribution: Name = config_field(
        "whose curves are clustered", source=f"{RLLC}, App. F.5.4: the Pile alone"
    )
    algorithms: Distinct[Literal["euclidean_kmeans", "ward", "dtw_kmeans", "sbd_kmeans"]] = config_field(
        "a head takes the cluster whose centre is nearest, as the algorithm has distances; sbd_kmeans, "
        "K-means by shape-based distance, is the one that figures draw and claims are about",
        source=f"{RLLC}, App. F.5, G",
        min_length=1,
    )
    n_clusters: Distinct[int] = config_field("numbers of clusters", min_length=1)
    points: int | None = config_field(
        "points of the uniform grid in log(step + 1); null: the checkpoints themselves, as in the paper",
        ge=4,
        default=None,
    )

    @model_validator(mode="after")
    def _by_shape(self) -> "Transfer":
        if "sbd_kmeans" not in self.algorithms:
            raise ValueError("algorithms: give sbd_kmeans too, by which claims are judged")
        return self


def _clusters_checks(place: str, work: Work[Clusters]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    sampling = setting(experiment, BASE_SETTING, "heads")
    if not sampling:
        yield f"{place}: clusters are made of rLLC curves; give sampling.heads"
        return
    for distribution in section.distributions:
        curves = sampling.distributions or experiment.distributions
        yield from refer(f"{place}.distributions", distribution, curves, "distribution of rllc.nc")
    yield from _too_many_clusters(place, work)


def _too_many_clusters(place: str, work: Work[Clusters | Transfer]) -> Iterator[str]:
    count = work.heads
    for k in work.section.n_clusters:
        if not 2 <= k < count:
            yield f"{place}.n_clusters: {k} clusters of {count} heads; give 2 to {count - 1}"


def _transfer_checks(place: str, work: Work[Transfer]) -> Iterator[str]:
    experiment, section = work.experiment, work.section
    sampling = setting(experiment, BASE_SETTING, "heads")
    if not sampling or not experiment.get(AttentionScores) or not experiment.get(HeadTypes):
        yield (
            f"{place}: it is of rLLC curves by type of head; give sampling.heads, attention_scores and "
            "head_types"
        )
        return
    if len(experiment.seeds) < 2:
        yield f"{place}: clusters are carried over to other training seeds; give two `seeds` or more"
    curves = sampling.distributions or experiment.distributions
    yield from refer(f"{place}.distribution", section.distribution, curves, "distribution of rllc.nc")
    yield from _too_many_clusters(place, work)


ANALYSES = (
    AnalysisSpec(
        name="clusters",
        section=Clusters,
        about="clusters of heads by their rLLC curves",
        function="rllc.analysis.clusters:clusters",
        variables={
            "cluster": Variable("", "", ("head", "algorithm", "n_clusters")),
            "score": Variable("", "", ("scope", "algorithm", "n_clusters", "index")),
            "agreement": Variable("", "", ("scope", "algorithm", "other_algorithm", "n_clusters")),
            "cluster_checkpoints": Variable("", "", ("head", "vectors", "algorithm", "n_clusters")),
            "score_checkpoints": Variable("", "", ("scope", "vectors", "algorithm", "n_clusters", "index")),
            "agreement_checkpoints": Variable(
                "", "", ("scope", "vectors", "algorithm", "other_algorithm", "n_clusters")
            ),
            "agreement_vectors": Variable("", "", ("scope", "vectors", "algorithm", "n_clusters")),
            "cluster_standardized": Variable("", "", ("head", "n_clusters")),
            "consensus": Variable("", "", ("head", "n_clusters")),
            "consensus_agreement": Variable("", "", ("scope", "n_clusters")),
            **{
                name: Variable("", "", ("step",))
                for name in (
                    "rand_types_kshape",
                    "rand_types_kshape_p",
                    "rand_types_shape",
                    "rand_types_shape_p",
                    "rand_types_euclidean",
                    "rand_types_euclidean_p",
                    "first_split_layer0",
                    "first_split_layer1",
                    "induction_split",
                    "algorithms_agree",
                    "standardizing_keeps",
                    "indices_right",
                )
            },
        },
        reads=("rllc",),
        uses=("attention_scores",),
        checks=_clusters_checks,
        stream="clustering",
    ),
    AnalysisSpec(
        name="transfer",
        section=Transfer,
        about="clusters of the first training seed, carried over to the others",
        function="rllc.analysis.transfer:transfer",
        variables={
            "cluster": Variable("", "", ("head", "algorithm", "n_clusters")),
            "distance": Variable("", "", ("head", "algorithm", "n_clusters")),
            "rand_types": Variable("", "", ("scope", "algorithm", "n_clusters")),
            "rand_own": Variable("", "", ("scope", "algorithm", "n_clusters")),
            "p": Variable("", "", ("scope", "algorithm", "n_clusters")),
            "types": Variable("", "", ("scope",)),
            "p_least": Variable("", "", ("scope",)),
            **{
                name: Variable("", "", ("step",))
                for name in (
                    "rand_types_mean",
                    "p_of_most",
                    "shape_lead",
                )
            },
        },
        reads=("rllc", "attention_scores"),
        checks=_transfer_checks,
        stream="clustering",
    ),
)

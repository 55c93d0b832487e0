"""What is measured beside the LLC: curvature, ablation, attention scores, losses, clusters, head types."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from rllc.study.section import Section, key
from rllc.study.values import RLLC, Count, Name, Share, Step

Range = Annotated[list[Step], Field(min_length=2, max_length=2)]


class Hessian(Section):
    """Hutchinson traces."""

    probes: int = key("Rademacher probes", ge=2, source=f"{RLLC}, App. D: 50")
    batch_size: Count = key("contexts per probe", source=f"{RLLC}, App. D: 100 samples")
    scored_positions: Count | None = key("as in sampling")
    distributions: list[Name] | None = key("null: all of the experiment's", default=None)


def _in_whole_batches(contexts: int, batch_size: int) -> None:
    if contexts % batch_size:
        multiple = max(1, (contexts + batch_size // 2) // batch_size) * batch_size
        raise ValueError(
            f"contexts {contexts} is no multiple of batch_size {batch_size}; the nearest is {multiple}"
        )


class Ablation(Section):
    """Zero, mean and resample ablation of every head."""

    contexts: int = key("contexts, a multiple of batch_size", ge=2)
    batch_size: int = key("contexts at once", ge=2)
    distributions: list[Name] | None = key("null: all of the experiment's", default=None)

    @model_validator(mode="after")
    def _whole_batches(self) -> "Ablation":
        _in_whole_batches(self.contexts, self.batch_size)
        return self


class Patterns(Section):
    """Attention scores on random token sequences."""

    sequences: Count = key("sequences", source="arXiv 2402.02364, App. B: 10,000")
    length: int = key("tokens in a sequence", ge=16, source="arXiv 2402.02364, App. B: 128")


class Metrics(Section):
    """Losses."""

    contexts: Count = key("held-out contexts, a multiple of batch_size")
    batch_size: Count = key("contexts at once")
    icl_early: Range | None = key(
        "ICL score = loss at late minus loss at early positions; early: from, up to but without; null: none",
        unit="positions", default=None,
    )  # fmt: skip
    icl_late: Range | None = key(
        "late: from, up to but without", unit="positions", default=None,
        source="arXiv 2402.02364: the 50th and the 500th of 1,024",
    )  # fmt: skip
    accuracy: bool = key(
        "also the share of predictions, and of whole contexts, that are right", default=False
    )

    @model_validator(mode="after")
    def _consistent(self) -> "Metrics":
        _in_whole_batches(self.contexts, self.batch_size)
        if (self.icl_early is None) != (self.icl_late is None):
            raise ValueError("give both icl_early and icl_late, or neither")
        return self


class Circuits(Section):
    """The full QK and OV circuits of every head, and what is read off them; of models that sort."""

    rank_tolerance: Share | None = key(
        "singular values up to this share of the largest count as zero; null: as torch.linalg.matrix_rank",
        default=None,
    )


class Clustering(Section):
    """Clusters of heads by their rLLC curves."""

    distributions: list[Name] = key("whose curves are channels of a head", min_length=1)
    algorithms: list[Literal["euclidean_kmeans", "ward", "dtw_kmeans", "shape_kmeans"]] = key(
        "each makes its own clusters", min_length=1
    )
    n_clusters: list[int] = key("numbers of clusters", min_length=1)
    points: int = key("points of the uniform grid in log(step + 1)", ge=4)
    standardize: bool = key("z-score every curve first (shape_kmeans always does)")


class HeadTypes(Section):
    """From which score on, at the last checkpoint, a head is called what it is."""

    previous_token: Share = key("mean attention to the previous token")
    current_token: Share = key("mean attention to the current token")
    prefix_matching: Share = key("induction heads: attention to the token after the first [A]")

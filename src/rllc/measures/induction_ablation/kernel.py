"""In-context learning without some of the induction heads (arXiv 2410.02984, App. B.2.2, Fig. 10)."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray as xr

from rllc.measures.architecture import with_heads
from rllc.measures.data import Data, Measurement
from rllc.measures.errors import error_of_mean
from rllc.measures.roles import of_type
from rllc.models.model import Model, ModelWithHeads
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch

NONE, ALL = "none", "all"


def induction_ablation(
    data: Data,
    *,
    contexts: int,
    batch_size: int,
    early: Sequence[int],
    late: Sequence[int],
    thresholds: Mapping[str, float],
) -> Measurement:
    """``scores`` without none, all, and all but each of the heads that are induction heads at the last
    checkpoint; on the contexts of ``metrics``, if as many. Ranges of positions are without their end.
    """
    batches = data.batches("metrics", count=contexts // batch_size, batch_size=batch_size, scored=None)
    heads = of_type(data.part("attention_scores"), "induction", thresholds=thresholds)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        ablated = left_out(heads)
        ranges = (range(*early), range(*late))
        return scores(weights, batches, ablated, model=with_heads(model), early=ranges[0], late=ranges[1])

    return measure


def left_out(heads: Sequence[str]) -> dict[str, list[str]]:
    """Which heads are ablated together: none; of several, all but each, by their label; and all."""
    others = [[other for other in heads if other != head] for head in heads] if len(heads) > 1 else []
    return {NONE: [], **{"+".join(each): each for each in others}, **({ALL: list(heads)} if heads else {})}


@torch.no_grad()
def scores(
    weights: Weights,
    batches: Sequence[Batch],
    ablated: Mapping[str, Sequence[str]],
    *,
    model: ModelWithHeads,
    early: Sequence[int],
    late: Sequence[int],
) -> xr.Dataset:
    """The in-context learning score (``rllc.measures.metrics``) with heads' outputs replaced by their means.

    Means are over all contexts and positions of ``batches`` (``rllc.measures.ablation``).

    Returns (ablated) ``icl_score``, loss at ``late`` less that at ``early`` positions, nats, ``icl_left``,
    that over the score with nothing ablated, the first of ``ablated``, and each one's ``_se`` over contexts.
    That of ``icl_left`` is to first order, sd(gap - left * plain gap) over root n and the plain score: both
    scores have the same contexts. Raises ValueError where a batch does not score all of these positions.
    """
    where = torch.as_tensor([*early, *late])
    means = model.mean_outputs(weights, batches) if any(ablated.values()) else {}
    gaps: dict[str, list[np.ndarray]] = {name: [] for name in ablated}
    for batch in batches:
        place = torch.searchsorted(batch.positions, where.to(batch.positions.device))
        if int(place.max()) >= len(batch.positions) or not torch.equal(batch.positions[place].cpu(), where):
            raise ValueError(
                f"positions {sorted({*early, *late})} are not all scored: choose positions that batches score"
            )
        chosen = batch._replace(positions=batch.positions[place], targets=batch.targets[:, place])
        clean = model.forward_pass(weights, chosen)
        for name, heads in ablated.items():
            losses = clean.replaced({head: means[head] for head in heads}).losses.double()
            first, last = losses.split([len(early), len(late)], 1)
            gaps[name].append((last.mean(1) - first.mean(1)).cpu().numpy())
    every = np.asarray([np.concatenate(found) for found in gaps.values()])
    score, plain = every.mean(1), every[0]
    left = score / plain.mean()
    return xr.Dataset(
        {
            "icl_score": ("ablated", score),
            "icl_score_se": ("ablated", error_of_mean(every)),
            "icl_left": ("ablated", left),
            "icl_left_se": ("ablated", error_of_mean(every - left[:, None] * plain) / abs(plain.mean())),
        },
        {"ablated": np.asarray(list(ablated), dtype=object)},
    )

"""What the loss rises by when the output of an attention head or of an MLP is replaced."""

from collections.abc import Collection, Sequence

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.measures.architecture import with_heads
from rllc.measures.data import Data, Measurement
from rllc.measures.errors import error_of_ratio
from rllc.measures.precise import count_at, most
from rllc.models.model import Model, ModelWithHeads
from rllc.models.weights import Weights
from rllc.seeds import generator
from rllc.tasks.batch import Batch
from rllc.tasks.lazy import First
from rllc.vocabulary import head_coords, mlp_coords

METHODS = ("zero", "mean", "resample")


def ablation(
    data: Data,
    *,
    contexts: int,
    batch_size: int,
    precise: int | None = None,
    precise_at: Collection[int] = (),
) -> Measurement:
    """Loss after minus loss before each head's output is replaced, on so many held-out contexts.

    At the steps ``precise_at`` there are ``precise`` contexts; elsewhere they are the first of these.
    """
    count = most(contexts, precise) // batch_size
    batches = data.batches("ablation", count=count, batch_size=batch_size, scored=None)

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        chosen = First(batches, count_at(step, contexts, precise, precise_at) // batch_size)
        return ablations(weights, chosen, model=with_heads(model), seed=data.seed(step))

    return measure


@torch.no_grad()
def ablations(weights: Weights, batches: Sequence[Batch], *, model: ModelWithHeads, seed: int) -> xr.Dataset:
    """Loss after replacing the output of one head or MLP, minus the loss before (arXiv 2410.02984, App. E).

    The output z of a head is what it hands to its output matrix (so the bias of that matrix stays). Heads
    that share keys and values are replaced together. The output of an MLP is what it adds to the residual
    stream. An output is replaced at every position, and everything downstream is computed again. Methods:

    zero      0
    mean      the mean of the output over all contexts and positions of ``batches``
    resample  the output in another context of the same batch at the same position; who replaces whom is one
              cycle through the batch, drawn from the stream (seed, "resample", batch), the same for all

    batches  hard or soft targets; the loss is the mean over all contexts and scored positions

    Returns ``ablation`` and ``ablation_se`` (head, method), nats/token, and ``ablation_mlp`` and
    ``ablation_mlp_se`` (mlp, method) of a model with MLPs. Choose a method with
    ``.sel({"method": "mean"})``, since ``.sel(method=...)`` is xarray's own argument and chooses nothing.

    The error is the standard error over contexts of after minus before, which are paired. For ``mean`` it
    takes the mean as given. For ``resample`` it holds the draw of contexts and of replacements: a
    context enters two differences, its own and that of the context which it replaces, and the covariance of
    the two is in the error. Heads, methods and checkpoints have the same contexts, and heads the same
    replacements, so the errors of two of them are not independent.

    Raises ValueError without batches, or where a batch has one context only, which leaves nothing to
    resample from.
    """
    if not len(batches):
        raise ValueError("no batches to evaluate the loss on: give at least one")
    means = model.mean_outputs(weights, batches)
    components = [*model.heads, *model.mlps]
    rise = np.zeros((len(components), len(METHODS)))
    predictions, of_contexts, scored, sources = 0, [], [], []
    for index in range(len(batches)):
        batch = batches[index]
        others = _another_context(len(batch.contexts), generator(seed, "resample", index))
        clean = model.forward_pass(weights, batch)
        before = clean.losses
        rises = before.new_empty((*rise.shape, len(before)), dtype=torch.float64)
        for place, component in enumerate(components):
            own = clean.output(component)
            replacements = (torch.zeros_like(own), means[component].expand_as(own), own[others])
            for method, replacement in enumerate(replacements):
                more = clean.replaced({component: replacement}).losses - before
                rise[place, method] += float(more.sum(dtype=torch.float64))
                rises[place, method] = more.sum(1, dtype=torch.float64)
        predictions += before.numel()
        of_contexts.append(rises.cpu().numpy())
        sources.append(others.numpy() + len(scored))
        scored += [before.shape[1]] * len(before)
    found, counts = np.concatenate(of_contexts, -1), np.asarray(scored)
    error = error_of_ratio(found, counts)
    resampled = METHODS.index("resample")
    error[..., resampled] = error_of_ratio(found[..., resampled, :], counts, np.concatenate(sources))
    heads = len(model.heads)
    rise = rise / predictions
    variables = {
        "ablation": (("head", "method"), rise[:heads]),
        "ablation_se": (("head", "method"), error[:heads]),
    }
    coords = {**head_coords(model.heads), "method": np.asarray(METHODS, dtype=object)}
    if model.mlps:
        variables |= {
            "ablation_mlp": (("mlp", "method"), rise[heads:]),
            "ablation_mlp_se": (("mlp", "method"), error[heads:]),
        }
        coords |= mlp_coords(model.mlps)
    return xr.Dataset(variables, coords=coords)


def _another_context(contexts: int, random: np.random.Generator) -> Tensor:
    """For each context the index of another one: a random cycle through all of them, int64 [contexts]."""
    if contexts < 2:
        raise ValueError("a batch of one context has no other to resample from: use batches of two or more")
    order = random.permutation(contexts)
    another = np.empty(contexts, dtype=np.int64)
    another[order] = np.roll(order, 1)
    return torch.from_numpy(another)

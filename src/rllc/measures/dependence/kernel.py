"""What an estimate depends on beside its setting: the data, the minibatches, the noise."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from rllc.estimator.dispatch import estimator
from rllc.estimator.samplers.admissible import Loss
from rllc.measures.data import Data, Measurement
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.sampler_config import SamplerConfig
from rllc.seeds import derive, generator
from rllc.tasks.batch import Batch
from rllc.vocabulary import NATS, describe

VARIABLES = {
    "llc": ("(refined) local learning coefficient at the base setting", "1"),
    "llc_se": ("Monte Carlo standard error given these minibatches", "1"),
    "paired_loss": ("minibatch loss of a draw minus the loss at the checkpoint on the same minibatch", NATS),
    "llc_likelihood": ("LLC with the loss of one prediction of each context, at random", "1"),
    "llc_likelihood_se": ("Monte Carlo standard error of the LLC with one prediction of each context", "1"),
    "paired_loss_likelihood": ("the same rise of the loss of one prediction of each context", NATS),
    "llc_by_dataset_size": ("LLC with minibatches from so many contexts", "1"),
    "llc_by_dataset_size_se": ("Monte Carlo standard error of the LLC by data set size", "1"),
    "llc_by_batch_size": ("LLC by minibatch size, losses on the same or on new minibatches", "1"),
    "llc_by_batch_size_se": ("Monte Carlo standard error of the LLC by minibatch size", "1"),
    "llc_by_noise_seed": ("LLC by seed, all checkpoints alike or each with its own", "1"),
    "llc_by_noise_seed_se": ("Monte Carlo standard error of the LLC by seed", "1"),
}

OF_ONE = {name.replace("_likelihood", ""): name for name in VARIABLES if "_likelihood" in name}


def dependence(
    data: Data,
    *,
    components: Sequence[str],
    settings: Mapping[str, Mapping[str, Any]],
    dataset_sizes: Sequence[int],
    batch_sizes: Sequence[int],
    noise_seeds: Sequence[int],
    likelihood: bool = False,
    **extent: int,
) -> Measurement:
    """What arXiv 2402.02364 varies in Figs. A.1 and D.3 to D.5, and the traces of the base setting.

    settings       kind of component (heads, full) -> the base setting that is varied around; its seed is that
                   of the noise in all but ``noise_seeds``
    dataset_sizes  minibatches from the first so many contexts only, seen again and again
    batch_sizes    the loss taken on the minibatch that moves the chain, or on a new one
    noise_seeds    noise and minibatches of all checkpoints, or each with its own (App. D.3.2)
    likelihood     also the loss of one prediction of each context (``on_one_prediction``)
    extent         what replaces the settings' ``chains``, ``draws`` and ``burn_in``

    Measures ``llc`` (component), ``paired_loss`` (component, chain, draw), ``llc_by_dataset_size``
    (dataset_size, component), ``llc_by_batch_size`` (evaluation: same | new, batch_size, component) and
    ``llc_by_noise_seed`` (seeding: shared | fresh, noise_seed, component), with the errors ``.._se``, and
    where asked for ``llc_likelihood`` and ``paired_loss_likelihood``, which have the dims of ``llc`` and
    ``paired_loss``. Raises ValueError where a data set size is no multiple of the batch size, or more than
    there are contexts.
    """

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        parts = [around(weights, model, step, kind) for kind in settings]
        return xr.concat(parts, "component").sel(component=list(components)).drop_attrs(deep=False)

    def around(weights: Weights, model: Model, step: int, kind: str) -> xr.Dataset:
        section, labels = settings[kind], [c for c in components if (c == "full") == (kind == "full")]
        batch_size, setting = (
            section["batch_size"],
            SamplerConfig.of({**section, **extent}, seed=data.seed(step)),
        )
        take = partial(data.batches, count=extent["draws"], scored=section["scored_positions"])
        same = estimator(weights, model, labels)
        new = estimator(weights, model, labels, loss=on_new_batches(model.loss))
        usual = take("draws", batch_size=batch_size)
        base = same(batches=usual, setting=setting)

        def first(size: int) -> Sequence[Any]:
            if size % batch_size or not 0 < size <= batch_size * len(usual):
                raise ValueError(
                    f"data set size {size}: expected a multiple of the batch size {batch_size}, at most "
                    f"{batch_size * len(usual)}"
                )
            return [usual[i] for i in range(size // batch_size)]

        def pairs(size: int) -> Sequence[Any]:
            moves, measures = (take(f"batch size{of}", batch_size=size) for of in ("", ", new"))
            return [(moves[i], measures[i]) for i in range(len(moves))]

        def seeded(*which: int) -> xr.Dataset:
            purpose = " ".join(map(str, ("noise", *which)))
            own = replace(setting, seed=derive(data.stream, "noise", *which))
            return same(batches=take(purpose, batch_size=batch_size), setting=own)

        sizes = {size: same(batches=first(size), setting=setting) for size in dataset_sizes}
        evaluations = {
            "same": {b: same(batches=take("batch size", batch_size=b), setting=setting) for b in batch_sizes},
            "new": {b: new(batches=pairs(b), setting=setting) for b in batch_sizes},
        }
        seedings = {
            "shared": {number: seeded(number) for number in noise_seeds},
            "fresh": {number: seeded(number, step) for number in noise_seeds},
        }
        varied = [
            _traced(base),
            _stacked(sizes, "llc_by_dataset_size", "dataset_size"),
            _stacked(evaluations, "llc_by_batch_size", "evaluation", "batch_size"),
            _stacked(seedings, "llc_by_noise_seed", "seeding", "noise_seed"),
        ]
        if likelihood:
            single = estimator(weights, model, labels, loss=on_one_prediction(model))
            chosen = one_prediction_each(usual, seed=derive(data.stream, "one prediction"))
            varied.append(_traced(single(batches=chosen, setting=setting)).rename(OF_ONE))
        return describe(xr.merge(varied, combine_attrs="drop"), VARIABLES)

    return measure


def on_new_batches(loss: Loss) -> Loss:
    """The loss of a pair of minibatches: its value is that of the second, its gradient that of the first.

    So a chain moves by one minibatch and is measured on another (arXiv 2402.02364, Fig. D.4, bottom).
    """

    def of_pair(weights: dict[str, Tensor], pair: tuple[Any, Any]) -> Tensor:
        moves, measures = pair
        slope = loss(weights, moves)
        return loss(weights, measures).detach() + (slope - slope.detach())

    return of_pair


def on_one_prediction(model: Model) -> Loss:
    """The loss of a minibatch and of one prediction of each of its contexts: their mean.

    The negative log likelihood of independent observations, up to constants: L_n = mean over contexts of the
    loss at a position that is drawn for each, with the expectation of the mean over all positions (arXiv
    2402.02364, App. A.4; there K pairs, of which one is predicted).
    """

    def of_pair(weights: Weights, pair: tuple[Batch, Tensor]) -> Tensor:
        batch, chosen = pair
        losses = model.losses(model.outputs(weights, batch), batch.targets)
        return losses.gather(1, chosen[:, None]).mean()

    return of_pair


def one_prediction_each(batches: Sequence[Batch], *, seed: int) -> list[tuple[Batch, Tensor]]:
    """Minibatches with the index of one scored prediction of each context, uniform and independent."""
    random = generator(seed)
    pairs = []
    for batch in batches:
        chosen = random.integers(len(batch.positions), size=len(batch.contexts))
        pairs.append((batch, torch.from_numpy(chosen).to(batch.positions.device)))
    return pairs


def _traced(estimate: xr.Dataset) -> xr.Dataset:
    """Of an estimate its value, its error, and the rise of the loss in every draw."""
    rise = (estimate["loss"] - estimate["loss_at_center"]).astype(np.float32)
    return estimate[["llc", "llc_se"]].assign(paired_loss=rise)


def _stacked(estimates: Mapping[Any, Any], name: str, *dims: str) -> xr.Dataset:
    """``<name>`` and ``<name>_se`` (.., component) of estimates, each under a label of every dim."""
    if not dims:
        names = {"llc": name, "llc_se": f"{name}_se"}
        return estimates[[*names]].rename(names).drop_attrs()
    labels = np.asarray(list(estimates), dtype=object if isinstance(next(iter(estimates)), str) else np.int64)
    each = [_stacked(some, name, *dims[1:]) for some in estimates.values()]
    return xr.concat(each, xr.DataArray(labels, dims=dims[0], name=dims[0]))

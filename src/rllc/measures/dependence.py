"""What an estimate depends on beside its setting: the data, the minibatches, the noise.

The kernels are given an estimator, ``estimate(batches=, setting=)`` with everything else given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from torch import Tensor

from rllc.estimator.choice import estimator
from rllc.estimator.rllc import Estimate
from rllc.estimator.samplers.admissible import Loss
from rllc.measures.data import Data, Measurement
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.seeds import derive
from rllc.setting import Setting
from rllc.vocabulary import NATS, describe

VARIABLES = {
    "llc": ("(refined) local learning coefficient at the base setting", "1"),
    "llc_se": ("Monte Carlo standard error given these minibatches", "1"),
    "paired_loss": ("minibatch loss of a draw minus the loss at the checkpoint on the same minibatch", NATS),
    "llc_by_dataset_size": ("LLC with minibatches from so many contexts", "1"),
    "llc_by_dataset_size_se": ("Monte Carlo standard error of the LLC by data set size", "1"),
    "llc_by_batch_size": ("LLC by minibatch size, losses on the same or on new minibatches", "1"),
    "llc_by_batch_size_se": ("Monte Carlo standard error of the LLC by minibatch size", "1"),
    "llc_by_noise_seed": ("LLC by seed, all checkpoints alike or each with its own", "1"),
    "llc_by_noise_seed_se": ("Monte Carlo standard error of the LLC by seed", "1"),
}


def dependence(
    data: Data,
    *,
    components: Sequence[str],
    settings: Mapping[str, Mapping[str, Any]],
    dataset_sizes: Sequence[int],
    batch_sizes: Sequence[int],
    noise_seeds: Sequence[int],
    **extent: int,
) -> Measurement:
    """What arXiv 2402.02364 varies in Figs. D.3 to D.5, and the traces of the base setting (Fig. A.1).

    settings  kind of component (heads, full) -> the base setting that is varied around; its seed is that of
              the noise in all but ``by_noise_seed``
    extent    what replaces its ``chains``, ``draws`` and ``burn_in``

    Measures ``llc``, ``llc_se`` (component), ``paired_loss`` (component, chain, draw) and the variables of
    ``by_dataset_size``, ``by_batch_size`` and ``by_noise_seed``.
    """

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        parts = [around(weights, model, step, kind) for kind in settings]
        return xr.concat(parts, "component").sel(component=list(components)).drop_attrs(deep=False)

    def around(weights: Weights, model: Model, step: int, kind: str) -> xr.Dataset:
        section, labels = settings[kind], [c for c in components if (c == "full") == (kind == "full")]
        batch_size, setting = section["batch_size"], Setting.of({**section, **extent}, seed=data.seed(step))
        take = partial(data.batches, count=extent["draws"], scored=section["scored_positions"])
        same = estimator(weights, model, labels)
        new = estimator(weights, model, labels, loss=on_new_batches(model.loss))
        usual = take("draws", batch_size=batch_size)
        base = same(batches=usual, setting=setting)
        rise = (base["loss"] - base["loss_at_center"]).astype(np.float32)

        def seeded(*which: int) -> dict[str, Any]:
            purpose = " ".join(map(str, ("noise", *which)))
            own = replace(setting, seed=derive(data.stream, "noise", *which))
            return {"batches": take(purpose, batch_size=batch_size), "setting": own}

        varied = [
            describe(base[["llc", "llc_se"]].assign(paired_loss=rise), VARIABLES),
            by_dataset_size(same, usual, batch_size=batch_size, sizes=dataset_sizes, setting=setting),
            by_batch_size(
                same,
                new,
                batches={size: take("batch size", batch_size=size) for size in batch_sizes},
                new_batches={size: take("batch size, new", batch_size=size) for size in batch_sizes},
                setting=setting,
            ),
            by_noise_seed(
                same,
                shared={number: seeded(number) for number in noise_seeds},
                fresh={number: seeded(number, step) for number in noise_seeds},
            ),
        ]
        return xr.merge(varied, combine_attrs="drop")

    return measure


def on_new_batches(loss: Loss) -> Loss:
    """The loss of a pair of minibatches: its value is that of the second, its gradient that of the first.

    So a chain moves by one minibatch and is measured on another (arXiv 2402.02364, Fig. D.4, bottom).
    """

    def of_pair(weights: Weights, pair: tuple[Any, Any]) -> Tensor:
        moves, measures = pair
        slope = loss(weights, moves)
        return loss(weights, measures).detach() + (slope - slope.detach())

    return of_pair


def by_dataset_size(
    estimate: Estimate, batches: Sequence[Any], *, batch_size: int, sizes: Sequence[int], setting: Setting
) -> xr.Dataset:
    """Estimates with minibatches from the first ``size`` contexts only, seen again and again.

    batches  different contexts in each; ``size // batch_size`` of them are used, so data sets are nested

    Returns ``llc_by_dataset_size``, ``.._se`` (component, dataset_size). Raises ValueError where a size is no
    multiple of the batch size, or is more than there are contexts.
    """
    for size in sizes:
        if size % batch_size or not 0 < size <= batch_size * len(batches):
            raise ValueError(
                f"data set size {size}: expected a multiple of the batch size {batch_size}, at most "
                f"{batch_size * len(batches)}"
            )
    few = {size: [batches[i] for i in range(size // batch_size)] for size in sizes}
    estimates = {size: estimate(batches=some, setting=setting) for size, some in few.items()}
    return _varied(estimates, name="llc_by_dataset_size", dim="dataset_size")


def by_batch_size(
    same: Estimate,
    new: Estimate,
    *,
    batches: Mapping[int, Sequence[Any]],
    new_batches: Mapping[int, Sequence[Any]],
    setting: Setting,
) -> xr.Dataset:
    """Estimates by minibatch size, the loss taken on the minibatch that moves the chain or on a new one.

    new  an estimator of ``on_new_batches(loss)``, whose minibatches are pairs

    Returns ``llc_by_batch_size``, ``.._se`` (component, evaluation: same | new, batch_size).
    """
    same_of = {size: same(batches=some, setting=setting) for size, some in batches.items()}
    new_of = {
        size: new(batches=[(some[i], new_batches[size][i]) for i in range(len(some))], setting=setting)
        for size, some in batches.items()
    }
    rows = {
        kind: _varied(row, name="llc_by_batch_size", dim="batch_size")
        for kind, row in (("same", same_of), ("new", new_of))
    }
    return _stacked(rows, "evaluation")


def by_noise_seed(
    estimate: Estimate, *, shared: Mapping[int, Mapping[str, Any]], fresh: Mapping[int, Mapping[str, Any]]
) -> xr.Dataset:
    """Estimates by seed: with the noise and minibatches of all checkpoints, or with this one's own.

    shared, fresh  for each seed what the estimator is given: ``batches`` and ``setting``. Of ``shared`` the
                   caller gives the same at every checkpoint (arXiv 2402.02364, App. D.3.2).

    Returns ``llc_by_noise_seed``, ``.._se`` (component, seeding: shared | fresh, noise_seed).
    """
    rows = {
        kind: _varied(
            {seed: estimate(**how) for seed, how in given.items()}, name="llc_by_noise_seed", dim="noise_seed"
        )
        for kind, given in (("shared", shared), ("fresh", fresh))
    }
    return _stacked(rows, "seeding")


def _varied(estimates: Mapping[int, xr.Dataset], *, name: str, dim: str) -> xr.Dataset:
    """``<name>`` and ``<name>_se`` (component, dim): one estimate per value of ``dim``."""
    names = {"llc": name, "llc_se": f"{name}_se"}
    each = {at: one[[*names]].rename(names).drop_attrs() for at, one in estimates.items()}
    return describe(_stacked(each, dim), VARIABLES)


def _stacked(each: Mapping[Any, xr.Dataset], dim: str) -> xr.Dataset:
    labels = list(each)
    kind = object if isinstance(labels[0], str) else np.int64
    return xr.concat(each.values(), xr.DataArray(np.asarray(labels, dtype=kind), dims=dim, name=dim))

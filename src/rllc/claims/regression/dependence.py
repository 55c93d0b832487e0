"""Claims on the loss, data and noise that the LLC depends on."""

from typing import Any

import xarray as xr

from rllc.analysis.curves import NotJudged, spearman
from rllc.claims.claim import claim
from rllc.claims.regression.curves import PAPER
from rllc.claims.run import Run

ORDER = 8  # place of these claims among those of the work


def _dependence(run: Run, variable: str, **labels: Any) -> xr.DataArray:
    """Return the LLC of the whole model with another loss, other data or other noise."""
    return run.curve(f"dependence.{variable}", component="full", distribution=run.text, **labels)


def _largest_change(one: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    """Return the largest |one / other - 1| over common checkpoints; NaN where ``other`` is 0 at one."""
    relative = one / other.where(other != 0) - 1
    if not relative.sizes["step"]:
        raise NotJudged("no checkpoint has both LLCs")
    return abs(relative).max("step", skipna=False)


@claim(
    "LLCs by the likelihood of one prediction per sequence order checkpoints as LLCs by the loss do",
    source=f"{PAPER}, App. A.4, Fig. A.1",
    label="rank correlation of the LLC by the loss and by the likelihood",
    experiment="regression",
    at_least=1,
)
def likelihood_same(run: Run) -> xr.DataArray:
    """Return the rank correlation over checkpoints of the LLC by the loss with that by the likelihood."""
    return spearman(_dependence(run, "llc"), _dependence(run, "llc_likelihood"))


@claim(
    "Above some number of sequences, the LLC does not change",
    source=f"{PAPER}, Fig. D.3",
    label="largest change of the LLC from a quarter of the contexts, or fewer, to all",
    experiment="regression",
    at_most=0.05,
)
def data_size(run: Run) -> xr.DataArray:
    """Return the largest change of the LLC from a quarter of the contexts to all.

    If a quarter is not measured, the largest number below it stands in its place.
    """
    sizes = run.dataset("dependence")["dataset_size"].values
    every = int(sizes.max())
    fewer = sizes[sizes <= every // 4]
    if not fewer.size:
        raise NotJudged(
            f"needs the LLC of at most {every // 4:,} contexts, a quarter of the largest number, "
            f"{every:,}; the smallest of dataset_sizes is {int(sizes.min()):,}"
        )
    quarter = _dependence(run, "llc_by_dataset_size", dataset_size=int(fewer.max()))
    return _largest_change(quarter, _dependence(run, "llc_by_dataset_size", dataset_size=every))


@claim(
    "The size of minibatches hardly changes the LLC",
    source=f"{PAPER}, Fig. D.4",
    label="largest change of the LLC from the smallest batches to the largest",
    experiment="regression",
    at_most=0.05,
)
def batch_size(run: Run) -> xr.DataArray:
    """Return the largest change of the LLC from the smallest minibatches to the largest."""
    sizes = run.dataset("dependence")["batch_size"]
    if sizes.size < 2:
        raise NotJudged(f"needs two sizes of minibatches; batch_sizes has only {int(sizes[0]):,}")
    smallest, largest = (
        _dependence(run, "llc_by_batch_size", evaluation="same", batch_size=int(size))
        for size in (sizes.min(), sizes.max())
    )
    return _largest_change(smallest, largest)


@claim(
    "The same noise at all checkpoints only smooths the curve",
    source=f"{PAPER}, Fig. D.5",
    label="mean difference of the LLC with the same noise at all checkpoints from that with fresh noise, "
    "divided by the mean",
    experiment="regression",
    at_least=-0.05,
    at_most=0.05,
    correction="It was at most 2 standard errors, which noisier estimates pass more easily. Now the whole "
    "interval must lie within 5 % of the LLC, as with other data and batches.",
)
def seeding(run: Run) -> xr.DataArray:
    """Return the mean difference of the LLC with shared from that with fresh noise, over the mean LLC."""
    first = int(run.dataset("dependence")["noise_seed"][0])
    labels = {"component": "full", "distribution": run.text, "noise_seed": first}
    name = "dependence.llc_by_noise_seed"
    shared, fresh = (run.curve(name, seeding=each, **labels) for each in ("shared", "fresh"))
    level = fresh.mean("step")
    return (shared - fresh).mean("step") / level.where(level > 0)

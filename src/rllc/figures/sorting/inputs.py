"""Data of the figures of sorting transformers, read from their datasets, and line properties."""

import numpy as np
import xarray as xr

from rllc.analysis.curves import PEAK_FROM, PEAK_WINDOW, NotJudged, largest_means, smooth_error
from rllc.figures import style
from rllc.figures.inputs import Datasets, Seeds, distribution_names, need, of_seeds, one_label

# One colour per quantity in every figure of this family. The dash tells varieties of a quantity apart.
COLORS = {
    "accuracy": "#1B4F8A",
    "loss": "#333333",
    "llc": "#117733",
    "rank": "#8A5A00",
    "symmetry": "#6A3D9A",
    "overlap": "#A8326A",
    "regions": "#4D6470",
}
LARGEST = f"Largest LLC: mean of {PEAK_WINDOW} checkpoints, from step {PEAK_FROM} on."
# Tol's "vibrant" scheme. No other family uses it, because heads of a one-layer model have no type.
HEAD_COLORS = ("#0077BB", "#EE7733", "#009988", "#EE3377", "#33BBEE", "#CC3311")


def head_color(n: int) -> str:
    return HEAD_COLORS[n % len(HEAD_COLORS)]


def head_looks(circuits: xr.Dataset) -> dict[str, dict]:
    """Return the line properties of each head."""
    return {head: style.numbered(n, head_color(n)) for n, head in enumerate(circuits["head"].values.tolist())}


def on_lists(dataset: xr.Dataset, distribution: str | None) -> xr.Dataset:
    """Return the dataset at ``distribution``, or at its first one, without the dim."""
    if "distribution" not in dataset.dims:
        return dataset
    wanted = None if distribution is None else [distribution]
    name = distribution_names(dataset, wanted, ())[0]
    return dataset.sel(distribution=name).drop_vars(["distribution", "distribution_label"], errors="ignore")


def elsewhere(datasets: Datasets, distribution: str | None) -> list[str]:
    """Return on what the LLC is measured, if not on the distribution of the accuracy."""

    def label(dataset: xr.Dataset) -> str:
        name = distribution_names(dataset, None if distribution is None else [distribution], ())[0]
        return one_label(dataset, name)

    told = [datasets[name] for name in ("metrics", "llc") if name in datasets]
    labels = [label(each) for each in told if "distribution" in each.dims]
    return [f"The LLC is measured on {labels[-1]}."] if len(set(labels)) > 1 else []


def given(datasets: Datasets, *, distribution: str | None, seeds: Seeds) -> dict[str, xr.Dataset]:
    """Return every dataset with the same seeds and one distribution. ``metrics`` is required.

    Each keeps its own steps: an estimate at only some checkpoints is not missing at the others.
    """
    metrics = of_seeds(need(datasets, "metrics", "accuracy", "loss"), seeds)
    selected = {"metrics": on_lists(metrics, distribution)}
    for name, dataset in datasets.items():
        if name != "metrics" and "seed" in dataset.dims and "step" in dataset.dims:
            selected[name] = on_lists(dataset, distribution).reindex(seed=metrics["seed"].values)
    return selected


def one_seed(datasets: Datasets, seed: int | None) -> dict[str, xr.Dataset]:
    """Return the datasets at one training seed; None: the first of the circuits, or of the metrics."""
    first = next(name for name in ("circuits", "metrics") if name in datasets)
    chosen = int(datasets[first]["seed"].values[0]) if seed is None else seed
    return {name: of_seeds(dataset, [chosen]).isel(seed=0) for name, dataset in datasets.items()}


def llc_means(one: Datasets) -> xr.Dataset | None:
    """Return the means of ``llc`` (step) of one seed, as in ``LARGEST``, with their ``error`` if it is known.

    None if no mean is above 0, too few are known, or there is no LLC.
    """
    if "llc" not in one:
        return None
    known = one["llc"].dropna("step", subset=["llc"]).reset_coords(drop=True)
    try:
        means = xr.Dataset({"llc": largest_means(known["llc"])})
    except NotJudged:
        return None
    if "llc_se" in known:
        means["error"] = smooth_error(known["llc_se"].sel(step=slice(PEAK_FROM, None)))
    return means if float(means["llc"].max()) > 0 else None


def llc_peak(one: Datasets) -> xr.DataArray | None:
    """Return the largest of ``llc_means``, with its ``step``; None if there are none, or it is the last.

    Where the last is the largest, the LLC may rise further: no peak is seen, so it has no step.
    """
    means = llc_means(one)
    return None if means is None or still_rises(one) else means["llc"][int(means["llc"].argmax("step"))]


def still_rises(one: Datasets) -> bool:
    """Return whether the last of ``llc_means`` is the largest."""
    means = llc_means(one)
    return means is not None and int(means["llc"].argmax("step")) == means.sizes["step"] - 1


def has_peak(datasets: Datasets) -> bool:
    """Return whether any seed has a marked largest LLC."""
    if "llc" not in datasets:
        return False
    runs = np.atleast_1d(datasets["llc"]["seed"].values).tolist()
    return any(llc_peak({"llc": of_seeds(datasets["llc"], [seed]).isel(seed=0)}) is not None for seed in runs)


def first_accurate(metrics: xr.Dataset, accurate: float) -> int | None:
    """Return one seed's first step with a token accuracy of at least ``accurate``; None if there is none."""
    enough = metrics["step"].values[metrics["accuracy"].values >= accurate]
    return int(enough[0]) if enough.size else None


def holders(circuits: xr.Dataset) -> np.ndarray:
    """Return ``token_head`` as whole numbers, -1 for missing ones."""
    return np.nan_to_num(circuits["token_head"].values.astype(float), nan=-1).astype(int)

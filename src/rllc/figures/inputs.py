"""What a figure takes from the datasets it is given, with errors that say what is missing."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from rllc.analysis.head_types import head_types
from rllc.figures.drawing import Datasets, Names, Seeds
from rllc.verdicts import FAULTS, MISSING, REASONS


def need(datasets: Datasets, name: str, *variables: str) -> xr.Dataset:
    """``datasets[name]``, which must hold ``variables``."""
    if name not in datasets:
        raise ValueError(
            f"this figure draws {name}.nc; it was given {', '.join(sorted(datasets)) or 'nothing'}"
        )
    absent = [variable for variable in variables if variable not in datasets[name]]
    if absent:
        raise ValueError(
            f"{name}.nc has no {', '.join(absent)}; it holds {', '.join(datasets[name].data_vars)}"
        )
    return datasets[name]


def of_seeds(dataset: xr.Dataset, seeds: Seeds) -> xr.Dataset:
    """Only ``seeds`` of a dataset (None: all)."""
    if seeds is None:
        return dataset
    absent = sorted(set(seeds) - set(dataset["seed"].values.tolist()))
    if absent:
        raise ValueError(
            f"there is no seed {absent} in the dataset; it has {dataset['seed'].values.tolist()}"
        )
    return dataset.sel(seed=list(seeds))


def distribution_names(dataset: xr.Dataset, wanted: Names, default: Sequence[str]) -> list[str]:
    """``wanted``, which must exist; else those of ``default`` that exist; else every distribution."""
    present = [str(name) for name in np.atleast_1d(dataset["distribution"].values)]
    if wanted is not None:
        absent = [name for name in wanted if name not in present]
        if absent:
            raise ValueError(
                f"there is no distribution {', '.join(absent)}; the dataset has {', '.join(present)}"
            )
        return list(wanted)
    return [name for name in default if name in present] or present


def one_distribution(dataset: xr.Dataset, wanted: str | None) -> str:
    """``wanted``, which must exist; else "mixture"; else the first distribution."""
    return distribution_names(dataset, None if wanted is None else [wanted], ("mixture",))[0]


def one_label(dataset: xr.Dataset, name: str) -> str:
    """What one distribution is called in a figure."""
    return distribution_labels(dataset)[name]


def distribution_labels(dataset: xr.Dataset) -> dict[str, str]:
    """What each distribution is called in a figure."""
    names = [str(name) for name in np.atleast_1d(dataset["distribution"].values)]
    shown = dataset.coords.get("distribution_label")
    labels = names if shown is None else [str(label) for label in np.atleast_1d(shown.values)]
    return {name: label or name for name, label in zip(names, labels, strict=True)}


def types_of(datasets: Datasets, heads: xr.DataArray, seeds: xr.DataArray) -> xr.DataArray:
    """``head_type`` (seed, head) from heads.nc (its own variable, else computed), "unknown" without it."""
    source = datasets.get("heads")
    if source is None:
        unknown = np.full((seeds.size, heads.size), "unknown", dtype=object)
        coords = {"seed": seeds.values, "head": heads.values}
        return xr.DataArray(unknown, dims=("seed", "head"), coords=coords, name="head_type")
    types = source["head_type"] if "head_type" in source else head_types(source)
    plain = xr.DataArray(
        types.transpose("seed", "head").values.astype(object),
        dims=("seed", "head"),
        coords={"seed": types["seed"].values, "head": types["head"].values},
        name="head_type",
    )
    return plain.reindex(seed=seeds.values, head=heads.values, fill_value="unknown")


def over_heads(
    datasets: Datasets, source: str, *needed: str, also: Sequence[str] = (), seeds: Seeds
) -> xr.Dataset:
    """Variables ``needed``, and those of ``also`` that are there, of one dataset, and each head's type."""
    dataset = of_seeds(need(datasets, source, *needed), seeds)
    drawn = dataset[[name for name in (*needed, *also) if name in dataset]]
    drawn["head_type"] = types_of(datasets, drawn["head"], drawn["seed"])
    return drawn


def heads_of_layer(dataset: xr.Dataset | xr.DataArray, layer: int) -> list[str]:
    """Labels of the heads of one layer."""
    return dataset["head"].values[dataset["layer"].values == layer].tolist()


def layers(dataset: xr.Dataset | xr.DataArray) -> list[int]:
    """The layers that have heads."""
    return np.unique(dataset["layer"].values).tolist()


def verdicts(dataset: xr.Dataset, name: str) -> xr.DataArray | None:
    """``verdict`` in the dims of ``dataset[name]``, as integers, 0 where there is no value; None without."""
    if "verdict" not in dataset:
        return None
    bits = dataset["verdict"].fillna(MISSING).astype(np.int16)
    return bits.where(dataset[name].notnull(), 0).transpose(*dataset[name].dims).rename("verdict")


def faulty(dataset: xr.Dataset, name: str) -> xr.DataArray | None:
    """Where ``dataset[name]`` has a value that cannot be trusted; None without verdicts."""
    bits = verdicts(dataset, name)
    return None if bits is None else (bits.astype(np.int64) & FAULTS) > 0


def counted(dataset: xr.Dataset, name: str) -> tuple[dict[str, int], dict[str, int]]:
    """How many cells with a value have each fault and each caution, by its name in words."""
    bits = verdicts(dataset, name)
    counts: tuple[dict[str, int], dict[str, int]] = ({}, {})
    for reason in REASONS if bits is not None else ():
        number = int(((bits.astype(np.int64) & reason.mask) > 0).sum())
        if number:
            counts[0 if reason.fault else 1][reason.name.replace("_", " ")] = number
    return counts


def ring_reasons(*drawn: tuple[xr.Dataset, str]) -> list[str]:
    """Names of the faults among what is drawn, the most frequent first."""
    total: dict[str, int] = {}
    for dataset, name in drawn:
        for fault, number in counted(dataset, name)[0].items():
            total[fault] = total.get(fault, 0) + number
    return sorted(total, key=lambda fault: -total[fault])

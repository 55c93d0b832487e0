"""Data of figures, read from their datasets, with errors for anything missing."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.analysis.head_types import types_at, types_with_margins
from rllc.analysis.kinds import TYPES
from rllc.figures.drawing import Datasets, Names, Seed, Seeds
from rllc.figures.uncertain import OTHER
from rllc.quality import FAULTS, FLAGS, MISSING, QUALITY_DTYPE


def need(datasets: Datasets, name: str, *variables: str) -> xr.Dataset:
    """Return ``datasets[name]``, which must hold ``variables``."""
    if name not in datasets:
        given = ", ".join(sorted(datasets)) or "nothing"
        raise ValueError(f"this figure draws {name}.nc; it was given {given}")
    absent = [variable for variable in variables if variable not in datasets[name]]
    if absent:
        held = ", ".join(map(str, datasets[name].data_vars))
        raise ValueError(f"{name}.nc has no {', '.join(absent)}; it holds {held}")
    return datasets[name]


def _existing(dataset: xr.Dataset, dim: str, wanted: Sequence) -> list:
    """Return the ``wanted`` labels of a dim, which must all exist."""
    present = np.atleast_1d(dataset[dim].values).tolist()
    absent = [label for label in wanted if label not in present]
    if absent:
        had = ", ".join(map(str, present))
        raise ValueError(f"there is no {dim} {', '.join(map(str, absent))}; the dataset has {had}")
    return list(wanted)


def of_seeds(dataset: xr.Dataset, seeds: Seeds) -> xr.Dataset:
    """Return the dataset at ``seeds`` (None: all)."""
    return dataset if seeds is None else dataset.sel(seed=_existing(dataset, "seed", seeds))


def of_seed(dataset: xr.Dataset, seed: Seed) -> xr.Dataset:
    """Return one training seed of a dataset, without the dim (None: the first)."""
    return of_seeds(dataset, None if seed is None else [seed]).isel(seed=0)


def distribution_names(dataset: xr.Dataset, wanted: Names, default: Sequence[str]) -> list[str]:
    """Return ``wanted``, which must exist; else those of ``default`` that exist; else every distribution."""
    if wanted is not None:
        return _existing(dataset, "distribution", wanted)
    present = np.atleast_1d(dataset["distribution"].values).tolist()
    return [name for name in default if name in present] or present


def one_distribution(dataset: xr.Dataset, wanted: str | None) -> str:
    """Return ``wanted``, which must exist; else "mixture"; else the first distribution."""
    return distribution_names(dataset, None if wanted is None else [wanted], ("mixture",))[0]


def one_label(dataset: xr.Dataset, name: str) -> str:
    """Return the name of one distribution in a figure."""
    return distribution_labels(dataset)[name]


def distribution_labels(dataset: xr.Dataset) -> dict[str, str]:
    """Return the name of each distribution in a figure."""
    names = [str(name) for name in np.atleast_1d(dataset["distribution"].values)]
    shown = dataset.coords.get("distribution_label")
    labels = names if shown is None else [str(label) for label in np.atleast_1d(shown.values)]
    return {name: label or name for name, label in zip(names, labels, strict=True)}


def types_of(datasets: Datasets, heads: xr.DataArray, seeds: xr.DataArray) -> xr.DataArray:
    """Return ``head_type`` (seed, head) of attention_scores.nc, read or computed; "unknown" without it.

    Where types are uncertain, it has the coordinate ``head_type_other`` (``rllc.figures.uncertain``).
    """
    labels = {"seed": seeds.values, "head": heads.values}
    source = datasets.get("attention_scores")
    if source is None:
        return xr.DataArray("unknown", labels, tuple(labels), "head_type").astype(object)
    source = source if "head_type" in source else types_with_margins(source)
    types, *other = (_plain(source[name], labels) for name in ("head_type", OTHER) if name in source)
    if not other or not other[0].isin(TYPES).any():
        return types
    return types.assign_coords({OTHER: other[0].where(other[0].isin(TYPES) & (types != "unknown"), "")})


def _plain(types: xr.DataArray, labels: Mapping[str, np.ndarray]) -> xr.DataArray:
    """Return types (seed, head) at these labels, without attributes and further coordinates."""
    plain = types.transpose("seed", "head").reset_coords(drop=True).drop_attrs().astype(object)
    return types_at(plain, labels)


def over_heads(
    datasets: Datasets, source: str, *needed: str, also: Sequence[str] = (), seeds: Seeds
) -> xr.Dataset:
    """Return the ``needed`` variables of one dataset, those of ``also`` that exist, and each head's type."""
    dataset = of_seeds(need(datasets, source, *needed), seeds)
    drawn = dataset[[name for name in (*needed, *also) if name in dataset]]
    return drawn.assign(head_type=types_of(datasets, drawn["head"], drawn["seed"]))


def heads_of_layer(dataset: xr.Dataset | xr.DataArray, layer: int) -> list[str]:
    """Return the labels of the heads of one layer."""
    return dataset["head"].values[dataset["layer"].values == layer].tolist()


def of_layer(dataset: xr.Dataset, layer: int | None) -> xr.Dataset:
    """Return the heads of one layer, which must exist; None: all heads."""
    if layer is None:
        return dataset
    if layer not in layers(dataset):
        raise ValueError(f"there is no layer {layer}; the dataset has {', '.join(map(str, layers(dataset)))}")
    return dataset.sel(head=heads_of_layer(dataset, layer))


def layers(dataset: xr.Dataset | xr.DataArray) -> list[int]:
    """Return the layers that have heads."""
    return np.unique(dataset["layer"].values).tolist()


def quality_flags(dataset: xr.Dataset, name: str) -> xr.DataArray | None:
    """Return ``quality`` in the dims of ``dataset[name]`` as integers, 0 if missing; None without any."""
    if "quality" not in dataset:
        return None
    bits = dataset["quality"].fillna(MISSING).astype(QUALITY_DTYPE)
    return bits.where(dataset[name].notnull(), 0).transpose(*dataset[name].dims).rename("quality")


def faulty(dataset: xr.Dataset, name: str) -> xr.DataArray | None:
    """Return where ``dataset[name]`` has an unreliable value; None without quality flags."""
    bits = quality_flags(dataset, name)
    return None if bits is None else ((bits.astype(np.int64) & FAULTS) > 0).drop_attrs(deep=False)


def counted(dataset: xr.Dataset, name: str) -> tuple[Counter[str], Counter[str]]:
    """Return the number of cells with each fault and with each caution, by its name in words."""
    bits = quality_flags(dataset, name)
    faults, cautions = Counter(), Counter()
    if bits is None:
        return faults, cautions
    for flag in FLAGS:
        number = int(((bits.astype(np.int64) & flag.mask) > 0).sum())
        if number:
            (faults if flag.fault else cautions)[flag.name.replace("_", " ")] = number
    return faults, cautions


def ring_reasons(*drawn: tuple[xr.Dataset, str]) -> list[str]:
    """Return the names of the faults in the data drawn, the most frequent first."""
    total = sum((counted(dataset, name)[0] for dataset, name in drawn), Counter())
    return [fault for fault, _ in total.most_common()]

"""Analyses that depend on the types of heads, made again with other types.

Types (head) are those of one seed, which is then analysed alone. Types (seed, head) are those of all seeds,
which are analysed together.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.classification import classification
from rllc.analysis.clusters_by_type import against_types
from rllc.analysis.kcomposition import kcomposition
from rllc.analysis.refinement import refinement
from rllc.analysis.staggered import staggered
from rllc.claims.run import Analysis, Datasets

READS = {
    "classification": ("tokens", "attention_scores", "rllc"),
    "kcomposition": ("attention_scores",),
    "refinement": ("rllc", "attention_scores"),
    "staggered": ("induction_ablation", "rllc", "attention_scores", "components"),
}


def _again(name: str, analysis: Callable[..., xr.Dataset]) -> Analysis:
    """Return the analysis with other types."""

    def made(datasets: Datasets, types: xr.DataArray, seed: int, keywords: Mapping[str, Any]) -> xr.Dataset:
        types = _of_seeds(types, seed)
        own = {each: datasets[each].sel(seed=types["seed"]) for each in READS[name] if each in datasets}
        if "tokens" in own:  # numbers of the last checkpoint alone are judged
            own["tokens"] = own["tokens"].isel(step=[0, -1])
        own["attention_scores"] = own["attention_scores"].assign(head_type=types)
        return analysis(own, random_seed=0, **keywords)

    return made


def _clusters(datasets: Datasets, types: xr.DataArray, seed: int, keywords: Mapping[str, Any]) -> xr.Dataset:
    """Compare the clusters, as they are, with other types."""
    types = _of_seeds(types, seed)
    own = datasets["clusters"].sel(seed=types["seed"])
    return against_types(own, int(np.max(own["step"].values)), types)


def _of_seeds(types: xr.DataArray, seed: int) -> xr.DataArray:
    """Return types (seed, head)."""
    return types if "seed" in types.dims else types.expand_dims(seed=[seed])


REPEAT: dict[str, Analysis] = {
    "classification": _again("classification", classification),
    "kcomposition": _again("kcomposition", kcomposition),
    "refinement": _again("refinement", refinement),
    "staggered": _again("staggered", staggered),
    "clusters": _clusters,
}

"""Refined LLCs of the components listed, by label or by the type that their heads have in each seed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from rllc.analysis.kinds import TYPES
from rllc.measures import sampling
from rllc.measures.data import Data, Measurement
from rllc.measures.roles import of_type
from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.quality import MISSING, QUALITY_DTYPE
from rllc.vocabulary import STATUS

# What an estimate holds, at next to no cost: of a seed that has no heads of any type listed.
LEAST = {"draws": 2, "burn_in": 0, "thinning": 1}
NONE = {"status": np.int8(STATUS.index("missing")), "quality": QUALITY_DTYPE(MISSING)}


def other(
    data: Data, *, components: list[str], thresholds: Mapping[str, float] | None = None, **section: Any
) -> Measurement:
    """``rllc.measures.sampling.other``; a type of heads is the component of all heads that have it in the
    seed at the last checkpoint.

    thresholds  of types of heads; None: no component is a type

    With types also ``members`` (component), the label that each is sampled by; "": the seed has no such head,
    and the estimate is NaN, its ``status`` and ``quality`` missing.
    """
    if thresholds is None:
        return sampling.other(data, components=components, **section)
    heads = data.part("attention_scores")
    members = [
        "+".join(of_type(heads, each, thresholds=thresholds)) if each in TYPES else each
        for each in components
    ]
    some = [each for each in dict.fromkeys(members) if each]
    of_some = sampling.other(data, components=some or ["0:0"], **section | ({} if some else LEAST))

    def measure(weights: Weights, model: Model, step: int) -> xr.Dataset:
        found = of_some(weights, model, step)
        draws = {"draw": np.arange(section["draws"])} if "draw" in found.dims else {}
        every = found.reindex({"component": np.asarray(members, dtype=object), **draws}, fill_value=NONE)
        names = np.asarray(components, dtype=object)
        return every.assign(members=every["component"].variable).assign_coords(component=names)

    return measure

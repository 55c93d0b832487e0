"""Heads of uncertain type: their mark in labels, and what captions say of them."""

import xarray as xr

from rllc.analysis.head_types import Doubt, doubts

OTHER = "head_type_other"  # coordinate of types: the other type, empty where the type is certain
NAMED = 3  # largest number of heads whose scores a caption gives


def called(kind: xr.DataArray) -> str:
    """Return the type of one head, with a question mark where it is uncertain: "multigram?"."""
    return f"{kind.item()}{mark(kind)}"


def mark(kind: xr.DataArray) -> str:
    """Return a question mark for a head of uncertain type, else nothing."""
    return "?" if OTHER in kind.coords and str(kind[OTHER].item()) else ""


def uncertain_types(scores: xr.Dataset | None, drawn: xr.Dataset) -> list[str]:
    """Return sentences on the heads of uncertain type in the seeds drawn; none where there are none.

    scores  of ``attention_scores.nc``; None: the figure does not read it
    """
    if scores is None:
        return []
    seeds = [int(seed) for seed in drawn["seed"].values.ravel()] if "seed" in drawn.coords else []
    seeds = seeds or [int(seed) for seed in scores["seed"].values]
    found = [(seed, doubt) for seed in seeds for doubt in doubts(scores, seed)]
    if not found:
        return []
    several = len(seeds) > 1
    if len(found) <= NAMED:
        heads = "; ".join(f"{_of_seed(doubt, seed, several)}{doubt.because}" for seed, doubt in found)
    else:
        heads = f"{len(found)} heads, among them {_of_seed(found[0][1], found[0][0], several)}"
    return [f"Uncertain type (?): {heads}."]


def _of_seed(doubt: Doubt, seed: int, several: bool) -> str:
    """Return "head 0:3 is multigram or previous-token", with its seed where several are drawn."""
    of_seed = f" of seed {seed}" if several else ""
    return f"head {doubt.head}{of_seed} is {doubt.kind} or {doubt.other}"

"""The onset and order of behaviours, for claims (arXiv 2402.02364, Secs. 5.1 to 5.4, App. B.5)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

NAN = float("nan")
N = 3  # of the n-grams
EXCESS = 3.0  # standard deviations over heads, or pairs of heads, at the first checkpoint
STEPS = (
    "first_boundary", "bigram_minimum", "ngram_half", "previous_token_half", "prefix_matching_half",
    "composition_onset", "prefix_matching_onset",
)  # fmt: skip
ORDER = STEPS[1:5]
NAMES = (*STEPS, "bigram_after_boundary", "in_order", "composition_lead")


def milestones(
    datasets: Mapping[str, xr.Dataset], *, distribution: str, setting: str, random_seed: int = 0
) -> xr.Dataset:
    """Return steps of each seed, and numbers from them: (seed, step), at the last step of the scores.

    datasets      ``ngrams``, ``attention_scores``, ``stages``
    distribution  of the bigram and n-gram scores and of the LLC; ``setting``: of the LLC

    ``first_boundary``         first boundary of the LLC, possible or determined
    ``bigram_minimum``         checkpoint of the least bigram score
    ``ngram_half``             first one at which the 3-gram score is half of the way from first to last
    ``previous_token_half``    first one with half of the last of layer 0's largest previous-token scores
    ``prefix_matching_half``   the same of prefix matching, of all layers
    ``composition_onset``      first K-composition above mean + 3 sd over the first checkpoint's pairs, of the
                               head with most previous-token attention at the end and the later head with
                               most prefix matching
    ``prefix_matching_onset``  first prefix matching of that later head above mean + 3 sd over heads there
    ``bigram_after_boundary``  log2 of ``bigram_minimum`` over ``first_boundary``
    ``in_order``               1 where the four of ``ORDER`` ascend, else 0
    ``composition_lead``       log2 of ``composition_onset`` over ``prefix_matching_onset``: negative, before

    NaN where a step is not reached, or is 0 in a logarithm.
    """
    heads = datasets["attention_scores"]
    rows = [_of_seed(datasets, seed, distribution, setting) for seed in heads["seed"].values.tolist()]
    coords = {"seed": heads["seed"].values, "step": heads["step"].values[-1:]}
    return xr.Dataset({n: (("seed", "step"), [[row[n]] for row in rows]) for n in NAMES}, coords)


def _of_seed(
    datasets: Mapping[str, xr.Dataset], seed: int, distribution: str, setting: str
) -> dict[str, float]:
    grams = datasets["ngrams"].sel(seed=seed, distribution=distribution)
    heads = datasets["attention_scores"].sel(seed=seed)
    score = grams["bigram_score"].dropna("step")
    three = grams["ngram_score"].sel(n=N).dropna("step")
    found = {
        "first_boundary": _first_boundary(datasets["stages"], seed, distribution, setting),
        "bigram_minimum": float(score["step"][int(score.argmin("step"))]),
        "ngram_half": _first(three, float(three[0] + three[-1]) / 2) if three.size else NAN,
    }
    earliest = heads.sel(head=heads["head"].values[heads["layer"].values == heads["layer"].values.min()])
    for name, source in (("previous_token", earliest), ("prefix_matching", heads)):
        largest = source[name].max("head").dropna("step")
        found[f"{name}_half"] = _first(largest, float(largest[-1]) / 2)
    found |= _composition(heads)
    ordered = [found[name] for name in ORDER]
    known = np.isfinite(ordered).all()
    return found | {
        "bigram_after_boundary": _log2(found["bigram_minimum"], found["first_boundary"]),
        "in_order": float((np.diff(ordered) > 0).all()) if known else NAN,
        "composition_lead": _log2(found["composition_onset"], found["prefix_matching_onset"]),
    }


def _first_boundary(table: xr.Dataset, seed: int, distribution: str, setting: str) -> float:
    """Return the first boundary between two stages; NaN without a boundary or curve."""
    asked = {"setting": setting, "distribution": distribution, "seed": seed}
    if any(label not in table[dim].values for dim, label in asked.items()):
        return NAN
    steps = table["boundary_step"].sel(asked).values
    return float(np.nanmin(steps)) if np.isfinite(steps).any() else NAN


def _composition(heads: xr.Dataset) -> dict[str, float]:
    """Return the onsets of the K-composition of two heads, and of prefix matching."""
    pairs, matching = heads["k_composition"], heads["prefix_matching"]
    late = [label for label in pairs["later_head"].values if label in matching["head"].values]
    nothing = {"composition_onset": NAN, "prefix_matching_onset": NAN}
    last = pairs.isel(step=-1).sel(later_head=late).notnull()
    reached = last["later_head"].values[last.any("head").values]
    if not reached.size:
        return nothing
    end = matching.isel(step=-1).sel(head=reached)
    later = str(reached[int(end.argmax("head"))])
    before = last["head"].values[last.sel(later_head=later).values]
    earlier = str(before[int(heads["previous_token"].isel(step=-1).sel(head=before).argmax("head"))])
    return {
        "composition_onset": _first(pairs.sel(head=earlier, later_head=later), _level(pairs)),
        "prefix_matching_onset": _first(matching.sel(head=later), _level(matching)),
    }


def _level(values: xr.DataArray) -> float:
    """Return mean + 3 standard deviations at the first checkpoint."""
    start = values.isel(step=0)
    return float(start.mean() + EXCESS * start.std())


def _first(curve: xr.DataArray, level: float) -> float:
    """Return the first checkpoint with at least this value."""
    there = np.flatnonzero(curve.values >= level)
    return float(curve["step"].values[there[0]]) if there.size else NAN


def _log2(step: float, other: float) -> float:
    return float(np.log2(step / other)) if step > 0 and other > 0 else NAN

"""Classify each head by its attention scores at the last checkpoint, and tell which types are uncertain."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from rllc.analysis.kinds import THRESHOLDS, TYPES
from rllc.vocabulary import describe

SCORES = {  # type -> its score, in the order of ``TYPES``: ``_types`` relies on it
    "previous-token": "previous_token",
    "current-token": "current_token",
    "induction": "prefix_matching",
}
# Induction begins at the first checkpoint at which any head's prefix-matching score reaches this. Claims
# about early training end before it. Our value: between four and five times the score of random weights
# (0.011 in contexts of 128 tokens).
INDUCTION_BEGINS = 0.05
MARGIN = 2.0  # standard errors between a score and its threshold, within which a type is uncertain
VARIABLES = {
    "head_type": ("type of the head by its attention scores at the last checkpoint", "1"),
    "head_type_uncertain": (
        f"whether a score within {MARGIN:g} standard errors of its threshold decides the type",
        "1",
    ),
    "head_type_other": ("type if the nearest threshold were crossed; empty where it is certain", "1"),
}


class Doubt(NamedTuple):
    """A head whose type is uncertain, the type that it has otherwise, and the score that decides."""

    head: str
    kind: str
    other: str
    score: float
    error: float
    threshold: float

    def __str__(self) -> str:
        return f"head {self.head} is {self.kind} or {self.other}{self.because}"

    @property
    def because(self) -> str:
        """The numbers that decide, ": score 0.299 ± 0.013, threshold 0.3"; empty where they are unknown."""
        if not np.isfinite([self.score, self.error, self.threshold]).all():
            return ""
        return f": score {self.score:.3f} ± {self.error:.3f}, threshold {self.threshold:g}"

    @property
    def distance(self) -> float:
        """Standard errors between the score and its threshold."""
        return abs(self.score - self.threshold) / self.error


def head_types(heads: xr.Dataset, *, thresholds: Mapping[str, float] = THRESHOLDS) -> xr.DataArray:
    """Return the type of each head: ``head_type`` (seed, head), strings from ``TYPES``.

    A head is previous-token, current-token or induction where ``previous_token``, ``current_token`` or
    ``prefix_matching`` (seed, step, head; mean attention weights in 0..1) at the last checkpoint is at
    least its threshold. If several are, the score that is largest **in units of its threshold** wins.
    A head below all thresholds is "multigram", as arXiv 2410.02984 calls all other heads, whatever tokens
    they act on. A head with a missing score and no score that reaches its threshold is "unknown".

    Raises ValueError for a missing variable, or a threshold that is not positive.
    """
    for name in SCORES.values():
        if name not in heads:
            raise ValueError(f"head types need {', '.join(SCORES.values())}; the dataset has no {name!r}")
        if not thresholds.get(name, 0.0) > 0.0:
            raise ValueError(f"the threshold of {name!r} must be positive, got {thresholds.get(name)}")
    labels = _types(_relative(heads, thresholds)).rename("head_type")
    labels.attrs["thresholds"] = ", ".join(f"{name} >= {thresholds[name]:g}" for name in SCORES.values())
    return describe(labels.to_dataset(), VARIABLES)["head_type"]


def types_with_margins(heads: xr.Dataset, *, thresholds: Mapping[str, float] = THRESHOLDS) -> xr.Dataset:
    """Return ``head_type``, ``head_type_uncertain`` (int8) and ``head_type_other``, all (seed, head).

    heads, thresholds  as in ``head_types``; the standard error of a score is ``<score>_se`` in ``heads``

    A type is uncertain where a score lies within ``MARGIN`` standard errors of its threshold, and the head
    has another type once that threshold is crossed. Of several such scores the nearest counts, in standard
    errors. Which of two scores above their thresholds is larger is not doubted. Scores without an error are
    taken as exact. Raises ValueError as ``head_types`` does.
    """
    types = head_types(heads, thresholds=thresholds)
    relative = _relative(heads, thresholds)
    near, crossed = [], []
    for name in SCORES.values():
        own = relative["score"] == name
        # this score just across its threshold, the others as they are
        other = _types(xr.where(own, xr.where(relative >= 1.0, 0.0, 1.0), relative))
        error = _last(heads[f"{name}_se"]) if f"{name}_se" in heads else xr.zeros_like(types, dtype=float)
        away = abs(_last(heads[name]) - thresholds[name]) / error.where(error > 0)
        near.append(away.where(other != types).fillna(np.inf))
        crossed.append(other)
    distance, others = xr.concat(near, "score"), xr.concat(crossed, "score")
    uncertain = distance.min("score") <= MARGIN
    made = xr.Dataset(
        {
            "head_type": types,
            "head_type_uncertain": uncertain.astype(np.int8),
            "head_type_other": others.isel(score=distance.argmin("score"), drop=True).where(uncertain, ""),
        }
    )
    return describe(made, VARIABLES)


def doubts(heads: xr.Dataset, seed: int) -> list[Doubt]:
    """Return the heads of a seed whose types are uncertain, the nearest to its threshold first.

    heads  of ``attention_scores.nc``; without ``head_type_uncertain`` no type is uncertain
    """
    if "head_type_uncertain" not in heads or seed not in heads["seed"].values:
        return []
    own = heads.sel(seed=seed)
    pairs = (
        each.split(" >= ") for each in heads["head_type"].attrs.get("thresholds", "").split(", ") if each
    )
    thresholds = {name: float(value) for name, value in pairs}
    found = []
    for head in own["head"].values[own["head_type_uncertain"].values == 1].tolist():
        one = own.sel(head=head)
        kind, other = (str(one[name].item()) for name in ("head_type", "head_type_other"))
        # the score that crosses: that of the type or, where the head has none of the three, of the other type
        name = SCORES.get(kind) or SCORES[other]
        score, error = (
            float(one[each].sortby("step")[-1]) if each in one else float("nan")
            for each in (name, f"{name}_se")
        )
        found.append(Doubt(str(head), kind, other, score, error, thresholds.get(name, float("nan"))))
    return sorted(found, key=lambda doubt: np.nan_to_num(doubt.distance))


def _last(values: xr.DataArray) -> xr.DataArray:
    """Return the values (seed, head) at the last checkpoint."""
    return values.sortby("step").isel(step=-1, drop=True).transpose("seed", "head")


def _relative(heads: xr.Dataset, thresholds: Mapping[str, float]) -> xr.DataArray:
    """Return the scores at the last checkpoint in units of their thresholds (score, seed, head)."""
    last = {name: _last(heads[name]) / thresholds[name] for name in SCORES.values()}
    return xr.Dataset(last).to_dataarray("score")


def _types(relative: xr.DataArray) -> xr.DataArray:
    """Return the types (seed, head) of heads with these scores in units of their thresholds."""
    best = relative.fillna(-np.inf).argmax("score")
    below = xr.where(relative.isnull().any("score"), TYPES.index("unknown"), TYPES.index("multigram"))
    index = xr.where(relative.max("score") >= 1.0, best, below)
    return xr.DataArray(np.asarray(TYPES, dtype=object)[index.values], index.coords, index.dims)


def types_at(types: xr.DataArray, labels: Mapping[str, Any]) -> xr.DataArray:
    """Return the types at these labels, "unknown" where a label is missing."""
    # xarray's stubs infer the type of fill_value from its default.
    return types.reindex(labels, fill_value="unknown")  # pyright: ignore[reportArgumentType]

"""Classify heads by their tokens in context, with the share explained (arXiv 2410.02984, App. B)."""

import numpy as np
import xarray as xr

from rllc.analysis.head_types import types_at
from rllc.vocabulary import layer_of

BY_SCORE = ("previous-token", "current-token", "induction")  # types by attention scores
CLASSES = {"dyck": "Dyck", "skip_ngram": "skip n-gram", "ngram": "n-gram"}
PUBLISHED = ("induction", *CLASSES)  # the paper's patterns; the others are ours
NO_PLURALITY = "multigram (no plurality)"
MARGIN = 2.0  # binomial standard errors between the largest share and the next, for a plurality


def token_classes(tokens: xr.Dataset, head_type: xr.DataArray) -> xr.DataArray:
    """Return the class of each head (seed, step, head), as in the paper's Table 1.

    It is the type by attention scores, if any. Otherwise it is "multigram" with the pattern that explains
    most of its tokens in context, among brackets (Dyck), skip n-grams and n-grams: "multigram (Dyck)". A head
    without explained tokens is "multigram". It is ``NO_PLURALITY`` if the largest share p is not above the
    next, q, by ``MARGIN`` binomial standard errors, sqrt((p + q - (p - q)^2) / n) for n tokens.

    tokens     ``share`` (seed, step, head, pattern) and ``tokens``, the number n (seed, step, head)
    head_type  (seed, head)
    """
    share = tokens["share"].sel(pattern=list(CLASSES)).fillna(0.0)
    names = np.asarray([f"multigram ({name})" for name in CLASSES.values()], dtype=object)
    best = xr.DataArray(names[share.argmax("pattern").values], share.isel(pattern=0, drop=True).coords)
    in_order = np.sort(share.transpose(..., "pattern").values)
    next_best, largest = (best.copy(data=in_order[..., n]).astype(float) for n in (-2, -1))
    lead = largest - next_best
    count = tokens["tokens"].where(tokens["tokens"] > 0)
    error = xr.ufuncs.sqrt((largest + next_best - lead**2) / count)
    by_tokens = best.where(lead > MARGIN * error, NO_PLURALITY).where(largest > 0, "multigram")
    kinds = types_at(head_type, {"seed": by_tokens["seed"], "head": by_tokens["head"]})
    return xr.where(kinds.isin(BY_SCORE), kinds.astype(object), by_tokens).transpose(*by_tokens.dims)


def largest_pattern(tokens: xr.Dataset) -> xr.DataArray:
    """Return which of the paper's four patterns explains most tokens (seed, step, head); "" if none."""
    share = tokens["share"].sel(pattern=list(PUBLISHED)).fillna(0.0)
    names = np.asarray(PUBLISHED, dtype=object)[share.argmax("pattern").values]
    best = xr.DataArray(names, share.isel(pattern=0, drop=True).coords)
    return best.where(share.max("pattern") > 0, "")


def explained(tokens: xr.Dataset) -> xr.DataArray:
    """Return the share of each head's tokens explained by the paper's four patterns; NaN without tokens."""
    return tokens["share"].sel(pattern=list(PUBLISHED)).sum("pattern", skipna=False)


def heads_of(one: xr.Dataset, *labels: str, by: str = "head_type", layer: int | None = None) -> xr.Dataset:
    """Return the heads of ``one`` with these labels: types by attention scores, or ``by="token_class"``.

    one    ``head_type``, ``token_class`` (head), and ``layer``
    layer  select only this layer
    """
    chosen = one[by].isin(labels)
    return one.isel(head=np.flatnonzero(chosen if layer is None else chosen & (one["layer"] == layer)))


def bracket_head(share: xr.DataArray) -> str | None:
    """Return *the* bracket head of claims and path patching.

    It is the head after layer 0 with the largest share of brackets among its tokens in context, the first of
    equals; None without brackets. (``token_classes`` gives the bracket heads by plurality.)

    share  (head, pattern) of one seed and step
    """
    brackets = share.sel(pattern="dyck").fillna(0.0)
    later = brackets.isel(head=[n for n, head in enumerate(brackets["head"].values) if layer_of(str(head))])
    if not (later > 0).any():
        return None
    return str(later["head"].values[int(later.argmax("head"))])


def share_of_first(tokens: xr.Dataset, pattern: str, count: int) -> xr.DataArray:
    """Return the share of a pattern among the first ``count`` tokens of each head (seed, step, head).

    tokens  ``pattern_index`` by rank, the most affected token first; ranks without a token do not count

    Patterns that need other tokens (n-grams, recurrent pairs) are those found among all of a head's tokens.
    """
    index = tokens["pattern_index"].isel(rank=slice(count))
    names = tokens["pattern_index"].attrs["flag_meanings"].split()
    there = (index >= 0).sum("rank")
    return (index == names.index(pattern)).sum("rank") / there.where(there > 0)

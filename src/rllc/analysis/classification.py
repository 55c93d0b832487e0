"""Heads by their tokens in context: classes, multigrams against the refined LLC, and numbers for claims.

Each number is per seed and step, over heads selected by attention scores and tokens in context
(arXiv 2410.02984, Sections 4.1 and 4.2, App. B). Head labels are comparable only within a seed.
"""

from collections.abc import Callable

import numpy as np
import xarray as xr

from rllc.analysis.head_types import types_at
from rllc.analysis.multigrams import FEWEST, by_scope, over_seeds
from rllc.analysis.needs import needing
from rllc.analysis.tokens import (
    CLASSES,
    bracket_head,
    explained,
    heads_of,
    largest_pattern,
    token_classes,
)
from rllc.vocabulary import layer_of

WIDE = 8  # least heads of a layer for the paper's numbers of heads to make sense
NAN = float("nan")


def classification(
    datasets: dict[str, xr.Dataset], *, random_seed: int, distribution: str, code_distribution: str | None
) -> xr.Dataset:
    """Return the classes of heads (seed, step, head), and numbers (seed, step) for claims.

    datasets           ``tokens``, ``attention_scores`` (``head_type``) and ``rllc``; it has all
                       steps of ``tokens``
    distribution       the distribution of the refined LLC
    code_distribution  the distribution of code; None without one

    ``multigram_spearman`` (seed, step, scope) is Spearman's correlation of the refined LLC of multigram heads
    with their count of multigrams. ``_low`` and ``_high`` bound a 95 % interval for the errors of both:
    refined LLCs are redrawn with their standard errors, and counts with the deviations of random halves of
    the tokens. The interval does not include the choice of heads. ``_p`` does: the share of orders of the
    heads with a correlation at least as large. ``multigram_correlation`` (layer 1) and ``_both`` (both
    layers) pool the seeds, by ranks within each, and are the same number for every seed; NaN with fewer than
    five heads. A number is NaN where a head that it needs is missing. ``<number>_prior_only`` is the same
    number from the prior-only control instead of the refined LLC.

    Raises ValueError where the refined LLC is not known at a step or on a distribution.
    """
    tokens, rllc = datasets["tokens"], datasets["rllc"]
    missing = sorted(set(tokens["step"].values.tolist()) - set(rllc["step"].values.tolist()))
    if missing:
        raise ValueError(f"rllc.nc has no step {', '.join(map(str, missing))}, which tokens.nc has")
    for name in (distribution, code_distribution):
        if name is not None and name not in rllc["distribution"].values:
            raise ValueError(f"rllc.nc has no distribution {name}; give one of those it has")
    types = datasets["attention_scores"]["head_type"]
    first = tokens["share"].isel(step=0, drop=True)
    table = tokens.assign(
        token_class=token_classes(tokens, types),
        largest=largest_pattern(tokens),
        explained=explained(tokens),
        gained=tokens["share"] - first,
        lost=first - tokens["share"],
        head_type=types_at(types, {"head": tokens["head"], "seed": tokens["seed"]}),
    )
    at = {"step": tokens["step"], "seed": tokens["seed"], "head": tokens["head"]}
    known = rllc[["rllc", "rllc_se"]].sel(at)
    table = table.assign(known.sel(distribution=distribution, drop=True))
    controlled = {
        name: rllc[f"rllc_prior_only{name.removeprefix('rllc')}"]
        .sel(at)
        .sel(distribution=distribution, drop=True)
        for name in map(str, known.data_vars)
        if f"rllc_prior_only{name.removeprefix('rllc')}" in rllc
    }
    if code_distribution is not None:
        table = table.assign(on_code=known["rllc"].sel(distribution=code_distribution, drop=True))
    random = np.random.default_rng(random_seed)
    numbers = {name: _per_cell(table, number) for name, number in NUMBERS.items()}
    correlations = by_scope(table, random)
    pooled = over_seeds(table, random)
    if "rllc" in controlled:
        off = table.assign(controlled)
        by_control = {name: _per_cell(off, NUMBERS[name]) for name in BY_RLLC} | over_seeds(off, random)
        pooled |= {f"{name}_prior_only": values for name, values in by_control.items()}
    every = [table[["token_class", "explained"]].drop_vars("text", errors="ignore"), correlations]
    return needing(xr.merge([*every, xr.Dataset({**numbers, **pooled})], compat="override"), NEEDED)


# --- over heads of one seed at one step


def _called(one: xr.Dataset, name: str, layer: int | None = None) -> xr.Dataset:
    """Return the heads of a class by tokens."""
    return heads_of(one, f"multigram ({CLASSES[name]})", by="token_class", layer=layer)


def _mean(heads: xr.Dataset, pattern: str, of: str = "share") -> float:
    return float(heads[of].sel(pattern=pattern).mean()) if heads.sizes["head"] else NAN


def _types_by_tokens(one: xr.Dataset) -> float:
    heads = heads_of(one, "induction", "previous-token")
    return float((heads["largest"] == "induction").mean()) if heads.sizes["head"] else NAN


def _largest_share(pattern: str, layer: int | None = None) -> Callable[[xr.Dataset], float]:
    def largest(one: xr.Dataset) -> float:
        share = one["share"].sel(pattern=pattern)
        share = share if layer is None else share.isel(head=np.flatnonzero(one["layer"] == layer))
        return float(share.max()) if share.size else NAN

    return largest


def _bracket_heads(layer: int | None = None) -> Callable[[xr.Dataset], float]:
    """Return a function that counts bracket heads; NaN with fewer than ``WIDE`` heads per layer."""

    def count(one: xr.Dataset) -> float:
        if int((one["layer"] == 0).sum()) < WIDE:
            return NAN
        return float(_called(one, "dyck", layer).sizes["head"])

    return count


def _attends_opener(one: xr.Dataset) -> float:
    return _mean(_called(one, "dyck", layer=1), "dyck", "at_matched")


def _diffuse(one: xr.Dataset) -> float:
    """Return the mean largest attention weight of layer 0's bracket heads minus that of layer 1's."""
    means = [_called(one, "dyck", layer)["attention_max"].mean("rank") for layer in (0, 1)]
    return float(means[0].mean() - means[1].mean()) if all(m.size for m in means) else NAN


def _ngram_order(one: xr.Dataset) -> float:
    """Return Kendall's tau of the number of n-grams with the order Dyck, skip n-gram, n-gram heads."""
    groups = [_called(one, name)["unique"].sel(pattern="ngram").values for name in CLASSES]
    if not all(group.size for group in groups):
        return NAN
    signs = [
        np.sign(b - a)
        for n, group in enumerate(groups)
        for other in groups[n + 1 :]
        for a in group
        for b in other
    ]
    return float(np.mean(signs))


def _least_explained(one: xr.Dataset) -> float:
    return float(one["explained"].min())


def _enrichment(one: xr.Dataset) -> float:
    """Return the smallest ratio, over heads, of the largest pattern's share to its share by chance."""
    ratios = []
    for head in range(one.sizes["head"]):
        cell = one.isel(head=head)
        if pattern := cell["largest"].item():
            chance = float(cell["share_chance"].sel(pattern=pattern))
            share = float(cell["share"].sel(pattern=pattern))
            ratios.append(share / chance if chance > 0 else np.inf)
    return min(ratios, default=NAN)


def _code_head_letterless(one: xr.Dataset) -> float:
    """Return the difference of two induction heads in the share of induction tokens without a letter.

    It is the head with the larger refined LLC on code minus the other head.
    """
    heads = heads_of(one, "induction")
    if heads.sizes["head"] != 2 or "on_code" not in heads:
        return NAN
    low, high = heads["letterless"].sel(pattern="induction").values[np.argsort(heads["on_code"].values)]
    return float(high - low)


def _induction_less_ngram(one: xr.Dataset) -> float:
    """Return the mean refined LLC of induction heads minus that of layer 1's (skip) n-gram heads."""
    others = [_called(one, name, layer=1)["rllc"].values for name in ("ngram", "skip_ngram")]
    return _less(heads_of(one, "induction")["rllc"].values, np.concatenate(others))


def _dyck_less_others(one: xr.Dataset) -> float:
    """Return the bracket head's refined LLC minus the mean of the other multigram heads of its layer."""
    best = bracket_head(one["share"])
    if best is None:
        return NAN
    others = heads_of(one, "multigram", layer=layer_of(best))
    others = others.isel(head=np.flatnonzero(others["head"] != best))
    return _less(np.atleast_1d(one["rllc"].sel(head=best).values), others["rllc"].values)


def _less(one: np.ndarray, other: np.ndarray) -> float:
    return float(one.mean() - other.mean()) if one.size and other.size else NAN


NUMBERS: dict[str, Callable[[xr.Dataset], float]] = {
    "types_by_tokens": _types_by_tokens,
    "dyck_share": _largest_share("dyck", layer=1),
    "dyck_heads": _bracket_heads(),
    "dyck_heads_layer0": _bracket_heads(0),
    "dyck_attends_opener": _attends_opener,
    "dyck_diffuse": _diffuse,
    "skip_share": _largest_share("skip_ngram"),
    "ngram_order": _ngram_order,
    "least_explained": _least_explained,
    "enrichment": _enrichment,
    "code_head_letterless": _code_head_letterless,
    "induction_less_ngram": _induction_less_ngram,
    "dyck_less_others": _dyck_less_others,
    "ngram_share_lost": lambda one: _mean(heads_of(one, "previous-token"), "ngram", "lost"),
    "dyck_share_gained": lambda one: _mean(_called(one, "dyck", layer=0), "dyck", "gained"),
}
# The requirement of each number, in words.
NEEDED = {
    "types_by_tokens": "an induction or previous-token head",
    "dyck_share": "a head in layer 1",
    "dyck_heads": f"{WIDE} heads in layer 0",
    "dyck_heads_layer0": f"{WIDE} heads in layer 0",
    "dyck_attends_opener": "a bracket head by plurality in layer 1",
    "dyck_diffuse": "a bracket head by plurality in each layer",
    "ngram_order": "heads of each kind by plurality: brackets, skip n-grams, n-grams",
    "code_head_letterless": "exactly two induction heads, and their refined LLC on code",
    "induction_less_ngram": "an induction head, and one of n-grams or skip n-grams by plurality in layer 1",
    "dyck_less_others": "a bracket head, and another multigram head in its layer",
    "ngram_share_lost": "a previous-token head",
    "dyck_share_gained": "a bracket head by plurality in layer 0",
    "multigram_correlation": f"{FEWEST} multigram heads in layer 1",
    "multigram_correlation_p": f"{FEWEST} multigram heads in layer 1",
    "multigram_correlation_both": f"{FEWEST} multigram heads",
}
BY_RLLC = ("induction_less_ngram", "dyck_less_others")  # these also exist for the control


def _per_cell(table: xr.Dataset, number: Callable[[xr.Dataset], float]) -> xr.DataArray:
    values = np.empty((table.sizes["seed"], table.sizes["step"]))
    for s, t in np.ndindex(values.shape):
        values[s, t] = number(table.isel(seed=s, step=t))
    return xr.DataArray(
        values, {"seed": table["seed"].values, "step": table["step"].values}, ("seed", "step")
    )

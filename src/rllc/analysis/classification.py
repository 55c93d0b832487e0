"""Heads by their tokens in context: classes, multigrams against the refined LLC, and numbers for claims.

A number per seed and step, over heads that types by attention scores and tokens in context choose
(arXiv 2410.02984, Sections 4.1 and 4.2, App. B). Heads are labelled within a seed only.
"""

from collections.abc import Callable, Sequence
from itertools import permutations
from math import factorial

import numpy as np
import xarray as xr

from rllc.analysis.ranks import ranks, spearman
from rllc.analysis.tokens import CLASSES, explained, largest_pattern, token_classes

SCOPES = ("layer 0", "layer 1", "both layers")
FEWEST = 5  # heads of a rank correlation: of fewer no order is unlikely
EXACT = 7  # heads up to which all permutations are gone through
DRAWS = 1000  # of permutations beyond, and of an interval
WIDE = 8  # heads of a layer from which on the paper's numbers of heads make sense
NAN = float("nan")


def classification(
    datasets: dict[str, xr.Dataset], *, random_seed: int, distribution: str, code_distribution: str | None
) -> xr.Dataset:
    """The classes of heads (seed, step, head), and numbers (seed, step) for claims.

    datasets      ``tokens``, ``heads`` (``head_type``) and ``rllc``, which has all steps of ``tokens``
    distribution  of the refined LLC; ``code_distribution``: of code, None where there is none

    ``multigram_spearman`` (seed, step, scope) is Spearman's correlation of the refined LLC of multigram heads
    (type "other") with their count of multigrams; ``_low`` and ``_high`` are a 95 % interval for the errors
    of both, refined LLCs drawn anew with their standard errors and counts with the deviations of random
    halves of the tokens. It holds no error of which heads there are; that is ``_p``, the share of orders of
    the heads with a correlation at least as large. ``multigram_correlation`` and ``_both`` pool the seeds, by
    ranks within each, and are the same number for every seed: of layer 1 and of both layers, NaN with fewer
    than five heads. Where a number needs a head that there is not, it is NaN. ``<number>_gradient_off`` is
    what numbers of refined LLCs are of their control without the loss gradient.

    Raises ValueError where the refined LLC is not known at a step or on a distribution.
    """
    tokens, rllc = datasets["tokens"], datasets["rllc"]
    missing = sorted(set(tokens["step"].values.tolist()) - set(rllc["step"].values.tolist()))
    if missing:
        raise ValueError(f"rllc.nc has no step {', '.join(map(str, missing))}, which tokens.nc has")
    for name in (distribution, code_distribution):
        if name is not None and name not in rllc["distribution"].values:
            raise ValueError(f"rllc.nc has no distribution {name}; give one of those it has")
    types = datasets["heads"]["head_type"]
    table = tokens.assign(
        token_class=token_classes(tokens, types),
        largest=largest_pattern(tokens),
        explained=explained(tokens),
        head_type=types.reindex(head=tokens["head"], seed=tokens["seed"], fill_value="unknown"),
    )
    at = {"step": tokens["step"], "seed": tokens["seed"], "head": tokens["head"]}
    known = rllc[["rllc", "rllc_se"]].sel(at)
    table = table.assign(known.sel(distribution=distribution, drop=True))
    controlled = {
        name: rllc[f"rllc_gradient_off{name.removeprefix('rllc')}"]
        .sel(at)
        .sel(distribution=distribution, drop=True)
        for name in known.data_vars
        if f"rllc_gradient_off{name.removeprefix('rllc')}" in rllc
    }
    if code_distribution is not None:
        table = table.assign(on_code=known["rllc"].sel(distribution=code_distribution, drop=True))
    random = np.random.default_rng(random_seed)
    numbers = {name: _per_cell(table, number) for name, number in NUMBERS.items()}
    lost = table["share"].isel(step=0, drop=True) - table["share"]
    late = table.assign(share=lost)
    numbers["ngram_share_lost"] = _per_cell(late, lambda one: _mean(_of(one, "previous-token"), "ngram"))
    numbers["dyck_share_gained"] = _dyck_gained(table)
    correlations = [_correlations(table, scope, random) for scope in SCOPES]
    merged = xr.concat(correlations, "scope").assign_coords(scope=np.asarray(SCOPES, dtype=object))
    pooled = _pooled_numbers(table, random)
    if "rllc" in controlled:
        off = table.assign(controlled)
        by_control = {name: _per_cell(off, NUMBERS[name]) for name in BY_RLLC} | _pooled_numbers(off, random)
        pooled |= {f"{name}_gradient_off": values for name, values in by_control.items()}
    every = [table[["token_class", "explained"]].drop_vars("text", errors="ignore"), merged]
    return xr.merge([*every, xr.Dataset({**numbers, **pooled})], compat="override")


# --- over heads of one seed at one step


def _of(one: xr.Dataset, *kinds: str, layer: int | None = None) -> xr.Dataset:
    """The heads of these types by attention scores."""
    chosen = one["head_type"].isin(kinds)
    return one.isel(head=np.flatnonzero(chosen & ((one["layer"] == layer) if layer is not None else True)))


def _called(one: xr.Dataset, name: str, layer: int | None = None) -> xr.Dataset:
    """The heads of a class by tokens."""
    chosen = one["token_class"] == f"multigram ({CLASSES[name]})"
    return one.isel(head=np.flatnonzero(chosen & ((one["layer"] == layer) if layer is not None else True)))


def _mean(heads: xr.Dataset, pattern: str, of: str = "share") -> float:
    return float(heads[of].sel(pattern=pattern).mean()) if heads.sizes["head"] else NAN


def _types_by_tokens(one: xr.Dataset) -> float:
    heads = _of(one, "induction", "previous-token")
    return float((heads["largest"] == "induction").mean()) if heads.sizes["head"] else NAN


def _largest_share(pattern: str, layer: int | None = None) -> Callable[[xr.Dataset], float]:
    def largest(one: xr.Dataset) -> float:
        share = one["share"].sel(pattern=pattern)
        share = share if layer is None else share.isel(head=np.flatnonzero(one["layer"] == layer))
        return float(share.max()) if share.size else NAN

    return largest


def _bracket_heads(layer: int | None = None) -> Callable[[xr.Dataset], float]:
    """How many there are; only of layers that are as wide as the paper's."""

    def count(one: xr.Dataset) -> float:
        if int((one["layer"] == 0).sum()) < WIDE:
            return NAN
        return float(_called(one, "dyck", layer).sizes["head"])

    return count


def _attends_opener(one: xr.Dataset) -> float:
    return _mean(_called(one, "dyck", layer=1), "dyck", "at_matched")


def _diffuse(one: xr.Dataset) -> float:
    """Mean largest attention weight of bracket heads of layer 0 less that of those of layer 1."""
    means = [_called(one, "dyck", layer)["attention_max"].mean("rank") for layer in (0, 1)]
    return float(means[0].mean() - means[1].mean()) if all(m.size for m in means) else NAN


def _ngram_order(one: xr.Dataset) -> float:
    """Kendall's tau of the number of n-grams with the order Dyck, skip n-gram, n-gram heads."""
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
    """Over heads the smallest ratio of the largest pattern's share to that by chance."""
    ratios = []
    for head in range(one.sizes["head"]):
        cell = one.isel(head=head)
        if pattern := cell["largest"].item():
            chance = float(cell["share_chance"].sel(pattern=pattern))
            share = float(cell["share"].sel(pattern=pattern))
            ratios.append(share / chance if chance > 0 else np.inf)
    return min(ratios, default=NAN)


def _code_head_letterless(one: xr.Dataset) -> float:
    """Of two induction heads: share of induction tokens without a letter, of the one with the larger refined
    LLC on code less that of the other."""
    heads = _of(one, "induction")
    if heads.sizes["head"] != 2 or "on_code" not in heads:
        return NAN
    low, high = heads["letterless"].sel(pattern="induction").values[np.argsort(heads["on_code"].values)]
    return float(high - low)


def _induction_less_ngram(one: xr.Dataset) -> float:
    """Mean refined LLC of induction heads less that of heads of n-grams and skip n-grams of layer 1."""
    others = [_called(one, name, layer=1)["rllc"].values for name in ("ngram", "skip_ngram")]
    return _less(_of(one, "induction")["rllc"].values, np.concatenate(others))


def _dyck_less_others(one: xr.Dataset) -> float:
    """Refined LLC of layer 1's head with the largest share of brackets less the mean of its other ones."""
    heads = _of(one, "other", layer=1)
    if not heads.sizes["head"]:
        return NAN
    share = heads["share"].sel(pattern="dyck").fillna(0.0).values
    if share.max() == 0:
        return NAN
    best = int(share.argmax())
    return _less(heads["rllc"].values[[best]], np.delete(heads["rllc"].values, best))


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
}


BY_RLLC = ("induction_less_ngram", "dyck_less_others")  # of these there is the same of the control


def _cells(table: xr.Dataset) -> list[tuple[int, int]]:
    return list(np.ndindex(table.sizes["seed"], table.sizes["step"]))


def _per_cell(table: xr.Dataset, number: Callable[[xr.Dataset], float]) -> xr.DataArray:
    values = np.empty((table.sizes["seed"], table.sizes["step"]))
    for s, t in _cells(table):
        values[s, t] = number(table.isel(seed=s, step=t))
    return xr.DataArray(
        values, {"seed": table["seed"].values, "step": table["step"].values}, ("seed", "step")
    )


def _dyck_gained(table: xr.Dataset) -> xr.DataArray:
    """Dyck share of the bracket heads of layer 0 at the last step, less what it was at the first."""
    gained = table["share"] - table["share"].isel(step=0, drop=True)
    chosen = table.assign(share=gained)
    return _per_cell(chosen, lambda one: _mean(_called(one, "dyck", layer=0), "dyck"))


# --- multigrams against the refined LLC


def _multigram_heads(one: xr.Dataset, scope: str) -> xr.Dataset:
    heads = _of(one, "other", layer=None if scope == SCOPES[2] else int(scope[-1]))
    known = np.isfinite(heads["rllc"].values) & np.isfinite(heads["multigrams"].values)
    return heads.isel(head=np.flatnonzero(known))


def _correlations(table: xr.Dataset, scope: str, random: np.random.Generator) -> xr.Dataset:
    """Spearman's correlation of one scope (seed, step), its interval and its p."""
    shape = (table.sizes["seed"], table.sizes["step"])
    made = {name: np.full(shape, NAN) for name in ("", "_low", "_high", "_p", "_heads")}
    for cell in _cells(table):
        heads = _multigram_heads(table.isel(seed=cell[0], step=cell[1]), scope)
        x, y = heads["multigrams"].values, heads["rllc"].values
        made["_heads"][cell] = x.size
        made[""][cell] = spearman(x, y)
        made["_low"][cell], made["_high"][cell] = _interval(heads, random)
        if x.size >= FEWEST:
            made["_p"][cell] = _p_value([x], [y], random)
    dims = ("seed", "step")
    coords = {"seed": table["seed"].values, "step": table["step"].values}
    return xr.Dataset({f"multigram_spearman{name}": (dims, v) for name, v in made.items()}, coords)


def _interval(heads: xr.Dataset, random: np.random.Generator) -> tuple[float, float]:
    """95 % of the correlations with refined LLCs and counts that are drawn anew about what was measured."""
    error, halves = heads["rllc_se"].values, heads["multigrams_half"].transpose("half", "head").values
    if heads.sizes["head"] < 3 or not (np.isfinite(error).all() and np.isfinite(halves).all()):
        return NAN, NAN
    deviation, each = halves - halves.mean(0), np.arange(heads.sizes["head"])
    drawn = [
        spearman(
            heads["multigrams"].values + deviation[random.integers(len(halves), size=each.size), each],
            random.normal(heads["rllc"].values, error),
        )
        for _ in range(DRAWS)
    ]
    low, high = np.nanpercentile(drawn, [2.5, 97.5]) if np.isfinite(drawn).any() else (NAN, NAN)
    return float(low), float(high)


def _pooled(table: xr.Dataset, scope: str, random: np.random.Generator) -> tuple[xr.DataArray, xr.DataArray]:
    """Correlation and p over the heads of all seeds, ranked within each: the same for every seed."""
    values = np.full((2, table.sizes["seed"], table.sizes["step"]), NAN)
    for t in range(table.sizes["step"]):
        cells = [_multigram_heads(table.isel(seed=s, step=t), scope) for s in range(table.sizes["seed"])]
        x, y = ([cell[name].values for cell in cells] for name in ("multigrams", "rllc"))
        if sum(map(len, x)) >= FEWEST:
            values[0, :, t] = _correlation(x, y)
            values[1, :, t] = _p_value(x, y, random)
    coords = {"seed": table["seed"].values, "step": table["step"].values}
    correlation, p = (xr.DataArray(v, coords, ("seed", "step")) for v in values)
    return correlation, p


def _pooled_numbers(table: xr.Dataset, random: np.random.Generator) -> dict[str, xr.DataArray]:
    one, one_p = _pooled(table, "layer 1", random)
    both, _ = _pooled(table, "both layers", random)
    names = ("multigram_correlation", "multigram_correlation_p", "multigram_correlation_both")
    return dict(zip(names, (one, one_p, both), strict=True))


def _correlation(x: Sequence[np.ndarray], y: Sequence[np.ndarray]) -> float:
    """Pearson's correlation of ranks within each group, centred."""
    a, b = (np.concatenate([ranks(g) - (g.size + 1) / 2 for g in groups]) for groups in (x, y))
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size > 0 else NAN


def _p_value(x: Sequence[np.ndarray], y: Sequence[np.ndarray], random: np.random.Generator) -> float:
    """Share of orders within each group whose correlation is at least as large: of all where they are few."""
    found = _correlation(x, y)
    if not np.isfinite(found):
        return NAN
    if len(x) == 1 and factorial(x[0].size) <= factorial(EXACT):
        drawn = [_correlation(x, [np.asarray(order)]) for order in permutations(y[0])]
        return float(np.mean(np.asarray(drawn) >= found - 1e-12))
    drawn = [_correlation(x, [random.permutation(group) for group in y]) for _ in range(DRAWS)]
    return float((1 + np.sum(np.asarray(drawn) >= found - 1e-12)) / (1 + DRAWS))

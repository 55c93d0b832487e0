"""Chance levels: how often a claim passes with the types of heads, or something else, shuffled."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, permutations, product

import numpy as np
import xarray as xr

from rllc.analysis.curves import NotJudged
from rllc.claims.claim import Claim
from rllc.claims.columns import SHUFFLES
from rllc.claims.judging.evaluate import Value, number_of
from rllc.claims.judging.outcome import too_short
from rllc.claims.judging.values import Values
from rllc.claims.run import Run, measured_types
from rllc.vocabulary import layer_of

NAN = float("nan")


def shuffles(types: xr.DataArray, count: int, random: np.random.Generator) -> list[xr.DataArray]:
    """Return the different orders of types of heads within layers, or ``count`` random ones of many."""
    layers: dict[int, list[int]] = {}
    for n, head in enumerate(types["head"].values):
        layers.setdefault(layer_of(str(head)), []).append(n)
    orders = [_different(types.values[places], count) for places in layers.values()]
    few = [each for each in orders if each is not None]
    if len(few) == len(orders) and (total := int(np.prod([len(each) for each in few]))) <= count:
        chosen: Iterator[tuple[tuple[str, ...], ...]] = product(*few)
    else:
        total = count
        chosen = (
            tuple(tuple(random.permutation(types.values[p])) for p in layers.values()) for _ in range(count)
        )
    made = []
    for order in islice(chosen, total):
        values = types.values.copy()
        for places, kinds in zip(layers.values(), order, strict=True):
            values[places] = kinds
        made.append(types.copy(data=values))
    return made


def _different(kinds: np.ndarray, count: int) -> list[tuple[str, ...]] | None:
    """Return the different orders of a layer's types; None where there are many more than ``count``."""
    if len(kinds) > 7:
        return None
    found = dict.fromkeys(permutations(kinds.tolist()))
    return list(found) if len(found) <= count else None


def chance_levels(
    rows: Sequence[tuple[Claim, str]],
    table: Values,
    tell: Callable[[str], None],
) -> list[tuple[float, int]]:
    """Return for each claim the share of shuffles in which every seed passes, and their number.

    Claims with ``by_chance`` have shuffles of their own. NaN and 0 where nothing is shuffled. Seeds are
    shuffled independently, so that the share of all is the product of theirs.
    """
    found = [_of_its_own(claim, name, table) if claim.by_chance else (NAN, 0) for claim, name in rows]
    for name in table.experiments:
        places = [n for n, (each, of) in enumerate(rows) if of == name and _is_shuffled(each, name, table)]
        if not places:
            continue
        tell(f"{name}: shuffling the types of heads for {len(places)} claims")
        shares: dict[int, list[tuple[float, int]]] = {place: [] for place in places}
        random = np.random.default_rng(0)
        for seed in table.seeds(name):
            with suppress(NotJudged):  # a seed without scores
                orders = shuffles(measured_types(table.datasets[name], seed), SHUFFLES, random)
                passes = _of_orders([rows[place][0] for place in places], table, name, seed, orders)
                for place, each in zip(places, passes.T, strict=True):
                    shares[place] += [(float(np.nanmean(each)), len(each))] if np.isfinite(each).any() else []
        for place, of_seeds in shares.items():
            if of_seeds:
                parts, counts = zip(*of_seeds, strict=True)
                found[place] = float(np.prod(parts)), min(counts)
    return found


def _of_its_own(claim: Claim, name: str, table: Values) -> tuple[float, int]:
    """Return the share of the numbers ``claim.by_chance`` by which every seed passes, and their count."""
    assert claim.by_chance is not None
    (low, high), random, shares = claim.bounds, np.random.default_rng(0), []
    for seed, value in table.of(claim.statistic, name).items():
        if np.isfinite(value.value) and not too_short(claim, table.experiments[name], value):
            run = table.run(name, seed)
            drawn = [claim.by_chance(run, random) for _ in range(SHUFFLES)]
            shares.append(np.mean([low <= each <= high for each in drawn]))
    return (float(np.prod(shares)), SHUFFLES) if shares else (NAN, 0)


def _is_shuffled(claim: Claim, experiment: str, table: Values) -> bool:
    """Return whether the claim's number on an experiment depends on the types of heads."""
    values = table.of(claim.statistic, experiment).values()
    return claim.shuffle and not claim.by_chance and not claim.versus and any(each.by_type for each in values)


def _of_orders(
    claims: Sequence[Claim], table: Values, experiment: str, seed: int, orders: Sequence[xr.DataArray]
) -> np.ndarray:
    """Return whether each claim passes [order, claim] in a seed with the types in each order."""
    measured = [table.of(each.statistic, experiment)[seed] for each in claims]
    passes = []
    for types in orders:
        run = table.run(experiment, seed).like(shuffled=types)  # one for all claims: analyses are made once
        passes.append([_passes_alone(*each, run) for each in zip(claims, measured, strict=True)])
    return np.asarray(passes, dtype=float)


def _passes_alone(claim: Claim, measured: Value, run: Run) -> float:
    """Return whether the value under shuffled types is within the bounds.

    NaN where the seed has no verdict.
    """
    if not np.isfinite(measured.value) or too_short(claim, run.experiment, measured):
        return NAN
    try:
        value = number_of(claim.statistic, run)
    except NotJudged:
        return NAN
    low, high = claim.bounds
    return float(low <= value <= high) if np.isfinite(value) else NAN

"""Claims on ablations of heads (App. E)."""

from functools import partial
from itertools import combinations

import numpy as np
import xarray as xr

from rllc.analysis.across_heads import silhouette
from rllc.analysis.curves import last, log2_ratio, octaves, spearman
from rllc.claims.claim import claim as any_claim
from rllc.claims.heads.curves import (
    BEFORE_INDUCTION,
    LIKELIHOOD,
    LM,
    PAPER,
    Number,
    before_induction,
    between_types,
    induction_begins,
    of_heads,
    orders_alike,
    refined_llc,
    several_layers,
)
from rllc.claims.run import Run

ORDER = 9  # place of these claims among those of the work

METHODS = ("zero", "mean", "resample")


def _silhouette(run: Run, values: xr.DataArray) -> xr.DataArray:
    """Return the mean silhouette of values (head) by types of heads."""
    kinds = run.types.sel(head=values["head"]).values
    return of_heads(silhouette, values, kinds, np.zeros(len(kinds)), "two types, one of them with two heads")


claim = partial(any_claim, where=several_layers, family="ablations (App. E)")


def _costs(run: Run, method: str, *types: str) -> xr.DataArray:
    """Return the loss (step, head) that ablating a head adds on the training text."""
    return run.curve(
        "ablation.ablation", heads=run.heads(*types) if types else None, distribution=run.text, method=method
    )


def _mean_of_methods(values: list[xr.DataArray]) -> xr.DataArray:
    return sum(values[1:], values[0]) / len(values)


def _in_lm4(run: Run, costs: xr.DataArray) -> xr.DataArray:
    """Return log2 of the cost at the end of LM4 over that when induction begins."""
    return log2_ratio(costs, induction_begins(run), LM["LM4"])


def _gain(run: Run, costs: xr.DataArray) -> xr.DataArray:
    """Return log2 of the last cost over the mean before induction begins."""
    return octaves(last(costs), before_induction(run, costs).mean("step"))


@claim(
    "Ablating previous-token heads costs more while induction forms",
    source=f"{PAPER}, E.3",
    label="log2 of the cost of ablating previous-token heads, at the end of LM4 divided by that "
    "when induction begins",
    unit="octaves",
    at_least=0.5,
    reached=50_000,
)
def prev_rises_lm4(run: Run) -> Number:
    each = [_in_lm4(run, _costs(run, method, "previous-token")) for method in METHODS]
    return _mean_of_methods([one.mean("head", skipna=False) for one in each])


@claim(
    "Ablating previous-token heads costs more at the end of training than before induction",
    source=f"{PAPER}, E.3; the steps are ours",
    label="log2 of the cost of ablating previous-token heads, at the end divided by its early mean",
    unit="octaves",
    at_least=0.5,
    correction=BEFORE_INDUCTION,
)
def prev_rises(run: Run) -> Number:
    each = [_gain(run, _costs(run, method, "previous-token")) for method in METHODS]
    return _mean_of_methods([one.mean("head", skipna=False) for one in each])


@claim(
    "Ablating the first induction head costs more while induction forms",
    source=f"{PAPER}, E.3",
    label="log2 of the cost of ablating an induction head, at the end of LM4 divided by that when "
    "induction begins, largest",
    unit="octaves",
    at_least=1,
    reached=50_000,
)
def induction_rises_lm4(run: Run) -> Number:
    each = [_in_lm4(run, _costs(run, method, "induction")) for method in METHODS]
    return _mean_of_methods([one.max("head", skipna=False) for one in each])


@claim(
    "Ablating the first induction head costs more at the end of training than before induction",
    source=f"{PAPER}, E.3; the steps are ours",
    label="log2 of the cost of ablating an induction head, at the end divided by its early mean, largest",
    unit="octaves",
    at_least=1,
    correction=BEFORE_INDUCTION,
)
def induction_rises(run: Run) -> Number:
    each = [_gain(run, _costs(run, method, "induction")) for method in METHODS]
    return _mean_of_methods([one.max("head", skipna=False) for one in each])


def _same_shape(costs: list[xr.DataArray]) -> xr.DataArray:
    """Return the rank correlation over training of two methods' costs, mean of heads and pairs of methods."""
    each = [spearman(one, other) for one, other in combinations(costs, 2)]
    return _mean_of_methods([one.mean("head", skipna=False) for one in each])


def _of_other_heads(run: Run, random: np.random.Generator) -> float:
    """Return the same number with the heads of each method in a random order."""
    costs = [_costs(run, method) for method in METHODS]
    orders = [each.isel(head=random.permutation(each.sizes["head"])) for each in costs]
    return float(_same_shape([o.assign_coords(head=c["head"]) for o, c in zip(orders, costs, strict=True)]))


@claim(
    "Zero, mean and resample ablation give curves of the same shape",
    source=f"{PAPER}, E.3",
    label="rank correlation over training of the costs of two kinds of ablation, mean of heads",
    at_least=0.8,
    by_chance=_of_other_heads,
    correction="Random orders of each method's heads give its chance level. Before, it had none.",
)
def methods_same_shape(run: Run) -> Number:
    return _same_shape([_costs(run, method) for method in METHODS])


@claim(
    "Final costs of resample ablation order heads as refined LLCs do",
    source=f"{PAPER}, E.3",
    label="rank correlation over heads of the cost of resample ablation with the rLLC, at the end",
    at_least=0.8,
)
def resample_order(run: Run) -> Number:
    return orders_alike(_costs(run, "resample"), refined_llc(run))


@claim(
    "Final costs of resample ablation order heads as refined LLCs do, at the second sampler setting",
    source=f"{PAPER}, E.3; the setting is ours",
    label="rank correlation over heads of the cost of resample ablation with the rLLC at the second "
    "sampler setting",
    at_least=0.8,
)
def resample_order_likelihood(run: Run) -> Number:
    return orders_alike(_costs(run, "resample"), refined_llc(run, variable=LIKELIHOOD))


@claim(
    "Resample ablation separates types of heads better than zero and mean ablation",
    source=f"{PAPER}, E.4",
    label="share of the spread within layers that is between types, resample less zero or mean ablation",
    at_least=0,
)
def resample_separates(run: Run) -> Number:
    zero, mean, resample = (between_types(run, last(_costs(run, method))) for method in METHODS)
    return resample - np.maximum(zero, mean)


def _tell_apart(run: Run, values: xr.DataArray) -> xr.DataArray:
    return _silhouette(run, last(values))


def _induction_and_current(run: Run) -> tuple[str, str]:
    run.heads("current-token")
    return "induction", "current-token"


@claim(
    "Refined LLCs separate induction from current-token heads better than ablation does",
    source=f"{PAPER}, E.4",
    label="silhouette of induction and current-token heads by rLLC less that by mean ablation",
    at_least=0,
)
def lambda_separates(run: Run) -> Number:
    types = _induction_and_current(run)
    return _tell_apart(run, refined_llc(run, *types)) - _tell_apart(run, _costs(run, "mean", *types))


@claim(
    "Refined LLCs separate induction from current-token heads better than ablation does, at "
    "the second sampler setting",
    source=f"{PAPER}, E.4; the setting is ours",
    label="silhouette of induction and current-token heads by rLLC at the second sampler setting "
    "less that by mean ablation",
    at_least=0,
)
def lambda_separates_likelihood(run: Run) -> Number:
    types = _induction_and_current(run)
    level = refined_llc(run, *types, variable=LIKELIHOOD)
    return _tell_apart(run, level) - _tell_apart(run, _costs(run, "mean", *types))

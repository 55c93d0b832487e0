"""Claims on what every training seed has (App. G). One seed can refute them, but not confirm them."""

from functools import partial

import xarray as xr

from rllc.analysis.curves import PEAK_FROM, fall, fall_to_minimum, maximum, peak_step, smooth
from rllc.claims.claim import EVERY_RUN
from rllc.claims.claim import claim as any_claim
from rllc.claims.heads.curves import PAPER, Number, several_layers
from rllc.claims.run import Run

ORDER = 10  # place of these claims among those of the work

claim = partial(any_claim, where=several_layers, family="every seed (App. G)", seeds=EVERY_RUN)


SEVERAL_SEEDS = "It needs three seeds to hold. Before, it held by one."


@claim(
    "Every run has exactly one current-token head",
    source=f"{PAPER}, App. G",
    label="number of current-token heads at the end",
    unit="heads",
    at_least=1,
    at_most=1,
    correction=SEVERAL_SEEDS,
)
def one_current(run: Run) -> Number:
    return run.count("current-token")


@claim(
    "Every run has as many induction as previous-token heads",
    source=f"{PAPER}, App. G",
    label="number of induction heads less number of previous-token heads, at the end",
    unit="heads",
    at_least=0,
    at_most=0,
    given="previous_one_or_two",
    correction=SEVERAL_SEEDS,
)
def induction_equals_previous(run: Run) -> Number:
    return run.count("induction") - run.count("previous-token")


@claim(
    "Every run has one or two previous-token heads",
    source=f"{PAPER}, App. G",
    label="number of previous-token heads at the end",
    unit="heads",
    at_least=1,
    at_most=2,
    correction=SEVERAL_SEEDS,
)
def previous_one_or_two(run: Run) -> Number:
    return run.count("previous-token")


MULTIGRAM = "Only multigram heads of layer 0 count. Before, all heads of layer 0 did."
STILL_RISING = (
    "Where the largest mean is the last, the value is the fall from the largest earlier mean to it, which is "
    "negative. Before, it was 0, without an error."
)


def _from_peak(run: Run, *types: str, layer: int | None = None) -> xr.DataArray:
    """Return the rLLC (step, head) on the training text from the step from which peaks count."""
    return run.curve(
        "rllc.rllc", heads=run.heads(*types, layer=layer), distribution=run.text, from_step=PEAK_FROM
    )


def _fall_of_mean(run: Run, *types: str, layer: int | None = None) -> xr.DataArray:
    """Return the fall of the heads' mean rLLC from its peak to its least value after it.

    If the last value of the curve as measured is the largest, no fall is seen. Then it is the fall from the
    largest earlier value to the last, which is negative.
    """
    quiet, curve = (
        smooth(_from_peak(one, *types, layer=layer).mean("head")) for one in (run.like(noise=None), run)
    )
    if quiet.sizes["step"] < 2 or int(peak_step(quiet)) != int(quiet["step"][-1]):
        return fall_to_minimum(curve)
    earlier = maximum(curve.isel(step=slice(None, -1)))
    return 1 - curve.isel(step=-1, drop=True) / earlier.where(earlier > 0)


@claim(
    "Refined LLCs of multigram heads begin to fall after LM2 (here: the mean of those of layer 0)",
    source=f"{PAPER}, App. G",
    label="fall of the mean rLLC of layer 0's multigram heads from its peak to its least value after it",
    at_least=0.05,
    reached=1500,
    correction=f"{MULTIGRAM} {STILL_RISING} {SEVERAL_SEEDS}",
)
def multigrams_fall(run: Run) -> Number:
    return _fall_of_mean(run, "multigram", layer=0)


@claim(
    "The refined LLC of every multigram head of layer 0 ends below its peak",
    source=f"{PAPER}, App. G",
    label="least fall of the rLLC of a multigram head of layer 0 from its peak to the end",
    at_least=0.05,
    reached=1500,
    correction=f"{MULTIGRAM} {SEVERAL_SEEDS}",
)
def multigrams_fall_each(run: Run) -> Number:
    return fall(smooth(_from_peak(run, "multigram", layer=0))).min("head", skipna=False)


@claim(
    "In every run the mean refined LLC of multigram heads of both layers falls",
    source=f"{PAPER}, App. G",
    label="fall of the multigram heads' mean rLLC from its peak to its least value after it",
    at_least=0.05,
    reached=1500,
    correction=f"{STILL_RISING} {SEVERAL_SEEDS}",
)
def multigrams_fall_mean(run: Run) -> Number:
    return _fall_of_mean(run, "multigram")

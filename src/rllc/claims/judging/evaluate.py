"""A statistic of one seed, with its error and degrees of freedom by redraws."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from rllc.analysis.curves import NotJudged
from rllc.claims.claim import Statistic
from rllc.claims.reading import REDRAW, REDRAWS, Redrawn
from rllc.claims.run import Run
from rllc.claims.selection import Absent

NAN = float("nan")

KEEP_DIMS = (
    "A claim's function is called on redrawn curves too, which have one dim more: use xarray's operations "
    "along named dims, and return what they give, without float() or .values"
)


class Value(NamedTuple):
    """A statistic of one seed.

    error       standard error; 0 where its curves have none, NaN where one is not known
    exact       whether none of its curves has an error
    freedom     degrees of freedom of the error
    unreliable  largest share, over its curves, of estimates that are not reliable; NaN: there are none
    last_step   last checkpoint with a value in any of its curves
    reason      why there is no value
    controlled  whether one of its curves has a prior-only control
    by_type     whether it depends on which heads of a layer have which types; ``typed``: on types at all
    """

    value: float
    error: float = NAN
    exact: bool = False
    freedom: float = float("inf")
    unreliable: float = NAN
    last_step: float = NAN
    reason: str = ""
    controlled: bool = False
    by_type: bool = False
    typed: bool = False


def evaluate(statistic: Statistic, run: Run) -> Value:
    """Evaluate a statistic for one seed: value, error and degrees of freedom, or why there is no value.

    The error is the standard deviation over redraws. Curves on shared contexts are redrawn together
    (``rllc.claims.paired``); every other number gets its own normal number. Where the chains of all steps
    share their noise, a second error comes from redraws with the same normal numbers at all steps. The larger
    of the two counts. Raises Absent where the experiment lacks a curve.
    """
    own = run.like()
    try:
        value = number_of(statistic, own)
        reason = "" if np.isfinite(value) else f"{statistic.label} is not defined here"
    except NotJudged as error:
        value, reason = NAN, str(error)
    facts = {
        "unreliable": max(
            (each.unreliable for each in own.readings if each.unreliable == each.unreliable), default=NAN
        ),
        "last_step": max((each.last_step for each in own.readings), default=NAN),
        "controlled": any(each.controlled for each in own.readings),
        "by_type": own.by_type,
        "typed": own.readings.typed,
    }
    with_errors = [each for each in own.readings if each.errors]
    if reason or not with_errors:
        return Value(value, NAN if reason else 0.0, not with_errors, reason=reason, **facts)
    if not all(each.known for each in with_errors):
        return Value(value, **facts)
    modes = ["own", "common"] if any(each.seeded for each in own.readings) else ["own"]
    errors = [_redrawn(statistic, run.like(noise=mode)) for mode in modes]
    if any(np.isnan(error) for error, _ in errors):
        return Value(value, **facts)
    error, freedom = max(errors, key=lambda each: each[0])
    return Value(value, error, freedom=freedom, **facts)


def number_of(statistic: Statistic, run: Run) -> float:
    """Return the statistic's value for a run.

    Raises ValueError, which names statistic, experiment and seed, where its function fails or returns more
    than one number. NotJudged and Absent pass through.
    """
    try:
        value = statistic.function(run)
        if isinstance(value, xr.DataArray) and value.ndim:
            raise ValueError(
                f"it returns a value for every {', '.join(map(str, value.dims))}, not one number"
            )
        return float(value)
    except (Absent, NotJudged):
        raise
    except Exception as error:
        place = f"{statistic.name} on {run.experiment.name}, seed {run.seed}"
        raise ValueError(f"the claim function {place}: {type(error).__name__}: {error}") from error


def _redrawn(statistic: Statistic, run: Run) -> tuple[float, float]:
    """Return the standard deviation over redraws, and its degrees of freedom by Welch and Satterthwaite.

    With c_i the share of the variance that cell i gives, they are (sum c_i)^2 / sum(c_i^2 / f_i). With R
    redraws, c_i is the squared correlation of the redrawn value with the cell's normal number, less 1 / R,
    its mean by chance. c_i^2 is corrected for chance likewise, by 4 c_i / R + 2 / R^2. Both are cut at 0.
    The blocks of contexts are one cell: the sum of the squared correlations with their n numbers, with n
    times these corrections.
    """
    try:
        values = statistic.function(run)
    except NotJudged:
        return NAN, NAN
    except TypeError as error:  # as float(curve) of a curve with a further dim
        raise ValueError(f"{statistic.name}: {error}. {KEEP_DIMS}") from error
    redrawn = [each.redrawn for each in run.readings if each.redrawn is not None]
    if not redrawn:
        return 0.0, float("inf")
    if not isinstance(values, xr.DataArray) or REDRAW not in values.dims:
        raise ValueError(f"{statistic.name}: its number has lost the dim {REDRAW!r}. {KEEP_DIMS}")
    # one number per redraw: ``number_of`` has checked that no other dim is left
    drawn = values.transpose(REDRAW, ...).values.reshape(REDRAWS, -1)[:, 0]
    spread = float(np.std(drawn, ddof=1))
    if not spread > 0 or all(np.isinf(each.freedom).all() for each in redrawn):
        return spread, float("inf")
    apart = (drawn - drawn.mean()) / (spread * REDRAWS)
    cells = [_correlation_squared(each, apart) for each in _different(redrawn)]
    correlation_squared, count, freedom = (np.concatenate(each) for each in zip(*cells, strict=True))
    share = np.clip(correlation_squared - count / REDRAWS, 0, None)
    share_squared = np.clip(share**2 - 4 * share / REDRAWS - 2 * count / REDRAWS**2, 0, None)
    total = float((share_squared / freedom).sum())
    return spread, float(share.sum() ** 2 / total) if total > 0 else float("inf")


def _different(redrawn: Sequence[Redrawn]) -> list[Redrawn]:
    """Return the readings with blocks of contexts, which have the same numbers, once."""
    blocks = [each for each in redrawn if each.together]
    return [each for each in redrawn if not each.together] + blocks[:1]


def _correlation_squared(redrawn: Redrawn, apart: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return squared correlations by cell, the count of normal numbers in each, and degrees of freedom."""
    normals, freedom = redrawn.normals, redrawn.freedom
    squared = (apart @ (normals - normals.mean(0))) ** 2
    if redrawn.together:
        return squared.sum(keepdims=True), np.full(1, normals.shape[1]), freedom
    if squared.size != freedom.size:  # noise that all steps share: one number for all of them
        freedom = np.full(squared.size, freedom.min())
    return squared, np.ones(squared.size), freedom

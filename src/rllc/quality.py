"""The quality flags of an estimate: their names, and which flags make it unreliable.

A fault means that the number is not a reliable average over the localized posterior. A caution qualifies the
meaning of a reliable number. An estimate is reliable where it has no fault, whatever its cautions.
``estimator/diagnostics/quality.py`` decides each flag but ``missing``, which ``store/gathering.py`` gives to
cells that no part of the results has.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr


class Flag(NamedTuple):
    """One quality flag: its name in ``flag_meanings``, its mask, fault or caution, and its meaning."""

    name: str
    mask: int
    fault: bool
    text: str


# A bit keeps its meaning forever: a new flag takes the next bit, and no bit is reused.
FLAGS = (
    Flag("chain_failed", 1, True, "a chain is not ok: the mean is over those that stayed near"),
    Flag("all_chains_failed", 2, True, "no chain is ok: there is no estimate"),
    Flag("not_mixed", 4, True, "chains disagree with each other, or halves of a chain do (R-hat)"),
    Flag("few_effective_draws", 8, True, "too few effective draws for the standard error to mean much"),
    Flag(
        "drifting", 16, True,
        "the trace still moves after burn-in: the estimate depends on the number of draws",
    ),
    Flag(
        "rejecting", 32, True,
        "moves would be accepted much less than without a loss: the step is large for the gradient noise, or "
        "chains are not in equilibrium",
    ),
    Flag("not_stationary", 64, True, "most chains fail a test of stationarity"),
    Flag("nonlocal", 128, False, "the chains live where the loss is far above that of the checkpoint"),
    Flag(
        "prior_dominated", 256, False,
        "the gradient hardly matters: the localization alone gives this value",
    ),
    Flag("negative", 512, False, "the loss falls below that of the checkpoint, which is no minimum of it"),
    Flag("missing", 1024, True, "not computed: no job's results have this seed, step and distribution"),
    Flag("undiagnosed", 2048, False, "too few chains or draws, or a constant trace: mixing is not known"),
    Flag(
        "drift_dominated", 4096, False,
        "much of it is the fall of the loss while chains walk down the slope at the checkpoint",
    ),
    Flag(
        "variance_not_equilibrated", 8192, True,
        "too few moves for the localization, and the trace does not settle",
    ),
    Flag("mean_not_equilibrated", 16384, True, "chains have not come down the slope at the checkpoint yet"),
    Flag("prior_not_explored", 32768, False, "where the loss is flat, chains hardly left the checkpoint"),
)  # fmt: skip
MASKS = {flag.name: flag.mask for flag in FLAGS}
FAULTS = sum(flag.mask for flag in FLAGS if flag.fault)
CAUTIONS = sum(flag.mask for flag in FLAGS if not flag.fault)
MISSING = MASKS["missing"]
QUALITY_DTYPE = np.int32  # dtype of ``quality``; that of results from before the sixteenth flag is int16


def quality_attributes() -> dict[str, object]:
    """Return the CF flag attributes of a ``quality`` variable; every bit is a quality flag."""
    return {
        "long_name": "quality flags of the estimate, one bit each; reliable without a fault",
        "units": "1",
        "flag_masks": np.asarray([flag.mask for flag in FLAGS], dtype=QUALITY_DTYPE),
        "flag_meanings": " ".join(flag.name for flag in FLAGS),
        "faults": QUALITY_DTYPE(FAULTS),
        "cautions": QUALITY_DTYPE(CAUTIONS),
    }


def reasons(value: int) -> list[str]:
    """Return the names of the quality flags that are set in one ``quality``, faults first.

    >>> reasons(4 + 256)
    ['not_mixed', 'prior_dominated']
    >>> reasons(0)
    []

    Raises ValueError where the value is not an integer or has a bit without a flag.
    """
    bits = int(value)
    if bits != value or bits < 0 or bits & ~(FAULTS | CAUTIONS):
        raise ValueError(f"quality {value!r}: expected a sum of different masks among {MASKS}")
    held = [flag for flag in FLAGS if bits & flag.mask]
    return [flag.name for flag in sorted(held, key=lambda flag: not flag.fault)]


def reliable(dataset: xr.Dataset) -> xr.DataArray:
    """Return a boolean array in the dims of ``quality``: True where ``quality`` has no fault.

    >>> table = xr.Dataset({"quality": ("head", [0, 256, 4])}, {"head": ["0:0", "0:1", "1:0"]})
    >>> reliable(table).values.tolist()
    [True, True, False]

    Raises ValueError where the dataset has no ``quality``, or its dtype is not an integer.
    """
    if "quality" not in dataset:
        raise ValueError(
            f"the dataset has no 'quality': expected it among {', '.join(map(str, dataset.data_vars))}; "
            "run the measure again, or treat every cell as unjudged"
        )
    quality = dataset["quality"]
    if quality.dtype.kind not in "iu":
        raise ValueError(
            f"'quality' is {quality.dtype}: expected an integer; fill missing cells with {MISSING}"
        )
    return ((quality & FAULTS) == 0).rename("reliable")

"""Steps and curves that several claims on sorting read."""

from collections.abc import Callable

import xarray as xr

from rllc.analysis.curves import PEAK_FROM, NotJudged, growth, peak_step
from rllc.analysis.jackknife import jackknife_error
from rllc.claims.run import Run
from rllc.claims.selection import Absent

TASKS = ("sorting", "cumulative_sum")  # of the post

# length of the training -> end of the shortest training of the study, at which experiments are compared
COMMON_END = {
    0: 4_000,  # config/sorting.yaml: 4,000 to 8,000 steps
    60_000: 60_000,  # the post's lengths, config/sorting_published.yaml: 60,000 to 100,000 steps
}

POST_LENGTH = 60_000  # the post's shortest training

COMMON = "the end of the shortest training (4,000; at the post's lengths, 60,000)"

MOVED = (
    "At the post's lengths it was read at step 4,000. Now it is read at step 60,000, the end of the shortest "
    "training there, like the fall of the LLC. In trainings of 4,000 to 8,000 steps nothing changes."
)


SETTING = (
    "It was read at the post's sampler setting, at which chains do not equilibrate and no estimate is "
    "reliable. Now the base setting is the one that calibration recommends, and the post's is a variant."
)

SEEN = (
    "Where the LLC of a training shorter than the post's is largest at its end, no peak was seen, so the "
    "claim is not judged. Before, the end was taken for the peak."
)

UNSEEN = (
    "Where the LLC of a training shorter than the post's is largest at its end, no fall was seen yet, so the "
    "claim is not judged. Before, the fall was 0, without an error."
)

FEW_CHECKPOINTS = (
    "The error is that over the choice of checkpoints (jackknife). Before, the value was taken as exact, and "
    "one swap of six checkpoints decided."
)


def common_end(run: Run) -> int:
    """Return the step at which experiments of different lengths are compared."""
    shortest = run.experiment.shortest or run.experiment.steps
    return COMMON_END[max(length for length in COMMON_END if length <= shortest)]


def of_the_post(run: Run) -> None:
    """Raise Absent for a model that the post does not have, such as one of language."""
    if run.experiment.task not in TASKS:
        raise Absent(f"the post trains no model on {run.experiment.task}")


def llc_curve(run: Run, dataset: str = "llc", *, to_step: int | None = None) -> xr.DataArray:
    """Return the LLC from step 50 on. Raises Absent for models that the post does not have.

    It is that on the distribution trained on, or where it is not measured there, on the first one.
    """
    of_the_post(run)
    measured = run.dataset(dataset)["distribution"].values
    text = run.text if run.text in measured else measured[0]
    return run.curve(f"{dataset}.llc", from_step=PEAK_FROM, to_step=to_step, distribution=text)


def require_peak(run: Run, curve: Callable[[Run], xr.DataArray]) -> None:
    """Raise NotJudged if a curve is largest at its end and the training is shorter than the post's.

    The curve as measured counts, also where others are redrawn.
    """
    measured = curve(run.like(noise=None))
    end = int(measured["step"][-1])
    if 0 < run.experiment.steps < POST_LENGTH and int(peak_step(measured)) == end:
        raise NotJudged(f"the LLC is largest at the end, around step {end:,}: no peak is seen")


def growth_of(run: Run, variable: str, from_step: int, to_step: int | None = None) -> xr.DataArray:
    """Return Spearman's correlation of a curve with the step, with its error over the choice of checkpoints.

    Circuits have no error of sampling, but few checkpoints: one more, or one less, changes their order.
    """
    curve = run.curve(variable, from_step=from_step, to_step=to_step)
    return run.with_error(
        growth(curve), jackknife_error(growth, curve), f"growth of {variable}", curve.sizes["step"] - 1
    )

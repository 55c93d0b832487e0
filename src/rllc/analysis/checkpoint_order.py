"""Find the checkpoints of a series that are out of place or equal, without the schedule of the training.

The ``turn`` at checkpoint t with neighbours s and u is the cosine of the angle between w_t - w_s and
w_u - w_t. It does not depend on the number of steps between checkpoints. It is 1 on a straight line, 0 for
independent increments, and -1/2 for weights that fluctuate independently around a fixed point. Where
checkpoints are exchanged, the path turns back, at some of their neighbours too. The ``detour`` tells them
apart: it is the length that the path loses without the checkpoint, |w_t - w_s| + |w_u - w_t| - |w_u - w_s|.
"""

import numpy as np
import xarray as xr

TURN = -0.6  # below -1/2, the turn of fluctuations, and above -0.71, that of exchanged independent increments
SHARE = 0.75  # of a neighbour's detour: exchanged neighbours have equal ones on a line, others at most 2/3
OUT_OF_PLACE, EQUAL = 1, 2  # bits of ``outlier``
NONE = -1  # no equal checkpoint
RULE = (
    f"out_of_place: the path turns back there (turn below {TURN:g}), its detour is at least {SHARE:g} of "
    "that of each neighbour where the path turns back too, and no neighbour has the tensors of an earlier "
    "checkpoint. equal_tensors: an earlier checkpoint (equal_to) has equal tensors. The first and the last "
    "checkpoint have no turn"
)


def out_of_place(dataset: xr.Dataset) -> xr.Dataset:
    """Return what the distances and digests of a series say of every checkpoint.

    dataset  ``norm``, ``distance_to_previous``, ``distance_to_second_previous``, ``previous_step`` and
             ``digest`` (seed, step), steps ascending; a missing checkpoint is NaN

    Returns ``relative_distance``, ``turn``, ``detour``, ``equal_to`` and the flags ``outlier`` (seed, step).
    """
    turn, detour = turns(dataset)
    equal = equal_to(dataset["digest"])
    back = turn < TURN
    rival = _largest_beside(detour.where(back, 0.0))
    explained = _largest_beside((equal != NONE).astype(float)) > 0
    wrong = back & (detour >= SHARE * rival) & ~explained
    flags = OUT_OF_PLACE * wrong + EQUAL * (equal != NONE)
    norm = dataset["norm"]
    return xr.Dataset(
        {
            "relative_distance": dataset["distance_to_previous"] / norm.where(norm > 0),
            "turn": turn,
            "detour": detour,
            "equal_to": equal,
            "outlier": flags.astype(np.int8).assign_attrs(
                flag_masks=np.asarray([OUT_OF_PLACE, EQUAL], np.int8),
                flag_meanings="out_of_place equal_tensors",
                rule=RULE,
            ),
        }
    )


def turns(dataset: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Return ``turn`` and ``detour`` (seed, step).

    Both are NaN at the ends of a series, beside a missing checkpoint, and where two of the three are equal.
    """
    after = dataset[["distance_to_previous", "distance_to_second_previous", "previous_step"]].shift(step=-1)
    before, behind, across = (
        each.where(each > 0)
        for each in (
            dataset["distance_to_previous"],
            after["distance_to_previous"],
            after["distance_to_second_previous"],
        )
    )
    known = after["previous_step"] == dataset["step"]
    cosine = (across**2 - before**2 - behind**2) / (2 * before * behind)
    return cosine.clip(-1, 1).where(known), (before + behind - across).where(known)


def equal_to(digests: xr.DataArray) -> xr.DataArray:
    """Return the step of the first checkpoint of a seed with the same digest (seed, step), or ``NONE``."""
    digests = digests.transpose("seed", "step")
    found = np.full(digests.shape, NONE, np.int64)
    for row, of_seed in zip(found, digests.values, strict=True):
        first: dict[str, int] = {}
        for n, (step, digest) in enumerate(zip(digests["step"].values.tolist(), of_seed, strict=True)):
            if not isinstance(digest, str):  # the checkpoint is not measured yet
                continue
            row[n] = first.get(digest, NONE)
            first.setdefault(digest, step)
    return xr.DataArray(found, {name: digests[name] for name in ("seed", "step")}, ("seed", "step"))


def _largest_beside(values: xr.DataArray) -> xr.DataArray:
    """Return the larger value of the two neighbours; 0 where there is none."""
    sides = [values.shift(step=n, fill_value=0.0) for n in (-1, 1)]
    return xr.concat(sides, "side").max("side")

"""Passages of text whose tokens are coloured by how far their loss falls in a stage of development."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

from rllc.analysis.highlights import DRAWN, EXCERPTS, GREATEST, REPEATS
from rllc.analysis.recorded import recorded
from rllc.figures import stage_bands
from rllc.figures.drawing import NAN, Datasets, Finding
from rllc.figures.findings import over_seeds
from rllc.figures.stage_bands import BASE

STEPS = 5  # steps of either colour; the last one begins at the end of the scale
BETTER = ("#fde8e2", "#fbcdc0", "#f8ac99", "#f38a73", "#ec6650")  # dark letters are legible on each
WORSE = ("#e4eef9", "#c6dcf2", "#a0c4e8", "#76a8dc", "#4f8ccf")
CHOSEN = {
    DRAWN: "drawn at random, the same in all stages",
    GREATEST: "greatest mean gain",
    REPEATS: "greatest gain of repeats against the rest",
}
KINDS = {
    "all": "all tokens",
    "second": "second tokens of words",
    "repeated": "repeats",
    "other": "neither",
}
REPEAT = (
    "A repeat is a token that came before in its context after the same token; tokens that share a character "
    "are drawn as one, with the sum of their gains."
)


class Passage(NamedTuple):
    """An excerpt: the reason of its choice, its place, its score, and its tokens with their gains in nats."""

    chosen: str
    context: int
    start: int
    score: float
    parts: list[tuple[str, float]]


def passages(one: xr.Dataset) -> Iterator[Passage]:
    """Yield the excerpts of one stage of one seed.

    one  ``highlights`` without the dims seed and stage
    """
    for chosen in EXCERPTS:
        cell = one.sel(excerpt=chosen)
        if not np.isfinite(cell["excerpt_context"]):
            continue
        context, start = int(cell["excerpt_context"]), int(cell["excerpt_start"])
        window = slice(start, start + int(one.attrs["length"]))
        row = one[["gain", "text", "joined"]].sel(context=context).isel(position=window)
        gains: dict[int, float] = {}
        for place, gain in zip(row["joined"].values.tolist(), row["gain"].values.tolist(), strict=True):
            if place >= start:  # else the text begins before the excerpt
                gains[place] = gains.get(place, 0.0) + gain
        parts = [(str(row["text"].sel(position=place).item()), gain) for place, gain in gains.items()]
        yield Passage(chosen, context, start, float(cell["excerpt_score"]), parts)


def shade(gain: float, scale: float) -> int:
    """Return the step of a gain's colour: 1 to ``STEPS`` for better, the same negative for worse, 0: none."""
    if not scale > 0:
        return 0
    return int(np.clip(np.round(gain / scale * STEPS), -STEPS, STEPS))


def color(step: int) -> str | None:
    """Return the colour of a step; None for step 0."""
    return None if step == 0 else (BETTER if step > 0 else WORSE)[abs(step) - 1]


def stages_of(one: xr.Dataset) -> list[xr.Dataset]:
    """Return the stages of one seed. ``one`` is ``highlights`` without the dim seed."""
    return [one.sel(stage=n) for n in one["stage"].values[np.isfinite(one["stage_start"].values)].tolist()]


def called(stage: xr.Dataset) -> str:
    """Return the name of a stage: "Stage 2, steps 900 to 6,500"."""
    start, end = (int(stage[name]) for name in ("stage_start", "stage_end"))
    return f"Stage {int(stage['stage'])}, steps {start:,} to {end:,}"


def ended(stage: xr.Dataset) -> str:
    """Return in words what ends a stage: a determined boundary, a possible one, or the training."""
    sure = float(stage["end_determined"])
    return "the end of training" if np.isnan(sure) else f"a {'determined' if sure else 'possible'} boundary"


def mean_gain(stage: xr.Dataset, kind: str) -> str:
    """Return the mean gain of a kind of token: "0.83 ± 0.02"; a dash if there is no such token."""
    mean, error = (float(stage[name].sel(tokens=kind)) for name in ("mean_gain", "mean_gain_se"))
    if not np.isfinite(mean):
        return "–"
    digits = 2 if not error < 0.005 else 3
    return f"{mean:.{digits}f} ± {error:.{digits}f}" if np.isfinite(error) else f"{mean:.2f}"


def of_curve(data: xr.Dataset) -> str:
    """Return which LLC curve gives the stages: "LLC on the training mixture, setting published"."""
    setting = _setting(data)
    return f"LLC on {data.attrs['text_of']}" + ("" if setting == BASE else f", setting {setting}")


def of_loss(datasets: Datasets, data: xr.Dataset) -> list[Finding]:
    """Return the curve's correlation with the loss. ``data`` is ``highlights`` of one or several seeds."""
    distribution = recorded(data, "highlights").get("distribution")
    cells = stage_bands.curves_of(datasets, data["seed"], distribution, _setting(data))
    alike = [NAN if one is None else float(one["llc_loss_correlation"]) for one in cells.values()]
    return over_seeds(
        f"correlation of LLC and {stage_bands.CHAINS_LOSS}",
        xr.DataArray(alike, {"seed": list(cells)}, ["seed"]),
    )


def _setting(data: xr.Dataset) -> str:
    return recorded(data, "highlights").get("setting", BASE)

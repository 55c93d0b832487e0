"""Stages of the whole model's LLC as bands behind panels over training, for figures of heads."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from rllc.figures.drawing import Datasets
from rllc.figures.panels import Panel, all_of
from rllc.figures.stage_bands import bands, curves_of, of_stages


class Stages:
    """The stages of every training seed, by the LLC at the base setting. Without them nothing is drawn.

    said  the caption's sentence on the LLC that gives the stages; empty if no stage is drawn
    """

    def __init__(self, datasets: Datasets, seeds: xr.DataArray) -> None:
        cells = curves_of(datasets, seeds, None)
        self._found = {seed: one for seed, one in cells.items() if one is not None and one.sizes["boundary"]}
        self.said = of_stages(self._found)

    def edges(self, seed: int) -> np.ndarray:
        """Return the steps at which the drawn stages of a seed begin and end; none without stages."""
        one = self._found.get(seed)
        if one is None:
            return np.empty(0)
        smoothed = one["llc_smooth"].dropna("step")["step"].values
        return np.unique([*one["boundary_step"].values, *smoothed[[0, -1]]])

    def behind(self, seed: int, panels: Sequence[Panel]) -> list[Panel]:
        """Return the panels of one seed, those over training steps with its stages below all else."""
        if seed not in self._found:
            return [*panels]
        draw = bands(self._found[seed])
        return [
            each
            if each.x is not None
            else each._replace(under=draw if each.under is None else all_of(draw, each.under))
            for each in panels
        ]

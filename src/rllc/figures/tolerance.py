"""Numbers of stage boundaries by the tolerance of the rule, beside the authors' curve (arXiv 2402.02364)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rllc.analysis.plateaus import FLATNESS, TOLERANCES, counts, plateaus
from rllc.claims.published import published_llc
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
from rllc.figures.findings import known, over_seeds
from rllc.figures.panels import Curve, Panel, Row, sheet
from rllc.figures.stage_bands import estimates, of_stages

COUNTS = {"boundary_count": "boundaries", "determined_count": "determined boundaries"}
THEIRS = {"color": "#888888", "linewidth": 2.2, "zorder": 2}
ON_GRIDS = {"all": THEIRS, "ours": THEIRS | {"linestyle": "--"}}
NAMES = {"all": "published curve,\nits checkpoints", "ours": "published curve,\nour checkpoints"}


@style.styled
def stage_tolerance(
    datasets: Datasets,
    *,
    distribution: Name = None,
    seeds: Seeds = None,
    setting: str = "sampling",
    published: str = "lm2",
) -> Drawing:
    """Number of stage boundaries by the tolerance of the rule, of every seed and of the authors' LLC curve.

    datasets   ``stages``; ``llc``, or ``llc.<setting>``
    published  the authors' curve: lm2, lm1 (language models of two and one layers), lr0 to lr4 (regression)
    """
    llc = inputs.of_seeds(estimates(datasets, setting), seeds)
    name = inputs.one_distribution(llc, distribution)
    table = inputs.need(datasets, "stages", *COUNTS).sel(seed=llc["seed"].values)
    one = table[list(COUNTS)].sel(setting=setting, distribution=name).reset_coords(drop=True)
    theirs = _of_authors(published, llc["step"].values)
    every = one["seed"].values.tolist()
    looks = dict(zip(every, map(style.numbered, range(len(every)), style.shades(len(every))), strict=True))
    panels = [
        Panel(
            title, _curves(one[count], theirs[count], looks), over=_axes, x="tolerance (share of the range)"
        )
        for count, title in COUNTS.items()
    ]
    keys = [style.key(f"seed {seed}", **look) for seed, look in looks.items()]
    keys += [style.key(NAMES[grid], **look) for grid, look in ON_GRIDS.items()]
    figure, _ = sheet([Row("number", panels, keys)], panel=(3.2, 2.4), margin=1.6, sharey="row")
    found = []
    for count, title in COUNTS.items():
        found += over_seeds(f"{title} at {FLATNESS:g}", one[count].sel(flatness=FLATNESS))
        for grid in ON_GRIDS:
            value = theirs[count].sel(grid=grid, flatness=FLATNESS)
            found += over_seeds(f"{title} at {FLATNESS:g}, {NAMES[grid]}".replace("\n", " "), value)
    label, cells = inputs.one_label(llc, name), {every[0]: table.sel(setting=setting, distribution=name)}
    return Drawing(
        figure,
        one.expand_dims(distribution=[name]).merge(
            theirs.rename({count: f"published_{count}" for count in COUNTS})
        ),
        f"Stage boundaries of the LLC on {label} by the tolerance of the slope, beside the published curve.",
        known(found),
        [*of_stages(cells), *conditions.setting(llc), *conditions.seeds(one)],
    )


def _curves(ours: xr.DataArray, theirs: xr.DataArray, looks: Mapping[int, Mapping[str, Any]]) -> list[Curve]:
    """Return the authors' curve on every grid, then that of every seed, with the tolerance as ``step``."""
    ours, theirs = (each.rename(flatness="step") for each in (ours, theirs))
    drawn = [Curve(theirs.sel(grid=grid), look) for grid, look in ON_GRIDS.items()]
    return [*drawn, *(Curve(ours.sel(seed=seed), look) for seed, look in looks.items())]


def _axes(ax: Axes) -> None:
    """Mark the tolerance of the rule, and set whole numbers above and from 0 on."""
    ax.axvline(FLATNESS, color="#444444", linewidth=0.7, linestyle=":", zorder=1)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))


def _of_authors(name: str, steps: np.ndarray) -> xr.Dataset:
    """Return ``COUNTS`` (grid, flatness) of an authors' curve at all its checkpoints and at ours."""
    llc = published_llc(name)
    llc = llc.sel(step=llc["step"] > 0)
    theirs = llc["step"].values
    within = steps[(steps >= theirs[0]) & (steps <= theirs[-1])]
    near = np.unique(np.abs(np.log(theirs)[:, None] - np.log(within)).argmin(0))
    made = {}
    for grid, one in {"all": llc, "ours": llc.isel(step=near)}.items():
        smooth, _ = plateaus(one["step"].values.astype(float), one.values)
        made[grid] = [values.astype(float) for values in counts(smooth)]
    numbers = np.array([made[grid] for grid in ON_GRIDS])
    coords = {"grid": list(ON_GRIDS), "flatness": list(TOLERANCES)}
    return xr.Dataset({c: (("grid", "flatness"), numbers[:, n]) for n, c in enumerate(COUNTS)}, coords)

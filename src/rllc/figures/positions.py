"""Losses by position, and the positional weights (arXiv 2402.02364, Figs. B3, B4)."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes

from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seed, Seeds
from rllc.figures.findings import known, near_end
from rllc.figures.panels import Curve, Panel, Row, by_seed, sheet
from rllc.figures.stage_bands import above_chance, bands, curves_of, of_stages
from rllc.units import NATS

MEAN = {"color": "#CC3311", "linewidth": 1.8, "zorder": 5}
MARKED: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4, "zorder": 3}
SEVERAL = 6  # checkpoints of W_pos side by side


@style.styled
def stage_figB3(  # noqa: N802
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Loss by position with W_pos and with zeros instead. Rows: seeds.

    datasets  ``positions``; ``stages`` (without it no boundaries)
    """
    held = inputs.of_seeds(inputs.need(datasets, "positions", "loss_at", "ablated_loss_at"), seeds)
    name = inputs.one_distribution(held, distribution)
    data = held[["loss", "ablated_loss", "loss_at", "ablated_loss_at"]].sel(distribution=[name])
    label, at = inputs.one_label(data, name), data["at"].values.tolist()
    looks = {p: {"color": color, "linewidth": 0.9} for p, color in zip(at, _by_logarithm(at), strict=True)}
    rows = []
    listed = [style.key(f"position {p}", **look) for p, look in looks.items()] + [style.key("mean", **MEAN)]
    cells = curves_of(datasets, data["seed"], name, setting)
    for seed, suffix, one in by_seed(data.sel(distribution=name)):
        under, panels = bands(cells[seed]), []
        for ending, title in (("", "W_pos as it is"), ("ablated_", "zeros for W_pos")):
            curves = [Curve(one[f"{ending}loss_at"].sel(at=p), look) for p, look in looks.items()]
            curves.append(Curve(one[f"{ending}loss"], MEAN))
            panels.append(Panel(f"{title}{suffix}", curves, under=under))
        rows.append(Row("nats/token", panels, listed))
    figure, _ = sheet(rows, panel=(3.2, 2.6), entries=len(listed), sharex=True, sharey=True)
    one = data.sel(distribution=name)
    rise, rise_at = one["ablated_loss"] - one["loss"], one["ablated_loss_at"] - one["loss_at"]
    cost, errors = "rise of the loss with zeros for W_pos", held.sel(distribution=name)
    return Drawing(
        figure,
        data,
        f"Loss by position on {label}, with W_pos and with zeros in its place.",
        known(
            [
                *near_end("loss", one["loss"], errors.get("loss_se"), NATS),
                *near_end(cost, rise, errors.get("position_gain_se"), NATS),
                *near_end(f"{cost} (position {at[-1]})", rise_at.isel(at=-1), unit=NATS),
            ]
        ),
        [
            *conditions.contexts(held, "positions"),
            "Position 0 is that of BOS.",
            *of_stages(cells),
            *above_chance(cells),
            *conditions.seeds(data),
        ],
    )


def _by_logarithm(at: list[int]) -> list:
    """Return colours from purple to yellow by ln(1 + position)."""
    place = np.log1p(np.asarray(at, dtype=float))
    return [colormaps["viridis"](value) for value in place / (place.max() or 1.0)]


@style.styled
def stage_figB4(datasets: Datasets, *, distribution: Name = None, seed: Seed = None) -> Drawing:  # noqa: N802
    """W_pos at six checkpoints: scores on three principal components, their variances, norms of rows."""
    held = inputs.of_seed(inputs.need(datasets, "positions", "position_score", "explained_variance"), seed)
    if "distribution" in held["position_score"].dims:  # W_pos does not depend on a distribution
        held = held.sel(distribution=inputs.one_distribution(held, distribution))
    data = held[["position_score", "explained_variance", "position_norm"]].reset_coords(drop=True)
    data = data.isel(step=_several(data["step"].values))
    position, components = data["position"].values, data["component"].values.tolist()
    colors = dict(zip(components, style.shades(len(components)), strict=True))
    rows = [
        Row(f"score on PC{c}", [
            Panel(f"step {style.step_text(float(step))}" if c == components[0] else "", x="position",
                  over=partial(_line, x=position, y=data["position_score"].sel(step=step, component=c).values,
                               color=colors[c]))
            for step in data["step"].values])
        for c in components
    ]  # fmt: skip
    shares = [data["explained_variance"].sel(step=step).values for step in data["step"].values]
    rows.append(Row("explained variance", [
        Panel("", x="component", over=partial(_bars, x=components, y=share, colors=list(colors.values())))
        for share in shares]))  # fmt: skip
    rows.append(Row("norm of the row", [
        Panel("", x="position", over=partial(_line, x=position, y=data["position_norm"].sel(step=step).values,
                                             color="#333333"))
        for step in data["step"].values]))  # fmt: skip
    figure, axes = sheet(rows, panel=(1.75, 1.35), margin=0.1, sharey="row")
    for line in axes[:2]:
        for ax in line:
            ax.set_xlabel("")
    share = 100 * data["explained_variance"].sel(component=1)
    drawn = data.expand_dims(seed=[held["seed"].item()])
    return Drawing(
        figure,
        drawn,
        "Positional embedding W_pos: scores on principal components, explained variance and norms of rows.",
        known(
            [
                Finding(
                    f"variance of W_pos on its first component at step {int(step):,}", float(of), unit="%"
                )
                for step, of in zip(data["step"].values[[0, -1]], share.values[[0, -1]], strict=True)
            ]
        ),
        [
            "Of Brownian motion the first component explains 61 %.",
            "The sign of a component is free: the largest score is positive.",
            *conditions.seeds(drawn),
        ],
    )


def _several(steps: np.ndarray) -> np.ndarray:
    """Return the first and last checkpoint, and others about evenly apart in the logarithm of the step."""
    first, last = np.log1p(steps[[min(1, len(steps) - 1), -1]])
    wanted = np.linspace(first, last, SEVERAL - 1)
    return np.unique([0, *(int(np.abs(np.log1p(steps) - each).argmin()) for each in wanted)])


def _line(ax: Axes, *, x: np.ndarray, y: np.ndarray, color: object) -> None:
    ax.plot(x, y, color=color, linewidth=1.1)


def _bars(ax: Axes, *, x: list[int], y: np.ndarray, colors: list) -> None:
    ax.bar(x, y, color=colors)
    ax.set_xticks(x)


@style.styled
def stage_figB4_lissajous(  # noqa: N802
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None
) -> Drawing:
    """W_pos at six checkpoints: principal components against each other, a point per position.

    Of a long random walk, the score of position p of T on component k follows cos(pi k (p + 1/2) / T). Such
    components drawn against each other are Lissajous curves.
    """
    held = inputs.of_seed(inputs.need(datasets, "positions", "position_score"), seed)
    if "distribution" in held["position_score"].dims:  # W_pos does not depend on a distribution
        held = held.sel(distribution=inputs.one_distribution(held, distribution))
    data = held[["position_score"]].reset_coords(drop=True)
    data = data.isel(step=_several(data["step"].values))
    data["likeness"] = _likeness(data["position_score"])
    steps, components = data["step"].values, data["component"].values.tolist()
    first, *others = components
    rows = [
        Row(f"score on PC{c}", [
            Panel(f"step {style.step_text(float(step))}" if c == others[0] else "", x=f"score on PC{first}",
                  over=partial(_against, scores=data["position_score"].sel(step=step), x=first, y=c))
            for step in steps])
        for c in others
    ]  # fmt: skip
    positions = data["position"].values
    middle = positions[len(positions) // 2]
    marked = zip((positions[0], middle, positions[-1]), _evenly(3), strict=True)
    keys = [style.key(f"position {p}", color=color, **MARKED) for p, color in marked]
    rows[0] = rows[0]._replace(keys=keys)
    figure, _ = sheet(rows, panel=(1.75, 1.6), margin=1.1)
    drawn = data.expand_dims(seed=[held["seed"].item()])
    found = [
        Finding(
            f"|correlation| of PC{c} with its cosine at step {int(step):,}",
            round(float(of.sel(component=c)), 3),
        )
        for step in steps[[0, -1]]
        for c, of in ((c, data["likeness"].sel(step=step)) for c in components)
    ]
    return Drawing(
        figure,
        drawn,
        "Positional embedding W_pos: scores of positions on principal components, against each other.",
        known(found),
        [
            "Cosine of component k: cos(pi k (p + 1/2) / T) at position p of T, which random walks follow.",
            "The sign of a component is free: the largest score is positive.",
            *conditions.seeds(drawn),
        ],
    )


def _likeness(scores: xr.DataArray) -> xr.DataArray:
    """Return |correlation| over positions of each component's scores with the cosine of a random walk."""
    count = scores.sizes["position"]
    place = xr.DataArray((np.arange(count) + 0.5) / count, {"position": scores["position"]}, ["position"])
    return abs(xr.corr(scores, xr.ufuncs.cos(np.pi * scores["component"] * place), "position"))


def _evenly(count: int) -> list:
    """Return colours from purple to yellow."""
    return [colormaps["viridis"](value) for value in np.linspace(0, 1, count)]


def _against(ax: Axes, *, scores: xr.DataArray, x: int, y: int) -> None:
    """Draw component ``y`` against component ``x``, coloured by position, joined in their order."""
    across, up = (scores.sel(component=c).values for c in (x, y))
    ax.plot(across, up, color="#BBBBBB", linewidth=0.5, zorder=1)
    ax.scatter(across, up, c=_evenly(across.size), s=5, linewidths=0, zorder=2)
    for n, color in zip((0, across.size // 2, across.size - 1), _evenly(3), strict=True):
        ax.plot(across[n], up[n], color=color, **MARKED)

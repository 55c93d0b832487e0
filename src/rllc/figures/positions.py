"""Losses by position, and what the positional weights look like (arXiv 2402.02364, Figs. B3, B4)."""

from functools import partial

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seed, Seeds
from rllc.figures.panels import Curve, Panel, Row, by_seed, sheet
from rllc.figures.stage_bands import OF_BANDS, among, bands, curves_of, explained

MEAN = {"color": "#CC3311", "linewidth": 1.8, "zorder": 5}
SEVERAL = 6  # checkpoints of W_pos side by side


@style.styled
def stage_figB3(  # noqa: N802
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Loss by position with W_pos and with zeros in its place; a row per seed.

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
    costs = [one["ablated_loss"] - one["loss"]]
    costs += [(one["ablated_loss_at"] - one["loss_at"]).isel(at=n) for n in (0, -1)]
    whole, first, late = (captions.spread(captions.last(cost), ".2f") for cost in costs)
    found = (
        f"At the end zeros for W_pos cost {whole} nats/token{captions.over(data)}, {first} at position "
        f"{at[0]}, {late} at position {at[-1]}."
    )
    return captions.drawing(
        figure, data, *among([found], cells),
        f"Loss on {label} of the prediction made at a position; position 0 is that of BOS.",
        conditions=[captions.contexts(held, "positions"), "No uncertainty is drawn."],
        details=[explained(OF_BANDS, cells)],
    )  # fmt: skip


def _by_logarithm(at: list[int]) -> list:
    """Colours from purple to yellow by ln(1 + position)."""
    place = np.log1p(np.asarray(at, dtype=float))
    return [colormaps["viridis"](value) for value in place / (place.max() or 1.0)]


@style.styled
def stage_figB4(datasets: Datasets, *, distribution: Name = None, seed: Seed = None) -> Drawing:  # noqa: N802
    """W_pos at six checkpoints: scores on three principal components, their variance, norms of its rows."""
    held = inputs.of_seed(inputs.need(datasets, "positions", "position_score", "explained_variance"), seed)
    if "distribution" in held["position_score"].dims:  # W_pos is of no distribution
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
    first, last = (float(data["explained_variance"].sel(component=1).isel(step=n)) for n in (0, -1))
    return captions.drawing(
        figure, data.expand_dims(seed=[held["seed"].item()]),
        f"The first principal component of W_pos explains {first:.0%} of its variance at step "
        f"{int(data['step'][0])} and {last:.0%} at step {int(data['step'][-1])} (of Brownian motion: 61 %).",
        "Rows are centred; the largest score is positive.",
        "Where W_pos starts sinusoidal, as in the default study, Lissajous curves are put in at step 0.",
    )  # fmt: skip


def _several(steps: np.ndarray) -> np.ndarray:
    """The first checkpoint, and others about evenly apart in the logarithm of the step, the last included."""
    wanted = np.linspace(*np.log1p(steps[[min(1, len(steps) - 1), -1]]), SEVERAL - 1)
    return np.unique([0, *(int(np.abs(np.log1p(steps) - each).argmin()) for each in wanted)])


def _line(ax: Axes, *, x: np.ndarray, y: np.ndarray, color: object) -> None:
    ax.plot(x, y, color=color, linewidth=1.1)


def _bars(ax: Axes, *, x: list[int], y: np.ndarray, colors: list) -> None:
    ax.bar(x, y, color=colors)
    ax.set_xticks(x)

"""Loss, LLC and weight norm with their slopes, and all seeds (arXiv 2402.02364, Figs. B1, B2, B7, C1)."""

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.gaussian_process import smooth
from rllc.analysis.plateaus import FEWEST
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seed, Seeds
from rllc.figures.findings import at_end, fitting, known
from rllc.figures.panels import Curve, Panel, Row, all_of, curve, level, sheet
from rllc.figures.stage_bands import (
    above_chance,
    bands,
    estimates,
    keys,
    llc_findings,
    of_curve,
    of_loss,
    within,
)
from rllc.units import NATS

SMOOTH = {"color": "#CC3311", "linestyle": "--", "linewidth": 1.3, "zorder": 4}
RAW = {"color": "#4477AA", "alpha": 0.35, "linewidth": 0.9}
POINTS = {"color": "#333333", "marker": "o", "markersize": 2.2, "linewidth": 0.8}
# variable -> title, label of its axis (None: the loss's unit), label of its slope's, whether that is per step
QUANTITIES = {
    "loss": ("held-out loss", None, "d loss / d ln(step)", False),
    "llc": ("full-model LLC", "LLC", "d LLC / d ln(step)", False),
    "weight_norm": ("norm of all weights", "norm", "d norm / d step", True),
}


@style.styled
def stage_figB2(  # noqa: N802
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None, setting: str = "sampling"
) -> Drawing:
    """Loss, LLC and weight norm of one seed with fitted Gaussian processes. Below: their slopes.

    datasets  ``metrics`` with ``loss`` and ``weight_norm``; ``llc``, or ``llc.<setting>``; ``stages``
              (without it no boundaries)
    """
    llc = estimates(datasets, setting)
    name = inputs.one_distribution(llc, distribution)
    metrics = inputs.of_seed(inputs.need(datasets, "metrics", "loss", "weight_norm"), seed)
    which, label = metrics["seed"].item(), inputs.one_label(llc, name)
    named = {"distribution": name}
    kept = [variable for variable in ("llc", "llc_se", "quality", "status") if variable in llc]
    measured = inputs.of_seed(llc, which)[kept].sel(named)
    if "quality" in measured:
        measured["quality"] = inputs.quality_flags(measured, "llc")
    parts = {"loss": metrics[["loss"]].sel(named), "llc": measured, "weight_norm": _norm(metrics, name)}
    data = xr.merge(
        [part.reset_coords(drop=True) for part in parts.values()], join="outer", compat="override",
        combine_attrs="drop",
    )  # fmt: skip
    one = of_curve(datasets, which, name, setting)
    frame = {"under": bands(one), "steps": data["step"].values}
    above, below = [], []
    for quantity, (title, _, _, per_step) in QUANTITIES.items():
        raw = data[quantity].dropna("step")
        error = data["llc_se"].sel(step=raw["step"]) if quantity == "llc" and "llc_se" in data else None
        data = data.merge(_smoothed(raw, per_step, error), join="outer")
        of = measured if quantity == "llc" else data.drop_vars("quality", errors="ignore")
        points = curve(of.sel(step=raw["step"].values), quantity, POINTS)
        shown = [points._replace(ring_look=style.SMALL_RING)]
        shown.append(Curve(data[f"{quantity}_smooth"].dropna("step"), SMOOTH))
        over = within(measured) if quantity == "llc" else None
        shown += of_loss(one) if quantity == "llc" else []
        above.append(Panel(title, shown, **frame, over=over))
        slopes = [Curve(data[f"{quantity}_{which}"].dropna("step"), look) for which, look in
                  (("difference", RAW), ("slope", SMOOTH))]  # fmt: skip
        below.append(Panel("slope", slopes, **frame, over=_within(data[f"{quantity}_slope"])))
    process = style.key("Gaussian process", **SMOOTH)
    rings = style.ring_keys(inputs.ring_reasons((measured, "llc")), **style.SMALL_RING)
    rows = [Row("", above, [style.key("measured", **POINTS), process, *keys(one), *rings]),
            Row("", below, [style.key("differences", **RAW), process])]  # fmt: skip
    figure, axes = sheet(rows, panel=(2.7, 2.0), sharex=True)
    for column, (_, unit, of_slope, _) in zip(axes.T, QUANTITIES.values(), strict=True):
        for ax, text in zip(column, (unit, of_slope), strict=True):
            ax.set_ylabel(_unit(metrics) if text is None else text)
    cells = {which: one}
    return Drawing(
        figure,
        data.expand_dims(seed=[which]),
        f"Held-out loss, full-model LLC and weight norm on {label}, and their slopes.",
        known(
            [
                *at_end("held-out loss", data["loss"], unit=_unit(metrics)),
                *at_end("LLC", data["llc"], data.get("llc_se")),
                *at_end("norm of all weights", data["weight_norm"]),
                *llc_findings(cells),
            ]
        ),
        [*conditions.of_estimates(llc, measured, "llc"), *above_chance(cells)],
    )


def _unit(metrics: xr.Dataset) -> str:
    return metrics["loss"].attrs.get("units", NATS)


def _within(slope: xr.DataArray) -> Callable[[Axes], object]:
    """Return a function that sets a panel's range by the Gaussian process, without its unstable ends.

    Differences between checkpoints are too noisy to set the range.
    """
    low, high = np.nanquantile(slope, [0.03, 0.97]) if slope.notnull().any() else (-1.0, 1.0)
    low, high = min(low, 0.0), max(high, 0.0)
    room = 0.5 * (high - low) or 1.0
    return all_of(level(), partial(Axes.set_ylim, bottom=low - room, top=high + room))


def _norm(metrics: xr.Dataset, name: str) -> xr.Dataset:
    norm = metrics[["weight_norm"]]
    return norm.sel(distribution=name) if "distribution" in norm["weight_norm"].dims else norm


def _smoothed(raw: xr.DataArray, per_step: bool, error: xr.DataArray | None) -> xr.Dataset:
    """Return the process, its slope, and differences between checkpoints, from the first positive step on."""
    late = raw["step"] > 0
    raw = raw.sel(step=late)
    step, value, name = raw["step"].values.astype(float), raw.values.astype(float), raw.name
    if step.size < FEWEST:
        empty = xr.full_like(raw, np.nan)
        return xr.Dataset({f"{name}_{what}": empty for what in ("smooth", "slope", "difference")})
    known = None if error is None else error.sel(step=late).values.astype(float)
    process, per = smooth(step, value, known), step if per_step else 1.0
    found = {
        "smooth": process.value,
        "slope": process.slope / per,
        "difference": np.gradient(value, np.log(step)) / per,
    }
    return xr.Dataset({f"{name}_{what}": raw.copy(data=values) for what, values in found.items()})


@style.styled
def stage_figB1a(  # noqa: N802
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Test loss (top) and LLC of the full model (bottom), a line per training seed."""
    llc = inputs.of_seeds(estimates(datasets, setting), seeds)
    name = inputs.one_distribution(llc, distribution)
    metrics = inputs.of_seeds(inputs.need(datasets, "metrics", "loss"), seeds).sel(distribution=[name])
    kept = [variable for variable in ("llc", "llc_se", "quality", "status") if variable in llc]
    data = xr.merge(
        [metrics[["loss"]], llc[kept].sel(distribution=[name])], join="outer", compat="override",
        combine_attrs="drop",
    )  # fmt: skip
    if "quality" in data:
        data["quality"] = inputs.quality_flags(data, "llc")
    every = data["seed"].values.tolist()
    colors = dict(zip(every, style.shades(len(every)), strict=True))
    looks = {seed: style.numbered(n, colors[seed]) | {"markersize": 2.5} for n, seed in enumerate(every)}
    cells = {seed: of_curve(datasets, seed, name, setting) for seed in every}
    one = data.sel(distribution=name)
    label, steps = inputs.one_label(data, name), data["step"].values
    losses = [Curve(one["loss"].sel(seed=seed).dropna("step"), looks[seed]) for seed in every]
    at = llc["step"].values
    levels = [
        curve(one.sel(seed=seed, step=at), "llc", looks[seed])._replace(ring_look=style.SMALL_RING)
        for seed in every
    ]
    rings = style.ring_keys(inputs.ring_reasons((data, "llc")), **style.SMALL_RING)
    rows = [
        Row(_unit(metrics), [Panel(f"held-out loss on {style.short(label)}", losses, steps=steps)],
            [style.key(f"seed {seed}", **looks[seed]) for seed in every]),
        Row("LLC", [Panel("full-model LLC", levels, steps=steps)], rings),
    ]  # fmt: skip
    figure, _ = sheet(rows, panel=(4.4, 2.1), sharex=True)
    measured = one.sel(step=at)
    title = f"Held-out loss and full-model LLC on {label}, over training, a line per training seed."
    told = [*conditions.of_estimates(llc, data.sel(step=at), "llc", "loss"), *above_chance(cells)]
    found = [
        *at_end("LLC", measured["llc"], measured.get("llc_se")),
        *_apart(measured["llc"]),
        *llc_findings(cells),
        *at_end("held-out loss", one["loss"], unit=_unit(metrics)),
    ]
    return Drawing(figure, data, title, fitting(found, title, told), told)


def _apart(llc: xr.DataArray) -> list[Finding]:
    """Return the distance between seeds; nothing for one seed."""
    if llc.sizes["seed"] < 2:
        return []
    apart = llc.std("seed", ddof=1)
    return [
        Finding("sd of the LLC over seeds, mean over checkpoints", float(apart.mean())),
        Finding("sd of the LLC over seeds, largest", float(apart.max())),
    ]

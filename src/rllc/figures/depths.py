"""Loss and LLC of models of different depth (arXiv 2410.02984, C.3)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seeds
from rllc.figures.findings import known, over_seeds
from rllc.figures.panels import Curve, Panel, Row, curve, seed_suffix, sheet, together
from rllc.figures.stage_bands import bands, of_curve
from rllc.units import NATS


@style.styled
def rllc_fig13_stages(
    datasets: Datasets,
    *,
    distribution: Name = None,
    seeds: Seeds = None,
    title: str = "this model",
    titles: Mapping[str, str] | None = None,
) -> Drawing:
    """Held-out loss (top) and LLC of the full model (bottom). Columns: experiments. Lines: seeds.

    datasets  ``metrics`` and ``llc`` of one experiment, ``metrics@<experiment>`` and ``llc@<experiment>`` of
              others; ``stages``: the first experiment's panels have the stages of its first seed
    seeds     seeds of the first experiment; all seeds of the others are drawn
    titles    titles of the others; default their names
    """
    others = [name.partition("@")[2] for name in datasets if name.startswith("llc@")]
    name = inputs.one_distribution(inputs.need(datasets, "llc", "llc"), distribution)
    parts: dict[str, xr.Dataset] = {}
    for other in ("", *others):
        at = f"@{other}" if other else ""
        of = seeds if not other else None
        llc = inputs.of_seeds(inputs.need(datasets, f"llc{at}", "llc"), of)
        loss = inputs.of_seeds(inputs.need(datasets, f"metrics{at}", "loss"), of)
        kept = [variable for variable in ("llc", "llc_se", "quality") if variable in llc]
        measured = [loss[["loss"]].sel(distribution=[name]), llc[kept].sel(distribution=[name])]
        called = (titles or {}).get(other, other.replace("_", " ")) if other else title
        parts[called] = xr.merge(measured, join="outer", compat="override", combine_attrs="drop")
    whose = int(next(iter(parts.values()))["seed"].values[0])
    stages = of_curve(datasets, whose, name)
    every = sorted({seed for part in parts.values() for seed in part["seed"].values.tolist()})
    colors = dict(zip(every, style.shades(len(every)), strict=True))
    looks = {seed: style.numbered(n, colors[seed]) | {"markersize": 2.5} for n, seed in enumerate(every)}
    rows = []
    for variable, quantity, unit in (("loss", "held-out loss", NATS), ("llc", "full-model LLC", "LLC")):
        panels = []
        for n, (called, part) in enumerate(parts.items()):
            one = part.sel(distribution=name)
            under = bands(stages, of=seed_suffix(part["seed"], whose)) if n == 0 else None
            panels.append(
                Panel(
                    f"{called}: {quantity}",
                    _lines(one, variable, looks),
                    under=under,
                    steps=one["step"].values,
                )
            )
        rows.append(
            Row(unit, panels, [style.key(f"seed {s}", **looks[s]) for s in every] if not rows else ())
        )
    figure, axes = sheet(rows, panel=(3.4, 2.1), sharex=True)
    for line in axes:
        together(line)
    index = xr.IndexVariable("model", list(parts))
    data = xr.concat([*parts.values()], index, join="outer", combine_attrs="drop")
    if "quality" in data:
        data["quality"] = inputs.quality_flags(data, "llc")
    errors = [conditions.BANDS] if "llc_se" in data else []
    of_stages = [] if stages is None else [f"Stages: of {next(iter(parts))} alone, seed {whose}."]
    doubts = [
        text.replace(":", f", {called}:", 1)
        for called, part in parts.items()
        for text in conditions.unreliable(part, "llc")
    ]
    return Drawing(
        figure,
        data,
        f"Held-out loss and full-model LLC of several models on {inputs.one_label(datasets['llc'], name)}.",
        _findings(parts, name),
        [*errors, *of_stages, *conditions.setting(datasets["llc"]), *doubts],
    )


def _lines(one: xr.Dataset, variable: str, looks: dict) -> list[Curve]:
    shown = []
    for seed in one["seed"].values.tolist():
        cell = one.sel(seed=seed)
        cell = cell.sel(step=cell[variable].dropna("step")["step"])
        shown.append(
            curve(cell, variable, looks[seed]) if variable == "llc" else Curve(cell[variable], looks[seed])
        )
    return shown


def _findings(parts: dict[str, xr.Dataset], name: str) -> list[Finding]:
    """Return LLC and loss of every model at the last common step; nothing if there is none."""
    shared = sorted(set.intersection(*({*_known(part, name)} for part in parts.values())))
    made = []
    for variable, quantity, unit in (("llc", "LLC", "1"), ("loss", "loss", NATS)) if shared else ():
        for called, part in parts.items():
            one = part.sel(distribution=name, step=shared[-1])
            label = f"{quantity} of {called} at step {shared[-1]:,}"
            made += over_seeds(label, one[variable], one.get(f"{variable}_se"), unit)
    return known(made)


def _known(part: xr.Dataset, name: str) -> list[int]:
    one = part.sel(distribution=name)
    return part["step"].values[_measured(one["llc"]) & _measured(one["loss"])].tolist()


def _measured(values: xr.DataArray) -> np.ndarray:
    """Return the steps at which some seed has a value."""
    return np.any(np.isfinite(values.transpose("step", "seed").values), axis=1)

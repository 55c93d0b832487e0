"""Changes of the Hessian trace over each stage of development, beside those of the LLC and of rLLCs."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.intervals import degrees_of_freedom
from rllc.analysis.stage_changes import stage_changes
from rllc.figures import style
from rllc.figures.drawing import Datasets, Finding
from rllc.figures.findings import percent
from rllc.figures.heads.behind import Stages
from rllc.figures.panels import Panel, Row, all_of, level

TRACE = {"color": "black", "marker": "o", "markerfacecolor": "black"}
ESTIMATE = {"color": "#AA4499", "marker": "D", "markerfacecolor": "none"}  # does not hide a trace below
LOOKS = {"trace": ("trace", TRACE), "llc": ("LLC, rLLC", ESTIMATE)}
LIMITS = level(1.0, linestyle=":"), level(-1.0, linestyle=":")
SHARES = partial(Axes.set_ylim, bottom=-0.1, top=1.1)
MOST = 2  # largest number of distributions with a row each
EXPLAINED = "Clear change over a stage: beyond its 95 % interval."


def changes(data: xr.Dataset, datasets: Datasets, stages: Stages) -> xr.Dataset | None:
    """Return how far the trace, the LLC and heads change over each stage; None without stages.

    data  ``hessian_trace`` and ``hessian_trace_head`` with their errors

    Returns ``trace_reach`` and ``llc_reach`` (seed, distribution, stage), the change of the whole model over
    half the width of its 95 % interval, ``trace_change`` with its error, and ``trace_heads`` and
    ``llc_heads`` (seed, distribution, stage, of_layer), the share of heads that change beyond their interval.
    """
    estimates = {name: datasets.get(name, xr.Dataset()) for name in ("llc", "rllc")}
    cells = []
    for seed in data["seed"].values.tolist():
        edges = stages.edges(seed)
        if edges.size > 2 and {"hessian_trace_se", "hessian_trace_head_se"} <= {*data}:
            names = data["distribution"].values.tolist()[:MOST]
            each = [_of_cell(data, estimates, seed, name, edges) for name in names]
            dim = xr.DataArray(names, dims="distribution", name="distribution")
            cells.append(xr.concat(each, dim).expand_dims(seed=[seed]))
    if not cells:
        return None
    made = xr.concat(cells, "seed", join="outer", coords="different", compat="equals")
    assert isinstance(made, xr.Dataset)
    return made


def _of_cell(
    data: xr.Dataset, estimates: Datasets, seed: int, distribution: str, edges: np.ndarray
) -> xr.Dataset:
    """Return the changes of one seed on one distribution; NaN where there is no estimate on it."""
    numbers = np.arange(1, edges.size)
    bounds = {"stage_first": ("stage", edges[:-1]), "stage_last": ("stage", edges[1:])}
    made = xr.Dataset(coords={"stage": numbers, **bounds})

    def of(source: xr.Dataset, name: str) -> xr.Dataset | None:
        if f"{name}_se" not in source or distribution not in source["distribution"].values:
            return None
        if seed not in source["seed"].values:
            return None
        at = {"seed": seed, "distribution": distribution}
        freedom = degrees_of_freedom(source, name)
        freedom = freedom.sel(at) if isinstance(freedom, xr.DataArray) else freedom
        found = stage_changes(source[name].sel(at), source[f"{name}_se"].sel(at), edges, freedom)
        return found.drop_vars(["first", "last"]).reset_coords(drop=True).reindex(stage=numbers)

    layers = data["layer"].reset_coords(drop=True)
    for key, (model, full), (heads, each) in (
        ("trace", (data, "hessian_trace"), (data, "hessian_trace_head")),
        ("llc", (estimates["llc"], "llc"), (estimates["rllc"], "rllc")),
    ):
        one = of(model, full)
        nothing = xr.full_like(made["stage"], np.nan, dtype=float)
        made[f"{key}_reach"] = nothing if one is None else one["change"] / one["half_width"]
        if key == "trace" and one is not None:
            made["trace_change"], made["trace_change_se"] = one["change"], one["change_se"]
        of_heads = of(heads, each)
        clear = nothing.expand_dims(head=data["head"])
        if of_heads is not None:
            beyond = abs(of_heads["change"]) > of_heads["half_width"]
            clear = beyond.astype(float).where(of_heads["half_width"].notnull())
        of_layers = clear.assign_coords(layer=layers).groupby("layer").mean("head")
        made[f"{key}_heads"] = of_layers.rename(layer="of_layer")
    return made


def rows(
    made: xr.Dataset | None, seed: int, labels: Mapping[str, str], stages: Stages, suffix: str
) -> list[Row]:
    """Return a row per distribution, of the model and of the heads of each layer, of one seed.

    made  ``changes``; no rows if it has none of this seed
    """
    if made is None or seed not in made["seed"].values:
        return []
    made = made.sel(seed=seed).dropna("stage", how="all", subset=["trace_reach"])
    keys = [style.key(said, linestyle="none", **look) for said, look in LOOKS.values()]
    found: list[Row] = []
    for name in made["distribution"].values.tolist():
        one = made.sel(distribution=name)
        steps = np.unique([*one["stage_first"].values, *one["stage_last"].values])
        panels = [
            Panel(
                f"full model{suffix}",
                over=all_of(*LIMITS, partial(_marks, one, "reach")),
                steps=steps,
            )
        ]
        for layer in one["of_layer"].values.tolist():
            over = all_of(partial(_marks, one.sel(of_layer=layer), "heads"), SHARES)
            panels.append(Panel(f"layer {layer}{suffix}, share of heads", over=over, steps=steps))
        label = f"{style.short(labels[name])}\nchange over a stage /\nits 95 % interval"
        found.append(Row(label, stages.behind(seed, panels), [] if found else keys, "clear changes"))
    return found


def _marks(one: xr.Dataset, kind: str, ax: Axes) -> None:
    """Draw a point and a bar over each stage, of the trace and of the estimates."""
    first, last = one["stage_first"].values.astype(float), one["stage_last"].values.astype(float)
    middle = np.sqrt((first + 1) * (last + 1)) - 1
    for key, (_, look) in LOOKS.items():
        values = one[f"{key}_{kind}"].values
        (points,) = ax.plot(middle, values, linestyle="none", color=look["color"], marker=look["marker"])
        points.set_markerfacecolor(look["markerfacecolor"])
        ax.hlines(values, first, last, color=look["color"], linewidth=1.0)


def findings(made: xr.Dataset | None) -> tuple[list[Finding], list[Finding]]:
    """Return the stages in which the model changes clearly, and the share of changes of heads that are clear.

    They are of the first distribution, over all seeds.
    """
    of_model: list[Finding] = []
    of_heads: list[Finding] = []
    if made is None:
        return of_model, of_heads
    one = made.isel(distribution=0)
    for key, model, heads in (("trace", "Hessian trace", "traces"), ("llc", "LLC", "rLLCs")):
        reach, share = one[f"{key}_reach"], one[f"{key}_heads"]
        total, clear = int(reach.notnull().sum()), int((abs(reach) > 1).sum())
        if total:
            of_model.append(Finding(f"stages, of {total}, with clear change of model's {model}", clear))
        if share.notnull().any():
            label = f"clear changes of heads' {heads}"
            of_heads.append(Finding(label, percent(float(share.mean())), unit="%"))
    return of_model, of_heads

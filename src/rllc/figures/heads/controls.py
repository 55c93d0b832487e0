"""The refined LLC beside its controls: the sampler without the loss gradient, and the curvature."""

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.comparison import rank_correlation
from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing
from rllc.figures.panels import Curve, Panel, Row, all_of, chunks, sheet

LOOKS = {
    "rllc": ("refined LLC", {"linestyle": "-", "marker": "o", "linewidth": 2.2}),
    "rllc_gradient_off": (
        "gradient switched off",
        {"linestyle": "--", "marker": "^", "linewidth": 0.9, "markerfacecolor": "white"},
    ),
    "curvature_prediction": (
        "n_beta / (2 localization)\ntimes trace of the Hessian",
        {"linestyle": ":", "marker": "s", "linewidth": 0.9, "markersize": 2.5},
    ),
}


@style.styled
def control_gradient_off(
    datasets: Datasets,
    *,
    distribution: str | None = None,
    seed: int | None = None,
    main_setting: str = "main setting",
) -> Drawing:
    """Estimate, control without gradient and curvature prediction, a panel per head, a row per setting.

    datasets      ``rllc`` and any ``rllc.<setting>``; ``hessian`` for the prediction, ``heads`` for types
    main_setting  what the setting of rllc.nc is called
    """
    settings = {
        name.partition(".")[2] or main_setting: rllc
        for name, rllc in datasets.items()
        if name.split(".")[0] == "rllc"
    }
    if not settings:
        inputs.need(datasets, "rllc")
    drawn = {name: _measures(rllc, datasets, distribution, seed) for name, rllc in settings.items()}
    first = next(iter(drawn.values()))
    kinds = inputs.types_of(datasets, first["head"], first["seed"].expand_dims("seed")).isel(seed=0)
    rows = []
    for name, one in drawn.items():
        frame = all_of(style.zero, partial(Axes.set_ylim, **_limits(one)))
        for heads in chunks(first["head"].values.tolist(), 4):
            panels = [_panel(one.sel(head=head), str(kinds.sel(head=head).item()), frame) for head in heads]
            rows.append(Row(f"{name}\nrefined LLC", panels))
    present = [variable for variable in LOOKS if any(variable in one for one in drawn.values())]
    shade = {"rllc": style.TYPE_COLORS["other"]}
    entries = [
        style.key(LOOKS[v][0], color=shade.get(v, style.CONTROL_COLOR), **LOOKS[v][1]) for v in present
    ]
    rings = style.ring_keys(inputs.ring_reasons(*((one, "rllc") for one in drawn.values())))
    rows[0] = rows[0]._replace(keys=[*entries, *rings])
    figure, axes = sheet(rows, panel=(2.0, 1.65), margin=2.0, sharex=True, sharey=False)
    for ax in axes[:, 1:].flat:
        ax.tick_params(labelleft=False)
    data = xr.concat(
        [one.drop_attrs() for one in drawn.values()],
        dim=xr.DataArray(list(drawn), dims="setting", name="setting"),
        join="outer",
        coords="minimal",
        compat="override",
    )
    if "verdict" in data:
        data["verdict"] = inputs.verdicts(data, "rllc")
    data["head_type"] = kinds.drop_vars("seed", errors="ignore")
    return captions.drawing(
        figure,
        data,
        *(_change(name, one) for name, one in drawn.items() if "shrinkage" in one),
        *(_measured(name, one) for name, one in drawn.items()),
        f"Each head's refined LLC on {first.attrs['distribution_label']} beside chains without the loss "
        "gradient and beside what curvature predicts where the localization alone shapes the posterior.",
        conditions=[
            ""
            if "curvature_prediction" in present
            else "No Hessian trace was given for this distribution, so no prediction is drawn.",
            captions.BANDS,
            *_by_setting(drawn, captions.trust),
        ],
        details=[
            *(f"{_capital(name)}: sampled with {captions.chains(rllc)}." for name, rllc in settings.items()),
            "The control has the noise and minibatches of the first chains, as many as have a control. At a "
            "minimum the estimate is at most its control; a negative estimate means that the chain found "
            "lower loss than the checkpoint has.",
            captions.ERROR,
            captions.types(kinds.expand_dims(seed=[first["seed"].item()])),
            *_by_setting(drawn, captions.cautions),
        ],
    )


def _panel(cell: xr.Dataset, kind: str, frame: Callable[[Axes], None]) -> Panel:
    """Estimate, control and prediction of one head under one setting."""
    color, grey = {"color": style.TYPE_COLORS[kind]}, {"color": style.CONTROL_COLOR}
    estimate = Curve(cell["rllc"], LOOKS["rllc"][1] | color, cell.get("rllc_se"), inputs.faulty(cell, "rllc"))
    others = [
        Curve(cell[name], look | grey) for name, (_, look) in LOOKS.items() if name in cell and name != "rllc"
    ]
    return Panel(f"{cell['head'].item()} {kind}", [estimate, *others], color, over=frame)


def _measures(rllc: xr.Dataset, datasets: Datasets, distribution: str | None, seed: int | None) -> xr.Dataset:
    """The measures of one setting, seed and distribution: (step, head)."""
    inputs.need({"rllc": rllc}, "rllc", "rllc")
    name = inputs.one_distribution(rllc, distribution)
    chosen = rllc["seed"].values.tolist()[0] if seed is None else seed
    one = inputs.of_seeds(rllc, [chosen]).isel(seed=0).sel(distribution=name)
    measures = one[["rllc"]].assign_attrs(rllc.attrs, distribution_label=inputs.one_label(rllc, name))
    prediction = captions.predicted(rllc, datasets)
    if prediction is not None:
        one["curvature_prediction"] = prediction.sel(seed=chosen, distribution=name)
    for variable in ("rllc_se", "rllc_gradient_off", "curvature_prediction", "verdict"):
        if variable in one and one[variable].notnull().any():
            measures[variable] = one[variable]
    if "rllc_gradient_off" in measures:
        measures["shrinkage"] = captions.change_by_gradient(one.assign_attrs(rllc.attrs))
    return measures.transpose("step", "head", ...)


def _limits(one: xr.Dataset) -> dict[str, float]:
    """One vertical range for a setting: all estimates and controls, and predictions up to twice those."""
    names = [name for name in ("rllc", "rllc_gradient_off") if name in one]
    values = np.concatenate([one[name].values.ravel() for name in names])
    low, high = min(0.0, np.nanmin(values, initial=0.0)), np.nanmax(values, initial=0.0)
    if "curvature_prediction" in one:
        high = min(max(high, np.nanmax(one["curvature_prediction"].values, initial=0.0)), 2.0 * high)
    room = 0.08 * (high - low or 1.0)
    return {"bottom": low - room, "top": high + room}


def _change(name: str, one: xr.Dataset) -> str:
    """How far a setting's control is from its estimates."""
    low, middle, high = np.nanquantile(one["shrinkage"].values, [0.1, 0.5, 0.9])
    near = ": the two are nearly the same"
    return (
        f"{_capital(name)}{captions.level(one)}: 1 - on/off over the chains with a control is {middle:.1%} "
        f"in the median (80 % of cells from {low:.1%} to {high:.1%})"
        f"{near if max(abs(low), abs(high)) <= 0.05 else ''}; {int((one['rllc'] < 0).sum())} estimates are "
        "negative."
    )


def _measured(name: str, one: xr.Dataset) -> str:
    """Orderings of heads and the prediction under a setting, and which estimates are missing."""
    parts = []
    if "rllc_gradient_off" in one:
        same = _orderings(one["rllc"], one["rllc_gradient_off"])
        parts.append(f"orderings of heads by estimate and by control agree with Spearman {same}")
    if "curvature_prediction" in one:
        low, middle, high = np.nanquantile(
            (one["curvature_prediction"] / one["rllc"]).values, [0.1, 0.5, 0.9]
        )
        parts.append(
            f"the prediction is {middle:.2f} times the estimate in the median (80 % of cells from {low:.2f} "
            f"to {high:.2f}), Spearman {_orderings(one['rllc'], one['curvature_prediction'])}"
        )
    absent = int(one["rllc"].isnull().sum())
    if absent:
        parts.append(f"{absent} of {one['rllc'].size} cells are missing and marked with a cross")
    return f"{_capital(name)}: {'; '.join(parts)}." if parts else ""


def _by_setting(drawn: Datasets, of: Callable[[xr.Dataset, str], str]) -> list[str]:
    """A sentence on the estimates of each setting of which there is something to say."""
    texts = {name: of(one, "rllc") for name, one in drawn.items()}
    return [f"{_capital(name)}: {text}" for name, text in texts.items() if text]


def _capital(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


def _orderings(a: xr.DataArray, b: xr.DataArray) -> str:
    """Rank correlation of two measures over heads: its median over checkpoints, and the lowest."""
    same = rank_correlation(a, b).values
    same = same[np.isfinite(same)]
    return f"{np.median(same):.2f} (lowest {same.min():.2f})" if same.size else "undefined"

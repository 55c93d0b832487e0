"""The refined LLC beside its controls: the sampler without the loss gradient, and the curvature."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.analysis.comparison import rank_correlation
from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.inputs import (
    distribution_labels,
    distribution_names,
    faulty,
    need,
    of_seeds,
    ring_reasons,
    types_of,
    verdicts,
)

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


def _settings(datasets: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """The estimates under each sampling setting, by its name: rllc.nc, rllc.<setting>.nc."""
    found = {
        name.partition(".")[2] or "published": data
        for name, data in datasets.items()
        if name.split(".")[0] == "rllc"
    }
    if not found:
        need(datasets, "rllc")
    return found


@style.styled
def control_gradient_off(
    datasets: Mapping[str, xr.Dataset],
    *,
    distribution: str | None = None,
    seed: int | None = None,
    main_setting: str = "main setting",
) -> Drawing:
    """Estimate, control without gradient and curvature prediction, a panel per head, a row per setting.

    datasets      ``rllc`` and any ``rllc.<setting>``; ``hessian`` for the prediction, ``heads`` for types
    distribution  default "mixture", or the dataset's first
    seed          default the first
    main_setting  what the setting of rllc.nc is called
    """
    settings = {
        main_setting if name == "published" else name: data for name, data in _settings(datasets).items()
    }
    drawn = {name: _measures(data, datasets, distribution, seed) for name, data in settings.items()}
    first = next(iter(drawn.values()))
    kinds = types_of(datasets, first["head"], first["seed"].expand_dims("seed")).isel(seed=0)
    heads = first["head"].values.tolist()
    columns = min(4, len(heads))
    rows = [(name, heads[i : i + columns]) for name in drawn for i in range(0, len(heads), columns)]
    figure, axes = style.grid(len(rows), columns, panel=(2.0, 1.65), margin=2.0, sharex=True, sharey=False)
    limits = {name: _limits(one) for name, one in drawn.items()}
    for line, (name, row) in zip(axes, rows, strict=True):
        one = drawn[name]
        for ax in line[len(row) :]:
            ax.set_visible(False)
        for ax, head in zip(line, row, strict=False):
            kind = str(kinds.sel(head=head).item())
            cell = one.sel(head=head)
            for variable, (_, look) in LOOKS.items():
                if variable in cell:
                    color = style.TYPE_COLORS[kind] if variable == "rllc" else style.CONTROL_COLOR
                    error = cell.get("rllc_se") if variable == "rllc" else None
                    wrong = faulty(cell, "rllc") if variable == "rllc" else None
                    style.curve(ax, cell[variable], error, faulty=wrong, color=color, **look)
            ax.axhline(0.0, color="#999999", linewidth=0.7, zorder=1)
            ax.set_ylim(*limits[name])
            ax.set_title(f"{head} {kind}", loc="left", color=style.TYPE_COLORS[kind])
            style.step_axis(ax, cell["step"].values)
            ax.tick_params(labelleft=ax is line[0])
        line[0].set_ylabel(f"{name}\nrefined LLC")
    present = [variable for variable in LOOKS if any(variable in one for one in drawn.values())]
    shade = {"rllc": style.TYPE_COLORS["other"]}
    entries = [
        style.key(LOOKS[v][0], color=shade.get(v, style.CONTROL_COLOR), **LOOKS[v][1]) for v in present
    ]
    rings = style.ring_keys(ring_reasons(*((one, "rllc") for one in drawn.values())))
    style.beside(axes[0, -1], [*entries, *rings])
    data = xr.concat(
        [one.drop_attrs() for one in drawn.values()],
        dim=xr.DataArray(list(drawn), dims="setting", name="setting"),
        join="outer",
        coords="minimal",
        compat="override",
    )
    if "verdict" in data:
        data["verdict"] = verdicts(data, "rllc")
    data["head_type"] = kinds.drop_vars("seed", errors="ignore")
    label = first.attrs["distribution_label"]
    caption = captions.joined(
        f"Each head's refined LLC on {label} beside chains without the loss gradient (the noise and "
        "minibatches of its first chains, as many as have a control), and beside what curvature predicts "
        f"where the localization alone shapes the posterior; training seed {first['seed'].item()}.",
        *(_told(name, one, settings[name]) for name, one in drawn.items()),
        ""
        if "curvature_prediction" in present
        else "No Hessian trace was given for this distribution, so no prediction is drawn.",
        "At a minimum the estimate is at most its control; a negative estimate means that the chain found "
        "lower loss than the checkpoint has.",
        captions.BANDS,
        captions.types(kinds.expand_dims(seed=[first["seed"].item()])),
    )
    return Drawing(figure, data, caption)


def _measures(
    rllc: xr.Dataset, datasets: Mapping[str, xr.Dataset], distribution: str | None, seed: int | None
) -> xr.Dataset:
    """The measures of one setting, seed and distribution: (step, head)."""
    need({"rllc": rllc}, "rllc", "rllc")
    name = distribution_names(rllc, None if distribution is None else [distribution], ("mixture",))[0]
    chosen = rllc["seed"].values.tolist()[0] if seed is None else seed
    one = of_seeds(rllc, [chosen]).isel(seed=0).sel(distribution=name)
    taken = one[["rllc"]].assign_attrs(rllc.attrs, distribution_label=distribution_labels(rllc)[name])
    prediction = captions.predicted(rllc, datasets)
    if prediction is not None:
        one["curvature_prediction"] = prediction.sel(seed=chosen, distribution=name)
    for variable in ("rllc_se", "rllc_gradient_off", "curvature_prediction", "verdict"):
        if variable in one and one[variable].notnull().any():
            taken[variable] = one[variable]
    if "rllc_gradient_off" in taken:
        taken["shrinkage"] = captions.change_by_gradient(one.assign_attrs(rllc.attrs))
    return taken.transpose("step", "head", ...)


def _limits(one: xr.Dataset) -> tuple[float, float]:
    """One vertical range for a setting: all estimates and controls, and predictions up to twice those."""
    names = [name for name in ("rllc", "rllc_gradient_off") if name in one]
    values = np.concatenate([one[name].values.ravel() for name in names])
    low, high = min(0.0, np.nanmin(values, initial=0.0)), np.nanmax(values, initial=0.0)
    if "curvature_prediction" in one:
        high = min(max(high, np.nanmax(one["curvature_prediction"].values, initial=0.0)), 2.0 * high)
    room = 0.08 * (high - low or 1.0)
    return low - room, high + room


def _told(name: str, one: xr.Dataset, source: xr.Dataset) -> str:
    """What a setting's controls say, in numbers."""
    said: list[str] = []
    if "rllc_gradient_off" in one:
        low, middle, high = np.nanquantile(one["shrinkage"].values, [0.1, 0.5, 0.9])
        negative = int((one["rllc"] < 0).sum())
        said.append(
            f"Signed, 1 - on/off over the chains with a control is {middle:.1%} in the median (80 % of cells "
            f"from {low:.1%} to {high:.1%}), and {negative} estimates are negative; orderings of heads by "
            "estimate and by control agree with Spearman "
            f"{_orderings(one['rllc'], one['rllc_gradient_off'])}"
        )
        if max(abs(low), abs(high)) <= 0.05:
            said.append("so the figures of the estimate and of its control are nearly the same")
    if "curvature_prediction" in one:
        ratio = np.nanquantile((one["curvature_prediction"] / one["rllc"]).values, [0.1, 0.5, 0.9])
        said.append(
            f"the prediction is {ratio[1]:.2f} times the estimate in the median (80 % of cells from "
            f"{ratio[0]:.2f} to {ratio[2]:.2f}), Spearman "
            f"{_orderings(one['rllc'], one['curvature_prediction'])}"
        )
    absent = int(one["rllc"].isnull().sum())
    if absent:
        said.append(f"{absent} of {one['rllc'].size} cells are missing and marked with a cross")
    text = captions.joined(f" {'; '.join(said)}." if said else "", captions.trust(one, "rllc"))
    setting = captions.setting(source).removeprefix("Setting: ").rstrip(".")
    return f"{name[:1].upper()}{name[1:]} ({setting}):{text}"


def _orderings(a: xr.DataArray, b: xr.DataArray) -> str:
    found = rank_correlation(a, b).values
    found = found[np.isfinite(found)]
    if not found.size:
        return "undefined"
    return f"{np.median(found):.2f} (median over checkpoints; lowest {found.min():.2f})"

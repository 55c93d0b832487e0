"""The refined LLC beside its controls: the sampler without the loss gradient, and the curvature."""

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.comparison import rank_correlation, shrinkage
from rllc.analysis.recorded import recorded
from rllc.analysis.regime import MEANINGS, meaning
from rllc.figures import against_controls, conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seed
from rllc.figures.findings import known, percent
from rllc.figures.heads.behind import Stages
from rllc.figures.panels import Curve, Panel, Row, all_of, chunks, curve, sheet
from rllc.figures.uncertain import called

LOOKS = {
    "rllc": ("refined LLC", {"linestyle": "-", "marker": "o", "linewidth": 2.2}),
    "rllc_prior_only": (
        "control: no loss gradient",
        {"linestyle": "--", "marker": "^", "linewidth": 0.9, "markerfacecolor": "white"},
    ),
    "rllc_drift_free": (
        "drift-free control: gradient\nless that at the checkpoint",
        {"linestyle": "-.", "marker": "D", "linewidth": 1.1, "markersize": 2.8},
    ),
    "curvature_prediction": (
        "n_beta / (2 localization)\ntimes trace of the Hessian",
        {"linestyle": ":", "marker": "s", "linewidth": 0.9, "markersize": 2.5},
    ),
}
CONTROLS = [name for name in LOOKS if name != "rllc"]


@style.styled
def control_prior_only(
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None, base_setting: str = "base setting"
) -> Drawing:
    """Estimate, its controls and curvature prediction: a panel per head, a row per sampler setting.

    datasets      ``rllc`` and any ``rllc.<setting>``; ``hessian`` for the prediction, ``attention_scores``
    base_setting  name of the setting of rllc.nc
    """
    names = [name for name in datasets if name.split(".")[0] == "rllc"] or ["rllc"]
    settings = {name.partition(".")[2] or base_setting: inputs.need(datasets, name, "rllc") for name in names}
    drawn = {name: _measures(rllc, datasets, distribution, seed) for name, rllc in settings.items()}
    first = next(iter(drawn.values()))
    kinds = inputs.types_of(datasets, first["head"], first["seed"].expand_dims("seed"))
    present = {v: look for v, look in LOOKS.items() if any(v in one for one in drawn.values())}
    grey, other = {"color": style.CONTROL_COLOR}, {"color": style.TYPE_COLORS["multigram"]}
    keys = [
        style.key(said, **look, **(other if v == "rllc" else grey)) for v, (said, look) in present.items()
    ]
    keys += style.ring_keys(inputs.ring_reasons(*((one, "rllc") for one in drawn.values())))
    seed_drawn = int(first["seed"])
    stages = Stages(datasets, first["seed"].expand_dims("seed"))
    rows, steps = [], np.unique(np.concatenate([one["step"].values for one in drawn.values()]))
    for name, one in drawn.items():
        frame = all_of(style.zero, partial(Axes.set_ylim, **_limits(one)))
        for heads in chunks(first["head"].values.tolist(), 4):
            panels = []
            for head in heads:
                cell = one.sel(head=head)
                kind = kinds.sel(head=head).item()
                color = {"color": style.TYPE_COLORS[kind]}
                curves = [curve(cell, "rllc", LOOKS["rllc"][1] | color)]
                curves += [Curve(cell[v], LOOKS[v][1] | grey) for v in CONTROLS if v in cell]
                title = f"{head} {called(kinds.sel(head=head))}"
                panels.append(Panel(title, curves, color, over=frame, steps=steps))
            panels = stages.behind(seed_drawn, panels)
            rows.append(Row(f"{name}\nrefined LLC", panels, [] if rows else keys))
    figure, _ = sheet(rows, panel=(2.0, 1.65), margin=2.0, sharex=True, sharey="row")
    dim = xr.DataArray(list(drawn), dims="setting", name="setting")
    plain = [one.drop_attrs() for one in drawn.values()]
    data = xr.concat(plain, dim=dim, join="outer", coords="minimal", compat="override")
    if "quality" in data:
        data["quality"] = inputs.quality_flags(data, "rllc")
    if "meaning" in data:
        words = " ".join(word.replace(" ", "_") for word in MEANINGS)
        data["meaning"].attrs = {"flag_values": np.arange(len(MEANINGS), dtype=float), "flag_meanings": words}
    data["head_type"] = kinds.isel(seed=0, drop=True)
    return Drawing(
        figure,
        data,
        f"rLLC of each head beside its controls, on {first.attrs['distribution_label']}.",
        _findings(drawn),
        [
            "Bands: one Monte Carlo standard error, given the minibatches.",
            *stages.said,
            *(
                f"{name[:1].upper()}{name[1:]}{said.removeprefix('Setting')}"
                for name, rllc in settings.items()
                for said in conditions.setting(rllc)
            ),
            *conditions.unreliable(data, "rllc"),
            *(
                said.replace(" of rllc ", f" at {name} ")
                for name, one in drawn.items()
                for said in conditions.missing(one, "rllc")
            ),
            *conditions.seeds(first),
        ],
    )


def _by_norm(rllc: xr.Dataset) -> bool:
    return recorded(rllc, "sampling").get("reference_norm") is not None


def _findings(drawn: dict[str, xr.Dataset]) -> list[Finding]:
    """Return each setting's distance from its control, the rank correlation of both, and the prediction."""
    found, orders, predictions, drifts = [], [], [], []
    for name, one in drawn.items():
        if "shrinkage" in one:
            label = f"reduction of rLLC from prior-only control (chains that have it), median, {name}"
            found.append(Finding(label, percent(float(one["shrinkage"].median())), unit="%"))
            same = rank_correlation(one["rllc"], one["rllc_prior_only"]).median()
            label = f"Spearman correlation with prior-only control over heads, median step, {name}"
            orders.append(Finding(label, float(same)))
        if "meaning" in one and one["meaning"].notnull().any():
            drift = one["meaning"] == MEANINGS.index("drift")
            share = percent(float(drift.where(one["meaning"].notnull()).mean()))
            drifts.append(
                Finding(
                    f"estimates that are mostly drift (chains that have that control), {name}",
                    share,
                    unit="%",
                )
            )
        if "curvature_prediction" in one:
            ratio = (one["curvature_prediction"] / one["rllc"]).median()
            predictions.append(Finding(f"curvature prediction over rLLC, median, {name}", float(ratio)))
    return known([*found, *drifts, *_by_scale(drawn), *orders[:1], *predictions[:1]])


def _by_scale(drawn: dict[str, xr.Dataset]) -> list[Finding]:
    """Return the change from the middle to the last checkpoint, with and without a reference norm.

    At a setting with a reference norm, the sampled region grows and shrinks with the weights. The number is
    that of the median head of the first layer, over the checkpoints that both settings have.
    """
    chosen = [
        [name for name, one in drawn.items() if one.attrs["by_norm"] is scaled] for scaled in (False, True)
    ]
    if not all(chosen):
        return []
    names = [each[0] for each in chosen]
    both = xr.align(*(drawn[name]["rllc"].dropna("step") for name in names))
    count = both[0].sizes["step"]
    if count < 3:
        return []
    steps, layer = both[0]["step"].values, inputs.layers(both[0])[0]
    heads, found = inputs.heads_of_layer(both[0], layer), []
    for name, each in zip(names, both, strict=True):
        ratio = (each.isel(step=-1) / each.isel(step=count // 2)).sel({"head": heads}).median()
        label = f"rLLC at step {steps[-1]:,} over step {steps[count // 2]:,}, median of layer {layer}, {name}"
        found.append(Finding(label, float(ratio)))
    return found


def _measures(rllc: xr.Dataset, datasets: Datasets, distribution: Name, seed: Seed) -> xr.Dataset:
    """Return the measures of one setting, seed and distribution: (step, head)."""
    name = inputs.one_distribution(rllc, distribution)
    one = inputs.of_seed(rllc, seed).sel(distribution=name)
    prediction = against_controls.predicted(rllc, datasets)
    if prediction is not None:
        one["curvature_prediction"] = prediction.sel(seed=one["seed"], distribution=name)
    known = [v for v in ("rllc_se", *CONTROLS, "quality") if v in one and one[v].notnull().any()]
    measures = one[["rllc", *known]].assign_attrs(
        distribution_label=inputs.one_label(rllc, name), by_norm=_by_norm(rllc)
    )
    if "rllc_prior_only" in measures:
        measures["shrinkage"] = against_controls.change_by_gradient(one)
    if {"rllc_prior_only", "rllc_drift_free"} <= {*measures}:
        walked = against_controls.over_shared_chains(one, "drift_free") / one["rllc_drift_free"] - 1
        measures["without_drift"] = shrinkage(one["rllc_drift_free"], one["rllc_prior_only"])
        measures["meaning"] = meaning(measures["without_drift"], abs(walked))
    return measures.transpose("step", "head", ...)


def _limits(one: xr.Dataset) -> dict[str, float]:
    """Return one vertical range for a setting: estimates, controls, and predictions up to twice those."""
    values = one[[name for name in ("rllc", *CONTROLS[:-1]) if name in one]].to_array().values
    low, high = np.nanmin(values, initial=0.0), np.nanmax(values, initial=0.0)
    if "curvature_prediction" in one:
        high = min(max(high, np.nanmax(one["curvature_prediction"].values, initial=0.0)), 2.0 * high)
    room = 0.08 * (high - low or 1.0)
    return {"bottom": low - room, "top": high + room}

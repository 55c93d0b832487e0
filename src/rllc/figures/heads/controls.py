"""The refined LLC beside its controls: the sampler without the loss gradient, and the curvature."""

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.comparison import rank_correlation, shrinkage
from rllc.analysis.regime import MEANINGS, WALKED, meaning
from rllc.analysis.rule import THRESHOLDS
from rllc.figures import against_controls, captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seed
from rllc.figures.panels import Curve, Panel, Row, all_of, chunks, curve, sheet

LOOKS = {
    "rllc": ("refined LLC", {"linestyle": "-", "marker": "o", "linewidth": 2.2}),
    "rllc_gradient_off": (
        "control: no loss gradient",
        {"linestyle": "--", "marker": "^", "linewidth": 0.9, "markerfacecolor": "white"},
    ),
    "rllc_centred": (
        "centred control: gradient\nless that at the checkpoint",
        {"linestyle": "-.", "marker": "D", "linewidth": 1.1, "markersize": 2.8},
    ),
    "curvature_prediction": (
        "n_beta / (2 localization)\ntimes trace of the Hessian",
        {"linestyle": ":", "marker": "s", "linewidth": 0.9, "markersize": 2.5},
    ),
}
NO_TRACE = "No Hessian trace was given for this distribution, so no prediction is drawn."
BY_NORM = (
    "Where a setting has a reference norm, steps are in proportion to the squared norm of all weights, so "
    "that chains go as far relative to the weights at every checkpoint; no prediction is drawn for it."
)
CONTROL = "The control: the same chains without the loss gradient, moved by noise and the pull alone."
CONTROLS = [name for name in LOOKS if name != "rllc"]


@style.styled
def control_gradient_off(
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None, main_setting: str = "main setting"
) -> Drawing:
    """Estimate, control without gradient and curvature prediction, a panel per head, a row per setting.

    datasets      ``rllc`` and any ``rllc.<setting>``; ``hessian`` for the prediction, ``heads``
    main_setting  what the setting of rllc.nc is called
    """
    names = [name for name in datasets if name.split(".")[0] == "rllc"] or ["rllc"]
    settings = {name.partition(".")[2] or main_setting: inputs.need(datasets, name, "rllc") for name in names}
    drawn = {name: _measures(rllc, datasets, distribution, seed) for name, rllc in settings.items()}
    first = next(iter(drawn.values()))
    kinds = inputs.types_of(datasets, first["head"], first["seed"].expand_dims("seed"))
    present = {v: look for v, look in LOOKS.items() if any(v in one for one in drawn.values())}
    grey, other = {"color": style.CONTROL_COLOR}, {"color": style.TYPE_COLORS["multigram"]}
    keys = [
        style.key(said, **look, **(other if v == "rllc" else grey)) for v, (said, look) in present.items()
    ]
    keys += style.ring_keys(inputs.ring_reasons(*((one, "rllc") for one in drawn.values())))
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
                panels.append(Panel(f"{head} {kind}", curves, color, over=frame, steps=steps))
            rows.append(Row(f"{name}\nrefined LLC", panels, [] if rows else keys))
    rung = {
        name: one
        for name, one in drawn.items()
        if (wrong := inputs.faulty(one, "rllc")) is None or wrong.any()
    }
    figure, _ = sheet(rows, panel=(2.0, 1.65), margin=2.0, sharex=True, sharey="row")
    dim = xr.DataArray(list(drawn), dims="setting", name="setting")
    plain = [one.drop_attrs() for one in drawn.values()]
    data = xr.concat(plain, dim=dim, join="outer", coords="minimal", compat="override")
    if "verdict" in data:
        data["verdict"] = inputs.verdicts(data, "rllc")
    if "meaning" in data:
        words = " ".join(word.replace(" ", "_") for word in MEANINGS)
        data["meaning"].attrs = {"flag_values": np.arange(len(MEANINGS), dtype=float), "flag_meanings": words}
    data["head_type"] = kinds.isel(seed=0, drop=True)
    return captions.drawing(
        figure,
        data,
        *(_change(name, one) for name, one in drawn.items() if "shrinkage" in one),
        *(_measured(name, one) for name, one in drawn.items()),
        f"Each head's refined LLC on {first.attrs['distribution_label']} beside its controls and beside what "
        "curvature predicts where the localization alone shapes the posterior.",
        conditions=[
            CONTROL,
            _confound(drawn),
            captions.when("curvature_prediction" not in present, NO_TRACE),
            captions.BANDS,
            *(_by_setting(rung, captions.trust) if rung else ["All estimates are reliable."]),
        ],
        details=[
            *_by_setting(settings, lambda rllc, _: f"sampled with {captions.chains(rllc)}."),
            "The control has the noise and minibatches of the chains that it is compared with; only noise "
            "and the pull to the checkpoint move it. At a minimum the estimate is at most its control; a "
            "negative estimate means that the chain found lower loss than the checkpoint has.",
            captions.when(any(map(_by_norm, settings.values())), BY_NORM),
            captions.when(
                "rllc_centred" in present,
                "In the centred control nothing is walked down a slope. An estimate is drift where it is off "
                f"that by over {WALKED:.0%}, else a curvature where that control is less than "
                f"{THRESHOLDS['min_shrinkage']:.0%} below the one without gradient, else a posterior mean.",
            ),
            *dict.fromkeys(map(captions.error, settings.values())),
            captions.types(kinds),
            *_by_setting(drawn, captions.cautions),
        ],
    )


def _by_norm(rllc: xr.Dataset) -> bool:
    return captions.sampling(rllc).get("reference_norm") is not None


def _confound(drawn: dict[str, xr.Dataset]) -> str:
    """How heads' changes over training differ where the sampled region grows and shrinks with the weights.

    Over the checkpoints that both settings have: the last over the middle one, medians over heads.
    """
    scaled = [name for name, one in drawn.items() if one.attrs["by_norm"]]
    plain = [name for name, one in drawn.items() if not one.attrs["by_norm"]]
    if not (scaled and plain):
        return ""
    both = [drawn[plain[0]]["rllc"], drawn[scaled[0]]["rllc"]]
    fixed, relative = xr.align(*(each.dropna("step") for each in both))
    if fixed.sizes["step"] < 3:
        return ""
    middle = fixed.sizes["step"] // 2
    parts = []
    for layer in dict.fromkeys(str(head).partition(":")[0] for head in fixed["head"].values):
        heads = [str(head) for head in fixed["head"].values if str(head).startswith(f"{layer}:")]
        changes = [
            float((each.isel(step=-1) / each.isel(step=middle)).sel({"head": heads}).median())
            for each in (fixed, relative)
        ]
        parts.append(f"layer {layer} by {changes[1]:.2f} instead of {changes[0]:.2f}")
    at = [f"{int(fixed['step'][n]):,}" for n in (middle, -1)]
    return (
        f"The weight norm is a confound: with the sampled region in proportion to it ({scaled[0]}) the "
        f"median head changes from step {at[0]} to {at[1]} in {', in '.join(parts)} ({plain[0]})."
    )


def _measures(rllc: xr.Dataset, datasets: Datasets, distribution: Name, seed: Seed) -> xr.Dataset:
    """The measures of one setting, seed and distribution: (step, head)."""
    name = inputs.one_distribution(rllc, distribution)
    one = inputs.of_seed(rllc, seed).sel(distribution=name)
    prediction = against_controls.predicted(rllc, datasets)
    if prediction is not None:
        one["curvature_prediction"] = prediction.sel(seed=one["seed"], distribution=name)
    known = [v for v in ("rllc_se", *CONTROLS, "verdict") if v in one and one[v].notnull().any()]
    measures = one[["rllc", *known]].assign_attrs(
        distribution_label=inputs.one_label(rllc, name), by_norm=_by_norm(rllc)
    )
    if "rllc_gradient_off" in measures:
        measures["shrinkage"] = against_controls.change_by_gradient(one)
    if {"rllc_gradient_off", "rllc_centred"} <= {*measures}:
        walked = against_controls.over_shared_chains(one, "centred") / one["rllc_centred"] - 1
        measures["without_drift"] = shrinkage(one["rllc_centred"], one["rllc_gradient_off"])
        measures["meaning"] = meaning(measures["without_drift"], abs(walked))
    return measures.transpose("step", "head", ...)


def _limits(one: xr.Dataset) -> dict[str, float]:
    """One vertical range for a setting: all estimates and controls, and predictions up to twice those."""
    values = one[[name for name in ("rllc", *CONTROLS[:-1]) if name in one]].to_array().values
    low, high = np.nanmin(values, initial=0.0), np.nanmax(values, initial=0.0)
    if "curvature_prediction" in one:
        high = min(max(high, np.nanmax(one["curvature_prediction"].values, initial=0.0)), 2.0 * high)
    room = 0.08 * (high - low or 1.0)
    return {"bottom": low - room, "top": high + room}


def _change(name: str, one: xr.Dataset) -> str:
    """How far a setting's control is from its estimates."""
    low, middle, high = np.nanquantile(one["shrinkage"].values, [0.1, 0.5, 0.9])
    near, below = max(abs(low), abs(high)) <= 0.05, int((one["rllc"] < 0).sum())
    what = ", so they say how curved the loss is" if near else _is(one)
    return captions.sentence(
        f"{name}{captions.level(one)}: estimates lie {middle:.1%} below the control in the median "
        f"(80 % of cells: {low:.1%} to {high:.1%}){what}{f'; {below} are negative' if below else ''}"
    )


def _is(one: xr.Dataset) -> str:
    """What the estimates are by the centred control, where the setting has one."""
    if "meaning" not in one:
        return ""
    numbers = {word: int((one["meaning"] == n).sum()) for n, word in enumerate(MEANINGS)}
    counts = ", ".join(f"{number} {word}" for word, number in numbers.items() if number)
    return f"; without drift (centred control) {float(one['without_drift'].median()):.1%}: {counts}"


def _measured(name: str, one: xr.Dataset) -> str:
    """Orderings of heads and the prediction under a setting, and which estimates are missing."""
    parts, rllc = [], one["rllc"]
    if "rllc_gradient_off" in one:
        same = _orderings(rllc, one["rllc_gradient_off"])
        parts.append(f"orderings of heads by estimate and by control agree with Spearman {same}")
    if "curvature_prediction" in one:
        prediction = one["curvature_prediction"]
        low, middle, high = np.nanquantile((prediction / rllc).values, [0.1, 0.5, 0.9])
        parts.append(
            f"the prediction is {middle:.2f} times the estimate in the median (80 % of cells from {low:.2f} "
            f"to {high:.2f}), Spearman {_orderings(rllc, prediction)}"
        )
    absent = int(rllc.isnull().sum())
    if absent:
        parts.append(f"{absent} of {rllc.size} cells are missing and marked with a cross")
    return captions.when(parts, captions.sentence(f"{name}: {'; '.join(parts)}"))


def _by_setting(datasets: Datasets, of: Callable[[xr.Dataset, str], str]) -> list[str]:
    """A sentence on the estimates of each setting of which there is something to say."""
    texts = {name: of(one, "rllc") for name, one in datasets.items()}
    return [captions.sentence(f"{name}: {text}") for name, text in texts.items() if text]


def _orderings(a: xr.DataArray, b: xr.DataArray) -> str:
    """Rank correlation of two measures over heads: its median over checkpoints, and the lowest."""
    same = rank_correlation(a, b).values
    same = same[np.isfinite(same)]
    return f"{np.median(same):.2f} (lowest {same.min():.2f})" if same.size else "undefined"

"""The runs of this study beside the published one of arXiv 2402.02364, by the sum of the learning rates."""

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
from rllc.figures.panels import Curve, Panel, Row, all_of, level, sheet
from rllc.figures.regression.inputs import law, zero_loss
from rllc.figures.regression.published import curves

THEIRS = {"color": "#888888", "linewidth": 2.2, "zorder": 2}
RATE = "cumulative_rate"
PANELS = {
    "loss": ("held-out loss", "squared error"),
    "llc": ("LLC of the whole model", "LLC"),
    "mean_square": ("mean squared prediction", "mean square"),
    "weight_norm": ("norm of all weights", "norm"),
}
LOGARITHMIC = ("mean_square", "weight_norm")
LEARNED = 3.0  # a loss between that of predicting 0 and the Bayes predictor's: half of what can be learned
MORE_THAN_RATES = (
    "The sum of rates says how far a training is only as long as its gradients are like the other's: batches "
    "and the largest rate differ, and so do the chains of the LLC."
)


@style.styled
def regression_published_curves(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None
) -> Drawing:
    """Loss, LLC, squared predictions and weight norm of every seed and of the published run.

    datasets  ``metrics`` with ``loss`` and ``weight_norm``, ``llc``, ``in_context``
    """
    metrics = inputs.of_seeds(inputs.need(datasets, "metrics", "loss", "weight_norm"), seeds)
    llc = inputs.of_seeds(inputs.need(datasets, "llc", "llc"), seeds)
    source = inputs.of_seeds(inputs.need(datasets, "in_context", "prediction_square", RATE), seeds)
    name = inputs.one_distribution(llc, distribution)
    parts = [metrics[["loss", "weight_norm"]].sel(distribution=name), llc[["llc"]].sel(distribution=name)]
    parts.append(source[[RATE]].assign(mean_square=source["prediction_square"].mean("k")))
    data = xr.merge(
        [part.reset_coords(drop=True) for part in parts],
        join="outer",
        compat="override",
        combine_attrs="drop",
    )
    theirs = curves()
    every = data["seed"].values.tolist()
    looks = dict(
        zip(every, (style.numbered(n, c) for n, c in enumerate(style.shades(len(every)))), strict=True)
    )
    units = [unit for _, unit in PANELS.values()]
    zero = zero_loss(law(datasets["in_context"], "in_context"))
    panels, by_rate = [], {seed: _over_rates(data.sel(seed=seed)) for seed in every}
    for quantity, (title, unit) in PANELS.items():
        drawn = [Curve(_over_rates(theirs)[quantity].dropna("step"), THEIRS)]
        drawn += [Curve(by_rate[seed][quantity].dropna("step"), looks[seed]) for seed in every]
        over = [partial(Axes.set_xscale, value="log"), partial(Axes.set_ylabel, ylabel=unit)]
        over += [style.log_scale] if quantity in LOGARITHMIC else []
        if quantity == "loss" and zero is not None:
            over.append(level(zero, linestyle=":"))
        panels.append(Panel(title, drawn, over=all_of(*over), x="sum of the learning rates (log scale)"))
    keys = [
        style.key("published, seed 1", **THEIRS),
        *(style.key(f"seed {s}", **k) for s, k in looks.items()),
    ]
    keys += [style.key("zero predictor", color="#333333", linewidth=0.8, linestyle=":")] if zero else []
    figure, axes = sheet(
        [Row(units[0], panels[:2], keys), Row(units[2], panels[2:])], panel=(3.3, 2.2), margin=1.5
    )
    norms = axes.flat[list(PANELS).index("weight_norm")]
    style.label_decades(norms.yaxis, *norms.get_ylim(), (1, 2, 3, 5))
    found = [_found("published", theirs), *(_found(f"seed {s}", data.sel(seed=s)) for s in every)]
    drawn = theirs.rename(
        {each: f"published_{each}" for each in theirs.data_vars} | {"step": "published_step"}
    )
    return captions.drawing(
        figure,
        data.merge(drawn),
        captions.sentence("; ".join(found)),
        MORE_THAN_RATES,
        "Published: numbers of the authors' repository, 500,000 steps of 256 at a largest rate of 0.003.",
        conditions=[captions.setting(llc), "No uncertainty is drawn."],
    )


def _over_rates(one: xr.Dataset) -> xr.Dataset:
    """The same with the sum of the rates for ``step``, from the first update on."""
    rate = one[RATE].values
    known = np.isfinite(rate) & (rate > 0)
    return one.isel(step=known).assign_coords(step=rate[known]).drop_vars(RATE)


def _found(name: str, one: xr.Dataset) -> str:
    """Where half of what can be learned is learned, and where the LLC is largest."""
    loss, llc = one["loss"].dropna("step"), one["llc"].dropna("step")
    below = loss["step"].values[loss.values <= LEARNED]
    reached = f"at {float(one[RATE].sel(step=below[0])):.2g}" if below.size else "never"
    if not llc.size:
        return f"{name}: the loss is {LEARNED:g} {reached}"
    peak = llc[int(llc.argmax("step"))]
    return (
        f"{name}: the loss is {LEARNED:g} {reached}, the largest LLC {float(peak):.0f} "
        f"at {float(one[RATE].sel(step=peak['step'])):.2g}"
    )

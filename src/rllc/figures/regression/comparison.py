"""The runs of this study beside the published one of arXiv 2402.02364, by the sum of the learning rates."""

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seeds
from rllc.figures.findings import by_seed, known, over_seeds
from rllc.figures.panels import Curve, Panel, Row, all_of, level, sheet
from rllc.figures.regression.inputs import law, of_minibatches, zero_loss
from rllc.figures.regression.published import curves

THEIRS = {"color": "#888888", "linewidth": 2.2, "zorder": 2}
RATE = "cumulative_rate"
# quantity -> title, unit, dataset, variable and labels there; means are taken over the remaining dims
PANELS = {
    "loss": ("held-out loss", "squared error", "metrics", "loss", {}),
    "llc": ("LLC of the whole model", "LLC", "llc", "llc", {}),
    "mean_square": (
        "mean squared prediction",
        "mean square",
        "regression_predictions",
        "prediction_square",
        {},
    ),
    "weight_norm": ("norm of all weights", "norm", "metrics", "weight_norm", {}),
    "icl_score": (
        "ICL score, pair 1 to the last",
        "squared error",
        "regression_predictions",
        "icl_score",
        {},
    ),
    "icl_late": (
        "ICL score, late in the sequence",
        "squared error",
        "regression_predictions",
        "icl_late",
        {},
    ),
    "hessian_trace": ("Hessian trace", "squared error", "hessian", "hessian_trace", {}),
    "least_share": ("least direction of W_E", "share", "structure", "embedding_share", {"direction": -1}),
}
LOGARITHMIC = ("mean_square", "weight_norm", "hessian_trace", "least_share")
WITHIN_A_DECADE = ("weight_norm", "least_share")  # their axes need labels between powers of ten
COLUMNS = 4
LEARNED = 3.0  # the loss half way between predicting 0 and the Bayes predictor
OF_THEIRS = (
    "Published: the authors' curves; their batches, largest rate and chains are others. "
    "Their minibatches come from 1,048,576 sequences."
)


@style.styled
def regression_published_curves(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None
) -> Drawing:
    """Curves of every seed and of the published run: loss, LLC, squared predictions, weight norm, in-context
    learning scores and, if measured, the Hessian trace and the smallest share of the token embedding.

    datasets  ``metrics``, ``llc``, ``regression_predictions``; ``hessian``, ``structure``
    """
    llc = inputs.of_seeds(inputs.need(datasets, "llc", "llc"), seeds)
    rate = inputs.of_seeds(inputs.need(datasets, "regression_predictions", "prediction_square", RATE), seeds)[
        [RATE]
    ]
    inputs.need(datasets, "metrics", "loss", "weight_norm")
    name = inputs.one_distribution(llc, distribution)
    drawn = {quantity: panel for quantity, panel in PANELS.items() if panel[2] in datasets}
    parts = [rate, *(_measured(inputs.of_seeds(datasets[p[2]], seeds), q, p, name) for q, p in drawn.items())]
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
    zero = zero_loss(law(datasets["regression_predictions"], "regression_predictions"))
    panels, by_rate = [], {seed: _over_rates(data.sel(seed=seed)) for seed in every}
    for quantity, (title, unit, *_) in drawn.items():
        lines = [Curve(_over_rates(theirs)[quantity].dropna("step"), THEIRS)]
        lines += [Curve(by_rate[seed][quantity].dropna("step"), looks[seed]) for seed in every]
        over = [partial(Axes.set_xscale, value="log"), partial(Axes.set_ylabel, ylabel=unit)]
        over += [style.log_scale] if quantity in LOGARITHMIC else []
        if quantity == "loss" and zero is not None:
            over.append(level(zero, linestyle=":"))
        panels.append(Panel(title, lines, over=all_of(*over), x="sum of the learning rates"))
    keys = [
        style.key("published, seed 1", **THEIRS),
        *(style.key(f"seed {s}", **k) for s, k in looks.items()),
    ]
    keys += [style.key("zero predictor", color="#333333", linewidth=0.8, linestyle=":")] if zero else []
    units = [unit for _, unit, *_ in drawn.values()]
    firsts = range(0, len(panels), COLUMNS)
    rows = [Row(units[first], panels[first : first + COLUMNS]) for first in firsts]
    rows[0] = rows[0]._replace(keys=keys)
    figure, axes = sheet(rows, panel=(2.6, 2.0), margin=1.5)
    for ax, quantity in zip(axes.flat, drawn, strict=False):
        if quantity in WITHIN_A_DECADE:
            low, high = ax.get_ylim()
            style.label_decades(ax.yaxis, low, high, (1, 2, 3, 5))
    beside = theirs[[*drawn, RATE]]
    beside = beside.rename({each: f"published_{each}" for each in (*beside.data_vars, "step")})
    half = f"sum of rates at which the loss is {LEARNED:g}"
    peak = "sum of rates at the largest LLC"
    return Drawing(
        figure,
        data.merge(beside),
        "Curves of this study and of the published training, over the sum of the learning rates.",
        known(
            [
                Finding(f"{half}, published", _learned(theirs)),
                *over_seeds(half, by_seed(data, _learned)),
                Finding(f"{peak}, published", _peak_rate(theirs)),
                *over_seeds(peak, by_seed(data, _peak_rate)),
                Finding("largest LLC, published", float(theirs["llc"].max())),
                *over_seeds("largest LLC", data["llc"].max("step")),
            ]
        ),
        [OF_THEIRS, *conditions.setting(llc), *of_minibatches(llc, name), *conditions.seeds(data)],
    )


def _measured(source: xr.Dataset, quantity: str, panel: tuple, distribution: str) -> xr.Dataset:
    """Return a quantity of this study, (seed, step)."""
    *_, variable, at = panel
    values = source[variable].isel(at)
    if "distribution" in values.dims:
        values = values.sel(distribution=distribution)
    return values.mean([dim for dim in values.dims if dim not in ("seed", "step")]).to_dataset(name=quantity)


def _over_rates(one: xr.Dataset) -> xr.Dataset:
    """Return the data with the sum of the rates as ``step``, from the first update on."""
    rate = one[RATE].values
    known = np.isfinite(rate) & (rate > 0)
    return one.isel(step=known).assign_coords(step=rate[known]).drop_vars(RATE)


def _learned(one: xr.Dataset) -> float:
    """Return the sum of rates at which the loss first falls to ``LEARNED``; NaN if it never does."""
    loss = one["loss"].dropna("step")
    below = loss["step"].values[loss.values <= LEARNED]
    return float(one[RATE].sel(step=below[0])) if below.size else np.nan


def _peak_rate(one: xr.Dataset) -> float:
    """Return the sum of rates at which the LLC is largest."""
    llc = one["llc"].dropna("step")
    return float(one[RATE].sel(step=llc["step"][int(llc.argmax("step"))])) if llc.size else np.nan

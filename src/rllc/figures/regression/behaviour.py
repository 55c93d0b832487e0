"""Predictions of a model of in-context regression over training (arXiv 2402.02364, Figs. 6a, C.3, C.4)."""

from collections.abc import Mapping, Sequence

import xarray as xr
from matplotlib.lines import Line2D

from rllc.analysis.recorded import recorded
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seeds
from rllc.figures.findings import at_end, known, largest, over_seeds
from rllc.figures.panels import Curve, Panel, Row, all_of, by_seed, curve, level, sheet
from rllc.figures.regression.inputs import law, of_sequences, of_stages, staged

MEAN = {"color": "black", "linewidth": 2.0, "marker": "o"}
EARLY, LATE = {"color": "#4477AA", "marker": "o"}, {"color": "#AA4499", "marker": "s"}
FAR = 3.0  # smallest factor at which inputs and tasks are far from the distribution


@style.styled
def stage_fig6a(
    datasets: Datasets,
    *,
    seeds: Seeds = None,
    scales: Sequence[float] = (1.0, 3.0, 5.0, 10.0),
    setting: str = "sampling",
) -> Drawing:
    """Mean square of the predictions by pair, and in-context learning score of longer inputs.

    datasets  ``regression_predictions``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    source = inputs.need(datasets, "regression_predictions", "prediction_square", "far_icl")
    data = inputs.of_seeds(source, seeds)[["prediction_square", "far_icl"]]
    data = data.sel(change="inputs", scale=_existing(source, scales)).drop_vars("change")
    data["mean_square"] = data["prediction_square"].mean("k")
    noise = law(source, "regression_predictions").get("noise_variance")
    pairs = data["k"].values.tolist()
    colors, tones = style.shades(len(pairs)), style.shades(data.sizes["scale"])
    rows = []
    for seed, suffix, one in by_seed(data):
        curves = [
            Curve(one["prediction_square"].sel(k=k), {"color": c}) for k, c in zip(pairs, colors, strict=True)
        ]
        stages = staged(datasets, seed, setting)
        over = all_of(style.log_scale, *([level(noise, linestyle=":")] if noise else []))
        squares = Panel(
            f"mean squared prediction{suffix}",
            [*curves, Curve(one["mean_square"], MEAN)],
            over=over,
            **stages,
        )
        shown = [
            Curve(v, {"color": c, "marker": "o"})
            for v, c in zip(_by(one["far_icl"], "scale"), tones, strict=True)
        ]
        scores = Panel(f"ICL score / g², inputs × g{suffix}", shown, over=style.zero, **stages)
        rows += [Row("mean square", [squares, scores])]
    named = {pairs[n]: colors[n] for n in (0, (len(pairs) - 1) // 2, -1)}  # the shades between are in order
    left = [style.key(f"pair {k}", color=c) for k, c in named.items()] + [style.key("mean", **MEAN)]
    left += [style.key("noise variance", color="#333333", linestyle=":")] if noise else []
    right = [
        style.key(f"g = {g:g}", color=c, marker="o") for g, c in zip(data["scale"].values, tones, strict=True)
    ]
    rows[0] = rows[0]._replace(keys=_side_by_side({"left panels": left, "right panels": right}))
    figure, axes = sheet(rows, panel=(3.2, 2.4), margin=1.4, sharex=True)
    for line in axes:
        line[1].set_ylabel("squared error / g²")
    trained = data["mean_square"].where(data["step"] > 0).dropna("step", how="all")
    return Drawing(
        figure,
        data,
        "Mean squared prediction by pair, and in-context learning score of inputs multiplied by g.",
        known(
            [
                *over_seeds("least mean squared prediction", trained.min("step")),
                *over_seeds(
                    "step of the least mean squared prediction", trained.idxmin("step"), unit="steps"
                ),
                *(
                    each
                    for g in dict.fromkeys(data["scale"].values[[0, -1]].tolist())
                    for each in at_end(f"ICL score / g² (g = {g:g})", data["far_icl"].sel(scale=g))
                ),
            ]
        ),
        [
            "ICL score: squared error at the last pair less that at the first.",
            *of_sequences(source),
            *of_stages(datasets, data["seed"], setting),
            *conditions.seeds(data),
        ],
    )


@style.styled
def stage_figC3(  # noqa: N802
    datasets: Datasets, *, seeds: Seeds = None, zoom: Sequence[float] = (), setting: str = "sampling"
) -> Drawing:
    """In-context learning early and late in a sequence, with the Bayes predictor's. Right: enlarged.

    datasets  ``regression_predictions``; ``stages`` (without it no boundaries)
    zoom      first and last step of the second panel; default 1 % to 10 % of the training
    setting   of the LLC that has the boundaries
    """
    source = inputs.need(datasets, "regression_predictions", "icl_early", "icl_late", "ridge_mse")
    names = [f"icl_{part}{end}" for part in ("early", "late") for end in ("", "_se")]
    data = inputs.of_seeds(source, seeds)[names]
    middle = int(recorded(source, "regression_predictions").get("middle", 4))
    bayes = _bayes(source, middle)
    total = float(data["step"][-1])
    first, last = zoom or (0.01 * total, 0.1 * total)
    looks, rows = {"icl_early": EARLY, "icl_late": LATE}, []
    for seed, suffix, one in by_seed(data):
        stages = staged(datasets, seed, setting)
        lines = all_of(
            style.zero,
            *(level(bayes[n], color=look["color"], linestyle=":") for n, look in looks.items()),
        )
        part = one.sel(step=slice(first, last))
        drawn = [curve(one, n, look) for n, look in looks.items()]
        panels = [Panel(f"whole training{suffix}", drawn, over=lines, **stages)]
        if part.sizes["step"] > 1:
            title = f"steps {style.step_text(first)} to {style.step_text(last)}{suffix}"
            drawn = [curve(part, n, look) for n, look in looks.items()]
            panels.append(Panel(title, drawn, over=style.zero, **stages))
        rows.append(Row("squared error", panels))
    keys = [
        style.key(f"pair 1 to {middle}", **EARLY), style.key(f"pair {middle} to last", **LATE),
        style.key("Bayes predictor", color="#555555", linestyle=":"),
    ]  # fmt: skip
    rows[0] = rows[0]._replace(keys=keys)
    figure, _ = sheet(rows, panel=(3.2, 2.4), margin=1.3)
    late = data[["icl_late", "icl_late_se"]].sel(step=slice(first, None))
    return Drawing(
        figure,
        data.assign({f"bayes_{n}": v for n, v in bayes.items()}),
        "In-context learning score early and late in the sequence, beside that of the Bayes predictor.",
        known(
            [
                *at_end("late score", data["icl_late"], data["icl_late_se"]),
                Finding("late score of the Bayes predictor", bayes["icl_late"]),
                *at_end("early score", data["icl_early"], data["icl_early_se"]),
                Finding("early score of the Bayes predictor", bayes["icl_early"]),
                *largest("late score", late["icl_late"], late["icl_late_se"])[:1],
            ]
        ),
        [
            "A score is the squared error at the later pair less that at the earlier.",
            conditions.band(data["icl_late_se"], "over sequences"),
            *of_sequences(source),
            *of_stages(datasets, data["seed"], setting),
            *conditions.seeds(data),
        ],
    )


@style.styled
def stage_figC4(  # noqa: N802
    datasets: Datasets, *, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Loss divided by g², and mean |prediction|, if inputs or tasks are multiplied by g.

    datasets  ``regression_predictions``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    source = inputs.need(datasets, "regression_predictions", "far_loss", "far_prediction")
    data = inputs.of_seeds(source, seeds)[["far_loss", "far_prediction"]]
    tones = style.shades(data.sizes["scale"])
    keys = [
        style.key(f"g = {g:g}", color=c, marker="o") for g, c in zip(data["scale"].values, tones, strict=True)
    ]
    rows = []
    for seed, suffix, one in by_seed(data):
        for variable, label in (("far_loss", "squared error / g²"), ("far_prediction", "mean |prediction|")):
            panels = []
            for change in data["change"].values.tolist():
                values = _by(one[variable].sel(change=change), "scale")
                curves = [Curve(v, {"color": c, "marker": "o"}) for v, c in zip(values, tones, strict=True)]
                frame = staged(datasets, seed, setting)
                panels.append(Panel(f"{change} × g{suffix}", curves, over=style.log_scale, **frame))
            rows.append(Row(label, panels, [] if rows else keys))
    figure, axes = sheet(rows, panel=(3.2, 2.0), margin=1.1, sharex=True, sharey="row")
    for ax in axes[::2].flat:
        low, high = ax.get_ylim()
        style.label_decades(ax.yaxis, low, high, (1, 1.5, 2, 3, 4, 6))
    farthest = data["far_loss"].isel(scale=-1)
    ends = [
        at_end(f"loss / g² ({change} × {float(farthest['scale']):g})", farthest.sel(change=change))
        for change in data["change"].values.tolist()
    ]
    return Drawing(
        figure,
        data,
        "Loss over g² and mean |prediction| over training, with inputs or tasks multiplied by g.",
        known([*_worsening(_far(data["far_loss"])), *(each for found in ends for each in found)]),
        [
            "Answers are drawn from the changed inputs or tasks, so their variance grows with g².",
            *of_sequences(source),
            *of_stages(datasets, data["seed"], setting),
            *conditions.seeds(data),
        ],
    )


def _far(loss: xr.DataArray) -> xr.DataArray:
    """Return the loss at the factors that are far from the distribution; if there are none, at all."""
    return loss.sel(scale=[g for g in loss["scale"].values if g >= FAR] or loss["scale"].values)


def _worsening(loss: xr.DataArray) -> list[Finding]:
    """Return the largest rise of the loss over g² of scaled sequences, from its minimum to the end."""
    worse = (loss.isel(step=-1) / loss.min("step")).stack(case=("seed", "change", "scale"))
    known_cases = worse[worse.notnull().values]
    if not known_cases.size:
        return []
    seed, change, g = known_cases["case"].values[int(known_cases.argmax("case"))]
    label = f"largest excess of the final loss / g² over its best (seed {seed}, {change} × {g:g})"
    return [Finding(label, 100 * (float(known_cases.max()) - 1), unit="%")]


def _side_by_side(columns: Mapping[str, list[Line2D]]) -> list[Line2D]:
    """Return legend entries of columns, each under its heading, padded so that columns break there."""
    length = max(map(len, columns.values()))
    blank = style.key("", linestyle="none")
    return [
        entry
        for heading, keys in columns.items()
        for entry in (style.key(heading, linestyle="none"), *keys, *[blank] * (length - len(keys)))
    ]


def _bayes(source: xr.Dataset, middle: int) -> dict[str, float]:
    ridge = source["ridge_mse"].isel(seed=0, step=0)
    first, between, last = (float(ridge.sel(k=k)) for k in (1, middle, int(source["k"][-1])))
    return {"icl_early": between - first, "icl_late": last - between}


def _by(values: xr.DataArray, dim: str) -> list[xr.DataArray]:
    return [values.isel({dim: i}) for i in range(values.sizes[dim])]


def _existing(source: xr.Dataset, scales: Sequence[float]) -> list[float]:
    """Return those of ``scales`` that were measured; all measured ones if none was."""
    there = source["scale"].values.tolist()
    return [g for g in scales if g in there] or there

"""What a model of in-context regression predicts over training (arXiv 2402.02364, Figs. 6a, C.3, C.4)."""

from collections.abc import Mapping, Sequence

import xarray as xr
from matplotlib.lines import Line2D

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.panels import Curve, Panel, Row, all_of, by_seed, curve, level, sheet
from rllc.figures.regression.inputs import at, boundaries, law, least, most, of_sequences, recorded, staged

MEAN = {"color": "black", "linewidth": 2.0, "marker": "o"}
EARLY, LATE = {"color": "#4477AA", "marker": "o"}, {"color": "#AA4499", "marker": "s"}
FAR = 3.0  # the factor from which on inputs and tasks are far from the distribution


@style.styled
def stage_fig6a(
    datasets: Datasets,
    *,
    seeds: Seeds = None,
    scales: Sequence[float] = (1.0, 3.0, 5.0, 10.0),
    setting: str = "sampling",
) -> Drawing:
    """The mean square of the predictions by pair, and the in-context learning score of longer inputs.

    datasets  ``in_context``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    source = inputs.need(datasets, "in_context", "prediction_square", "far_icl")
    data = inputs.of_seeds(source, seeds)[["prediction_square", "far_icl"]]
    data = data.sel(change="inputs", scale=_existing(source, scales)).drop_vars("change")
    data["mean_square"] = data["prediction_square"].mean("k")
    noise = law(source, "in_context").get("noise_variance")
    pairs = data["k"].values.tolist()
    colors, tones = style.shades(len(pairs)), style.shades(data.sizes["scale"])
    rows, findings = [], []
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
        trough = least(one["mean_square"].where(one["step"] > 0).dropna("step"))
        last = ", ".join(
            f"{float(v[-1]):.2f} (g {g:g})"
            for g, v in zip(data["scale"].values, _by(one["far_icl"], "scale"), strict=True)
        )
        findings.append(
            f"Seed {seed}: the mean squared prediction is least, {at(trough, '.3f')}, of "
            f"{float(one['mean_square'][0]):.3f} at step 0, and ends at {float(one['mean_square'][-1]):.2f}; "
            f"the score ends at {last}."
        )
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
    return captions.drawing(
        figure,
        data,
        *findings,
        "The score is the squared error at the last pair less that at the first, over g²; "
        "the authors divide by g.",
        "A model that knows the mean task alone predicts 0.",
        conditions=[
            boundaries(datasets, data["seed"], setting),
            of_sequences(source),
            "No uncertainty is drawn.",
        ],
    )


@style.styled
def stage_figC3(  # noqa: N802
    datasets: Datasets, *, seeds: Seeds = None, zoom: Sequence[float] = (), setting: str = "sampling"
) -> Drawing:
    """In-context learning early and late in a sequence, with the Bayes predictor's, and a part of it all.

    datasets  ``in_context``; ``stages`` (without it no boundaries)
    zoom      first and last step of the second panel; default 1 % to 10 % of the training
    setting   of the LLC that has the boundaries
    """
    source = inputs.need(datasets, "in_context", "icl_early", "icl_late", "ridge_mse")
    names = [f"icl_{part}{end}" for part in ("early", "late") for end in ("", "_se")]
    data = inputs.of_seeds(source, seeds)[names]
    middle = int(recorded(source, "in_context").get("middle", 4))
    bayes = _bayes(source, middle)
    total = float(data["step"][-1])
    first, last = zoom or (0.01 * total, 0.1 * total)
    looks, rows, findings = {"icl_early": EARLY, "icl_late": LATE}, [], []
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
        late = one["icl_late"].sel(step=slice(first, None)).dropna("step")
        findings.append(
            f"Seed {seed}: late in the sequence the score goes from {at(late[0], '+.2f')} to its largest, "
            f"{at(most(late), '+.2f')}, and ends at {float(late[-1]):.2f}; early in it, it ends at "
            f"{float(one['icl_early'][-1]):.2f}."
        )
    keys = [
        style.key(f"pair 1 to {middle}", **EARLY), style.key(f"pair {middle} to last", **LATE),
        style.key("Bayes predictor", color="#555555", linestyle=":"),
    ]  # fmt: skip
    rows[0] = rows[0]._replace(keys=keys)
    figure, _ = sheet(rows, panel=(3.2, 2.4), margin=1.3)
    return captions.drawing(
        figure,
        data.assign({f"bayes_{n}": v for n, v in bayes.items()}),
        *findings,
        f"Bayes: {bayes['icl_early']:.2f} and {bayes['icl_late']:.2f} on the same sequences.",
        "A score is the squared error at the later pair less that at the earlier.",
        conditions=[
            boundaries(datasets, data["seed"], setting),
            of_sequences(source),
            "Bands: one standard error over sequences.",
        ],
    )


@style.styled
def stage_figC4(  # noqa: N802
    datasets: Datasets, *, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Loss over g² and mean |prediction| where inputs, or tasks, are multiplied by g.

    datasets  ``in_context``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    source = inputs.need(datasets, "in_context", "far_loss", "far_prediction")
    data = inputs.of_seeds(source, seeds)[["far_loss", "far_prediction"]]
    tones = style.shades(data.sizes["scale"])
    keys = [
        style.key(f"g = {g:g}", color=c, marker="o") for g, c in zip(data["scale"].values, tones, strict=True)
    ]
    rows, findings = [], []
    for seed, suffix, one in by_seed(data):
        for variable, label in (("far_loss", "squared error / g²"), ("far_prediction", "mean |prediction|")):
            panels = []
            for change in data["change"].values.tolist():
                values = _by(one[variable].sel(change=change), "scale")
                curves = [Curve(v, {"color": c, "marker": "o"}) for v, c in zip(values, tones, strict=True)]
                frame = staged(datasets, seed, setting)
                panels.append(Panel(f"{change} × g{suffix}", curves, over=style.log_scale, **frame))
            rows.append(Row(label, panels, [] if rows else keys))
        last = _far(one["far_loss"]).isel(step=-1)
        ended = "; ".join(
            f"{change} {', '.join(f'{value:.2f}' for value in last.sel(change=change).values)}"
            for change in last["change"].values
        )
        findings.append(f"Seed {seed}, at the end, in order of g: {ended}.")
    figure, axes = sheet(rows, panel=(3.2, 2.0), margin=1.1, sharex=True, sharey="row")
    for ax in axes[::2].flat:
        style.label_decades(ax.yaxis, *ax.get_ylim(), (1, 1.5, 2, 3, 4, 6))
    return captions.drawing(
        figure,
        data,
        _worsening(_far(data["far_loss"])),
        *findings,
        "Answers are made anew of the changed inputs or tasks, so their variance grows with g².",
        conditions=[
            boundaries(datasets, data["seed"], setting),
            of_sequences(source),
            "No uncertainty is drawn.",
        ],
    )


def _far(loss: xr.DataArray) -> xr.DataArray:
    """The part of a loss at the factors that are far from the distribution; all of it where none is."""
    return loss.sel(scale=[g for g in loss["scale"].values if g >= FAR] or loss["scale"].values)


def _worsening(loss: xr.DataArray) -> str:
    """How much worse than ever changed sequences are predicted at the end (loss over g²), at most."""
    worse = (loss.isel(step=-1) / loss.min("step")).stack(case=("seed", "change", "scale"))
    seed, change, g = worse["case"].values[int(worse.argmax("case"))]
    return (
        f"At the end the loss / g² is at most {100 * (float(worse.max()) - 1):.1f}% above its best "
        f"(seed {seed}, {change} × {g:g}), for g = {', '.join(f'{each:g}' for each in loss['scale'].values)}."
    )


def _side_by_side(columns: Mapping[str, list[Line2D]]) -> list[Line2D]:
    """Legend entries of columns, each under its heading; the legend breaks where a column is full."""
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
    """Those of ``scales`` that were measured; all where none was."""
    there = source["scale"].values.tolist()
    return [g for g in scales if g in there] or there

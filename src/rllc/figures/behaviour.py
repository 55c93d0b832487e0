"""Predictions of a language model over training (arXiv 2402.02364, Figs. 4a and B6)."""

from collections.abc import Mapping

import xarray as xr

from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seeds
from rllc.figures.findings import at_end, fitting, known, near_end, over_seeds
from rllc.figures.panels import Curve, Panel, Row, by_seed, column_width, level, sheet
from rllc.figures.stage_bands import (
    OFF_OF,
    Cells,
    above_chance,
    bands,
    curves_of,
    estimates,
    llc_curves,
    llc_findings,
    llc_keys,
    of_stages,
    within,
)
from rllc.units import NATS

BOUND = {"color": "#882255", "linewidth": 1.1, "linestyle": (0, (4, 2))}
SCORE, KEPT, ZEROED = ({"color": color, "marker": "o"} for color in ("#332288", "#333333", "#CC6677"))


@style.styled
def stage_fig4a_behaviour(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Bigram score and its bound, loss with and without W_pos, n-gram scores. Columns: seeds.

    datasets  ``ngrams``, ``positions``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    rows, data, cells = _behaviour(datasets, distribution, seeds, setting)
    figure, _ = sheet(rows, panel=(column_width(data), 1.8), sharex=True, sharey="row")
    name = data["distribution"].item()
    return Drawing(
        figure,
        data,
        f"Bigram score, loss with and without W_pos, and n-gram scores on {inputs.one_label(data, name)}.",
        known(_findings(data.sel(distribution=name), _errors(datasets, data))),
        [
            *conditions.contexts(datasets["ngrams"], "ngrams"),
            *of_stages(cells),
            *above_chance(cells),
            *conditions.seeds(data),
        ],
    )


@style.styled
def stage_figB6(  # noqa: N802
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Loss and LLC above the panels of `stage_fig4a_behaviour`. The paper shows them for one layer.

    datasets  ``metrics``, ``llc`` or ``llc.<setting>``, ``ngrams``, ``positions``; ``stages``
    """
    rows, data, cells = _behaviour(datasets, distribution, seeds, setting)
    name, steps = data["distribution"].item(), data["step"].values
    llc = estimates(datasets, setting)
    parts = [inputs.need(datasets, "metrics", "loss")[["loss"]].rename(loss="test_loss")]
    parts.append(llc[[each for each in ("llc", "llc_se", OFF_OF, "quality") if each in llc]])
    drawn = [inputs.of_seeds(part, seeds).sel(distribution=[name]) for part in parts]
    data = xr.merge([data, *drawn], join="outer", compat="override", combine_attrs="drop")
    if "quality" in data:
        data["quality"] = inputs.quality_flags(data, "llc")
    losses, levels = [], []
    limits = within(data.sel(step=llc["step"].values))
    for seed, suffix, one in by_seed(data.sel(distribution=name)):
        frame = {"under": bands(cells[seed]), "steps": steps}
        losses.append(Panel(f"held-out loss{suffix}", [_curve(one["test_loss"], KEPT)], **frame))
        measured = one.sel(step=llc["step"].values)
        drawn = llc_curves(measured, cells[seed])
        levels.append(Panel(f"full-model LLC{suffix}", drawn, **frame, over=limits))
    rows = [Row("nats/token", losses), Row("LLC", levels, llc_keys(data, *cells.values())), *rows]
    figure, _ = sheet(rows, panel=(column_width(data), 1.6), sharex=True, sharey="row")
    shown = data.sel(step=llc["step"].values)
    one = data.sel(distribution=name)
    title = (
        "Held-out loss, full-model LLC, bigram and n-gram scores, and loss without W_pos on "
        f"{inputs.one_label(data, name)}."
    )
    told = [*conditions.of_estimates(llc, shown, "llc", "test_loss"), *above_chance(cells)]
    found = [
        *at_end("LLC", one["llc"], one.get("llc_se")),
        *llc_findings(cells)[:1],
        *_findings(one, _errors(datasets, one)),
    ]
    return Drawing(figure, data, title, fitting(found, title, told), told)


def _behaviour(
    datasets: Datasets, distribution: Name, seeds: Seeds, setting: str
) -> tuple[list[Row], xr.Dataset, Cells]:
    """Return the rows, the dataset that they draw, and the stages of each seed."""
    grams = inputs.of_seeds(inputs.need(datasets, "ngrams", "bigram_score", "ngram_score"), seeds)
    name = inputs.one_distribution(grams, distribution)
    where = inputs.of_seeds(inputs.need(datasets, "positions", "loss", "ablated_loss"), seeds)
    drawn = [
        grams[["bigram_score", "bigram_entropy", "ngram_score"]],
        where[["loss", "ablated_loss"]],
    ]
    data = xr.merge([each.sel(distribution=[name]) for each in drawn], join="outer", compat="override",
                    combine_attrs="drop")  # fmt: skip
    looks = {n: style.numbered(i, color) for i, (n, color) in enumerate(
        zip(data["n"].values.tolist(), style.shades(data.sizes["n"]), strict=True))}  # fmt: skip
    bigram, loss, order = [], [], []
    cells = curves_of(datasets, data["seed"], name, setting)
    for seed, suffix, one in by_seed(data.sel(distribution=name)):
        frame = {"under": bands(cells[seed]), "steps": data["step"].values}
        entropy = float(one["bigram_entropy"].mean())
        bigram.append(Panel(f"bigram score{suffix}", [_curve(one["bigram_score"], SCORE)], **frame,
                            over=level(entropy, **BOUND)))  # fmt: skip
        with_and_without = [_curve(one["loss"], KEPT), _curve(one["ablated_loss"], ZEROED)]
        loss.append(Panel(f"loss{suffix}", with_and_without, **frame))
        scores = [_curve(one["ngram_score"].sel(n=n), look) for n, look in looks.items()]
        order.append(Panel(f"n-gram scores{suffix}", scores, **frame, over=level(1.0)))
    rows = [
        Row(
            "nats/token",
            bigram,
            [style.key("bigram score", **SCORE), style.key("entropy of bigrams", **BOUND)],
        ),
        Row("nats/token", loss, [style.key("W_pos", **KEPT), style.key("zeros for W_pos", **ZEROED)]),
        Row("ratio of losses", order, [style.key(f"{n}-grams", **look) for n, look in looks.items()]),
    ]
    return rows, data, cells


def _curve(values: xr.DataArray, look: dict) -> Curve:
    return Curve(values.dropna("step"), look)


def _errors(datasets: Datasets, data: xr.Dataset) -> dict[str, xr.DataArray]:
    """Return the paired standard errors of the score above its bound and of the rise of the loss, if known.

    data  with the seeds and the only distribution that are drawn
    """
    name, of = data["distribution"].item(), {"bigram_excess": "ngrams", "position_gain": "positions"}
    return {
        short: datasets[source][f"{short}_se"].sel(distribution=name, seed=data["seed"])
        for short, source in of.items()
        if f"{short}_se" in datasets[source]
    }


def _findings(data: xr.Dataset, errors: Mapping[str, xr.DataArray]) -> list[Finding]:
    """Return findings of what the model predicts; ``data`` of one distribution."""
    excess = data["bigram_score"] - data["bigram_entropy"].mean("step")
    least = excess.dropna("step", how="all")
    above = "bigram score above the bigrams' entropy"
    gap = data["ablated_loss"] - data["loss"]
    made = [
        *over_seeds("step of the least bigram score", least.idxmin("step"), unit="steps"),
        *near_end(above, excess, errors.get("bigram_excess"), NATS),
        *near_end("rise of the loss with zeros for W_pos", gap, errors.get("position_gain"), NATS),
    ]
    for n in dict.fromkeys(data["n"].values[[-1, 0]].tolist()):
        made += at_end(f"{n}-gram score", data["ngram_score"].sel(n=n))
    return made

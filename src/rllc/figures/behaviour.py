"""What the model predicts as it learns (arXiv 2402.02364, Figs. 4a and B6)."""

from functools import partial

import xarray as xr

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
from rllc.figures.panels import Curve, Panel, Row, by_seed, column_width, level, sheet
from rllc.figures.stage_bands import (
    AT_ONE_LOSS,
    OF_BANDS,
    OF_STAGES,
    OFF_OF,
    Cells,
    among,
    bands,
    curves_of,
    estimates,
    explained,
    llc_curves,
    llc_keys,
    of_llc,
    within,
)

BOUND = {"color": "#882255", "linewidth": 1.1, "linestyle": (0, (4, 2))}
SCORE, KEPT, ZEROED = ({"color": color, "marker": "o"} for color in ("#332288", "#333333", "#CC6677"))
WHAT = (
    "Bigram score: cross-entropy of the predictions after a token against the bigrams of the training text, "
    "at least their entropy. n-gram score: loss of text over loss of the last token of common n-grams, at "
    "the same position."
)


@style.styled
def stage_fig4a_behaviour(
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Bigram score and its bound, loss with and without W_pos, n-gram scores; a column per seed.

    datasets  ``ngrams``, ``positions``; ``stages`` (without it no boundaries)
    setting   of the LLC that has the boundaries
    """
    rows, data, cells, findings, contexts = _behaviour(datasets, distribution, seeds, setting)
    figure, _ = sheet(rows, panel=(column_width(data), 1.8), sharex=True, sharey="row")
    return captions.drawing(
        figure, data, *among(findings, cells), WHAT, conditions=[contexts, "No uncertainty is drawn."],
        details=[explained(OF_BANDS, cells)],
    )  # fmt: skip


@style.styled
def stage_figB6(  # noqa: N802
    datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None, setting: str = "sampling"
) -> Drawing:
    """Loss and LLC over the rows of ``stage_fig4a_behaviour``, which the paper shows for one layer.

    datasets  ``metrics``, ``llc`` or ``llc.<setting>``, ``ngrams``, ``positions``; ``stages``
    """
    rows, data, cells, findings, contexts = _behaviour(datasets, distribution, seeds, setting)
    name, steps = data["distribution"].item(), data["step"].values
    llc = estimates(datasets, setting)
    parts = [inputs.need(datasets, "metrics", "loss")[["loss"]].rename(loss="test_loss")]
    parts.append(llc[[each for each in ("llc", "llc_se", OFF_OF, "verdict") if each in llc]])
    drawn = [inputs.of_seeds(part, seeds).sel(distribution=[name]) for part in parts]
    data = xr.merge([data, *drawn], join="outer", compat="override", combine_attrs="drop")
    if "verdict" in data:
        data["verdict"] = inputs.verdicts(data, "llc")
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
    conditions, details = captions.of_estimates(llc, shown, "llc", "test_loss")
    return captions.drawing(
        figure, data, *of_llc(cells), *findings, WHAT,
        conditions=[contexts, explained(AT_ONE_LOSS, cells), *conditions],
        details=[*details, explained(OF_STAGES, cells)],
    )  # fmt: skip


def _behaviour(
    datasets: Datasets, distribution: Name, seeds: Seeds, setting: str
) -> tuple[list[Row], xr.Dataset, Cells, list[str], str]:
    """Rows, what they draw, the stages of each seed, findings, and what text they are of."""
    grams = inputs.of_seeds(inputs.need(datasets, "ngrams", "bigram_score", "ngram_score"), seeds)
    name = inputs.one_distribution(grams, distribution)
    where = inputs.of_seeds(inputs.need(datasets, "positions", "loss", "ablated_loss"), seeds)
    drawn = [
        grams.drop_vars(["ngram_loss", "ngram_baseline"], errors="ignore"),
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
    on = f"On {inputs.one_label(data, name)}."
    found = _found(data.sel(distribution=name))
    return rows, data, cells, [found], captions.joined(on, captions.contexts(grams, "ngrams"))


def _curve(values: xr.DataArray, look: dict) -> Curve:
    return Curve(values.dropna("step"), look)


def _found(data: xr.Dataset) -> str:
    """Ranges over seeds; ``data`` of one distribution."""
    score, of = data["bigram_score"].dropna("step", how="all"), partial(captions.spread, form=".2f")
    gap = captions.last(data["ablated_loss"] - data["loss"])
    excess = score - data["bigram_entropy"].mean("step")
    scores = (f"{of(captions.last(data['ngram_score'].sel(n=n)))} (n = {n})" for n in data["n"].values)
    at = captions.spread(score.idxmin("step").values, style.step_text) + captions.over(data)
    return (
        f"The bigram score is least at step {at}, {of(excess.min('step').values)} nats above the bigrams' "
        f"entropy, and ends {of(captions.last(excess))} above it; without W_pos the loss is {of(gap)} larger "
        f"at the end; n-gram scores at the end: {', '.join(scores)}."
    )

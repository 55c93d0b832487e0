"""Which layer predicts n-grams over training, and which heads attend to spaces (arXiv 2410.02984, B.6)."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.intervals import student_half_width
from rllc.analysis.migration import migration
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seeds
from rllc.figures.findings import fitting, over_seeds, percent
from rllc.figures.heads.head_findings import at_step
from rllc.figures.heads.tokens import selection
from rllc.figures.panels import by_seed

NEEDED = ("rise", "pattern_index", "context", "position", "attention", "shown_token", "shown_rank")
BARS = {"capsize": 2, "elinewidth": 0.9, "markersize": 4.5}


@style.styled
def ngram_migration(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """Left: share of the n-grams' ablation effect by layer. Right: each head's attention to lone spaces."""
    tokens = inputs.of_seeds(inputs.need(datasets, "tokens", *NEEDED), seeds)
    data = migration(tokens)
    data = data.assign(head_type=inputs.types_of(datasets, data["head"], data["seed"]))
    figure, axes = style.grid(
        data.sizes["seed"], 2, panel=(0.32 * data.sizes["head"] + 1.6, 2.3), margin=1.3, sharey="col"
    )
    for (left, right), (_, suffix, one) in zip(axes, by_seed(data), strict=True):
        _layers(left, one, suffix)
        _heads(right, one, suffix)
    colors = style.shades(data.sizes["step"])
    keys = [
        style.key(f"step {int(step):,}", marker="o", linestyle="none", color=color)
        for step, color in zip(data["step"].values, colors, strict=True)
    ]
    style.beside(axes[0, -1], keys)
    title = "N-grams' ablation effect by layer, and each head's attention to lone spaces."
    told = [
        *selection(datasets["tokens"]),
        "Effect: rises of loss at these tokens that n-grams explain.",
        "Lone spaces: attention less that of uniform attention, mean over examples.",
        "Bars: one standard error, over contexts or examples.",
        *conditions.seeds(data),
    ]
    examples = (tokens["shown_rank"] >= 0).sum("shown")
    found = [*_of_ngrams(data), *_of_spaces(data, examples)]
    return Drawing(figure, data, title, fitting(found, title, told), told)


def _layers(ax: Axes, one: xr.Dataset, suffix: str) -> None:
    """Draw the share of each layer at each step."""
    places = np.arange(one.sizes["step"])
    for n, layer in enumerate(one["of_layer"].values.tolist()):
        cell = one.sel(of_layer=layer)
        values, errors = cell["ngram_effect_of_layer"].values, cell["ngram_effect_of_layer_se"].values
        look = style.numbered(n, style.CLUSTER_COLORS[n % len(style.CLUSTER_COLORS)])
        ax.errorbar(places, values, errors, label=f"layer {layer}", **look, **BARS)
    ax.set_xticks(places, [f"{int(step):,}" for step in one["step"].values])
    ax.set_xlim(-0.5, places.size - 0.5)
    ax.set_ylim(0, 1)
    ax.set_title(f"effect of n-grams{suffix}", loc="left")
    ax.set_ylabel("share of the effect")
    ax.set_xlabel("training step")
    ax.legend(loc="best")


def _heads(ax: Axes, one: xr.Dataset, suffix: str) -> None:
    """Draw the attention of each head to lone spaces at each step, coloured by step."""
    colors, count = style.shades(one.sizes["step"]), one.sizes["step"]
    for n, color in enumerate(colors):
        cell = one.isel(step=n)
        places = np.arange(one.sizes["head"]) + 0.25 * (n - (count - 1) / 2)
        values, errors = cell["space_attention"].values, cell["space_attention_se"].values
        ax.errorbar(places, values, errors, fmt="o", color=color, **BARS)
    style.zero(ax)
    ax.set_xticks(range(one.sizes["head"]), one["head"].values.tolist())
    for label, kind in zip(ax.get_xticklabels(), one["head_type"].values.tolist(), strict=True):
        label.set_color(style.TYPE_COLORS[kind])
    ax.set_title(f"attention to lone spaces{suffix}", loc="left")
    ax.set_ylabel("attention less uniform")
    ax.set_xlabel("head")


def _of_ngrams(data: xr.Dataset) -> list[Finding]:
    """Return the share of the last layer at the first and the last step."""
    layer, found = data["of_layer"].values[-1], []
    for n in dict.fromkeys((0, data.sizes["step"] - 1)):
        cell = data.isel(step=n).sel(of_layer=layer)
        label = f"n-grams' effect in layer {layer} {at_step(cell)}"
        value, error = (percent(cell[f"ngram_effect_of_layer{end}"]) for end in ("", "_se"))
        found += over_seeds(label, value, error, "%")
    return found


def _of_spaces(data: xr.Dataset, examples: xr.DataArray) -> list[Finding]:
    """Return how many heads attend to lone spaces more than uniform attention would, at the last step.

    examples  number behind each mean (seed, step, head)

    A head counts if its 95 % Student interval over its examples lies above 0.
    """
    last, freedom = data.isel(step=-1), (examples.isel(step=-1) - 1).clip(min=1)
    value = last["space_attention"]
    above = value > student_half_width(last["space_attention_se"], freedom)
    total = int(value.notnull().any("seed").sum())
    label = f"heads, of {total}, that attend to lone spaces more than uniformly (95 % interval)"
    counts = above.sum("head").where(value.notnull().any("head"))
    return over_seeds(f"{label} {at_step(last)}", counts)

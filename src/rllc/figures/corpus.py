"""Statistics of the text of each distribution."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from rllc.figures import inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding

PANELS = {
    "documents": "documents",
    "held_out_documents": "held-out documents",
    "characters": "characters",
    "tokens": "training tokens",
    "held_out_tokens": "held-out tokens",
    "characters_per_token": "characters per token",
    "unigram_entropy": "unigram entropy (nats/token)",
    "repeated_share": "seen before in block (share)",
}
# variable with findings -> its name, factor and unit
FOUND = {
    "tokens": ("number of training tokens", 1.0, "1"),
    "unigram_entropy": ("unigram entropy", 1.0, "nats/token"),
    "repeated_share": ("share of tokens seen before in their block", 100.0, "%"),
}


@style.styled
def corpus_summary(datasets: Datasets) -> Drawing:
    """Size and statistics of each distribution's text: a panel per quantity."""
    corpus = inputs.need(datasets, "corpus")
    names = [name for name in PANELS if name in corpus]
    if not names:
        held = ", ".join(map(str, corpus.data_vars))
        raise ValueError(f"corpus.nc has none of the variables {', '.join(PANELS)}; it holds {held}")
    data = corpus[names]
    labels = inputs.distribution_labels(corpus)
    shown = [style.short(label) for label in labels.values()]
    columns = min(4, len(names))
    panel = (2.0, 0.45 + 0.24 * len(labels))
    margin = 0.3 + 0.07 * max(map(len, shown))
    figure, axes = style.grid(-(-len(names) // columns), columns, panel=panel, margin=margin, sharey=True)
    where = np.arange(len(labels))
    colors = [look["color"] for look in style.distribution_styles(list(labels)).values()]
    for ax in axes.ravel()[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(axes.ravel(), names, strict=False):
        values = data[name].values.astype(np.float64)
        ax.barh(where, np.nan_to_num(values), color=colors, height=0.7)
        top = float(np.nanmax(values, initial=0.0)) or 1.0
        for y, value in zip(where, values, strict=True):
            ax.text(np.nan_to_num(value) + 0.03 * top, y, _number(value), va="center", fontsize=7.5)
        ax.set_xlim(0, 1.32 * top)
        ax.set_title(PANELS[name], loc="left")
        ax.grid(False)
        ax.spines["bottom"].set_visible(False)
        ax.tick_params(axis="x", bottom=False, labelbottom=False)
        ax.tick_params(axis="y", length=0)
        ax.set_yticks(where, shown)
    axes[0, 0].invert_yaxis()
    return Drawing(
        figure,
        data,
        "Size and statistics of the text of each distribution.",
        [each for name in FOUND if name in data for each in _ends(data[name], labels, *FOUND[name])],
        ["Counted after deduplication, with the study's tokenizer."],
    )


def _ends(
    values: xr.DataArray, labels: Mapping[str, str], called: str, factor: float, unit: str
) -> list[Finding]:
    """Return the largest and smallest value with their distributions; one finding for one distribution."""
    known = values.dropna("distribution")
    order = np.argsort(-known.values, kind="stable")
    ends = {"largest ": order[:1], "smallest ": order[-1:]} if known.size > 1 else {"": order}
    names = known["distribution"].values.tolist()
    return [
        Finding(f"{end}{called} ({labels[names[n]]})", factor * float(known[n]), unit=unit)
        for end, place in ends.items()
        for n in place.tolist()
    ]


def _number(value: float) -> str:
    """Return a number as text: 1,250, 16.5M, 2.71; "missing" for NaN."""
    if not np.isfinite(value):
        return "missing"
    if value >= 1e4:
        return style.step_text(value)
    return f"{value:,.0f}" if value == round(value) and value >= 10 else f"{value:.3g}"

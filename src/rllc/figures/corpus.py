"""What the text of each distribution is like."""

import numpy as np
import xarray as xr

from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing
from rllc.figures.inputs import distribution_labels, need

PANELS = {
    "documents": ("documents", "count"),
    "held_out_documents": ("held-out documents", "count"),
    "characters": ("characters", "count"),
    "tokens": ("training tokens", "count"),
    "held_out_tokens": ("held-out tokens", "count"),
    "characters_per_token": ("characters per token", "characters"),
    "unigram_entropy": ("unigram entropy", "nats/token"),
    "repeated_share": ("seen before in block", "share"),
}


@style.styled
def corpus_summary(datasets: Datasets) -> Drawing:
    """A bar per distribution for each variable of ``corpus`` (dim distribution), with its value."""
    corpus = need(datasets, "corpus")
    names = [name for name in PANELS if name in corpus]
    if not names:
        raise ValueError(f"corpus.nc has none of {', '.join(PANELS)}; it holds {', '.join(corpus.data_vars)}")
    data = corpus[names]
    labels = list(distribution_labels(corpus).values())
    shown = [style.short(label) for label in labels]
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    height = 0.45 + 0.24 * len(labels)
    figure, axes = style.grid(
        rows, columns, panel=(2.0, height), margin=0.3 + 0.07 * max(map(len, shown)), sharey=True
    )
    where = np.arange(len(labels))
    looks = style.distribution_styles([str(name) for name in corpus["distribution"].values])
    colors = [look["color"] for look in looks.values()]
    for ax in axes.ravel()[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(axes.ravel(), names, strict=False):
        values = data[name].values.astype(np.float64)
        ax.barh(where, np.nan_to_num(values), color=colors, height=0.7)
        top = float(np.nanmax(values, initial=0.0)) or 1.0
        for y, value in zip(where, values, strict=True):
            ax.text(np.nan_to_num(value) + 0.03 * top, y, _number(value), va="center", fontsize=7.5)
        ax.set_xlim(0, 1.32 * top)
        title, unit = PANELS[name]
        ax.set_title(f"{title} ({unit})" if unit not in ("count", "characters") else title, loc="left")
        ax.grid(False)
        ax.spines["bottom"].set_visible(False)
        ax.tick_params(axis="x", bottom=False, labelbottom=False)
        ax.tick_params(axis="y", length=0)
        ax.set_yticks(where, shown)
    axes[0, 0].invert_yaxis()
    return Drawing(figure, data, _caption(data, labels))


def _number(value: float) -> str:
    """1,250, 16.5M, 2.71; "missing" for NaN."""
    if not np.isfinite(value):
        return "missing"
    if value >= 1e4:
        return style.step_text(value)
    return f"{value:,.0f}" if value == round(value) and value >= 10 else f"{value:.3g}"


def _caption(data: xr.Dataset, labels: list[str]) -> str:
    parts = [
        f"{PANELS[name][0]}: "
        f"{', '.join(f'{label} {_number(v)}' for label, v in zip(labels, values, strict=True))}"
        for name in ("tokens", "unigram_entropy", "repeated_share")
        if name in data
        for values in [data[name].values.astype(np.float64)]
    ]
    return captions.joined(
        captions.sentence("; ".join(parts)) if parts else "",
        "Text of each distribution after deduplication, counted with the study's tokenizer; these are "
        "counts, without sampling error.",
    )

"""Refined LLC of each head over training (arXiv 2410.02984, Figs. 2, 3, 5)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.inputs import (
    distribution_labels,
    distribution_names,
    heads_of_layer,
    layers,
    need,
    of_seeds,
    types_of,
)

AXIS = "refined LLC"


def _taken(
    datasets: Mapping[str, xr.Dataset],
    seeds: Sequence[int] | None,
    distributions: Sequence[str] | None,
    default: Sequence[str],
) -> xr.Dataset:
    """What a figure draws: the estimates, their errors and statuses, the head types."""
    rllc = of_seeds(need(datasets, "rllc", "rllc"), seeds)
    names = distribution_names(rllc, distributions, default)
    kept = [name for name in ("rllc", "rllc_se", "rllc_gradient_off", "status") if name in rllc]
    taken = rllc[kept].sel(distribution=names)
    taken["head_type"] = types_of(datasets, taken["head"], taken["seed"])
    return taken


def _curves(ax, drawn: xr.Dataset, heads: Sequence[str], styles: Mapping[str, dict], **line) -> None:
    """The curves of ``heads`` of one seed and distribution."""
    for head in heads:
        one = drawn.sel(head=head)
        style.curve(ax, one["rllc"], one.get("rllc_se"), **(styles[head] | line))


def _by_layer(taken: xr.Dataset, *, thick: Sequence[str] = ()) -> style.Figure:
    """Rows: seed and distribution; columns: layers; a legend of heads beside each row."""
    names, labels = taken["distribution"].values.tolist(), distribution_labels(taken)
    rows = [(seed, name) for seed in taken["seed"].values.tolist() for name in names]
    columns = layers(taken)
    figure, axes = style.grid(
        len(rows),
        len(columns),
        entries=taken.sizes["head"],
        sharex=True,
        sharey="col" if len(names) > 1 else False,
    )
    for line, (seed, name) in zip(axes, rows, strict=True):
        drawn = taken.sel(seed=seed, distribution=name)
        styles = style.head_styles(drawn["head_type"])
        for ax, layer in zip(line, columns, strict=True):
            for head in heads_of_layer(drawn, layer):
                strong = str(drawn["head_type"].sel(head=head).item()) in thick
                width = {"linewidth": 2.4, "zorder": 3} if strong else {"linewidth": 1.1} if thick else {}
                _curves(ax, drawn, [head], styles, **width)
            seed_text = f", seed {seed}" if taken.sizes["seed"] > 1 else ""
            ax.set_title(f"layer {layer}: {style.short(labels[name])}{seed_text}", loc="left")
            style.step_axis(ax, drawn["step"].values)
        line[0].set_ylabel(AXIS)
        if name == names[0]:
            style.beside(line[-1], style.head_keys(drawn["head_type"], styles), title="head, type")
    return figure


def _measured(taken: xr.Dataset) -> str:
    """The highest heads of each layer, seed and distribution at the last step."""
    labels, said = distribution_labels(taken), []
    several = taken.sizes["seed"] > 1
    count = 2 if len(labels) == 1 else 1
    for seed in taken["seed"].values.tolist():
        for name in taken["distribution"].values.tolist():
            one = taken.sel(seed=seed, distribution=name).transpose("step", "head", ...)
            for layer in layers(taken):
                heads = one.sel(head=heads_of_layer(one, layer))
                text = captions.largest(heads["rllc"], heads.get("rllc_se"), count=count)
                seed_text = f"seed {seed}, " if several else ""
                said.append(f"{seed_text}layer {layer} on {labels[name]} {text}")
    last = style.step_text(float(taken["step"][-1]))
    return captions.sentence(f"highest at step {last}: {'; '.join(said)}")


def _closing(datasets: Mapping[str, xr.Dataset], taken: xr.Dataset) -> str:
    rllc = datasets["rllc"]
    return captions.joined(
        captions.types(taken["head_type"]),
        captions.BANDS if "rllc_se" in taken else "The dataset has no standard errors.",
        captions.setting(rllc),
        captions.seeds(taken),
        captions.failures(taken, "rllc"),
        captions.localization_dominance(taken.assign_attrs(rllc.attrs), datasets),
    )


@style.styled
def rllc_fig2_wrllc_by_head(
    datasets: Mapping[str, xr.Dataset], *, distribution: str | None = None, seeds: Sequence[int] | None = None
) -> Drawing:
    """Weight-refined LLC of each head on the training mix, a panel per layer (arXiv 2410.02984, Fig. 2).

    datasets      ``rllc``, and ``heads`` for the types
    distribution  default "mixture", or the dataset's first
    """
    taken = _taken(datasets, seeds, None if distribution is None else [distribution], ("mixture",))
    taken = taken.isel(distribution=[0])
    label = next(iter(distribution_labels(taken).values()))
    caption = captions.joined(
        f"Refined LLC of each attention head on the {label} distribution against training step.",
        _measured(taken),
        _closing(datasets, taken),
    )
    return Drawing(_by_layer(taken), taken, caption)


@style.styled
def rllc_fig3_code_wdrllc(
    datasets: Mapping[str, xr.Dataset],
    *,
    distributions: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> Drawing:
    """Weight- and data-refined LLC: the same heads on several distributions (arXiv 2410.02984, Fig. 3).

    datasets       ``rllc``, and ``heads`` for the types; induction heads are drawn thick
    distributions  default "mixture" and "code"
    """
    taken = _taken(datasets, seeds, distributions, ("mixture", "code"))
    names = distribution_labels(taken).values()
    caption = captions.joined(
        f"Refined LLC of each head on {' and on '.join(names)} against training step; a layer's panels share "
        "their vertical axis, and induction heads are drawn thick.",
        _measured(taken),
        _closing(datasets, taken),
    )
    return Drawing(_by_layer(taken, thick=("induction",)), taken, caption)


def _by_head(taken: xr.Dataset, *, type_colors: bool, columns: int = 4) -> style.Figure:
    """A panel per head, a line per distribution; seeds and layers one below the other."""
    names, labels = taken["distribution"].values.tolist(), distribution_labels(taken)
    cells = []
    for seed in taken["seed"].values.tolist():
        for layer in layers(taken):
            heads = heads_of_layer(taken, layer)
            for start in range(0, len(heads), columns):
                row = [(seed, head) for head in heads[start : start + columns]]
                cells.append(row + [None] * (min(columns, len(heads)) - len(row)))
    width = max(map(len, cells))
    figure, axes = style.grid(len(cells), width, panel=(2.0, 1.75), margin=1.4, sharex=True, sharey=True)
    by_name = style.distribution_styles(names)
    for line, row in zip(axes, cells, strict=True):
        for ax, cell in zip(line, row + [None] * (width - len(row)), strict=True):
            if cell is None:
                ax.set_visible(False)
                continue
            seed, head = cell
            drawn = taken.sel(seed=seed, head=head)
            kind = str(drawn["head_type"].item())
            for name in names:
                look = by_name[name] | ({"color": style.TYPE_COLORS[kind]} if type_colors else {})
                one = drawn.sel(distribution=name)
                style.curve(ax, one["rllc"], one.get("rllc_se"), **look)
            style.step_axis(ax, drawn["step"].values)
            seed_text = f", seed {seed}" if taken.sizes["seed"] > 1 else ""
            ax.set_title(f"{head} {kind}{seed_text}", loc="left", color=style.TYPE_COLORS[kind])
        line[0].set_ylabel(AXIS)
    grey = {"color": "#333333"} if type_colors else {}
    style.beside(
        axes[0, -1],
        [style.key(style.short(labels[n]), **(by_name[n] | grey)) for n in names],
        title="loss on",
    )
    return figure


@style.styled
def rllc_fig5_one_layer_drllc(
    datasets: Mapping[str, xr.Dataset],
    *,
    natural: str = "mixture",
    generated: str = "one_layer",
    seeds: Sequence[int] | None = None,
) -> Drawing:
    """Refined LLC on the training mix against that on a one-layer model's predictions (Fig. 5), per head.

    datasets  ``rllc``, and ``heads`` for the types
    """
    taken = _taken(datasets, seeds, [natural, generated], ())
    labels = distribution_labels(taken)
    last = taken["rllc"].isel(step=-1)
    ratio = last.sel(distribution=generated, drop=True) / last.sel(distribution=natural, drop=True)
    said = [
        f"{head} {float(ratio.sel(seed=seed, head=head)):.2f}"
        for seed in taken["seed"].values.tolist()
        for head in taken["head"].values.tolist()
        if np.isfinite(ratio.sel(seed=seed, head=head))
    ]
    caption = captions.joined(
        f"Refined LLC of each head on {labels[natural]} and on {labels[generated]}: in the latter the "
        "contexts are the same and a one-layer model's next-token distribution replaces the next token "
        "(KL divergence; a reconstruction of the paper's App. F.3).",
        f"At the last step the ratio of the second to the first is {', '.join(said)}.",
        _closing(datasets, taken),
    )
    return Drawing(_by_head(taken, type_colors=True), taken, caption)


@style.styled
def rllc_by_distribution(
    datasets: Mapping[str, xr.Dataset],
    *,
    distributions: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> Drawing:
    """A panel per head, a line per distribution: how each head's refined LLC depends on the data.

    datasets       ``rllc``, and ``heads`` for the types
    distributions  default all
    """
    taken = _taken(datasets, seeds, distributions, ())
    labels = distribution_labels(taken)
    caption = captions.joined(
        f"Refined LLC of each head on {', '.join(labels.values())} against training step.",
        _measured(taken),
        _closing(datasets, taken),
    )
    return Drawing(_by_head(taken, type_colors=False), taken, caption)

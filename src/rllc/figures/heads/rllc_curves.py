"""Refined LLC of each head over training (arXiv 2410.02984, Figs. 2, 3, 5)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.heads import differences
from rllc.figures.inputs import (
    distribution_labels,
    distribution_names,
    faulty,
    heads_of_layer,
    layers,
    need,
    of_seeds,
    ring_reasons,
    types_of,
)

AXIS = "refined LLC"
DRAWN = ("rllc", "rllc_se", "rllc_chain", "rllc_gradient_off", "status", "verdict")


def _taken(
    datasets: Mapping[str, xr.Dataset],
    seeds: Sequence[int] | None,
    distributions: Sequence[str] | None,
    default: Sequence[str],
) -> xr.Dataset:
    """What a figure draws: the estimates, their errors, statuses and verdicts, the head types."""
    rllc = of_seeds(need(datasets, "rllc", "rllc"), seeds)
    names = distribution_names(rllc, distributions, default)
    kept = [name for name in DRAWN if name in rllc]
    taken = rllc[kept].sel(distribution=names)
    taken["head_type"] = types_of(datasets, taken["head"], taken["seed"])
    return taken


def _curve(ax, one: xr.Dataset, look: Mapping) -> None:
    """The curve of one seed, head and distribution."""
    style.curve(ax, one["rllc"], one.get("rllc_se"), faulty=faulty(one, "rllc"), **look)


def _by_layer(taken: xr.Dataset, *, thick: Sequence[str] = ()) -> style.Figure:
    """Rows: seed and distribution; columns: layers; a legend of heads beside each row."""
    names, labels = taken["distribution"].values.tolist(), distribution_labels(taken)
    rows = [(seed, name) for seed in taken["seed"].values.tolist() for name in names]
    columns, rings = layers(taken), style.ring_keys(ring_reasons((taken, "rllc")))
    figure, axes = style.grid(
        len(rows),
        len(columns),
        entries=taken.sizes["head"] + 2 * len(rings),
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
                _curve(ax, drawn.sel(head=head), styles[head] | width)
            seed_text = f", seed {seed}" if taken.sizes["seed"] > 1 else ""
            ax.set_title(f"layer {layer}: {style.short(labels[name])}{seed_text}", loc="left")
            style.step_axis(ax, drawn["step"].values)
        line[0].set_ylabel(AXIS)
        if name == names[0]:
            entries = [*style.head_keys(drawn["head_type"], styles), *rings]
            style.beside(line[-1], entries, title="head, type")
    return figure


def _measured(taken: xr.Dataset) -> str:
    """The highest heads of each layer, seed and distribution at the last step, and the lead of the first."""
    labels, said = distribution_labels(taken), []
    several = taken.sizes["seed"] > 1
    count = 2 if len(labels) == 1 else 1
    leads = False
    for seed in taken["seed"].values.tolist():
        for name in taken["distribution"].values.tolist():
            one = taken.sel(seed=seed, distribution=name).isel(step=[-1])
            for layer in layers(taken):
                heads = one.sel(head=heads_of_layer(one, layer))
                text = captions.largest(heads["rllc"], heads.get("rllc_se"), count=count)
                ahead = captions.ahead(heads)
                leads = leads or bool(ahead)
                seed_text = f"seed {seed}, " if several else ""
                said.append(f"{seed_text}layer {layer} on {labels[name]} {text}{ahead}")
    last = style.step_text(float(taken["step"][-1]))
    return captions.joined(
        captions.sentence(f"highest at step {last}: {'; '.join(said)}"),
        "Values are ± one standard error, leads over the next head ± their 95 % Student-t interval over "
        "chains, given the minibatches."
        if leads
        else "",
    )


def _closing(datasets: Mapping[str, xr.Dataset], taken: xr.Dataset) -> str:
    rllc = datasets["rllc"]
    return captions.joined(
        captions.types(taken["head_type"]),
        captions.BANDS if "rllc_se" in taken else "The dataset has no standard errors.",
        captions.setting(rllc),
        captions.seeds(taken),
        captions.failures(taken, "rllc"),
        captions.trust(taken, "rllc"),
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
    return Drawing(_by_layer(taken), taken.drop_vars("rllc_chain", errors="ignore"), caption)


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
    figure = _by_layer(taken, thick=("induction",))
    return Drawing(figure, taken.drop_vars("rllc_chain", errors="ignore"), caption)


def _by_head(
    taken: xr.Dataset, *, type_colors: bool, apart: xr.Dataset | None = None, columns: int = 4
) -> style.Figure:
    """A panel per head, a line per distribution; seeds and layers one below the other.

    apart  contrasts with one distribution (distribution, ...), drawn below each row of panels
    """
    names, labels = taken["distribution"].values.tolist(), distribution_labels(taken)
    rows = _rows_of_heads(taken, columns)
    width, kinds = max(map(len, rows)), 1 if apart is None else 2
    rings = style.ring_keys(ring_reasons((taken, "rllc")))
    figure, axes = style.grid(
        kinds * len(rows),
        width,
        panel=(2.0, 1.75),
        margin=1.6 if rings else 1.4,
        entries=len(names) + len(rings),
        sharex=True,
        sharey="row",
    )
    by_name = style.distribution_styles(names)
    several = taken.sizes["seed"] > 1
    for number, row in enumerate(rows):
        lines = axes[kinds * number : kinds * (number + 1)]
        for column, cell in enumerate(row + [None] * (width - len(row))):
            if cell is None:
                for ax in lines[:, column]:
                    ax.set_visible(False)
                continue
            seed, head = cell
            drawn = taken.sel(seed=seed, head=head)
            kind = str(drawn["head_type"].item())
            title = f"{head} {kind}{f', seed {seed}' if several else ''}"
            for name in names:
                look = by_name[name] | ({"color": style.TYPE_COLORS[kind]} if type_colors else {})
                _curve(lines[0, column], drawn.sel(distribution=name), look)
            if apart is not None:
                differences.draw(lines[1, column], apart.sel(seed=seed, head=head), by_name)
            for ax in lines[:, column]:
                style.step_axis(ax, drawn["step"].values)
                ax.set_title(title, loc="left", color=style.TYPE_COLORS[kind])
        lines[0, 0].set_ylabel(AXIS)
        if apart is not None:
            lines[1, 0].set_ylabel(f"{style.short(labels[apart.attrs['a']], 14)}\nless the other")
    for same in (axes[::kinds], axes[1::kinds] if kinds > 1 else axes[:0]):
        _one_range(same)
    grey = {"color": "#333333"} if type_colors else {}
    style.beside(
        axes[0, -1],
        [
            *(style.key(style.short(labels[n]), **(by_name[n] | grey)) for n in names),
            *rings,
        ],
        title="loss on",
    )
    if apart is not None:
        others = apart["distribution"].values.tolist()
        entries = [style.key(style.short(labels[name]), **by_name[name]) for name in others]
        style.beside(axes[1, -1], entries, title="difference from")
    return figure


def _rows_of_heads(taken: xr.Dataset, columns: int) -> list[list[tuple[int, str]]]:
    """(seed, head) of each row of panels: at most ``columns`` heads of one layer."""
    rows = []
    for seed in taken["seed"].values.tolist():
        for layer in layers(taken):
            heads = heads_of_layer(taken, layer)
            rows += [
                [(seed, head) for head in heads[start : start + columns]]
                for start in range(0, len(heads), columns)
            ]
    return rows


def _one_range(axes: np.ndarray) -> None:
    """The same vertical range for all panels, which holds what each shows."""
    shown = [ax for ax in axes.ravel() if ax.get_visible()]
    limits = [ax.get_ylim() for ax in shown]
    for ax in shown:
        ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


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
        differences.at_the_end(taken, natural, labels),
        _closing(datasets, taken),
    )
    return Drawing(_by_head(taken, type_colors=True), taken.drop_vars("rllc_chain", errors="ignore"), caption)


@style.styled
def rllc_by_distribution(
    datasets: Mapping[str, xr.Dataset],
    *,
    distributions: Sequence[str] | None = None,
    reference: str = "code",
    seeds: Sequence[int] | None = None,
) -> Drawing:
    """A panel per head, a line per distribution; below it one distribution less each of the others.

    datasets       ``rllc``, and ``heads`` for the types
    distributions  default all
    reference      what the others are taken from; where it is not drawn, or alone, no difference is
    """
    taken = _taken(datasets, seeds, distributions, ())
    labels, apart = distribution_labels(taken), differences.between(taken, reference)
    caption = captions.joined(
        f"Refined LLC of each head on {', '.join(labels.values())} against training step.",
        "" if apart is None else differences.told(apart, labels),
        _measured(taken),
        _closing(datasets, taken),
    )
    data = taken.drop_vars("rllc_chain", errors="ignore")
    if apart is not None:
        data = data.merge(apart.drop_attrs(deep=False), join="left", compat="override")
    return Drawing(_by_head(taken, type_colors=False, apart=apart), data, caption)

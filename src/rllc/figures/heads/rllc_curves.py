"""Refined LLC of each head over training (arXiv 2410.02984, Figs. 2, 3, 5)."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Names, Seeds
from rllc.figures.heads import differences
from rllc.figures.panels import Panel, Row, chunks, curve, of_heads, seed_suffix, sheet, together

AXIS = "refined LLC"
ALSO = ("rllc_se", "rllc_chain", "rllc_gradient_off", "status", "verdict")


def _estimates(datasets: Datasets, seeds: Seeds, distributions: Sequence[str]) -> xr.Dataset:
    """What a figure draws: the estimates, their errors, statuses and verdicts, the head types."""
    return inputs.over_heads(datasets, "rllc", "rllc", also=ALSO, seeds=seeds).sel(
        distribution=list(distributions)
    )


def _drawing(figure: style.Figure, datasets: Datasets, data: xr.Dataset, *findings: str) -> Drawing:
    """The drawing of refined LLCs: the chains are not in its dataset, but in the caption's intervals."""
    conditions, details = captions.of_estimates(datasets["rllc"], data, "rllc")
    dominance = captions.localization_dominance(data.assign_attrs(datasets["rllc"].attrs), datasets)
    first, *more = findings
    ends = [*dominance[:1], *conditions]
    plain = data.drop_vars("rllc_chain", errors="ignore")
    return captions.drawing(figure, plain, first, *dominance[1:], *more, conditions=ends, details=details)


def _highest(data: xr.Dataset) -> list[str]:
    """The highest heads of each layer at the last step and their lead, by seed and distribution."""
    labels, sentences, intervals = inputs.distribution_labels(data), [], False
    step = style.step_text(float(data["step"][-1]))
    for seed in data["seed"].values.tolist():
        for name in data["distribution"].values.tolist():
            one, parts = data.sel(seed=seed, distribution=name).isel(step=-1), []
            for layer in inputs.layers(data):
                heads = one.sel(head=inputs.heads_of_layer(one, layer))
                top = captions.largest(
                    heads["rllc"], heads.get("rllc_se"), count=2 if len(labels) == 1 else 1
                )
                ahead = captions.ahead(heads)
                intervals = intervals or bool(ahead)
                parts.append(f"layer {layer} {top}{ahead}")
            at = f"step {step}{seed_suffix(data['seed'], seed)}"
            sentences.append(f"Highest refined LLC on {labels[name]} at {at}: {'; '.join(parts)}.")
    errors = "±: one standard error, of leads the 95 % Student-t interval over chains."
    return [*sentences, *([errors] if intervals else [])]


def _by_layer(data: xr.Dataset, *, thick: Sequence[str] = ()) -> style.Figure:
    """Rows: seed and distribution; columns: layers; a legend of heads beside each row."""
    names, labels = data["distribution"].values.tolist(), inputs.distribution_labels(data)
    rings, rows = style.ring_keys(inputs.ring_reasons((data, "rllc"))), []
    for seed in data["seed"].values.tolist():
        kinds = data["head_type"].sel(seed=seed)
        plain = style.head_styles(kinds)
        looks = {head: look | _width(str(kinds.sel(head=head).item()), thick) for head, look in plain.items()}
        for name in names:
            one = data.sel(seed=seed, distribution=name)
            panels = [
                Panel(
                    f"layer {layer}: {style.short(labels[name])}{seed_suffix(data['seed'], seed)}",
                    of_heads(one, "rllc", looks, layer),
                )
                for layer in inputs.layers(data)
            ]
            keys = [*style.head_keys(kinds, plain), *rings] if name == names[0] else []
            rows.append(Row(AXIS, panels, keys, "head, type"))
    entries = data.sizes["head"] + 2 * len(rings)
    return sheet(rows, entries=entries, sharex=True, sharey="col" if len(names) > 1 else False)[0]


def _width(kind: str, thick: Sequence[str]) -> dict:
    """How wide the line of a head is where heads of some types are drawn thick."""
    return {"linewidth": 2.4, "zorder": 3} if kind in thick else {"linewidth": 1.1} if thick else {}


@style.styled
def rllc_fig2_wrllc_by_head(
    datasets: Datasets, *, distribution: str | None = None, seeds: Seeds = None
) -> Drawing:
    """Weight-refined LLC of each head on the training mix, a panel per layer (arXiv 2410.02984, Fig. 2).

    datasets      ``rllc``, and ``heads`` for the types
    """
    data = _estimates(datasets, seeds, [inputs.one_distribution(_rllc(datasets), distribution)])
    return _drawing(_by_layer(data), datasets, data, *_highest(data))


def _rllc(datasets: Datasets) -> xr.Dataset:
    return inputs.need(datasets, "rllc", "rllc")


@style.styled
def rllc_fig3_code_wdrllc(datasets: Datasets, *, distributions: Names = None, seeds: Seeds = None) -> Drawing:
    """Weight- and data-refined LLC: the same heads on several distributions (arXiv 2410.02984, Fig. 3).

    datasets       ``rllc``, and ``heads`` for the types; induction heads are drawn thick
    distributions  default "mixture" and "code"
    """
    names = inputs.distribution_names(_rllc(datasets), distributions, ("mixture", "code"))
    data = _estimates(datasets, seeds, names)
    note = "A layer's panels share their vertical axis, and induction heads are drawn thick."
    return _drawing(_by_layer(data, thick=("induction",)), datasets, data, *_highest(data), note)


def _by_head(data: xr.Dataset, *, type_colors: bool, apart: xr.Dataset | None = None) -> style.Figure:
    """A panel per head, a line per distribution; seeds and layers one below the other, four heads in a row.

    apart  contrasts with one distribution (distribution, ...), drawn below each row of panels
    """
    names, labels = data["distribution"].values.tolist(), inputs.distribution_labels(data)
    looks, rings = style.distribution_styles(names), style.ring_keys(inputs.ring_reasons((data, "rllc")))
    grey = {"color": "#333333"} if type_colors else {}
    keys = [*(style.key(style.short(labels[n]), **(looks[n] | grey)) for n in names), *rings]
    cells = [
        [(seed, head) for head in heads]
        for seed in data["seed"].values.tolist()
        for layer in inputs.layers(data)
        for heads in chunks(inputs.heads_of_layer(data, layer), 4)
    ]
    rows = []
    for line in cells:
        upper, lower = [], []
        for seed, head in line:
            one = data.sel(seed=seed, head=head)
            kind = str(one["head_type"].item())
            color = {"color": style.TYPE_COLORS[kind]}
            title = f"{head} {kind}{seed_suffix(data['seed'], seed)}"
            curves = [
                curve(one.sel(distribution=n), "rllc", looks[n] | (color if type_colors else {}))
                for n in names
            ]
            upper.append(Panel(title, curves, color))
            if apart is not None:
                lower.append(differences.panel(apart.sel(seed=seed, head=head), looks, title, color))
        rows.append(Row(AXIS, upper, [] if rows else keys, "loss on"))
        if apart is not None:
            others = apart["distribution"].values.tolist()
            contrasts = [style.key(style.short(labels[n]), **looks[n]) for n in others]
            label = f"{style.short(labels[apart.attrs['a']], 14)}\nless the other"
            rows.append(Row(label, lower, contrasts if len(rows) == 1 else [], "difference from"))
    figure, axes = sheet(
        rows,
        panel=(2.0, 1.75),
        margin=1.6 if rings else 1.4,
        entries=len(names) + len(rings),
        sharex=True,
        sharey="row",
    )
    kinds = 1 if apart is None else 2
    for first in range(kinds):
        together(axes[first::kinds].ravel())
    return figure


@style.styled
def rllc_fig5_one_layer_drllc(
    datasets: Datasets, *, natural: str = "mixture", generated: str = "one_layer", seeds: Seeds = None
) -> Drawing:
    """Refined LLC on the training mix against that on a one-layer model's predictions (Fig. 5), per head.

    datasets  ``rllc``, and ``heads`` for the types
    """
    names = inputs.distribution_names(_rllc(datasets), [natural, generated], ())
    data = _estimates(datasets, seeds, names)
    labels, last = inputs.distribution_labels(data), data["rllc"].isel(step=-1)
    ratio = last.sel(distribution=generated, drop=True) / last.sel(distribution=natural, drop=True)
    findings = [
        f"At the last step (seed {seed}) the refined LLC on {labels[generated]} is that on {labels[natural]} "
        f"times {', '.join(f'{head} {value:.2f}' for head, value in known)}."
        for seed in data["seed"].values.tolist()
        for values in [ratio.sel(seed=seed)]
        for known in [
            [pair for pair in zip(values["head"].values, values.values, strict=True) if np.isfinite(pair[1])]
        ]
    ]
    return _drawing(
        _by_head(data, type_colors=True),
        datasets,
        data,
        *findings,
        differences.at_the_end(data, natural),
        f"The contexts are the same; on {labels[generated]} that model's next-token distribution replaces "
        "the next token (KL divergence; a reconstruction of the paper's App. F.3).",
    )


@style.styled
def rllc_by_distribution(
    datasets: Datasets, *, distributions: Names = None, reference: str = "code", seeds: Seeds = None
) -> Drawing:
    """A panel per head, a line per distribution; below it one distribution less each of the others.

    datasets       ``rllc``, and ``heads`` for the types
    distributions  default all
    reference      what the others are taken from; where it is not drawn, or alone, no difference is
    """
    data = _estimates(datasets, seeds, inputs.distribution_names(_rllc(datasets), distributions, ()))
    labels, apart = inputs.distribution_labels(data), differences.between(data, reference)
    findings = [] if apart is None else differences.findings(apart, labels)
    drawing = _drawing(
        _by_head(data, type_colors=False, apart=apart), datasets, data, *findings, *_highest(data)
    )
    if apart is None:
        return drawing
    contrasts = apart.drop_attrs(deep=False)
    return drawing._replace(data=drawing.data.merge(contrasts, join="left", compat="override"))

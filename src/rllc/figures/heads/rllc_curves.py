"""Refined LLC of each head over training (arXiv 2410.02984, Figs. 2, 3, 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

import xarray as xr

from rllc.analysis.contrasts import BY_CHAIN
from rllc.figures import conditions, inputs, panels, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Names, Seeds
from rllc.figures.findings import at_end
from rllc.figures.heads import differences, head_findings
from rllc.figures.heads.behind import Stages
from rllc.figures.panels import (
    Panel,
    Row,
    by_seed,
    curve,
    head_grid,
    layer_panels,
    level,
    of_heads,
    sheet,
    together,
)
from rllc.units import NATS

AXIS = "refined LLC"
THICK, THIN = {"linewidth": 2.4, "zorder": 3}, {"linewidth": 1.1}
ALSO = ("rllc_se", *BY_CHAIN, "rllc_prior_only", "status", "quality")


def _estimates(datasets: Datasets, seeds: Seeds, distributions: Names, *default: str) -> xr.Dataset:
    """Return the estimates of a figure with errors, statuses and quality flags, and the types of heads."""
    data = inputs.over_heads(datasets, "rllc", "rllc", also=ALSO, seeds=seeds)
    return data.sel(distribution=inputs.distribution_names(data, distributions, default))


def _drawing(
    figure: style.Figure,
    datasets: Datasets,
    data: xr.Dataset,
    title: str,
    findings: Sequence[Finding],
    said: Sequence[str] = (),
) -> Drawing:
    """Return the drawing of rLLCs; its dataset has no chains.

    said  conditions beside those of all estimates
    """
    source = datasets["rllc"]
    stages = Stages(datasets, data["seed"])
    ends = [*said, *stages.said, *conditions.of_estimates(source, data, "rllc")]
    return Drawing(figure, data.drop_vars(BY_CHAIN, errors="ignore"), title, findings, ends)


def _by_layer(data: xr.Dataset, stages: Stages, *, thick: str = "") -> style.Figure:
    """Draw rows of seed and distribution, and columns of layers, with a legend beside each seed's first row.

    With several seeds, the distributions are side by side, so that a seed has one row.

    thick  the type of the heads that are drawn thick
    """
    labels = inputs.distribution_labels(data)
    rings, rows = style.ring_keys(inputs.ring_reasons((data, "rllc"))), []
    for seed, suffix, one in by_seed(data):
        looks = style.head_styles(one["head_type"])
        keys = [*style.head_keys(one["head_type"], looks), *rings]
        for head, look in looks.items() if thick else ():
            looks[head] = look | (THICK if one["head_type"].sel(head=head) == thick else THIN)
        lines = [
            layer_panels(one.sel(distribution=name), "rllc", looks, f": {style.short(label)}{suffix}")
            for name, label in labels.items()
        ]
        for line in [list(chain(*lines))] if suffix else lines:
            rows.append(Row(AXIS, stages.behind(seed, line), keys, "head, type"))
            keys = []
    entries = data.sizes["head"] + 2 * len(rings)
    panel = (2.6, 2.1) if data.sizes["seed"] > 1 and len(labels) > 1 else style.PANEL
    return sheet(rows, panel=panel, entries=entries, sharex=True, sharey=True)[0]


@style.styled
def rllc_fig2_wrllc_by_head(datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None) -> Drawing:
    """Weight-refined LLC of each head on the training mixture: a panel per layer."""
    data = _estimates(datasets, seeds, None if distribution is None else [distribution], "mixture")
    data = data.isel(distribution=[0])
    name, label = next(iter(inputs.distribution_labels(data).items()))
    findings = [
        *head_findings.of_layers(data, name),
        *head_findings.largest_fall(data.sel(distribution=name)),
        *head_findings.without_gradient(data.assign_attrs(datasets["rllc"].attrs)),
    ]
    title = f"rLLC of each head over training, on {label}."
    return _drawing(_by_layer(data, Stages(datasets, data["seed"])), datasets, data, title, findings)


@style.styled
def rllc_fig3_code_wdrllc(datasets: Datasets, *, distributions: Names = None, seeds: Seeds = None) -> Drawing:
    """Weight- and data-refined LLC: the same heads on "mixture" and on "code"."""
    data = _estimates(datasets, seeds, distributions, "mixture", "code")
    said = inputs.distribution_labels(data)
    names, last_layer = [*said][: head_findings.LISTED], inputs.layers(data)[-1:]
    findings = head_findings.of_layers(data, *names, layers=last_layer)
    if "refinement" in datasets:
        refined = datasets["refinement"].sel(seed=data["seed"])
        findings = [*head_findings.geometric_ratios(refined, said), *findings]
    thick = ["Induction heads are drawn thick."] if (data["head_type"] == "induction").any() else []
    figure = _by_layer(data, Stages(datasets, data["seed"]), thick="induction")
    title = f"rLLC of each head over training, on {head_findings.labels(data)}."
    return _drawing(figure, datasets, data, title, findings, thick)


def _by_head(data: xr.Dataset, stages: Stages) -> style.Figure:
    """Draw a panel per head and a line per distribution, with seeds and layers one below the other.

    A row has four panels; with several seeds, eight lower ones.
    """
    labels = {name: style.short(label) for name, label in inputs.distribution_labels(data).items()}
    looks = style.distribution_styles(list(labels))
    rings = style.ring_keys(inputs.ring_reasons((data, "rllc")))

    def estimates(cell: xr.Dataset) -> list[panels.Curve]:
        color = {"color": style.TYPE_COLORS[cell["head_type"].item()]}
        return [curve(cell.sel(distribution=name), "rllc", looks[name] | color) for name in labels]

    keys = [style.key(label, **(looks[name] | {"color": "#333333"})) for name, label in labels.items()]
    several = data.sizes["seed"] > 1
    like = Row(AXIS, [], [*keys, *rings], "loss on")
    rows = head_grid(data, estimates, like, across=8 if several else 4, behind=stages.behind)
    place = {"margin": 1.6 if rings else 1.4, "entries": len(labels) + len(rings)}
    panel = (1.6, 1.5) if several else (2.0, 1.75)
    figure, axes = sheet(rows, panel=panel, **place, sharex=True, sharey="row")
    together(axes.ravel())
    return figure


def _by_distribution(data: xr.Dataset, apart: xr.Dataset | None, stages: Stages) -> style.Figure:
    """Draw rows of seeds and layers, columns of distributions, and a line per head.

    apart  contrasts of one distribution with each other one (distribution, ...), by layer: in separate rows;
           with several seeds, beside the estimates
    """
    labels = {name: style.short(label, 16) for name, label in inputs.distribution_labels(data).items()}
    rings, beside = style.ring_keys(inputs.ring_reasons((data, "rllc"))), data.sizes["seed"] > 1
    rows: list[Row] = []
    below: list[Row] = []  # rows of contrasts, if they are not beside the estimates
    for seed, suffix, one in by_seed(data):
        looks = style.head_styles(one["head_type"])
        for layer in inputs.layers(one):
            heads = {head: looks[head] for head in inputs.heads_of_layer(one, layer)}
            panels = [
                Panel(f"{label}{suffix}", of_heads(one.sel(distribution=name), "rllc", heads))
                for name, label in labels.items()
            ]
            keys = [*style.head_keys(one["head_type"], heads), *([] if rows else rings)]
            less = [] if apart is None else _contrasts(apart, apart.sel(seed=seed), labels, heads)
            panels, less = (stages.behind(seed, each) for each in (panels, less))
            rows.append(Row(f"layer {layer}\n{AXIS}", panels + less * beside, keys, "head, type"))
            if less and not beside:
                below.append(Row(f"layer {layer}\ndifference", less))
    rows += below
    entries = data.sizes["head"] // len(inputs.layers(data)) + 2 * len(rings)
    layout = {"margin": 1.6, "entries": entries, "sharex": True, "sharey": not beside and "row"}
    figure, axes = sheet(rows, panel=(1.9, 1.9) if beside else (2.1, 1.9), **layout)
    estimates = axes[:, : len(labels)] if beside else axes[: len(rows) - len(below)]
    for group in (estimates, axes[:, len(labels) :] if beside else axes[len(rows) - len(below) :]):
        together(group.ravel())
        for ax in group[:, 1:].ravel():
            ax.tick_params(labelleft=False)
    for ax in axes[:, len(labels) :][:, :1].ravel() if beside else ():
        ax.set_ylabel("difference")
    return figure


def _contrasts(
    apart: xr.Dataset, contrasts: xr.Dataset, labels: Mapping[str, str], heads: Mapping[str, dict]
) -> list[Panel]:
    """Return a panel for every distribution in the contrasts."""
    mine = labels[apart.attrs["a"]]
    return [
        Panel(
            style.short(f"{mine} − {labels[name]}", 31),
            differences.curves(contrasts.sel(distribution=name), heads),
            {"fontsize": style.RC["axes.labelsize"]},
            under=level(),
        )
        for name in apart["distribution"].values.tolist()
    ]


@style.styled
def rllc_fig5_one_layer_drllc(
    datasets: Datasets, *, natural: str = "mixture", generated: str = "one_layer", seeds: Seeds = None
) -> Drawing:
    """Refined LLC on the training mixture against that on a one-layer model's predictions, by head.

    datasets  ``metrics``, and ``metrics@<experiment>`` of the one-layer model, for losses among the findings
    """
    data = _estimates(datasets, seeds, [natural, generated])
    said = inputs.distribution_labels(data)
    findings = [
        *differences.ratios(data, generated, natural),
        *differences.at_the_end(data, natural, generated),
        *_losses(datasets, natural, seeds),
    ]
    title = f"rLLC of each head over training, on {said[natural]} and on {said[generated]}."
    targets = f"On {said[generated]} that model's predictions are the targets."
    return _drawing(
        _by_head(data, Stages(datasets, data["seed"])), datasets, data, title, findings, [targets]
    )


def _losses(datasets: Datasets, name: str, seeds: Seeds) -> list[Finding]:
    """Return the last held-out loss of each other model on a distribution, and then of this model."""
    others = [key.partition("@")[2] for key in datasets if key.startswith("metrics@")]
    found = []
    for other in [*others, ""] if others else []:
        key = f"metrics@{other}" if other else "metrics"
        if key not in datasets or name not in datasets[key]["distribution"].values:
            continue
        one = datasets[key].sel(distribution=name)
        one = one if other else inputs.of_seeds(one, seeds)
        label = (
            f"loss of {other.replace('_', ' ') or 'this model'} on {inputs.one_label(datasets[key], name)}"
        )
        found += at_end(label, one["loss"], one.get("loss_se"), NATS)
    return found


@style.styled
def rllc_by_distribution(
    datasets: Datasets,
    *,
    distributions: Names = None,
    reference: str = "code",
    layer: int | None = None,
    seeds: Seeds = None,
) -> Drawing:
    """Refined LLC of each head by layer and distribution. Below: the reference minus each of the others.

    distributions  default all
    reference      the distribution that contrasts are relative to; no contrasts if it is missing or alone
    layer          layer of the heads drawn; default all
    """
    data = inputs.of_layer(_estimates(datasets, seeds, distributions), layer)
    errors = conditions.minibatches(datasets["rllc"], data, "rllc")
    apart = differences.between(data, reference)
    figure = _by_distribution(data, apart, Stages(datasets, data["seed"]))
    if apart is None:
        names = data["distribution"].values.tolist()[: head_findings.LISTED]
        title = f"rLLC of each head over training, on {head_findings.labels(data)}."
        return _drawing(figure, datasets, data, title, head_findings.of_layers(data, *names), errors)
    said = inputs.distribution_labels(data)
    findings = [
        *head_findings.of_layers(data, reference, layers=inputs.layers(data)[-1:]),
        *differences.higher(apart, said),
    ]
    title = f"rLLC of each head over training on several texts, and {said[reference]} less each other text."
    drawing = _drawing(figure, datasets, data, title, findings, [differences.INTERVALS, *errors])
    contrasts = apart.drop_attrs(deep=False)
    return replace(drawing, data=drawing.data.merge(contrasts, join="left", compat="override"))

"""Traces of the Hessian and of the Fisher information over training (arXiv 2410.02984, Figs. 14 and 15)."""

from collections.abc import Mapping

import xarray as xr

from rllc.analysis.comparison import rank_correlation
from rllc.analysis.recorded import recorded
from rllc.figures import against_controls, conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Names, Seeds
from rllc.figures.findings import fitting, known, over_seeds
from rllc.figures.heads import trace_changes
from rllc.figures.heads.behind import Stages
from rllc.figures.heads.head_findings import LISTED, at_end, at_step
from rllc.figures.heads.head_findings import labels as labelled
from rllc.figures.panels import Panel, Row, by_seed, curve, layer_panels, sheet, together

BLACK = {"color": "black", "marker": "o"}


@style.styled
def rllc_fig14_hessian_trace(
    datasets: Datasets, *, distributions: Names = None, seeds: Seeds = None
) -> Drawing:
    """Hessian trace, and its change over each stage. Rows: distributions, by seed. Columns: model, layers.

    datasets       ``rllc`` and ``llc`` are compared with it, over ``stages`` where there are any
    distributions  default all that were measured
    """
    full, heads = "hessian_trace", "hessian_trace_head"
    data = inputs.over_heads(
        datasets, "hessian", full, heads, also=(f"{full}_se", f"{heads}_se"), seeds=seeds
    )
    measured = data["distribution"].values[data[heads].notnull().any(["seed", "step", "head"]).values]
    data = data.sel(distribution=inputs.distribution_names(data, distributions, measured.tolist()))
    labels, rows, stages = inputs.distribution_labels(data), [], Stages(datasets, data["seed"])
    changes = trace_changes.changes(data, datasets, stages)
    of_traces: list[int] = []  # rows
    for seed, suffix, one in by_seed(data):
        looks = style.head_styles(one["head_type"])
        keys = style.head_keys(one["head_type"], looks)
        for name, label in labels.items():
            cell = one.sel(distribution=name)
            whole = Panel(f"full model{suffix}", [curve(cell, full, BLACK)])
            panels = [whole, *layer_panels(cell, heads, looks, suffix)]
            of_traces.append(len(rows))
            label = f"{style.short(label)}\ntrace (nats/token)"
            rows.append(Row(label, stages.behind(seed, panels), keys, "head, type"))
            keys = []
        rows += trace_changes.rows(changes, seed, labels, stages, suffix)
    figure, axes = sheet(rows, panel=(2.4, 1.8), entries=data.sizes["head"], sharex=True)
    for column in axes[of_traces].T:
        together(column)
    title = f"Trace of the loss Hessian, of the model and of each head's block, on {labelled(data)}."
    told = [
        conditions.band(data[f"{full}_se"], "over probes, each with its own minibatch"),
        *stages.said,
        *([] if changes is None else [trace_changes.EXPLAINED]),
        *conditions.contexts(datasets["hessian"], "hessian"),
        *conditions.missing(data, full, heads),
        *conditions.seeds(data),
    ]
    of_model, of_heads = trace_changes.findings(changes)
    compared = _against_rllc(data, datasets)
    found = [*_at_the_end(data, labels), *of_model, *compared[:1], *of_heads, *compared[1:]]
    drawn = data if changes is None else data.merge(changes, join="left", compat="override")
    return Drawing(figure, drawn, title, fitting(found, title, told), told)


@style.styled
def rllc_fig15_fim_trace(datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None) -> Drawing:
    """Traces of the Fisher information matrix (two forms), Gauss-Newton on text and Hessian, by seed.

    distribution  the text, of the Hessian too
    """
    names = ("fim_trace", "fim_trace_ggn", "fisher_data")
    data = inputs.of_seeds(inputs.need(datasets, "fisher", *names), seeds)
    name = inputs.one_distribution(data, distribution)
    text = inputs.one_label(data, name)
    looks = {
        "fim_trace": ("FIM, by the Hessian on its own contexts", "#4477AA", "o"),
        "fim_trace_ggn": ("FIM, by Gauss-Newton on its own contexts", "#66CCEE", "s"),
        "fisher_data": (f"Gauss-Newton on {text}", "#EE6677", "^"),
    }
    data = data[[variable for form in names for variable in (form, f"{form}_se")]].sel(distribution=name)
    curvature = datasets.get("hessian")
    if curvature is not None and name in curvature["distribution"].values:
        looks["hessian_trace"] = (f"Hessian on {text}", "black", "D")
        both = curvature[["hessian_trace", "hessian_trace_se"]].sel(distribution=name, seed=data["seed"])
        data = data.assign(both.reindex(step=data["step"]).data_vars)
    styles = {form: {"color": color, "marker": marker} for form, (_, color, marker) in looks.items()}
    stages = Stages(datasets, data["seed"])
    panels = [
        panel
        for seed, suffix, one in by_seed(data)
        for panel in stages.behind(
            seed,
            [Panel(f"full model{suffix}", [curve(one, form, look) for form, look in styles.items()])],
        )
    ]
    keys = [style.key(label, **styles[form]) for form, (label, *_) in looks.items()]
    figure, _ = sheet(
        [Row("trace (nats/token)", panels, keys)], panel=(3.4, 2.4), margin=2.6, sharex=True, sharey="row"
    )
    last, made = at_end(data, "fim_trace"), recorded(datasets["fisher"], "fisher")
    probes, size = made.get("probes", 0), made.get("batch_size", 0)
    more = conditions.more_at(made, probes, size)
    return Drawing(
        figure,
        data,
        f"Traces of the Fisher information matrix (FIM) over training, and curvature on {text}.",
        [
            finding
            for form, (label, _, _) in looks.items()
            for finding in over_seeds(
                f"trace of {label} {at_step(last)}", last[form], last[f"{form}_se"], "nats/token"
            )
        ],
        [
            "The FIM is of contexts that the checkpoint generates, in two forms of the same mean.",
            conditions.band(data["fim_trace_se"], "over probes, each with contexts of its own"),
            *stages.said,
            *([f"Contexts: {probes * size:,} per checkpoint{more}."] if probes * size else []),
            *conditions.missing(data, *names),
            *conditions.seeds(data),
        ],
    )


def _at_the_end(data: xr.Dataset, said: Mapping[str, str]) -> list[Finding]:
    """Return the model's trace on each distribution; if they are many, on the first ones."""
    last = at_end(data, "hessian_trace")
    return [
        finding
        for name in [*said][:LISTED]
        for cell in [last.sel(distribution=name)]
        for finding in over_seeds(
            f"trace on {said[name]} {at_step(last)}",
            cell["hessian_trace"],
            cell.get("hessian_trace_se"),
            "nats/token",
        )
    ]


def _against_rllc(data: xr.Dataset, datasets: Datasets) -> list[Finding]:
    """Return the rank correlation of trace and rLLC over heads, and curvature prediction over rLLC."""
    rllc = datasets.get("rllc")
    if rllc is None:
        return []
    both = [name for name in data["distribution"].values if name in rllc["distribution"].values]
    rllc = rllc.sel(distribution=both)
    same = rank_correlation(rllc["rllc"], data["hessian_trace_head"]).median()
    found = [Finding("Spearman correlation of trace and rLLC over heads, median", float(same))]
    prediction = against_controls.predicted(rllc, datasets)
    if prediction is not None:
        ratio = float((prediction / rllc["rllc"]).median())
        found.append(Finding("n_beta / (2 localization) × trace of a head over its rLLC, median", ratio))
    return known(found)

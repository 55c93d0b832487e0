"""Traces of the Hessian and of the Fisher information over training (arXiv 2410.02984, Figs. 14 and 15)."""

import numpy as np
import xarray as xr

from rllc.analysis.comparison import rank_correlation
from rllc.figures import against_controls, captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Names, Seeds
from rllc.figures.panels import Panel, Row, by_seed, curve, layer_panels, sheet

GENERATED = "{} contexts are generated at each checkpoint, as many read of the text."
BLACK = {"color": "black", "marker": "o"}


@style.styled
def rllc_fig14_hessian_trace(
    datasets: Datasets, *, distributions: Names = None, seeds: Seeds = None
) -> Drawing:
    """Hessian trace: columns full model and layers, rows distributions, seeds one below the other.

    datasets       ``rllc`` is for the comparison in the caption
    distributions  default all that were measured
    """
    full, heads = "hessian_trace", "hessian_trace_head"
    data = inputs.over_heads(
        datasets, "hessian", full, heads, also=(f"{full}_se", f"{heads}_se"), seeds=seeds
    )
    measured = data["distribution"].values[data[heads].notnull().any(["seed", "step", "head"]).values]
    data = data.sel(distribution=inputs.distribution_names(data, distributions, measured.tolist()))
    labels, rows = inputs.distribution_labels(data), []
    for _, suffix, one in by_seed(data):
        looks = style.head_styles(one["head_type"])
        keys = style.head_keys(one["head_type"], looks)
        for name, label in labels.items():
            cell = one.sel(distribution=name)
            whole = Panel(f"full model{suffix}", [curve(cell, full, BLACK)])
            panels = [whole, *layer_panels(cell, heads, looks, suffix)]
            rows.append(Row(f"{style.short(label)}\ntrace (nats/token)", panels, keys, "head, type"))
            keys = []
    figure, _ = sheet(rows, panel=(2.4, 1.8), entries=data.sizes["head"], sharex=True, sharey="col")
    return captions.drawing(
        figure,
        data,
        *_against_rllc(data, datasets),
        "Trace of the loss Hessian (Hutchinson, Rademacher probes) of the full model and of each head's "
        "block against training step.",
        conditions=[
            "Bands: one standard error over probes, given the data.",
            captions.contexts(datasets["hessian"], "hessian"),
            captions.failures(data, full, heads),
        ],
    )


@style.styled
def rllc_fig15_fim_trace(datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None) -> Drawing:
    """Traces of the FIM in two forms, of Gauss-Newton on text and of the Hessian; a panel per seed.

    distribution  the text, of the Hessian too
    """
    names = ("fim_trace", "fim_trace_ggn", "fisher_data")
    data = inputs.of_seeds(inputs.need(datasets, "fisher", *names), seeds)
    name = inputs.one_distribution(data, distribution)
    text = inputs.one_label(data, name)
    looks = {
        "fim_trace": ("FIM, by the Hessian on its own contexts", "the FIM's trace is", "#4477AA", "o"),
        "fim_trace_ggn": ("FIM, by Gauss-Newton on its own contexts", "by Gauss-Newton", "#66CCEE", "s"),
        "fisher_data": (f"Gauss-Newton on {text}", "on text", "#EE6677", "^"),
    }
    data = data[[variable for form in names for variable in (form, f"{form}_se")]].sel(distribution=name)
    curvature = datasets.get("hessian")
    if curvature is not None and name in curvature["distribution"].values:
        looks["hessian_trace"] = (f"Hessian on {text}", "the Hessian's on text", "black", "D")
        both = curvature[["hessian_trace", "hessian_trace_se"]].sel(distribution=name, seed=data["seed"])
        data = data.assign(both.reindex(step=data["step"]).data_vars)
    styles = {form: {"color": color, "marker": marker} for form, (_, _, color, marker) in looks.items()}
    panels = [
        Panel(f"full model{suffix}", [curve(one, form, look) for form, look in styles.items()])
        for _, suffix, one in by_seed(data)
    ]
    keys = [style.key(label, **styles[form]) for form, (label, *_) in looks.items()]
    figure, _ = sheet(
        [Row("trace (nats/token)", panels, keys)], panel=(3.4, 2.4), margin=2.6, sharex=True, sharey="row"
    )
    last = data.isel(step=-1).mean("seed")
    ends = ", ".join(f"{words} {float(last[form]):.3g}" for form, (_, words, *_) in looks.items())
    return captions.drawing(
        figure,
        data,
        f"At step {int(data['step'][-1])} {ends} nats/token.",
        "Trace of the Fisher information matrix (FIM) against training step: of the loss's Hessian on "
        "contexts that the checkpoint generates (the paper's form), and of the Gauss-Newton matrix there, "
        "whose mean is the same; on text that is no FIM.",
        conditions=[
            "Bands: one standard error over probes, each with contexts of its own.",
            captions.contexts(datasets["fisher"], "fisher", of=GENERATED),
            captions.failures(data, *names),
        ],
    )


def _against_rllc(data: xr.Dataset, datasets: Datasets) -> list[str]:
    """How the trace orders heads compared with the refined LLC, and whether the two are one number."""
    rllc = datasets.get("rllc")
    if rllc is None:
        return ["rllc.nc was not given, so the trace is not compared with the refined LLC."]
    same = rank_correlation(rllc["rllc"], data["hessian_trace_head"]).values
    if not np.isfinite(same).any():
        return []
    both = [name for name in data["distribution"].values if name in rllc["distribution"].values]
    return [
        f"The trace's ordering of heads and that of the refined LLC agree with a median Spearman correlation "
        f"of {np.nanmedian(same):.2f} over checkpoints and distributions.",
        *against_controls.localization_dominance(rllc.sel(distribution=both), datasets),
    ]

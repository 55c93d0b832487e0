"""Hessian trace of the model and of each head over training (arXiv 2410.02984, Fig. 14)."""

import numpy as np
import xarray as xr

from rllc.analysis.comparison import rank_correlation
from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing, Names, Seeds
from rllc.figures.inputs import distribution_labels, distribution_names, heads_of_layer, layers, over_heads
from rllc.figures.panels import Panel, Row, curve, of_heads, seed_suffix, sheet


@style.styled
def rllc_fig14_hessian_trace(
    datasets: Datasets, *, distributions: Names = None, seeds: Seeds = None
) -> Drawing:
    """Hessian trace: rows full model and layers, columns distributions, seeds one below the other.

    datasets       ``hessian``; ``heads`` for the types; ``rllc`` for the comparison in the caption
    distributions  default all that were measured
    """
    errors = ("hessian_trace_se", "hessian_trace_head_se")
    data = over_heads(datasets, "hessian", "hessian_trace", "hessian_trace_head", also=errors, seeds=seeds)
    measured = data["hessian_trace_head"].notnull().any(["seed", "step", "head"])
    names = distribution_names(data, distributions, data["distribution"].values[measured.values].tolist())
    data = data.sel(distribution=names)
    labels, rows = distribution_labels(data), []
    for seed in data["seed"].values.tolist():
        one = data.sel(seed=seed)
        looks = style.head_styles(one["head_type"])
        for layer in (None, *layers(data)):
            panels = [
                Panel(
                    f"{'full model' if layer is None else f'layer {layer}'}: {style.short(labels[name], 16)}"
                    f"{seed_suffix(data['seed'], seed)}",
                    [curve(cell, "hessian_trace", {"color": "black", "marker": "o"})]
                    if layer is None
                    else of_heads(cell, "hessian_trace_head", looks, layer),
                )
                for name in names
                for cell in [one.sel(distribution=name)]
            ]
            heads = [] if layer is None else heads_of_layer(one, layer)
            keys = style.head_keys(one["head_type"].sel(head=heads), looks)
            rows.append(Row("Hessian trace (nats/token)", panels, keys, "head, type"))
    figure, _ = sheet(rows, panel=(2.4, 1.8), sharex=True, sharey="row")
    return captions.drawing(
        figure,
        data,
        *_against_rllc(data, datasets),
        "Trace of the loss Hessian (Hutchinson, Rademacher probes) of the full model and of each head's "
        "block against training step.",
        conditions=[
            "Bands: one standard error over probes, given the data.",
            captions.contexts(datasets["hessian"], "hessian", count="probes"),
            captions.failures(data, "hessian_trace", "hessian_trace_head"),
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
        *captions.localization_dominance(rllc.sel(distribution=both), datasets),
    ]

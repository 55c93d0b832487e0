"""Hessian trace of the model and of each head over training (arXiv 2410.02984, Fig. 14)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.analysis.comparison import rank_correlation
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

VARIABLES = ("hessian_trace", "hessian_trace_se", "hessian_trace_head", "hessian_trace_head_se")


@style.styled
def rllc_fig14_hessian_trace(
    datasets: Mapping[str, xr.Dataset],
    *,
    distributions: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
) -> Drawing:
    """Hessian trace: rows full model and layers, columns distributions, seeds one below the other.

    datasets       ``hessian``; ``heads`` for the types; ``rllc`` for the comparison in the caption
    distributions  default all that were measured
    """
    hessian = of_seeds(need(datasets, "hessian", "hessian_trace", "hessian_trace_head"), seeds)
    measured = hessian["hessian_trace_head"].notnull().any(["seed", "step", "head"])
    names = distribution_names(
        hessian, distributions, hessian["distribution"].values[measured.values].tolist()
    )
    taken = hessian[[name for name in VARIABLES if name in hessian]].sel(distribution=names)
    taken["head_type"] = types_of(datasets, taken["head"], taken["seed"])
    labels = distribution_labels(taken)
    parts: list[int | None] = [None, *layers(taken)]
    rows = [(seed, part) for seed in taken["seed"].values.tolist() for part in parts]
    figure, axes = style.grid(len(rows), len(names), panel=(2.4, 1.8), sharex=True, sharey="row")
    for line, (seed, part) in zip(axes, rows, strict=True):
        one = taken.sel(seed=seed)
        styles = style.head_styles(one["head_type"])
        heads = [] if part is None else heads_of_layer(one, part)
        for ax, name in zip(line, names, strict=True):
            cell = one.sel(distribution=name)
            if part is None:
                error = cell.get("hessian_trace_se")
                style.curve(ax, cell["hessian_trace"], error, color="black", marker="o")
            for head in heads:
                error = cell.get("hessian_trace_head_se")
                error = None if error is None else error.sel(head=head)
                style.curve(ax, cell["hessian_trace_head"].sel(head=head), error, **styles[head])
            where = "full model" if part is None else f"layer {part}"
            seed_text = f", seed {seed}" if taken.sizes["seed"] > 1 else ""
            ax.set_title(f"{where}: {style.short(labels[name], 16)}{seed_text}", loc="left")
            style.step_axis(ax, cell["step"].values)
        line[0].set_ylabel("Hessian trace (nats/token)")
        if heads:
            style.beside(
                line[-1], style.head_keys(one["head_type"].sel(head=heads), styles), title="head, type"
            )
    caption = captions.joined(
        "Trace of the loss Hessian (Hutchinson, Rademacher probes) of the full model and of each head's "
        "block against training step. Bands are one standard error over probes, given the data.",
        captions.contexts(hessian, "hessian", count="probes"),
        _against_rllc(taken, datasets),
        captions.types(taken["head_type"]),
        captions.seeds(taken),
        captions.failures(taken, "hessian_trace", "hessian_trace_head"),
    )
    return Drawing(figure, taken, caption)


def _against_rllc(taken: xr.Dataset, datasets: Mapping[str, xr.Dataset]) -> str:
    """How the trace orders heads compared with the refined LLC, and whether the two are one number."""
    rllc = datasets.get("rllc")
    if rllc is None:
        return "rllc.nc was not given, so the trace is not compared with the refined LLC."
    same = rank_correlation(rllc["rllc"], taken["hessian_trace_head"]).values
    if not np.isfinite(same).any():
        return ""
    kept = rllc.sel(
        distribution=[n for n in taken["distribution"].values if n in rllc["distribution"].values]
    )
    return captions.joined(
        f"Its ordering of heads and that of the refined LLC agree with a median Spearman correlation of "
        f"{np.nanmedian(same):.2f} over checkpoints and distributions.",
        captions.localization_dominance(kept, datasets),
    )

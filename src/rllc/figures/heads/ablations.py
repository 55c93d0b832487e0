"""Loss added by ablating each head, over training (arXiv 2410.02984, Fig. 17)."""

from collections.abc import Mapping, Sequence

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


@style.styled
def rllc_fig17_ablations(
    datasets: Mapping[str, xr.Dataset], *, distribution: str | None = None, seeds: Sequence[int] | None = None
) -> Drawing:
    """Ablation score of each head: rows methods (zero, mean, resample), columns layers.

    datasets      ``ablation``, and ``heads`` for the types
    distribution  default "mixture", or the dataset's first
    """
    ablation = of_seeds(need(datasets, "ablation", "ablation"), seeds)
    name = distribution_names(ablation, None if distribution is None else [distribution], ("mixture",))[0]
    taken = ablation[["ablation"]].sel(distribution=[name])
    taken["head_type"] = types_of(datasets, taken["head"], taken["seed"])
    label, columns = distribution_labels(taken)[name], layers(taken)
    methods = taken["method"].values.tolist()
    rows = [(seed, method) for seed in taken["seed"].values.tolist() for method in methods]
    figure, axes = style.grid(
        len(rows), len(columns), panel=(2.9, 1.8), entries=taken.sizes["head"], sharex=True
    )
    for line, (seed, method) in zip(axes, rows, strict=True):
        one = taken.sel({"seed": seed, "method": method, "distribution": name})
        styles = style.head_styles(one["head_type"])
        for ax, layer in zip(line, columns, strict=True):
            for head in heads_of_layer(one, layer):
                style.curve(ax, one["ablation"].sel(head=head), **styles[head])
            ax.axhline(0.0, color="#333333", linewidth=0.8, zorder=1)
            seed_text = f", seed {seed}" if taken.sizes["seed"] > 1 else ""
            ax.set_title(f"layer {layer}: {method} ablation{seed_text}", loc="left")
            style.step_axis(ax, one["step"].values)
        line[0].set_ylabel("loss added (nats/token)")
        if method == methods[0]:
            style.beside(line[-1], style.head_keys(one["head_type"], styles), title="head, type")
    last = taken["ablation"].isel(step=-1)
    said = []
    for seed in taken["seed"].values.tolist():
        for method in methods:
            values = last.sel({"seed": seed, "method": method, "distribution": name})
            head = values["head"].values[int(values.fillna(float("-inf")).argmax("head"))]
            said.append(f"{method} {head} (+{float(values.max()):.3f} nats/token, seed {seed})")
    caption = captions.joined(
        f"Loss on {label} after ablating a head, less the loss before: its output replaced by zero, by its "
        "mean, or by its output on other contexts. No uncertainty is drawn: all heads and methods use the "
        "same contexts.",
        captions.contexts(ablation, "ablation", count="batches"),
        f"Largest at the last step: {', '.join(said)}.",
        captions.types(taken["head_type"]),
        captions.seeds(taken),
        captions.failures(taken, "ablation"),
    )
    return Drawing(figure, taken, caption)

"""Loss added by ablating each head, over training (arXiv 2410.02984, Fig. 17)."""

import xarray as xr

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
from rllc.figures.panels import Panel, Row, by_seed, level, of_heads, sheet


@style.styled
def rllc_fig17_ablations(datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None) -> Drawing:
    """Ablation score of each head: rows layers, columns methods (zero, mean, resample)."""
    data = inputs.over_heads(datasets, "ablation", "ablation", seeds=seeds)
    name = inputs.one_distribution(data, distribution)
    data = data.sel(distribution=[name])
    rows, methods = [], data["method"].values.tolist()
    for _, suffix, one in by_seed(data):
        looks = style.head_styles(one["head_type"])
        cells = {method: one.sel({"method": method, "distribution": name}) for method in methods}
        for layer in inputs.layers(data):
            panels = [
                Panel(f"{method} ablation{suffix}", of_heads(cell, "ablation", looks, layer), over=level())
                for method, cell in cells.items()
            ]
            kinds = one["head_type"].sel(head=inputs.heads_of_layer(one, layer))
            label = f"layer {layer}, loss added\n(nats/token)"
            rows.append(Row(label, panels, style.head_keys(kinds, looks), "head, type"))
    figure, _ = sheet(rows, panel=(2.5, 1.9), sharex=True, sharey="row")
    return captions.drawing(
        figure,
        data,
        *_most(data.sel(distribution=name).isel(step=-1)),
        f"Loss on {inputs.one_label(data, name)} after ablating a head, less the loss before: its output "
        "replaced by zero, by its mean, or by its output on other contexts.",
        conditions=[
            "No uncertainty is drawn: all heads and methods use the same contexts.",
            captions.contexts(datasets["ablation"], "ablation"),
            captions.failures(data, "ablation"),
        ],
    )


def _most(last: xr.Dataset) -> list[str]:
    """What ablating the most needed head costs by each method over seeds, and which head that is in each."""
    loss, named, methods = last["ablation"].max("head"), [], last["method"].values.tolist()
    parts = (f"{captions.spread(loss.sel({'method': m}).values, '.3f')} ({m})" for m in methods)
    for seed, _, one in by_seed(last):
        tops = [captions.highest(one["ablation"].sel({"method": m})) for m in methods]
        kinds = {head: one["head_type"].sel(head=head).item() for head in tops}
        heads = " or ".join(f"{head} ({kind})" for head, kind in kinds.items())
        named.append(f"{heads} in seed {seed}" if last["seed"].size > 1 else heads)
    return [
        f"At the last step the most needed head adds {', '.join(parts)} nats/token{captions.over(last)}.",
        f"It is {', '.join(named)}.",
    ]

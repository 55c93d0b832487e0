"""Loss added by ablating each head, over training (arXiv 2410.02984, Fig. 17)."""

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
from rllc.figures.panels import Panel, Row, by_seed, level, of_heads, sheet


@style.styled
def rllc_fig17_ablations(datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None) -> Drawing:
    """Ablation score of each head: rows layers, columns methods (zero, mean, resample)."""
    data = inputs.over_heads(datasets, "ablation", "ablation", seeds=seeds)
    name = inputs.one_distribution(data, distribution)
    data = data.sel(distribution=[name])
    rows, findings, methods = [], [], data["method"].values.tolist()
    for seed, suffix, one in by_seed(data):
        looks, best = style.head_styles(one["head_type"]), []
        cells = {method: one.sel({"method": method, "distribution": name}) for method in methods}
        for layer in inputs.layers(data):
            panels = [
                Panel(f"{method} ablation{suffix}", of_heads(cell, "ablation", looks, layer), over=level())
                for method, cell in cells.items()
            ]
            kinds = one["head_type"].sel(head=inputs.heads_of_layer(one, layer))
            label = f"layer {layer}\nloss added (nats/token)"
            rows.append(Row(label, panels, style.head_keys(kinds, looks), "head, type"))
        for method, cell in cells.items():
            last = cell["ablation"].isel(step=-1)
            best.append(f"{method} {captions.highest(last)} (+{float(last.max()):.3f} nats/token)")
        findings.append(f"Largest at the last step (seed {seed}): {', '.join(best)}.")
    figure, _ = sheet(rows, panel=(2.5, 1.8), sharex=True, sharey="row")
    return captions.drawing(
        figure,
        data,
        *findings,
        f"Loss on {inputs.one_label(data, name)} after ablating a head, less the loss before: its output "
        "replaced by zero, by its mean, or by its output on other contexts.",
        conditions=[
            "No uncertainty is drawn: all heads and methods use the same contexts.",
            captions.contexts(datasets["ablation"], "ablation"),
            captions.failures(data, "ablation"),
        ],
    )

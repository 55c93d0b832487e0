"""Loss added by ablating each head, over training (arXiv 2410.02984, Fig. 17)."""

from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
from rllc.figures.heads.behind import Stages
from rllc.figures.heads.head_findings import at_end, highest
from rllc.figures.panels import Panel, Row, by_seed, level, of_heads, sheet


@style.styled
def rllc_fig17_ablations(datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None) -> Drawing:
    """Ablation score of each head. Rows: layers. Columns: methods (zero, mean, resample)."""
    data = inputs.over_heads(datasets, "ablation", "ablation", also=("ablation_se",), seeds=seeds)
    name = inputs.one_distribution(data, distribution)
    data = data.sel(distribution=[name])
    rows, methods, stages = [], data["method"].values.tolist(), Stages(datasets, data["seed"])
    for seed, suffix, one in by_seed(data):
        looks = style.head_styles(one["head_type"])
        cells = {method: one.sel({"method": method, "distribution": name}) for method in methods}
        for layer in inputs.layers(data):
            panels = [
                Panel(f"{method} ablation{suffix}", of_heads(cell, "ablation", looks, layer), over=level())
                for method, cell in cells.items()
            ]
            kinds = one["head_type"].sel(head=inputs.heads_of_layer(one, layer))
            label = f"layer {layer}, loss added\n(nats/token)"
            rows.append(Row(label, stages.behind(seed, panels), style.head_keys(kinds, looks), "head, type"))
    figure, _ = sheet(rows, panel=(2.5, 1.9), sharex=True, sharey="row")
    last = at_end(data.sel(distribution=name), "ablation")
    return Drawing(
        figure,
        data,
        f"Loss added by ablating each head on {inputs.one_label(data, name)}, over training.",
        [
            finding
            for method in methods
            for finding in highest(
                last.sel({"method": method}),
                "ablation",
                f"loss added by {method} ablation",
                "",
                "nats/token",
            )
        ],
        [
            "A head's output is replaced by zero, its mean, or its output on other contexts.",
            "Bands: one standard error over contexts. All heads and methods have the same contexts."
            if "ablation_se" in data
            else "No uncertainty is drawn: all heads and methods use the same contexts.",
            *stages.said,
            *conditions.contexts(datasets["ablation"], "ablation"),
            *conditions.missing(data, "ablation"),
            *conditions.seeds(data),
        ],
    )

"""Loss added by ablating each head, over training (arXiv 2410.02984, Fig. 17)."""

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
from rllc.figures.panels import Row, by_seed, layer_panels, level, sheet


@style.styled
def rllc_fig17_ablations(datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None) -> Drawing:
    """Ablation score of each head: rows methods (zero, mean, resample), columns layers."""
    data = inputs.over_heads(datasets, "ablation", "ablation", seeds=seeds)
    name = inputs.one_distribution(data, distribution)
    data = data.sel(distribution=[name])
    rows, findings = [], []
    for seed, suffix, one in by_seed(data):
        looks, best = style.head_styles(one["head_type"]), []
        keys = style.head_keys(one["head_type"], looks)
        for method in data["method"].values.tolist():
            cell = one.sel({"method": method, "distribution": name})
            panels = layer_panels(cell, "ablation", looks, f": {method} ablation{suffix}", over=level())
            rows.append(Row("loss added (nats/token)", panels, [] if best else keys, "head, type"))
            last = cell["ablation"].isel(step=-1)
            best.append(f"{method} {captions.highest(last)} (+{float(last.max()):.3f} nats/token)")
        findings.append(f"Largest at the last step (seed {seed}): {', '.join(best)}.")
    figure, _ = sheet(rows, panel=(2.9, 1.8), entries=data.sizes["head"], sharex=True)
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

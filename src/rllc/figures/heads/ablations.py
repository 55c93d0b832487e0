"""Loss added by ablating each head, over training (arXiv 2410.02984, Fig. 17)."""

from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.inputs import layers, one_distribution, one_label, over_heads
from rllc.figures.panels import Panel, Row, level, of_heads, seed_suffix, sheet


@style.styled
def rllc_fig17_ablations(
    datasets: Datasets, *, distribution: str | None = None, seeds: Seeds = None
) -> Drawing:
    """Ablation score of each head: rows methods (zero, mean, resample), columns layers.

    datasets      ``ablation``, and ``heads`` for the types
    """
    data = over_heads(datasets, "ablation", "ablation", seeds=seeds)
    name = one_distribution(data, distribution)
    data = data.sel(distribution=[name])
    rows, findings = [], []
    for seed in data["seed"].values.tolist():
        looks = style.head_styles(data["head_type"].sel(seed=seed))
        best = []
        for method in data["method"].values.tolist():
            one = data.sel({"seed": seed, "method": method, "distribution": name})
            panels = [
                Panel(
                    f"layer {layer}: {method} ablation{seed_suffix(data['seed'], seed)}",
                    of_heads(one, "ablation", looks, layer),
                    over=level(),
                )
                for layer in layers(data)
            ]
            keys = [] if best else style.head_keys(one["head_type"], looks)
            rows.append(Row("loss added (nats/token)", panels, keys, "head, type"))
            last = one["ablation"].isel(step=-1)
            best.append(f"{method} {captions.highest(last)} (+{float(last.max()):.3f} nats/token)")
        findings.append(f"Largest at the last step (seed {seed}): {', '.join(best)}.")
    figure, _ = sheet(rows, panel=(2.9, 1.8), entries=data.sizes["head"], sharex=True)
    return captions.drawing(
        figure,
        data,
        *findings,
        f"Loss on {one_label(data, name)} after ablating a head, less the loss before: its output replaced "
        "by zero, by its mean, or by its output on other contexts.",
        conditions=[
            "No uncertainty is drawn: all heads and methods use the same contexts.",
            captions.contexts(datasets["ablation"], "ablation", count="batches"),
            captions.failures(data, "ablation"),
        ],
    )

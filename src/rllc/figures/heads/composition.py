"""K-composition of heads with heads of later layers (arXiv 2410.02984, Fig. 7)."""

import numpy as np
import xarray as xr

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.panels import Panel, Row, by_seed, chunks, level, of_heads, sheet

START = {"linewidth": 0.9, "linestyle": (0, (2, 2)), "color": "#333333"}


@style.styled
def rllc_fig7_kcomposition(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """K-composition score of every pair of heads, a panel per later head, a line per earlier head."""
    data = inputs.over_heads(datasets, "heads", "k_composition", seeds=seeds)
    data = data.sel(later_head=data["k_composition"].notnull().any(["seed", "step", "head"]))
    layer = dict(zip(data["head"].values.tolist(), data["layer"].values.tolist(), strict=True))
    steps = data["step"].values
    rows, findings = [], []
    for _, suffix, one in by_seed(data):
        looks = style.head_styles(one["head_type"])
        start = float(one["k_composition"].isel(step=0).mean())
        earlier = [head for head in looks if layer[head] < max(layer.values())]
        keys = style.head_keys(one["head_type"].sel(head=earlier), looks)
        keys.append(style.key("mean at the first step", **START))
        for targets in chunks(data["later_head"].values.tolist(), 4):
            panels = []
            for target in targets:
                kind = one["head_type"].sel(head=target).item()
                before = {head: look for head, look in looks.items() if layer[head] < layer[target]}
                curves = of_heads(one.sel(later_head=target), "k_composition", before)
                title = f"into {target} {kind}{suffix}"
                color = {"color": style.TYPE_COLORS[kind]}
                panels.append(Panel(title, curves, color, over=level(start, **START), steps=steps))
            rows.append(Row("K-composition", panels, keys, "from head, type"))
            keys = []
        findings.append(_strongest(one, start))
    figure, _ = sheet(rows, panel=(2.1, 1.9), sharex=True, sharey=True)
    return captions.drawing(
        figure,
        data,
        *findings,
        "K-composition score ||W_QK W_OV||_F / (||W_QK||_F ||W_OV||_F) of each earlier head with each later "
        "head; 1 would be perfect alignment, and the dotted line is the mean over pairs at the first "
        "checkpoint, the chance level.",
    )


def _strongest(one: xr.Dataset, start: float) -> str:
    measured = one["k_composition"].dropna("step", how="all")
    if not measured.sizes["step"]:
        return f"Seed {one['seed'].item()}: not measured yet."
    last = measured.isel(step=-1).stack(pair=("head", "later_head")).dropna("pair")
    head, later = last["pair"].values[int(np.argmax(last.values))]
    return (
        f"Seed {one['seed'].item()}: the strongest pair at step {style.step_text(float(last['step']))} is "
        f"{head} into {later}, {float(last.max()):.3f}, against {start:.3f} at the first."
    )

"""K-composition of heads with heads of later layers (arXiv 2410.02984, Fig. 7)."""

import numpy as np
import xarray as xr

from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.inputs import layers, over_heads
from rllc.figures.panels import Panel, Row, chunks, level, of_heads, seed_suffix, sheet

START = {"linewidth": 0.9, "linestyle": (0, (2, 2)), "color": "#333333"}


@style.styled
def rllc_fig7_kcomposition(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """K-composition score of every pair of heads, a panel per later head, a line per earlier head.

    datasets  ``heads`` with ``k_composition`` (seed, step, head, later_head)
    """
    data = over_heads(datasets, "heads", "k_composition", seeds=seeds)
    data = data.sel(later_head=data["k_composition"].notnull().any(["seed", "step", "head"]))
    layer = dict(zip(data["head"].values.tolist(), data["layer"].values.tolist(), strict=True))
    later, rows, findings = data["later_head"].values.tolist(), [], []
    for seed in data["seed"].values.tolist():
        one = data.sel(seed=seed)
        looks = style.head_styles(one["head_type"])
        start = float(one["k_composition"].isel(step=0).mean(["head", "later_head"]))
        earlier = [head for head in looks if layer[head] < max(layers(data))]
        keys = [
            *style.head_keys(one["head_type"].sel(head=earlier), looks),
            style.key("mean at the first step", **START),
        ]
        for targets in chunks(later, 4):
            panels = []
            for target in targets:
                kind = str(one["head_type"].sel(head=target).item())
                before = {
                    head: look for head, look in looks.items() if layer[head] < int(target.split(":")[0])
                }
                panels.append(
                    Panel(
                        f"into {target} {kind}{seed_suffix(data['seed'], seed)}",
                        of_heads(one.sel(later_head=target), "k_composition", before),
                        {"color": style.TYPE_COLORS[kind]},
                        over=level(start, **START),
                        steps=one["step"].values,
                    )
                )
            rows.append(
                Row("K-composition", panels, keys if targets[0] == later[0] else [], "from head, type")
            )
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
    last = one["k_composition"].isel(step=-1).stack(pair=("head", "later_head")).dropna("pair")
    head, later = last["pair"].values[int(np.argmax(last.values))]
    return (
        f"Seed {one['seed'].item()}: the strongest pair at step {style.step_text(float(one['step'][-1]))} is "
        f"{head} into {later}, {float(last.max()):.3f}, against {start:.3f} at the first."
    )

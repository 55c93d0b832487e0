"""K-composition of heads with heads of later layers (arXiv 2410.02984, Fig. 7; arXiv 2402.02364, Fig. B5)."""

import numpy as np
import xarray as xr

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seed, Seeds
from rllc.figures.panels import Curve, Panel, Row, by_seed, chunks, level, of_heads, sheet
from rllc.figures.stage_bands import OF_BANDS, bands, curves_of, explained, of_llc

START = {"linewidth": 0.9, "linestyle": (0, (2, 2)), "color": "#333333"}


@style.styled
def rllc_fig7_kcomposition(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """K-composition score of every pair of heads, a panel per later head, a line per earlier head."""
    data = inputs.over_heads(datasets, "heads", "k_composition", seeds=seeds)
    data = data.sel(later_head=data["k_composition"].notnull().any(["seed", "step", "head"]))
    layer = dict(zip(data["head"].values.tolist(), data["layer"].values.tolist(), strict=True))
    steps = data["step"].values
    rows = []
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
    figure, _ = sheet(rows, panel=(2.1, 1.9), sharex=True, sharey=True)
    return captions.drawing(
        figure,
        data,
        _strongest(data),
        "K-composition score ||W_QK W_OV||_F / (||W_QK||_F ||W_OV||_F) of each earlier head with each later "
        "head; 1 would be perfect alignment, and the dotted line is the mean over pairs at the first "
        "checkpoint, the chance level.",
    )


def _strongest(data: xr.Dataset) -> str:
    known = data["k_composition"].dropna("step", how="all")
    if not known.sizes["step"]:
        return "Nothing is measured yet."
    step = style.step_text(float(known["step"][-1]))
    most = known.isel(step=-1).stack(pair=("head", "later_head")).dropna("pair", how="all")
    score = captions.spread(most.max("pair").values, ".3f")
    start = captions.spread(data["k_composition"].isel(step=0).mean(["head", "later_head"]).values, ".3f")
    pair = " into ".join(most["pair"].values[int(most.isel(seed=0).argmax("pair"))])
    named = f"{pair}, {score}" if data["seed"].size == 1 else f"at {score}{captions.over(data)}"
    return f"The strongest pair at step {step} is {named}, against a mean of {start} at the first."


@style.styled
def stage_figB5(  # noqa: N802
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None, setting: str = "sampling"
) -> Drawing:
    """K-composition of two previous-token heads and a control with two induction heads and a control.

    The heads of the first layer with the highest previous-token score at the end, and the one with the
    lowest; of the last layer likewise by prefix matching.

    datasets               ``heads``; ``stages`` (without it no boundaries)
    distribution, setting  of the LLC that has the boundaries
    """
    needed = ("k_composition", "previous_token", "prefix_matching")
    data = inputs.of_seed(inputs.over_heads(datasets, "heads", *needed, seeds=None), seed)
    layer = inputs.layers(data)
    earlier = _chosen(data["previous_token"].isel(step=-1).sel(head=inputs.heads_of_layer(data, layer[0])))
    later = _chosen(data["prefix_matching"].isel(step=-1).sel(head=inputs.heads_of_layer(data, layer[-1])))
    start = float(data["k_composition"].isel(step=0).mean())
    cells = curves_of(datasets, data["seed"], distribution, setting)
    under = bands(*cells.values())
    rows, pairs = [], []
    for head in earlier:
        panels = []
        for target in later:
            values = data["k_composition"].sel(head=head, later_head=target, drop=True)
            color = {"color": style.TYPE_COLORS[data["head_type"].sel(head=target).item()]}
            drawn = [Curve(values, color | {"marker": "o"})]
            mean = level(start, **START)
            panels.append(Panel(f"{head} into {target}", drawn, under=under, over=mean))
            pairs.append((float(values[-1]), f"{head} into {target}"))
        rows.append(Row("K-composition", panels))
    figure, _ = sheet(rows, panel=(2.3, 1.7), margin=0.1, sharex=True, sharey=True)
    most, pair = max(pairs)
    return captions.drawing(
        figure, data.sel(later_head=later).expand_dims("seed"),
        f"Of the pairs drawn {pair} K-composes most at the end, {most:.3f}; the mean of all pairs was "
        f"{start:.3f} at the first checkpoint (dotted).",
        f"Rows: heads with the highest previous-token score at the end, {', '.join(earlier[:-1])}, and the "
        f"lowest, {earlier[-1]}. Columns: by prefix matching likewise, {', '.join(later)}.",
        *of_llc(cells),
        details=[explained(OF_BANDS, cells)],
    )  # fmt: skip


def _chosen(score: xr.DataArray) -> list[str]:
    """Two heads of highest score, highest first, and the one of the lowest."""
    order = score["head"].values[np.argsort(-score.values)].tolist()
    return list(dict.fromkeys([*order[:2], order[-1]]))

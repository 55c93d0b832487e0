"""K-composition of heads with heads of later layers (arXiv 2410.02984, Fig. 7; arXiv 2402.02364, Fig. B5)."""

import numpy as np
import xarray as xr

from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seed, Seeds
from rllc.figures.findings import known, over_seeds
from rllc.figures.heads.behind import Stages
from rllc.figures.heads.head_findings import at_end, at_step, described
from rllc.figures.panels import Curve, Panel, Row, by_seed, chunks, level, of_heads, sheet
from rllc.figures.stage_bands import bands, curves_of
from rllc.figures.uncertain import called

START = {"linewidth": 0.9, "linestyle": (0, (2, 2)), "color": "#333333"}


@style.styled
def rllc_fig7_kcomposition(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """K-composition of every pair of heads: a panel per later head, a line per earlier head."""
    data = inputs.over_heads(datasets, "attention_scores", "k_composition", seeds=seeds)
    data = data.sel(later_head=data["k_composition"].notnull().any(["seed", "step", "head"]))
    layer = dict(zip(data["head"].values.tolist(), data["layer"].values.tolist(), strict=True))
    steps = data["step"].values
    rows, stages = [], Stages(datasets, data["seed"])
    for seed, suffix, one in by_seed(data):
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
                title = f"into {target} {called(one['head_type'].sel(head=target))}{suffix}"
                color = {"color": style.TYPE_COLORS[kind]}
                panels.append(Panel(title, curves, color, over=level(start, **START), steps=steps))
            rows.append(Row("K-composition", stages.behind(seed, panels), keys, "from head, type"))
            keys = []
    figure, _ = sheet(rows, panel=(2.1, 1.9), sharex=True, sharey=True)
    return Drawing(
        figure,
        data,
        "K-composition score of each earlier head with each later head, over training.",
        _strongest(data),
        [
            "Score: ||W_QK W_OV||_F / (||W_QK||_F ||W_OV||_F); 1 is perfect alignment, the mean at the first "
            "step chance.",
            *stages.said,
            *conditions.seeds(data),
        ],
    )


def _strongest(data: xr.Dataset) -> list[Finding]:
    """Return the highest pair at the end, the readers of previous-token heads, and the mean at the start."""
    name, pairs = "K-composition", ["head", "later_head"]
    last, first = at_end(data, "k_composition"), data["k_composition"].isel(step=0)
    score = last["k_composition"].transpose("seed", ...)
    when, start = at_step(last), f"at step {int(first['step']):,}"
    each = score.stack(pair=pairs).dropna("pair", how="all")
    found = []
    if each.sizes["seed"] > 1 and each.size:
        found = over_seeds(f"highest {name} {when}", each.max("pair"))
    elif each.size:
        head, target = each["pair"].values[int(each.isel(seed=0).argmax("pair"))]
        pair = " into ".join(described(end, last["head_type"].isel(seed=0)) for end in (head, target))
        found = [Finding(f"{name} of {pair} {when}, the highest", float(each.max()))]
    kinds = last["head_type"]
    later = kinds.rename(head="later_head").sel(later_head=score["later_head"])
    heads = score.where((kinds == "previous-token") & (later == "induction")).mean(pairs)
    induction = over_seeds(f"{name} of previous-token into induction heads {when}, mean of pairs", heads)
    more = [each for each in induction if each.value not in {highest.value for highest in found}]
    null = first.stack(pair=pairs)
    error = null.std("pair", ddof=1) / null.notnull().sum("pair") ** 0.5
    return [*found, *more, *over_seeds(f"{name} {start}, mean of all pairs", null.mean("pair"), error)]


@style.styled
def stage_figB5(  # noqa: N802
    datasets: Datasets, *, distribution: Name = None, seed: Seed = None, setting: str = "sampling"
) -> Drawing:
    """K-composition from two previous-token heads and a control into two induction heads and a control.

    The heads of the first layer with the highest previous-token score at the end, and the one with the
    lowest; of the last layer likewise by prefix matching.

    datasets               ``attention_scores``; ``stages`` (without it no boundaries)
    distribution, setting  of the LLC that has the boundaries
    """
    needed = ("k_composition", "previous_token", "prefix_matching")
    data = inputs.of_seed(inputs.over_heads(datasets, "attention_scores", *needed, seeds=None), seed)
    layer = inputs.layers(data)
    earlier = _chosen(data["previous_token"].isel(step=-1).sel(head=inputs.heads_of_layer(data, layer[0])))
    later = _chosen(data["prefix_matching"].isel(step=-1).sel(head=inputs.heads_of_layer(data, layer[-1])))
    start = float(data["k_composition"].isel(step=0).mean())
    cells = curves_of(datasets, data["seed"], distribution, setting)
    under = bands(*cells.values())
    rows = []
    for head in earlier:
        panels = []
        for target in later:
            values = data["k_composition"].sel(head=head, later_head=target, drop=True)
            color = {"color": style.TYPE_COLORS[data["head_type"].sel(head=target).item()]}
            drawn = [Curve(values, color | {"marker": "o"})]
            mean = level(start, **START)
            panels.append(Panel(f"{head} into {target}", drawn, under=under, over=mean))
        rows.append(Row("K-composition", panels))
    figure, _ = sheet(rows, panel=(2.3, 1.7), margin=0.1, sharex=True, sharey=True)
    drawn = data.sel(later_head=later).expand_dims("seed")
    end = at_end(drawn, "k_composition")
    score = end["k_composition"].isel(seed=0).sel(head=earlier).stack(pair=("head", "later_head"))
    ordered = score.dropna("pair").sortby(score.dropna("pair"), ascending=False)
    first = f"K-composition at step {int(data['step'][0]):,}, mean of all pairs"
    return Drawing(
        figure,
        drawn,
        "K-composition over training of pairs of previous-token and induction heads, and of controls.",
        [
            *(
                Finding(f"K-composition of {head} into {target} {at_step(end)}, {which} drawn", value.item())
                for which, value in (("highest", ordered[:1]), ("lowest", ordered[1:][-1:]))
                for head, target in value["pair"].values
            ),
            *known([Finding(first, start)]),
        ],
        [
            "Heads: the two highest and the lowest by previous-token score in the first layer, by "
            "prefix-matching score in the last.",
            *conditions.seeds(drawn),
        ],
    )


def _chosen(score: xr.DataArray) -> list[str]:
    """Return the two heads with the highest scores, highest first, and the one with the lowest."""
    order = score["head"].values[np.argsort(-score.values)].tolist()
    return list(dict.fromkeys([*order[:2], order[-1]]))

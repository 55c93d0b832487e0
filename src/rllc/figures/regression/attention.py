"""Where a model of in-context regression attends over training (arXiv 2402.02364, Figs. C.8 to C.10)."""

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seed
from rllc.figures.findings import known
from rllc.figures.panels import Curve, Panel, Row, sheet
from rllc.figures.regression.inputs import of_stages, staged

TITLES = {
    "attention_entropy": "Entropy of the attention",
    "attention_variability": "Variability of the attention",
}
SIDES = {"x": 0, "y": 1}  # first query at inputs, and at answers
ASKS = {"x": "inputs", "y": "answers"}  # queries of a side


@style.styled
def stage_figC8(datasets: Datasets, *, seed: Seed = None, setting: str = "sampling") -> Drawing:  # noqa: N802
    """Entropy of each head's attention divided by its maximum, for queries at inputs x and at answers y."""
    return _by_head(datasets, "attention_entropy", "entropy / log k", seed, setting)


@style.styled
def stage_figC9(datasets: Datasets, *, seed: Seed = None, setting: str = "sampling") -> Drawing:  # noqa: N802
    """Variability of each head's attention between sequences, for queries at inputs x and at answers y."""
    return _by_head(datasets, "attention_variability", "variability", seed, setting)


def _by_head(datasets: Datasets, name: str, label: str, seed: Seed, setting: str) -> Drawing:
    source = inputs.need(datasets, "structure", name)
    data = inputs.of_seed(source, seed)[[name]]
    frame = staged(datasets, int(data["seed"]), setting)
    frame["over"] = partial(Axes.set_ylim, bottom=-0.03, top=1.03)
    rows, pairs = [], (data.sizes["query"] + 1) // 2
    last: dict[tuple[str, str], float] = {}  # (head, side) -> last value
    colors = style.shades(pairs)
    for layer in inputs.layers(data):
        for side, first in SIDES.items():
            queries, panels = [q for q in range(first, data.sizes["query"], 2) if q > 0], []
            for head in inputs.heads_of_layer(data, layer):
                values = data[name].sel(head=head)
                curves = [Curve(values.isel(query=q), {"color": colors[q // 2]}) for q in queries]
                panels.append(Panel(f"{head}, {side} asks", curves, **frame))
                last[head, side] = float(values.isel(step=-1, query=queries).mean())
            rows.append(Row(label, panels))
    rows[0] = rows[0]._replace(keys=[style.key(f"pair {k + 1}", color=c) for k, c in enumerate(colors)])
    figure, _ = sheet(rows, panel=(2.1, 1.6), margin=1.0, sharex=True, sharey=True)
    order, step = sorted(last, key=last.__getitem__), int(data["step"][-1])
    chosen = [("lowest", order[0]), ("second lowest", order[1]), ("highest", order[-1])]
    return Drawing(
        figure,
        data,
        f"{TITLES[name]} of every head over training, for inputs (x) and answers (y) as queries.",
        known(
            [
                Finding(f"{label} of head {at[0]}, {ASKS[at[1]]} ask, step {step:,} ({rank})", last[at])
                for rank, at in chosen
            ]
        ),
        [
            "Means over sequences; the last answer is left out.",
            *of_stages(datasets, data["seed"], setting),
            *conditions.seeds(data),
        ],
    )


@style.styled
def stage_figC10(datasets: Datasets, *, seed: Seed = None) -> Drawing:  # noqa: N802
    """Mean attention at the last step of the four heads and query kinds that vary least."""
    source = inputs.need(datasets, "structure", "attention_variability", "attention_mean")
    data = inputs.of_seed(source, seed)[["attention_variability", "attention_mean"]].isel(step=-1)
    varies = {
        (head, side): float(
            data["attention_variability"].sel(head=head).values[first::2][first == 0 :].mean()
        )
        for head in data["head"].values.tolist()
        for side, first in SIDES.items()
    }
    chosen = sorted(varies, key=varies.__getitem__)[:4]
    figure = Figure(figsize=(10.6, 2.0), layout="constrained")
    axes = figure.subplots(1, len(chosen), squeeze=False)[0]
    names = [f"{'xy'[q % 2]}{q // 2 + 1}" for q in range(data.sizes["query"])]
    images = []
    for ax, (head, side) in zip(axes, chosen, strict=True):
        rows = list(range(SIDES[side], data.sizes["query"], 2))
        values = data["attention_mean"].sel(head=head).values[rows]
        images.append(ax.imshow(values, vmin=0, vmax=1, cmap="viridis"))
        ax.set_title(f"{head}, {side} asks: variability {varies[head, side]:.2f}", loc="left")
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
        ax.set_yticks(range(len(rows)), [names[q] for q in rows], fontsize=7)
        ax.set_xlabel("key")
        ax.grid(False)
    axes[0].set_ylabel("query")
    figure.colorbar(images[-1], ax=list(axes), label="mean attention", shrink=1.0)
    drawn = xr.concat(
        [data["attention_mean"].sel(head=head) for head, _ in chosen],
        "panel",
        coords="minimal",
        compat="override",
    )
    table = xr.Dataset(
        {
            "attention_mean": (("panel", "query", "key"), drawn.values),
            "variability": ("panel", np.array([varies[each] for each in chosen])),
        },
        coords={"panel": [" ".join(each) for each in chosen], "seed": data["seed"], "step": data["step"]},
    )
    return Drawing(
        figure,
        table,
        "Mean attention at the end of training, of the heads and queries whose attention varies least.",
        [
            Finding(
                f"variability of head {head}, {ASKS[side]} ask, step {int(data['step']):,}",
                varies[head, side],
            )
            for head, side in chosen
        ],
        ["Means over sequences.", *conditions.seeds(table)],
    )

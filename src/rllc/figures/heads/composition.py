"""K-composition of heads with heads of later layers (arXiv 2410.02984, Fig. 7)."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.inputs import layers, need, of_seeds, types_of


@style.styled
def rllc_fig7_kcomposition(
    datasets: Mapping[str, xr.Dataset], *, seeds: Sequence[int] | None = None
) -> Drawing:
    """K-composition score of every pair of heads, a panel per later head, a line per earlier head.

    datasets  ``heads`` with ``k_composition`` (seed, step, head, later_head)
    """
    heads = of_seeds(need(datasets, "heads", "k_composition"), seeds)
    taken = heads[["k_composition"]].sel(
        later_head=heads["k_composition"].notnull().any(["seed", "step", "head"])
    )
    taken["head_type"] = types_of(datasets, taken["head"], taken["seed"])
    first_layer = dict(zip(taken["head"].values.tolist(), taken["layer"].values.tolist(), strict=True))
    later = taken["later_head"].values.tolist()
    columns = min(4, len(later))
    cells = [
        (seed, later[i : i + columns])
        for seed in taken["seed"].values.tolist()
        for i in range(0, len(later), columns)
    ]
    figure, axes = style.grid(len(cells), columns, panel=(2.1, 1.9), sharex=True, sharey=True)
    level = _start(taken)
    for line, (seed, row) in zip(axes, cells, strict=True):
        one = taken.sel(seed=seed)
        styles = style.head_styles(one["head_type"])
        for ax in line[len(row) :]:
            ax.set_visible(False)
        for ax, target in zip(line, row, strict=False):
            earlier = [head for head in styles if first_layer[head] < int(target.split(":")[0])]
            for head in earlier:
                style.curve(ax, one["k_composition"].sel(head=head, later_head=target), **styles[head])
            ax.axhline(level[seed], color="#333333", linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
            kind = str(one["head_type"].sel(head=target).item())
            seed_text = f", seed {seed}" if taken.sizes["seed"] > 1 else ""
            ax.set_title(f"into {target} {kind}{seed_text}", loc="left", color=style.TYPE_COLORS[kind])
            style.step_axis(ax, one["step"].values)
        line[0].set_ylabel("K-composition")
        earlier = [head for head in styles if first_layer[head] < max(layers(taken))]
        entries = style.head_keys(one["head_type"].sel(head=earlier), styles)
        dotted = style.key("mean at the first step", color="#333333", linewidth=0.9, linestyle=(0, (2, 2)))
        if row[0] == later[0]:
            style.beside(line[-1], [*entries, dotted], title="from head, type")
    caption = captions.joined(
        "K-composition score ||W_QK W_OV||_F / (||W_QK||_F ||W_OV||_F) of each earlier head with each "
        "later head against training step; a score of 1 would be perfect alignment, and the dotted line "
        "is the mean over pairs at the first checkpoint, the chance level.",
        *(_strongest(taken.sel(seed=seed), level[seed]) for seed in taken["seed"].values.tolist()),
        captions.types(taken["head_type"]),
        captions.seeds(taken),
    )
    return Drawing(figure, taken, caption)


def _start(taken: xr.Dataset) -> dict[int, float]:
    first = taken["k_composition"].isel(step=0).mean(["head", "later_head"])
    return dict(zip(first["seed"].values.tolist(), first.values.tolist(), strict=True))


def _strongest(one: xr.Dataset, level: float) -> str:
    last = one["k_composition"].isel(step=-1).stack(pair=("head", "later_head")).dropna("pair")
    head, later = last["pair"].values[int(np.argmax(last.values))]
    return (
        f"Seed {one['seed'].item()}: the strongest pair at step {style.step_text(float(one['step'][-1]))} is "
        f"{head} into {later}, {float(last.max()):.3f}, against {level:.3f} at the first."
    )

"""What a newcomer looks at first: refined LLCs tell heads apart (arXiv 2410.02984, Fig. 1)."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.ranks import spearman
from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seed
from rllc.figures.heads.clusters import look_of
from rllc.figures.panels import Panel, draw, of_heads, together

MULTIGRAM = "other"  # the type of a head that is no other
KINDS = {"other": "multigram"}  # what the paper calls a type


@style.styled
def rllc_fig1_overview(
    datasets: Datasets,
    *,
    distribution: Name = None,
    seed: Seed = None,
    algorithm: str = "euclidean_kmeans",
    n_clusters: int | None = None,
    layer: int = 1,
) -> Drawing:
    """Refined LLCs of one layer by cluster and by type, and at the end against what heads memorise.

    datasets    ``rllc``, ``clusters``, ``tokens`` (``multigrams``), ``heads`` (types)
    n_clusters  default: as many as the layer has types, where clusters.nc has that, else the fewest
    layer       whose curves are drawn; its heads are filled points in the last panel, all others hollow
    """
    clusters = inputs.of_seed(inputs.need(datasets, "clusters", "cluster"), seed)
    which = clusters["seed"].item()
    rllc = inputs.over_heads(datasets, "rllc", "rllc", also=("rllc_se", "verdict", "status"), seeds=[which])
    name = inputs.one_distribution(rllc, distribution)
    tokens = inputs.of_seeds(inputs.need(datasets, "tokens", "multigrams"), [which])
    data = rllc.sel(distribution=name)
    last = tokens["multigrams"].isel(step=-1, drop=True).reset_coords(drop=True)
    one = data.assign(multigrams=last.reindex(head=data["head"])).isel(seed=0)
    own = inputs.of_layer(one, layer)
    present = clusters["n_clusters"].values.tolist()
    count = n_clusters or len({*own["head_type"].values})
    count = count if count in present else min(present)
    group = clusters["cluster"].sel(algorithm=algorithm, n_clusters=count, head=own["head"].values)
    by_cluster = {
        str(head): look_of(int(k)) for head, k in zip(own["head"].values, group.values, strict=True)
    }
    looks = style.head_styles(one["head_type"])
    by_type = {head: looks[head] for head in by_cluster}
    figure, (axes,) = style.grid(1, 3, panel=(3.4, 3.1), margin=0.3)
    title = f"layer {layer} by cluster, k = {count}"
    draw(axes[0], Panel(title, of_heads(own, "rllc", by_cluster)))
    draw(axes[1], Panel(f"layer {layer} by type", of_heads(own, "rllc", by_type)))
    axes[0].set_ylabel("refined LLC")
    together(axes[:2])
    groups = {int(k): group["head"].values[group.values == k].tolist() for k in np.unique(group.values)}
    _below(axes[0], [style.key(" ".join(heads), **look_of(k)) for k, heads in groups.items()])
    _below(axes[1], [style.key(_called(h, own), **look) for h, look in by_type.items()])
    _memory(axes[2], one, layer)
    figure.draw_without_rendering()  # legends change the height, so the ticks, so the width of their labels
    return _drawing(datasets, figure, one.expand_dims("seed"), own, groups, count)


def _below(ax: Axes, keys: list) -> None:
    """A legend under the panel."""
    columns = 2 if len(keys) > 3 else 1
    ax.legend(
        handles=keys,
        loc="upper left",
        bbox_to_anchor=(0.0, -0.2),
        ncols=columns,
        fontsize=7,
        borderaxespad=0,
    )


def _called(head: str, own: xr.Dataset) -> str:
    kind = own["head_type"].sel(head=head).item()
    return f"{head}  {KINDS.get(kind, kind)}"


def _memory(ax: Axes, one: xr.Dataset, layer: int) -> None:
    """Refined LLC at the end against the count of multigrams, every head by its type's colour."""
    end = one.isel(step=-1)
    kinds = [kind for kind in style.TYPE_COLORS if kind in end["head_type"].values]
    for kind in kinds:
        for filled in (True, False):
            mask = (end["head_type"] == kind) & ((end["layer"] == layer) == filled)
            cell = end.isel(head=np.flatnonzero(mask))
            color = style.TYPE_COLORS[kind]
            error = cell["rllc_se"].values if "rllc_se" in cell else None
            look = {"markerfacecolor": color if filled else "white", "markersize": 5, "linewidth": 0.9}
            ax.errorbar(cell["multigrams"], cell["rllc"], error, fmt="o", color=color, **look)
            for head, x, y in zip(
                cell["head"].values, cell["multigrams"].values, cell["rllc"].values, strict=True
            ):
                if np.isfinite(x + y):
                    place = {"xytext": (5, 3), "textcoords": "offset points", "fontsize": 6.5, "color": color}
                    ax.annotate(str(head), (x, y), **place)
    ax.set_title(f"at step {style.step_text(float(end['step']))}", loc="left")
    ax.set_xlabel("multigrams memorised (different forms)")
    ax.set_ylabel("refined LLC")
    ax.margins(x=0.15, y=0.12)
    plain = {"marker": "o", "linestyle": "none", "markersize": 5}
    keys = [style.key(KINDS.get(kind, kind), color=style.TYPE_COLORS[kind], **plain) for kind in kinds]
    keys.append(style.key("other layers: hollow", color="#333333", markerfacecolor="white", **plain))
    _below(ax, keys)


def _drawing(
    datasets: Datasets,
    figure: style.Figure,
    data: xr.Dataset,
    own: xr.Dataset,
    groups: dict[int, list[str]],
    count: int,
) -> Drawing:
    end = data.isel(step=-1, seed=0)
    many = end.isel(head=np.flatnonzero((end["head_type"] == MULTIGRAM) & end["multigrams"].notnull()))
    rank = spearman(many["multigrams"].values, many["rllc"].values)
    order = own.isel(step=-1)["rllc"]
    conditions, details = captions.of_estimates(datasets["rllc"], data, "rllc")
    members = " | ".join(" ".join(heads) for heads in groups.values())
    said = f"ρ = {rank:.2f} over {many.sizes['head']} heads" if np.isfinite(rank) else "too few heads to say"
    return captions.drawing(
        figure,
        data,
        f"K-means with k = {count} groups the curves of this layer as {members}; at the end the highest is "
        f"{captions.highest(order)}.",
        f"Multigrams (brackets, skip n-grams, n-grams among a head's tokens in context) and the refined LLC "
        f"of multigram heads of all layers: {said} (Spearman).",
        f"On {inputs.one_label(datasets['rllc'], data['distribution'].item())}.",
        "Types are by attention scores; multigram heads are those that they give no other type.",
        conditions=conditions,
        details=details,
    )

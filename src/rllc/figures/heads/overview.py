"""Overview: refined LLCs tell heads apart (arXiv 2410.02984, Fig. 1)."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.multigrams import SCOPES
from rllc.analysis.partitions import adjusted_rand
from rllc.analysis.recorded import recorded
from rllc.figures import conditions, inputs, naming, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seed
from rllc.figures.findings import known
from rllc.figures.heads.behind import Stages
from rllc.figures.heads.clusters import NAMES
from rllc.figures.heads.clusters_named import look_of
from rllc.figures.heads.head_findings import at_end, highest
from rllc.figures.heads.memorisation import NUMBERS as CORRELATION
from rllc.figures.panels import Panel, draw, named_below, of_heads, together
from rllc.figures.uncertain import mark

BOTH = SCOPES[-1]


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
    """Refined LLCs of one layer by cluster and by type; at the last step, against multigrams memorised.

    datasets    ``rllc``, ``clusters``, ``tokens`` (``multigrams``), ``classification`` (the correlation),
                ``attention_scores`` (types)
    n_clusters  default: the number of types of the clustered heads if clusters.nc has it, else the smallest
    layer       layer of the curves; its heads are filled points in the last panel, all others hollow
    """
    clusters = inputs.of_seed(inputs.need(datasets, "clusters", "cluster"), seed)
    which = clusters["seed"].item()
    rllc = inputs.over_heads(datasets, "rllc", "rllc", also=("rllc_se", "quality", "status"), seeds=[which])
    name = inputs.one_distribution(rllc, distribution)
    tokens = inputs.of_seeds(inputs.need(datasets, "tokens", "multigrams"), [which])
    data = rllc.sel(distribution=name)
    last = tokens["multigrams"].isel(step=-1)
    many = last.reset_coords(drop=True).drop_vars("step", errors="ignore")
    one = data.assign(multigrams=many.reindex(head=data["head"])).isel(seed=0)
    one = one.assign(_correlation(datasets, last, name))
    own = inputs.of_layer(one, layer)
    group = clusters["cluster"].sel(algorithm=algorithm, head=own["head"].values)
    group = group.sel(n_clusters=_number(clusters, one, own, n_clusters))
    looks = style.head_styles(one["head_type"])
    by_type = {head: looks[head] for head in own["head"].values.tolist()}
    by_cluster = {head: look_of(int(group.sel(head=head))) for head in by_type}
    figure, (axes,) = style.grid(1, 3, panel=(2.75, 2.75), margin=0.3)
    groups = {int(k): group["head"].values[group.values == k].tolist() for k in np.unique(group.values)}
    count, shown = group["n_clusters"].item(), sum(k >= 0 for k in groups)
    of_all = f"{shown} of " if shown < count else ""
    title = f"layer {layer}, coloured by cluster ({of_all}k = {count})"
    by_group = Panel(title, of_heads(own, "rllc", by_cluster))
    by_kind = Panel(f"layer {layer}, coloured by type", of_heads(own, "rllc", by_type))
    stages = Stages(datasets, rllc["seed"])
    for ax, panel in zip(axes, stages.behind(which, [by_group, by_kind]), strict=False):
        draw(ax, panel)
    axes[0].set_ylabel("refined LLC")
    together(axes[:2])
    _below(axes[0], [style.key(" ".join(heads), **look_of(k)) for k, heads in groups.items()], columns=1)
    kinds = [kind for kind in style.TYPE_COLORS if kind in one["head_type"].values]
    _below(axes[1], [style.key(kind, color=style.TYPE_COLORS[kind], linewidth=2.4) for kind in kinds])
    _memory(axes[2], one, layer)
    named_below(figure, axes)  # before the labels of heads are placed
    _names(axes, one, own, by_cluster, by_type)
    return _drawing(datasets, figure, one.expand_dims("seed"), own, group)


def _number(clusters: xr.Dataset, one: xr.Dataset, own: xr.Dataset, wanted: int | None) -> int:
    """Return the number of clusters to show."""
    scope = clusters["head_scope"]
    together = scope["head"].values[scope.isin(scope.sel(head=own["head"].values)).values]
    types = {*one["head_type"].sel(head=together).values.tolist()}
    present = clusters["n_clusters"].values.tolist()
    count = wanted or len(types)
    return count if count in present else min(present)


def _correlation(datasets: Datasets, last: xr.DataArray, name: str) -> dict[str, xr.DataArray]:
    """Return the correlation of multigram heads of both layers at the end, if it is on this distribution."""
    made = datasets.get("classification")
    if made is None or recorded(made, "classification").get("distribution", name) != name:
        return {}
    cell = made[CORRELATION].sel(seed=last["seed"].values[0], step=last["step"].item(), scope=[BOTH])
    return {str(each): values for each, values in cell.reset_coords(drop=True).data_vars.items()}


def _below(ax: Axes, keys: list, columns: int = 2) -> None:
    """Draw a legend under the panel."""
    ax.legend(
        handles=keys, loc="upper left", bbox_to_anchor=(0.0, -0.2), ncols=columns, fontsize=7, borderaxespad=0
    )


def _memory(ax: Axes, one: xr.Dataset, layer: int) -> None:
    """Draw the refined LLC at the end against the count of multigrams, every head in its type's colour."""
    end = one.isel(step=-1)
    for head in end["head"].values.tolist():
        cell = end.sel(head=head)
        color = style.TYPE_COLORS[cell["head_type"].item()]
        error = float(cell["rllc_se"]) if "rllc_se" in cell else None
        filled = color if cell["layer"] == layer else "white"
        look = {"markerfacecolor": filled, "markersize": 5, "linewidth": 0.9}
        ax.errorbar(float(cell["multigrams"]), float(cell["rllc"]), error, fmt="o", color=color, **look)
    ax.set_title(f"all heads at step {style.step_text(float(end['step']))}", loc="left")
    ax.set_xlabel("multigrams memorised (different forms)")
    ax.set_ylabel("refined LLC")
    ax.margins(x=0.15, y=0.12)
    if "multigram_spearman" in one:
        rank, p, count = (
            float(one[f"multigram_spearman{part}"].sel(scope=BOTH)) for part in ("", "_p", "_heads")
        )
        said = f"ρ = {rank:.2f}, p = {p:.2g}" if np.isfinite(rank + p) else "too few to correlate"
        place = {"transform": ax.transAxes, "ha": "right", "va": "top", "fontsize": 7}
        ax.text(0.99, 0.99, f"{count:.0f} multigram heads:\n{said}", **place)
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.12 * (high - low))
    others = ", ".join(str(n) for n in inputs.layers(one) if n != layer)
    plain = {"marker": "o", "linestyle": "none", "markersize": 5, "color": "#333333"}
    keys = [
        style.key(f"layer {layer}", **plain),
        style.key(f"layer {others}", markerfacecolor="white", **plain),
    ]
    _below(ax, keys)


def _names(axes: np.ndarray, one: xr.Dataset, own: xr.Dataset, by_cluster: dict, by_type: dict) -> None:
    """Place the label of each head at the end of its curve and beside its point, "?" at uncertain types."""
    known = own["rllc"].dropna("step", how="all")
    named = {str(head): f"{head}{mark(one['head_type'].sel(head=head))}" for head in one["head"].values}
    plain = {head: head for head in named}
    for ax, looks, names in zip(axes, (by_cluster, by_type), (plain, named), strict=False):
        ends = known.isel(step=slice(-1, None))
        naming.at_ends(
            ax,
            [
                naming.Named(names[head], float(step), float(ends.sel(head=head, step=step)), look["color"])
                for head, look in looks.items()
                for step in ends["step"].values
            ],
        )
    end = one.isel(step=-1)
    colors = [style.TYPE_COLORS[kind] for kind in end["head_type"].values]
    columns = (named.values(), end["multigrams"].values, end["rllc"].values, colors)
    naming.beside_points(axes[2], [naming.Named(*each) for each in zip(*columns, strict=True)])


def _drawing(
    datasets: Datasets, figure: style.Figure, data: xr.Dataset, own: xr.Dataset, group: xr.DataArray
) -> Drawing:
    end = at_end(own, "rllc").expand_dims("seed")
    method = NAMES.get(group["algorithm"].item(), group["algorithm"].item())
    layer, label = own["layer"].values[0], inputs.one_label(datasets["rllc"], data["distribution"].item())
    found = highest(end, "rllc", "rLLC", f"of layer {layer}")
    count, shown = group["n_clusters"].item(), len({*group.values[group.values >= 0].tolist()})
    found.append(Finding(f"clusters with heads of layer {layer}, of k = {count}", shown))
    index = adjusted_rand(group.values, own["head_type"].sel(head=group["head"]).values)
    found.append(Finding(f"adjusted Rand index of clusters and types in layer {layer}", index))
    if "multigram_spearman" in data:
        cell = data.sel(scope=BOTH).isel(seed=0)
        heads = f"{float(cell['multigram_spearman_heads']):.0f} multigram heads"
        rho = Finding(
            f"Spearman correlation ρ of rLLC and multigrams, {heads}", float(cell["multigram_spearman"])
        )
        found += [rho, Finding("p of that correlation", float(cell["multigram_spearman_p"]))]
    return Drawing(
        figure,
        data,
        f"rLLC of layer {layer} by cluster and by type, and of all heads against multigrams, on {label}.",
        known(found),
        [
            f"Clusters: {method} of the rLLC curves of {group['head_scope'].values[0]}.",
            "Types: by attention scores; multigram heads have no other.",
            *Stages(datasets, data["seed"]).said,
            "Multigrams: different brackets, skip n-grams and n-grams among a head's tokens in context.",
            *conditions.of_estimates(datasets["rllc"], data, "rllc"),
        ],
    )

"""Multigrams against the refined LLC (arXiv 2410.02984, Fig. 11)."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.multigrams import FEWEST
from rllc.analysis.recorded import recorded
from rllc.figures import conditions, inputs, naming, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seeds
from rllc.figures.findings import over_seeds
from rllc.figures.heads.head_findings import at_end, at_step

NUMBERS = [f"multigram_spearman{part}" for part in ("", "_low", "_high", "_p", "_heads")]
LAYERS = 4  # largest number of them with a finding each
ALPHA = 0.05  # largest p of a significant correlation
LINE = {"color": "#666666", "linewidth": 1.0, "linestyle": (0, (4, 2)), "zorder": 1}
LEAST_SQUARES = "Dashed: least squares, which a single head can tilt, unlike ρ."


@style.styled
def rllc_fig11_memorisation(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """Refined LLC of multigram heads against their multigrams. Rows: steps. Columns: layers 0, 1, both.

    datasets  ``classification`` has the correlations, and in its settings the distribution
    """
    tokens = inputs.over_heads(
        datasets, "tokens", "multigrams", "multigrams_chance", "multigrams_half", seeds=seeds
    )
    found = inputs.of_seeds(inputs.need(datasets, "classification", "multigram_spearman"), seeds)
    rllc = inputs.need(datasets, "rllc", "rllc", "rllc_se")
    name = recorded(datasets["classification"], "classification").get("distribution")
    name = inputs.one_distribution(rllc, name)
    at = {dim: tokens[dim] for dim in ("seed", "step", "head")}
    estimates = rllc[["rllc", "rllc_se"]].sel(distribution=name).sel(at)
    data = tokens.drop_vars("text", errors="ignore").assign(estimates.drop_vars("distribution").data_vars)
    data = data.assign(found[NUMBERS].data_vars)
    scopes = found["scope"].values.tolist()
    steps = data["step"].values.tolist()
    figure, axes = style.grid(
        len(steps), len(scopes), panel=(2.7, 2.3), margin=1.3, sharex=True, sharey="row"
    )
    colors = style.shades(data.sizes["seed"])
    looks = {seed: style.numbered(n, colors[n]) for n, seed in enumerate(data["seed"].values.tolist())}
    points = {}
    for row, step in zip(axes, steps, strict=True):
        for ax, scope in zip(row, scopes, strict=True):
            points[ax] = _panel(ax, data.sel(step=step), scope, looks)
            ax.set_title(f"{scope}, step {step:,}", loc="left", pad=5 + 9 * len(looks))
        row[0].set_ylabel(f"refined LLC, {style.short(inputs.one_label(rllc, name), 18)}")
    for ax in axes[-1]:
        ax.set_xlabel("multigrams (different forms)")
    keys = [style.key(f"seed {seed}", **(look | {"linestyle": "none"})) for seed, look in looks.items()]
    chance = style.key("count by chance", color="#8a8a8a", marker="|", linestyle="none", markersize=7)
    fit = style.key("least squares", **LINE)
    style.beside(axes[0, -1], [*keys, chance, *([fit] if _fitted(data, looks).any() else [])])
    for ax, named in points.items() if len(looks) == 1 else ():  # for several seeds there are too many labels
        naming.beside_points(ax, named)
    label = inputs.one_label(rllc, name)
    return Drawing(
        figure,
        data,
        f"rLLC of multigram heads on {label} against the multigrams that they memorise.",
        _findings(data),
        [
            "Multigrams: different brackets, skip n-grams and n-grams among a head's tokens in context.",
            "Horizontal bars: one standard deviation over random halves of the tokens; vertical: one Monte "
            "Carlo standard error.",
            *([LEAST_SQUARES] if _fitted(data, looks).any() else []),
            "Intervals of ρ (95 %) hold both errors, not the choice of heads.",
            f"Below {FEWEST} heads no interval is shown.",
            *conditions.seeds(data),
        ],
    )


def _fitted(one: xr.Dataset, looks: dict) -> xr.DataArray:
    """Return where a line is drawn: in cells of one seed with enough heads for a p-value."""
    return (one["multigram_spearman_heads"] >= FEWEST) & (len(looks) == 1)


def _panel(ax: Axes, one: xr.Dataset, scope: str, looks: dict) -> list[naming.Named]:
    """Draw the multigram heads of one scope at one step, and return their labels."""
    words, named = [], []
    for seed, look in looks.items():
        cell = one.sel(seed=seed)
        of_layer = True if scope.startswith("both") else cell["layer"] == int(scope[-1])
        cell = cell.isel(head=np.flatnonzero((cell["head_type"] == "multigram") & of_layer))
        x, y = cell["multigrams"].values, cell["rllc"].values
        spread = cell["multigrams_half"].std("half").values
        ax.errorbar(
            x,
            y,
            cell["rllc_se"].values,
            spread,
            fmt=look["marker"],
            color=look["color"],
            linewidth=0.8,
            markersize=4.5,
        )
        named += [naming.Named(*each, look["color"]) for each in zip(cell["head"].values, x, y, strict=True)]
        low = {"transform": ax.get_xaxis_transform(), "color": "#8a8a8a", "marker": "|", "linestyle": "none"}
        ax.plot(cell["multigrams_chance"].values, np.full(x.size, 0.03), markersize=7, **low)
        said = correlation(cell, scope)
        words.append(f"seed {seed}: {said}" if len(looks) > 1 else said)
        if _fitted(cell.sel(scope=scope), looks):
            slope, level = np.polyfit(x, y, 1)
            ends = np.asarray([x.min(), x.max()])
            ax.plot(ends, level + slope * ends, **LINE)
    ax.text(0.0, 1.02, "\n".join(words), transform=ax.transAxes, va="bottom", fontsize=6.5)
    ax.margins(x=0.12, y=0.18)
    return named


def correlation(cell: xr.Dataset, scope: str) -> str:
    """Return the correlation; with at least ``FEWEST`` heads its interval, and p if it is known."""
    numbers = {
        part: float(cell[f"multigram_spearman{part}"].sel(scope=scope))
        for part in ("", "_low", "_high", "_p")
    }
    heads = cell["multigram_spearman_heads"].sel(scope=scope).item()
    if not np.isfinite(numbers[""]):
        return f"{heads:.0f} heads: no correlation"
    shown = heads >= FEWEST and np.isfinite(numbers["_low"])  # redrawn ranks of fewer heads rarely change
    between = f" ({numbers['_low']:.2f} to {numbers['_high']:.2f})" if shown else ""
    p = f", p = {numbers['_p']:.2g}" if np.isfinite(numbers["_p"]) else ""
    return f"ρ = {numbers['']:.2f}{between}{p}, {heads:.0f} heads"


def _findings(data: xr.Dataset) -> list[Finding]:
    """Return the correlations at the last step of all multigram heads and within layers.

    For one seed with the p of all heads, for several with the number of seeds whose p is at most ``ALPHA``.
    """
    last = at_end(data, "multigram_spearman")
    *layered, whole = last["scope"].values.tolist()
    p = last["multigram_spearman_p"].sel(scope=whole)
    label = f"Spearman correlation ρ of rLLC and multigrams {at_step(last)}"
    found = _rho(label, last, whole)
    if p.sizes["seed"] == 1:
        found += over_seeds(f"p of that correlation, {whole}", p)
    elif p.notnull().any():
        total = int(p.notnull().sum())
        found.append(Finding(f"seeds, of {total}, with p ≤ {ALPHA:g}", int((p <= ALPHA).sum())))
    for scope in layered[:LAYERS]:
        found += _rho(label, last, scope)
    return found


def _rho(label: str, last: xr.Dataset, scope: str) -> list[Finding]:
    """Return the correlation of a scope; for one seed with the number of its heads."""
    cell = last.sel(scope=scope)
    heads = cell["multigram_spearman_heads"]
    of_heads = f", {heads.item():.0f} heads" if heads.sizes["seed"] == 1 else ""
    return over_seeds(f"{label}, {scope}{of_heads}", cell["multigram_spearman"])

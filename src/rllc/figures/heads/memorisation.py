"""Multigrams against the refined LLC (arXiv 2410.02984, Fig. 11)."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.multigrams import FEWEST
from rllc.figures import captions, inputs, naming, style
from rllc.figures.drawing import Datasets, Drawing, Seeds

NUMBERS = [f"multigram_spearman{part}" for part in ("", "_low", "_high", "_p", "_heads")]
ALPHA = 0.05  # p up to which a correlation is more than chance
LINE = {"color": "#666666", "linewidth": 1.0, "linestyle": (0, (4, 2)), "zorder": 1}
LEAST_SQUARES = "Dashed: least squares, which one far head can tilt; ρ, by ranks, it cannot."


@style.styled
def rllc_fig11_memorisation(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """Refined LLC of multigram heads against their count of multigrams: rows steps, columns layers, both.

    datasets  ``classification`` has the correlations, and in its settings the distribution
    """
    tokens = inputs.over_heads(
        datasets, "tokens", "multigrams", "multigrams_chance", "multigrams_half", seeds=seeds
    )
    found = inputs.of_seeds(inputs.need(datasets, "classification", "multigram_spearman"), seeds)
    rllc = inputs.need(datasets, "rllc", "rllc", "rllc_se")
    name = captions.recorded(datasets["classification"], "classification").get("distribution")
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
    for ax, named in points.items() if len(looks) == 1 else ():  # of several seeds they are too many
        naming.beside_points(ax, named)
    findings, each = _findings(data, steps[-1])
    return captions.drawing(
        figure,
        data,
        *findings,
        "Refined LLC of multigram heads, those that attention scores give no other type, against how many "
        "different brackets, skip n-grams and n-grams explain their tokens in context.",
        "Ticks below: the count of positions drawn at random.",
        conditions=[
            "Horizontal bars: one standard deviation over random halves of the tokens; vertical: one Monte "
            "Carlo standard error.",
            captions.when(_fitted(data, looks).any(), LEAST_SQUARES),
            "Correlations: Spearman's; intervals of 95 % hold both errors, not which heads there are.",
        ],
        details=[
            *each,
            "A count grows with the number of tokens kept, the same for all heads. p is the share of "
            f"orders of the heads with a correlation at least as large, given for {FEWEST} heads or more.",
        ],
    )


def _fitted(one: xr.Dataset, looks: dict) -> xr.DataArray:
    """Where a line is drawn: of one seed, with heads enough for a p."""
    return (one["multigram_spearman_heads"] >= FEWEST) & (len(looks) == 1)


def _panel(ax: Axes, one: xr.Dataset, scope: str, looks: dict) -> list[naming.Named]:
    """The multigram heads of one scope at one step; returns their names."""
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
    """The correlation with its interval, and p where there is one."""
    numbers = {
        part: float(cell[f"multigram_spearman{part}"].sel(scope=scope))
        for part in ("", "_low", "_high", "_p")
    }
    heads = cell["multigram_spearman_heads"].sel(scope=scope).item()
    if not np.isfinite(numbers[""]):
        return f"{heads:.0f} heads: no correlation"
    between = f" ({numbers['_low']:.2f} to {numbers['_high']:.2f})" if np.isfinite(numbers["_low"]) else ""
    p = f", p = {numbers['_p']:.2g}" if np.isfinite(numbers["_p"]) else ""
    return f"ρ = {numbers['']:.2f}{between}{p}, {heads:.0f} heads"


def _findings(data: xr.Dataset, step: int) -> tuple[list[str], list[str]]:
    """Findings and details: the correlations at the last step, of all heads, and within layers."""
    *layered, whole = data["scope"].values.tolist()
    first, more, seeds = [], [], data["seed"].values.tolist()
    for seed in seeds:
        one = data.sel(step=step, seed=seed)
        p = float(one["multigram_spearman_p"].sel(scope=whole))
        known = "" if p <= ALPHA else "do not clearly " if np.isfinite(p) else "may or may not "
        first.append(
            f"At step {step:,} (seed {seed}) heads with more multigrams {known}have a larger refined LLC: "
            f"{correlation(one, whole)}."
        )
        parts = [f"{scope} {correlation(one, scope)}" for scope in layered]
        more.append(f"Within layers (seed {seed}): {'; '.join(parts)}.")
    last = data.sel(step=step)
    clear = int((last["multigram_spearman_p"].sel(scope=whole) <= ALPHA).sum())
    rho = {
        scope: captions.spread(last["multigram_spearman"].sel(scope=scope).values, ".2f")
        for scope in (whole, *layered)
    }
    of_all = (
        f"At step {step:,} heads with more multigrams have a larger refined LLC in {clear} of {len(seeds)} "
        f"seeds (p at most {ALPHA:g}): ρ = {rho[whole]}; "
        f"within layers {', '.join(f'{scope} {rho[scope]}' for scope in layered)}."
    )
    together, details = captions.of_seeds(of_all, first)
    return ([*together, *more], []) if len(seeds) == 1 else (together, [*details, *more])

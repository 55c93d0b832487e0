"""Multigrams against the refined LLC (arXiv 2410.02984, Fig. 11)."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Seeds

MULTIGRAM = "other"  # the type of a head that is no other


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
    numbers = [f"multigram_spearman{part}" for part in ("", "_low", "_high", "_p", "_heads")]
    data = data.assign(found[numbers].data_vars)
    scopes = found["scope"].values.tolist()
    steps = data["step"].values.tolist()
    figure, axes = style.grid(
        len(steps), len(scopes), panel=(2.7, 2.3), margin=1.3, sharex=True, sharey="row"
    )
    looks = dict(zip(data["seed"].values.tolist(), style.shades(data.sizes["seed"]), strict=True))
    for row, step in zip(axes, steps, strict=True):
        for ax, scope in zip(row, scopes, strict=True):
            _panel(ax, data.sel(step=step), scope, looks)
            ax.set_title(f"{scope}, step {step:,}", loc="left")
        row[0].set_ylabel(f"refined LLC, {style.short(inputs.one_label(rllc, name), 18)}")
    for ax in axes[-1]:
        ax.set_xlabel("multigrams (different forms)")
    keys = [
        style.key(f"seed {seed}", color=color, marker="o", linestyle="none") for seed, color in looks.items()
    ]
    chance = style.key("by chance", color="#8a8a8a", marker="|", linestyle="none", markersize=7)
    style.beside(axes[0, -1], [*keys, chance])
    return captions.drawing(
        figure,
        data,
        *_findings(data, steps[-1]),
        "Refined LLC of multigram heads, those that attention scores give no other type, against how many "
        "different brackets, skip n-grams and n-grams explain their tokens in context.",
        "Ticks below: the count of positions drawn at random.",
        conditions=[
            "Horizontal bars: one standard deviation over random halves of the tokens; vertical: one Monte "
            "Carlo standard error.",
            "Correlations: Spearman's; intervals of 95 % hold both errors, not which heads there are.",
        ],
        details=[
            "A count grows with the number of tokens kept, the same for all heads. p is the share of "
            "orders of the heads with a correlation at least as large, given for five heads or more; a line "
            "is drawn then."
        ],
    )


def _panel(ax: Axes, one: xr.Dataset, scope: str, looks: dict) -> None:
    """The multigram heads of one scope at one step."""
    words = []
    for seed, color in looks.items():
        cell = one.sel(seed=seed)
        of_layer = True if scope.startswith("both") else cell["layer"] == int(scope[-1])
        cell = cell.isel(head=np.flatnonzero((cell["head_type"] == MULTIGRAM) & of_layer))
        x, y = cell["multigrams"].values, cell["rllc"].values
        spread = cell["multigrams_half"].std("half").values
        ax.errorbar(x, y, cell["rllc_se"].values, spread, fmt="o", color=color, linewidth=0.8, markersize=4.5)
        for label, a, b in zip(cell["head"].values, x, y, strict=True):
            if np.isfinite(a + b):
                ax.annotate(
                    label, (a, b), xytext=(4, 4), textcoords="offset points", fontsize=6.5, color=color
                )
        low = {"transform": ax.get_xaxis_transform(), "color": "#8a8a8a", "marker": "|", "linestyle": "none"}
        ax.plot(cell["multigrams_chance"].values, np.full(x.size, 0.03), markersize=7, **low)
        correlation = _said(cell, scope)
        words.append(f"seed {seed}: {correlation}" if len(looks) > 1 else correlation)
        if cell["multigram_spearman_heads"].sel(scope=scope) >= 5 and len(looks) == 1:
            slope, level = np.polyfit(x, y, 1)
            ends = np.asarray([x.min(), x.max()])
            ax.plot(ends, level + slope * ends, color="#333333", linewidth=1.0, zorder=1)
    ax.text(0.02, 0.98, "\n".join(words), transform=ax.transAxes, va="top", fontsize=6.5)
    ax.margins(x=0.12, y=0.18)


def _said(cell: xr.Dataset, scope: str) -> str:
    """The correlation with its interval, and p where there is one."""
    numbers = {
        part: float(cell[f"multigram_spearman{part}"].sel(scope=scope))
        for part in ("", "_low", "_high", "_p")
    }
    heads = cell["multigram_spearman_heads"].sel(scope=scope).item()
    if not np.isfinite(numbers[""]):
        return f"{heads:.0f} heads: no correlation"
    between = f" ({numbers['_low']:.2f} to {numbers['_high']:.2f})" if np.isfinite(numbers["_low"]) else ""
    p = f", p = {numbers['_p']:.2f}" if np.isfinite(numbers["_p"]) else ""
    return f"ρ = {numbers['']:.2f}{between}{p}, {heads:.0f} heads"


def _findings(data: xr.Dataset, step: int) -> Sequence[str]:
    last = data.sel(step=step)
    for seed in data["seed"].values.tolist():
        parts = [f"{scope} {_said(last.sel(seed=seed), scope)}" for scope in data["scope"].values.tolist()]
        yield f"At step {step:,} (seed {seed}): {'; '.join(parts)}."

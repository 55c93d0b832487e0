"""Rank of the Hessian over training (arXiv 2410.02984, Fig. 16)."""

from collections.abc import Callable

import xarray as xr
from matplotlib.axes import Axes

from rllc.analysis.recorded import recorded
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Name, Seeds
from rllc.figures.findings import over_seeds
from rllc.figures.heads.behind import Stages
from rllc.figures.heads.head_findings import at_end, at_step
from rllc.figures.panels import Curve, Panel, Row, by_seed, sheet

LOOKS = {
    "chebyshev": ("by a Chebyshev polynomial,\nas published", {"color": "#4477AA", "marker": "o"}),
    "jackson": ("the same, smoothed (Jackson)", {"color": "#66CCEE", "marker": "s"}),
    "lanczos": ("by Lanczos; shaded: its bounds", {"color": "black", "marker": "D"}),
}
SURE = ("found one by one", {"color": "#EE6677", "marker": "^"})
OF_ZEROS = "#333333"  # in the legend; in the panels each polynomial's own colour
NAMES = ("hessian_rank", "hessian_rank_se", "hessian_rank_offset")
BOUNDS = ("hessian_rank_low", "hessian_rank_high", "hessian_rank_converged", "hessian_rank_threshold")
ENDS = ("hessian_min_eigenvalue", "hessian_max_eigenvalue")


@style.styled
def rllc_fig16_hessian_rank(datasets: Datasets, *, distribution: Name = None, seeds: Seeds = None) -> Drawing:
    """Number of Hessian eigenvalues above a threshold. Rows: seeds. Columns: fixed and adaptive range.

    Counts of the Chebyshev polynomial with and without damping, dashed what each would count if all
    eigenvalues were 0; of Lanczos with its bracket, and Ritz values that are known to be near eigenvalues.
    """
    data = inputs.of_seeds(inputs.need(datasets, "hessian_rank", *NAMES, *BOUNDS, *ENDS), seeds)
    name = inputs.one_distribution(data, distribution)
    text = inputs.one_label(data, name)
    data = data[[*NAMES, *BOUNDS, *ENDS]].sel(distribution=name)
    made, rows = recorded(datasets["hessian_rank"], "hessian_rank"), []
    stages = Stages(datasets, data["seed"])
    for seed, suffix, one in by_seed(data):
        panels = [
            Panel(f"{label} range{suffix}", _curves(cell), under=_bracket(cell), over=_counts)
            for label, cell in ((label, one.sel(rank_range=label)) for label in one["rank_range"].values)
        ]
        rows.append(Row("number of eigenvalues\nabove the threshold", stages.behind(seed, panels), _keys()))
    figure, _ = sheet(rows, panel=(3.4, 2.8), margin=2.0, sharex=True, sharey=True)
    return Drawing(
        figure,
        data,
        f"Number of eigenvalues of the loss Hessian above a threshold, over training, on {text}.",
        _findings(data),
        [
            *([f"Measured on {made['contexts']} contexts with {made['probes']} probes."] if made else []),
            conditions.band(data["hessian_rank_se"], "over probes", "Bands of polynomials"),
            "Band of Lanczos: what the probes leave open.",
            *stages.said,
            *_too_narrow(data, made),
            *conditions.missing(data, "hessian_rank"),
            *conditions.seeds(data),
        ],
    )


def _curves(cell: xr.Dataset) -> list[Curve]:
    """Return the curves of one range: each method's count, its count of zeros, and the certain count."""
    drawn = []
    for method, (_, look) in LOOKS.items():
        one = cell.sel(rank_method=method)
        error = None if method == "lanczos" else one["hessian_rank_se"]
        drawn.append(Curve(one["hessian_rank"], look, error))
        if method != "lanczos":
            drawn.append(Curve(one["hessian_rank_offset"], {"color": look["color"], "linestyle": "--"}))
    return [*drawn, Curve(cell["hessian_rank_converged"], SURE[1])]


def _bracket(cell: xr.Dataset) -> Callable[[Axes], object]:
    """Return a function that draws the range that the Ritz values leave open."""
    low, high = (cell[name].values for name in BOUNDS[:2])
    return lambda ax: ax.fill_between(cell["step"].values, low, high, color="black", alpha=0.13, linewidth=0)


def _counts(ax: Axes) -> None:
    """Set a scale of counts that is logarithmic from 10 on."""
    ax.set_yscale("symlog", linthresh=10)
    style.from_zero(ax)


def _keys() -> list:
    keys = [style.key(label, **look) for label, look in LOOKS.values()]
    return [
        *keys,
        style.key("what a polynomial counts\nif all eigenvalues are 0", color=OF_ZEROS, linestyle="--"),
        style.key(SURE[0], **SURE[1]),
    ]


def _findings(data: xr.Dataset) -> list[Finding]:
    """Return for each range the published count, the count if all eigenvalues were 0, and that of Lanczos.

    The bounds of Lanczos are the least and the largest of all seeds. All are of the seeds that have a
    published count on that range, of which there may be none.
    """
    last, found = at_end(data, "hessian_rank"), []
    for label in data["rank_range"].values.tolist():
        cell = last.sel(rank_range=label)
        has = cell["hessian_rank"].sel(rank_method="chebyshev").notnull()
        cell = cell.where(has) if has.any() else cell
        rank, error, zeros = (cell[name] for name in NAMES)
        by, of = {"rank_method": "chebyshev"}, f"{label} range {at_step(last)}"
        found += over_seeds(f"count by published method, {of}", rank.sel(by), error.sel(by))
        if has.any():
            found += over_seeds(f"count by published method if all eigenvalues were 0, {of}", zeros.sel(by))
        low, high = float(cell["hessian_rank_low"].min()), float(cell["hessian_rank_high"].max())
        said = f"count by Lanczos (at least {low:,.0f}, at most {high:,.0f}), {of}"
        found += over_seeds(said, rank.sel(rank_method="lanczos"))
    return found


def _too_narrow(data: xr.Dataset, made: dict) -> list[str]:
    """Return a sentence if the fixed range does not contain all eigenvalues."""
    low, high = float(data[ENDS[0]].min()), float(data[ENDS[1]].max())
    if "bounds" not in made or (made["bounds"][0] <= low and high <= made["bounds"][1]):
        return []
    least, most = made["bounds"]
    return [
        f"Some eigenvalues ({low:.2f} to {high:.2f}) are outside the fixed range of {least:g} to {most:g}."
    ]

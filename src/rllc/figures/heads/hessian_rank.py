"""Rank of the Hessian over training (arXiv 2410.02984, Fig. 16)."""

from collections.abc import Callable

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from rllc.figures import captions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Name, Seeds
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
    """Eigenvalues of the Hessian above a threshold; columns fixed and adaptive range, a row per seed.

    Counts of the Chebyshev polynomial with and without damping, dashed what each would count if all
    eigenvalues were 0; of Lanczos with its bracket, and Ritz values that are known to be near eigenvalues.
    """
    data = inputs.of_seeds(inputs.need(datasets, "hessian_rank", *NAMES, *BOUNDS, *ENDS), seeds)
    name = inputs.one_distribution(data, distribution)
    text = inputs.one_label(data, name)
    data = data[[*NAMES, *BOUNDS, *ENDS]].sel(distribution=name)
    made, rows = captions.recorded(datasets["hessian_rank"], "hessian_rank"), []
    for _, suffix, one in by_seed(data):
        panels = [
            Panel(f"{label} range{suffix}", _curves(cell), under=_bracket(cell), over=_counts)
            for label, cell in ((label, one.sel(rank_range=label)) for label in one["rank_range"].values)
        ]
        rows.append(Row("number of eigenvalues\nabove the threshold", panels, _keys()))
    figure, _ = sheet(rows, panel=(3.4, 2.8), margin=2.0, sharex=True, sharey=True)
    return captions.drawing(
        figure,
        data,
        _finding(data),
        *_ranges(data, made),
        "Its polynomial, in place of a step at the threshold, is not 0 at 0: each zero eigenvalue counts a "
        "little. Lanczos needs no polynomial.",
        conditions=[
            f"Hessian of the loss on {made['contexts']} contexts of {text}, {made['probes']} probes."
            if made
            else "",
            "Bands: of polynomials one standard error over probes; of Lanczos what the probes leave open.",
            captions.failures(data, "hessian_rank"),
        ],
        details=[
            "The adaptive range and threshold go with the largest eigenvalue; the paper's multiples of it "
            "are lost, ours are its fixed range's.",
            "By probes alone a count r has an error of about the root of 2 r over their number, which "
            "brackets do not hold.",
        ],
    )


def _curves(cell: xr.Dataset) -> list[Curve]:
    """Of one range: each method's count, what polynomials count of zeros, and what was found for sure."""
    drawn = []
    for method, (_, look) in LOOKS.items():
        one = cell.sel(rank_method=method)
        error = None if method == "lanczos" else one["hessian_rank_se"]
        drawn.append(Curve(one["hessian_rank"], look, error))
        if method != "lanczos":
            drawn.append(Curve(one["hessian_rank_offset"], {"color": look["color"], "linestyle": "--"}))
    return [*drawn, Curve(cell["hessian_rank_converged"], SURE[1])]


def _bracket(cell: xr.Dataset) -> Callable[[Axes], object]:
    """Draws what the Ritz values leave open."""
    low, high = (cell[name].values for name in BOUNDS[:2])
    return lambda ax: ax.fill_between(cell["step"].values, low, high, color="black", alpha=0.13, linewidth=0)


def _counts(ax: Axes) -> None:
    """A scale of counts: logarithmic from 10 on."""
    ax.set_yscale("symlog", linthresh=10)
    style.from_zero(ax)


def _keys() -> list:
    keys = [style.key(label, **look) for label, look in LOOKS.values()]
    return [
        *keys,
        style.key("what a polynomial counts\nif all eigenvalues are 0", color=OF_ZEROS, linestyle="--"),
        style.key(SURE[0], **SURE[1]),
    ]


def _finding(data: xr.Dataset) -> str:
    """What the published count is worth at the last step, on each range; means over seeds that have one."""
    last, said, leaks = data.isel(step=-1), [], []
    for label in data["rank_range"].values.tolist():
        cell = last.sel(rank_range=label)
        has = cell["hessian_rank"].sel(rank_method="chebyshev").notnull()
        among = f"; mean of {int(has.sum())} of {has.size} seeds" if 0 < has.sum() < has.size else ""
        mean = (cell.where(has) if has.any() else cell).mean("seed")
        rank, offset = (mean[each] for each in ("hessian_rank", "hessian_rank_offset"))
        counted, zeros = float(rank.sel(rank_method="chebyshev")), float(offset.sel(rank_method="chebyshev"))
        lanczos = f"Lanczos: {float(rank.sel(rank_method='lanczos')):,.0f}{among}"
        if np.isfinite(counted):
            leaks.append(abs(zeros) > abs(counted) / 2)
            said.append(
                f"{counted:,.0f} on the {label} range ({zeros:,.0f} if all eigenvalues were 0; {lanczos})"
            )
        else:
            said.append(f"no count on the {label} range, which does not hold every eigenvalue ({lanczos})")
    of_zeros = bool(leaks) and all(leaks)
    first = "The published method counts mostly zero eigenvalues" if of_zeros else "Published count"
    return f"{first}: at step {style.step_text(float(last['step']))} {' and '.join(said)}."


def _ranges(data: xr.Dataset, made: dict) -> list[str]:
    """Whether the fixed range holds all eigenvalues."""
    low, high = float(data[ENDS[0]].min()), float(data[ENDS[1]].max())
    if "bounds" not in made:
        return []
    least, most = made["bounds"]
    holds = "holds them all" if least <= low and high <= most else "does not hold them all"
    return [
        f"Eigenvalues are between {low:.2f} and {high:.2f} nats/token: the fixed range of {least:g} to "
        f"{most:g} (threshold {made['threshold']:g}) {holds}."
    ]

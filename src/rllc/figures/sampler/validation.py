"""The estimator against exact truths: quadratic wells, toy potentials, linear networks."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing
from rllc.figures.inputs import faulty, need, ring_reasons

COLORS = ("#4477AA", "#AA3377", "#228833", "#CC7722", "#222222")
SHORT = 3.0  # relaxation times of a direction in which the loss is flat
ERRORS = "Error bars are two Monte Carlo standard errors."
EXACT = {"linestyle": "none", "marker": "_", "markersize": 11, "color": style.CONTROL_COLOR}
COEFFICIENT = {"linestyle": "none", "marker": "*", "markersize": 7, "color": COLORS[3]}


@style.styled
def validation_quadratic(datasets: Datasets) -> Drawing:
    """Quadratic wells: estimate against what the discretised chain gives exactly, and the relative error."""
    data = need(datasets, "quadratic", "llc", "llc_se", "exact", "posterior")
    figure, axes = style.grid(1, 2, panel=(3.3, 2.9), margin=1.9)
    entries = []
    for i, component in enumerate(data["component"].values.tolist()):
        for burn_in in data["burn_in"].values.tolist():
            one = data.sel(component=component, burn_in=burn_in).stack(
                case=("dimension", "n_beta", "localization")
            )
            look = _look(i, hollow=burn_in > 0)
            _bars(axes[0, 0], one["exact"], one["llc"], one["llc_se"], one, **look)
            _relative(axes[0, 1], one["exact"], one, one["exact"], **look)
            what = "all coordinates" if component == "full" else "half of them frozen"
            entries.append(style.key(f"{what},\n{'after burn-in' if burn_in else 'from the centre'}", **look))
    _diagonal(axes[0, 0], data["exact"], "exact value of the chain")
    axes[0, 1].axhspan(-1, 1, color="#e9e9e9", zorder=0)
    _log_axis(axes[0, 1], "x", *axes[0, 0].get_xlim())
    axes[0, 1].set_xlabel("exact value of the chain")
    apart = (data["exact"] / data["posterior"] - 1).values
    return _drawing(
        figure,
        data,
        axes[0, -1],
        entries,
        _agreement(data),
        f"The exact values of the chain are from {100 * np.nanmin(apart):+.0f} % to "
        f"{100 * np.nanmax(apart):+.0f} % away from those of the posterior itself.",
        "Quadratic wells with curvatures from 1 down to 1/condition along random axes: the estimate against "
        "the exact mean of the discretised chain over the same draws.",
        conditions=["The grey band is 1 %."],
        details=["Chains from the centre are on their way, as the verdict says; so is the exact value."],
    )


@style.styled
def validation_potentials(datasets: Datasets) -> Drawing:
    """Toy potentials: estimate over n_beta, with the exact value at each n_beta and the coefficient."""
    data = need(datasets, "potentials", "llc", "llc_se", "exact", "coefficient")
    names = data["potential"].values.tolist()
    columns = min(4, len(names))
    figure, axes = style.grid(-(-len(names) // columns), columns, panel=(2.05, 1.95), margin=1.9, sharex=True)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    pulls = data["localization"].values.tolist()
    for ax, name in zip(axes.flat, names, strict=False):
        for i, pull in enumerate(pulls):
            one = data.sel(potential=name, localization=pull)
            ax.plot(one["n_beta"], one["exact"], color=style.CONTROL_COLOR, linewidth=1.0, zorder=2)
            for short in (False, True):
                part = one.isel(n_beta=_short(one).values == short)
                _bars(ax, part["n_beta"], part["llc"], part["llc_se"], part, **_look(i, hollow=short))
        ax.axhline(float(one["coefficient"].max()), color=style.CONTROL_COLOR, linestyle=":", linewidth=1.0)
        ax.set_xscale("log")
        ax.set_ylim(0, None)
        ax.set_title(str(one["label"].item()), loc="left", fontsize=7.5)
        if ax.get_subplotspec().is_last_row() or name in names[-columns:]:
            ax.set_xlabel("n_beta")
            ax.tick_params(labelbottom=True)
    for line in axes:
        line[0].set_ylabel("estimate")
    entries = [
        style.key("exact at this n_beta\n(quadrature)", color=style.CONTROL_COLOR, linewidth=1.0),
        style.key("learning coefficient", color=style.CONTROL_COLOR, linestyle=":", linewidth=1.0),
        *(style.key(f"estimate, localization {pull:g}", **_look(i)) for i, pull in enumerate(pulls)),
    ]
    if _short(data).any():
        hollow = style.key(f"chain under {SHORT:g}\nrelaxation times", **_look(0, hollow=True))
        entries.append(hollow)
    return _drawing(
        figure,
        data,
        axes[0, -1],
        entries,
        _agreement(data),
        f"Among chains of at least {SHORT:g} relaxation times of the localization: "
        f"{captions.within(_agreement(data.where(~_short(data))))}",
        "Toy potentials and normal crossings (arXiv 2402.02364, App. A.1): the estimate against the exact "
        "mean loss of the localised posterior at each n_beta, which tends to the learning coefficient.",
    )


def _short(data: xr.Dataset) -> xr.DataArray:
    """Where chains are shorter than a direction in which the loss is flat takes to forget the centre."""
    return data["moves"] * data["step_size"] * data["localization"] / 2 < SHORT


@style.styled
def validation_reduced_rank(datasets: Datasets) -> Drawing:
    """Reduced-rank regression: small models against integrals, others against the learning coefficient."""
    data = need(datasets, "reduced_rank", "llc", "llc_se", "exact", "coefficient", "parameters")
    around_zero = data["exact"].notnull().any("n_beta")
    small, rest = data.sel(model=around_zero), data.sel(model=~around_zero)
    figure, axes = style.grid(1, 3, panel=(2.9, 2.8), margin=1.9)
    ax, entries = axes[0, 0], []
    betas = small["n_beta"].values[small["llc"].notnull().any("model").values].tolist()
    for i, beta in enumerate(betas):
        one = small.sel(n_beta=beta)
        x = np.arange(one.sizes["model"]) + 0.16 * (i - (len(betas) - 1) / 2)
        ax.plot(x, one["exact"], zorder=4, **EXACT)
        _bars(ax, x, one["llc"], one["llc_se"], one, **_look(i))
        entries.append(style.key(f"estimate, n_beta {beta:g}", **_look(i)))
    ax.plot(np.arange(small.sizes["model"]), small["coefficient"].max("n_beta"), zorder=3, **COEFFICIENT)
    shapes = [str(label).split(": ")[1].split(",")[0] for label in small["model"].values]
    ax.set_xticks(np.arange(len(shapes)), shapes)
    ax.set_xlim(-0.6, len(shapes) - 0.4)
    ax.set_ylim(0, None)
    ax.set_xlabel("widths: inputs-hidden-outputs")
    ax.set_ylabel("estimate")
    ax.set_title("around weights 0", loc="left")
    entries += [style.key("exact at this n_beta", **EXACT), style.key("learning coefficient", **COEFFICIENT)]
    entries += _networks(axes[0, 1], axes[0, 2], rest, by="n_beta", first=len(betas))
    return _drawing(
        figure,
        data,
        axes[0, -1],
        entries,
        f"Around weights 0 (left): {captions.within(_agreement(small))}",
        f"Random models (right): {_errors(rest)}",
        "Reduced-rank regression. Left: models of true rank 0, where the exact value at finite n_beta is an "
        "integral. Middle and right: models at a balanced point against the learning coefficient (Aoyagi and "
        "Watanabe 2005).",
    )


@style.styled
def validation_deep_linear(datasets: Datasets, *, bins: int = 15) -> Drawing:
    """Deep linear networks: estimate against the learning coefficient, relative error by size, histogram."""
    data = need(datasets, "deep_linear", "llc", "llc_se", "coefficient", "parameters", "layers")
    figure, axes = style.grid(1, 3, panel=(2.9, 2.8), margin=1.9)
    entries = _networks(axes[0, 0], axes[0, 1], data, by="layers")
    ax = axes[0, 2]
    errors = 100 * _relative_error(data["llc"], data["coefficient"]).values
    errors = errors[np.isfinite(errors)]
    ax.axvline(0.0, color=style.CONTROL_COLOR, linewidth=0.8)
    if errors.size:
        edges = np.linspace(errors.min() - 0.5, errors.max() + 0.5, bins + 1)
        ax.hist(errors, bins=edges, color="#9aa7b8", edgecolor="white", linewidth=0.5)
        ax.axvline(np.median(errors), color=COLORS[1], linestyle="--", linewidth=1.2)
        entries.append(style.key("median", color=COLORS[1], linestyle="--", linewidth=1.2))
    ax.set_xlabel("relative error (%)")
    ax.set_ylabel("networks")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    return _drawing(
        figure,
        data,
        axes[0, -1],
        entries,
        _errors(data),
        "Deep linear networks of random depth, widths and rank at a balanced point, against the learning "
        "coefficient (Aoyagi 2024), as in arXiv 2402.03698. Relative error is (estimate - truth) / truth.",
        details=[
            "At finite n_beta and localization, and before the flat directions are in equilibrium, the mean "
            "loss differs from its limit, so these errors are of the method, not of the sampler alone."
        ],
    )


def _drawing(
    figure: Figure,
    data: xr.Dataset,
    last: Axes,
    entries: Sequence[Line2D],
    *findings: str,
    conditions: Sequence[str] = (),
    details: Sequence[str] = (),
) -> Drawing:
    style.beside(last, [*entries, *style.ring_keys(ring_reasons((data, "llc")))])
    ends = [*conditions, ERRORS, captions.trust(data, "llc")]
    more = [*details, captions.cautions(data, "llc")]
    return Drawing(figure, data, *captions.compose(*findings, conditions=ends, details=more))


def _networks(left: Axes, right: Axes, data: xr.Dataset, *, by: str, first: int = 0) -> list:
    """Estimate against the coefficient, and relative error against size; a colour per value of ``by``."""
    stacked = data.stack(case=("model", "n_beta"))
    stacked = stacked.isel(case=stacked["llc"].notnull().values)
    groups = sorted(set(np.asarray(stacked[by]).tolist()))
    entries = []
    for i, group in enumerate(groups, first):
        one = stacked.isel(case=np.asarray(stacked[by]) == group)
        _bars(left, one["coefficient"], one["llc"], one["llc_se"], one, **_look(i))
        _relative(right, one["parameters"], one, one["coefficient"], **_look(i))
        name = f"{group:g} layers" if by == "layers" else f"random, {by} {group:g}"
        entries.append(style.key(name, **_look(i)))
    _diagonal(left, stacked["coefficient"], "learning coefficient")
    sizes = np.asarray(stacked["parameters"])
    if sizes.size:
        _log_axis(right, "x", sizes.min() / 1.4, sizes.max() * 1.4)
    right.set_xlabel("parameters")
    return entries


def _look(n: int, *, hollow: bool = False) -> dict:
    look = style.numbered(n, COLORS[n % len(COLORS)]) | {"linestyle": "none", "markersize": 4}
    return look | ({"markerfacecolor": "white"} if hollow else {})


def _bars(ax: Axes, x, y, error, source: xr.Dataset, **look) -> None:
    """Points with two standard errors, ringed where the estimate cannot be trusted."""
    ax.errorbar(np.asarray(x), np.asarray(y), 2 * np.asarray(error), elinewidth=0.8, **look)
    wrong = faulty(source, "llc")
    if wrong is not None and wrong.any():
        at = np.asarray(wrong)
        ax.plot(np.asarray(x)[at], np.asarray(y)[at], **style.DISTRUST)


def _relative(ax: Axes, x: xr.DataArray, one: xr.Dataset, truth: xr.DataArray, **look) -> None:
    error = 100 * _relative_error(one["llc"], truth)
    _bars(ax, x, error, 100 * one["llc_se"] / truth, one, **look)
    ax.axhline(0.0, color=style.CONTROL_COLOR, linewidth=0.8, zorder=1)
    ax.set_ylabel("relative error (%)")


def _diagonal(ax: Axes, truth: xr.DataArray, label: str) -> None:
    """Equal logarithmic axes through the range of the truths, and estimate = truth."""
    drawn = [line.get_ydata() for line in ax.get_lines()]  # estimates
    values = np.concatenate([np.ravel(each) for each in (*drawn, truth)]).astype(float)
    values = values[np.isfinite(values) & (values > 0)]
    low, high = (values.min() / 1.6, values.max() * 1.6) if values.size else (0.1, 10.0)
    ax.plot([low, high], [low, high], color=style.CONTROL_COLOR, linewidth=0.8, zorder=1)
    for which in "xy":
        _log_axis(ax, which, low, high)
    ax.set_xlabel(label)
    ax.set_ylabel("estimate")


def _log_axis(ax: Axes, which: str, low: float, high: float) -> None:
    """A logarithmic axis whose labels stay apart over any range."""
    ax.set(**{f"{which}scale": "log", f"{which}lim": (low, high)})
    axis = ax.xaxis if which == "x" else ax.yaxis
    style.label_decades(axis, low, high, (1, 2, 5) if np.log10(high / low) < 2 else (1,))


def _relative_error(estimate: xr.DataArray, truth: xr.DataArray) -> xr.DataArray:
    return (estimate - truth) / truth


def _agreement(data: xr.Dataset) -> str:
    """Relative errors against the exact values, and how they compare with their standard errors."""
    error = _relative_error(data["llc"], data["exact"]).values
    scaled = np.abs((data["llc"] - data["exact"]) / data["llc_se"]).values
    known = np.isfinite(error)
    if not known.any():
        return "No estimate has a known exact value."
    size = 100 * np.abs(error[known])
    sentence = (
        f"Of {known.sum()} estimates the relative error is {np.median(size):.1f} % in the median and "
        f"{size.max():.1f} % at most"
    )
    known = np.isfinite(scaled)
    if not known.any():
        return f"{sentence}."
    return f"{sentence}; {100 * (scaled[known] <= 2).mean():.0f} % lie within two standard errors."


def _errors(data: xr.Dataset) -> str:
    """Relative errors against the learning coefficient."""
    error = 100 * _relative_error(data["llc"], data["coefficient"]).values
    known, sizes = error[np.isfinite(error)], data["parameters"]
    if not known.size:
        return "There is no estimate."
    low, middle, high = np.quantile(known, [0.1, 0.5, 0.9])
    return (
        f"{known.size} models of {np.nanmin(sizes):.0f} to {np.nanmax(sizes):.0f} parameters: relative error "
        f"{middle:+.1f} % in the median, 80 % of them from {low:+.1f} % to {high:+.1f} %, extremes "
        f"{known.min():+.1f} % and {known.max():+.1f} %."
    )

"""The estimator against exact truths: quadratic wells, toy potentials, linear networks."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter

from rllc.figures import captions, style
from rllc.figures.drawing import Drawing
from rllc.figures.inputs import faulty, need, ring_reasons

COLORS = ("#4477AA", "#AA3377", "#228833", "#CC7722", "#222222")
SHORT = 3.0  # relaxation times of a direction in which the loss is flat
ERRORS = "Error bars are two Monte Carlo standard errors."
FACES = {False: {}, True: {"markerfacecolor": "white"}}


@style.styled
def validation_quadratic(datasets: Mapping[str, xr.Dataset]) -> Drawing:
    """Quadratic wells: estimate against what the discretised chain gives exactly, and the relative error."""
    taken = need(datasets, "quadratic", "llc", "llc_se", "exact", "posterior")
    figure, axes = style.grid(1, 2, panel=(3.3, 2.9), margin=1.9)
    entries = []
    for i, component in enumerate(taken["component"].values.tolist()):
        for burn_in in taken["burn_in"].values.tolist():
            one = taken.sel(component=component, burn_in=burn_in).stack(
                case=("dimension", "n_beta", "localization")
            )
            look = _look(i, hollow=burn_in > 0)
            _against(axes[0, 0], one["exact"], one, **look)
            _relative(axes[0, 1], one["exact"], one, one["exact"], **look)
            what = "all coordinates" if component == "full" else "half of them frozen"
            entries.append(style.key(f"{what},\n{'after burn-in' if burn_in else 'from the centre'}", **look))
    _diagonal(axes[0, 0], taken["exact"], "exact value of the chain")
    axes[0, 1].axhspan(-1, 1, color="#e9e9e9", zorder=0)
    _log_axis(axes[0, 1], "x", *axes[0, 0].get_xlim())
    axes[0, 1].set_xlabel("exact value of the chain")
    _finish(axes, entries, taken)
    apart = (taken["exact"] / taken["posterior"] - 1).values
    caption = captions.joined(
        "Quadratic wells with curvatures from 1 down to 1/condition along random axes: the estimate against "
        "the exact mean of the discretised chain over the same draws. The grey band is 1 %. Chains from the "
        "centre are on their way, which the verdict says of them; the exact value is that of the way.",
        _agreement(taken, "exact"),
        f"The exact values of the chain are from {100 * np.nanmin(apart):+.0f} % to "
        f"{100 * np.nanmax(apart):+.0f} % away from those of the posterior "
        "itself, by the step size and the way from the centre.",
        ERRORS,
        captions.trust(taken, "llc"),
    )
    return Drawing(figure, taken, caption)


@style.styled
def validation_potentials(datasets: Mapping[str, xr.Dataset]) -> Drawing:
    """Toy potentials: estimate over n_beta, with the exact value at each n_beta and the coefficient."""
    taken = need(datasets, "potentials", "llc", "llc_se", "exact", "coefficient")
    names = taken["potential"].values.tolist()
    columns = min(4, len(names))
    figure, axes = style.grid(-(-len(names) // columns), columns, panel=(2.05, 1.95), margin=1.9, sharex=True)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    pulls = taken["localization"].values.tolist()
    for ax, name in zip(axes.flat, names, strict=False):
        for i, pull in enumerate(pulls):
            one = taken.sel(potential=name, localization=pull)
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
    if _short(taken).any():
        hollow = style.key(f"chain under {SHORT:g}\nrelaxation times", **_look(0, hollow=True))
        entries.append(hollow)
    _finish(axes, entries, taken)
    caption = captions.joined(
        "Toy potentials and normal crossings (arXiv 2402.02364, App. A.1): the estimate against the exact "
        "mean loss of the localised posterior at each n_beta, which tends to the learning coefficient.",
        _agreement(taken, "exact"),
        f"Among chains of at least {SHORT:g} relaxation times of the localization: "
        f"{_inside(_agreement(taken.where(~_short(taken)), 'exact'))}",
        ERRORS,
        captions.trust(taken, "llc"),
    )
    return Drawing(figure, taken, caption)


def _short(taken: xr.Dataset) -> xr.DataArray:
    """Where chains are shorter than a direction in which the loss is flat takes to forget the centre."""
    return taken["moves"] * taken["step_size"] * taken["localization"] / 2 < SHORT


@style.styled
def validation_reduced_rank(datasets: Mapping[str, xr.Dataset]) -> Drawing:
    """Reduced-rank regression: small models against integrals, others against the learning coefficient."""
    taken = need(datasets, "reduced_rank", "llc", "llc_se", "exact", "coefficient", "parameters")
    around_zero = taken["exact"].notnull().any("n_beta")
    small, rest = taken.sel(model=around_zero), taken.sel(model=~around_zero)
    figure, axes = style.grid(1, 3, panel=(2.9, 2.8), margin=1.9)
    ax, entries = axes[0, 0], []
    betas = [
        beta for beta in small["n_beta"].values.tolist() if small["llc"].sel(n_beta=beta).notnull().any()
    ]
    for i, beta in enumerate(betas):
        one = small.sel(n_beta=beta)
        x = np.arange(one.sizes["model"]) + 0.16 * (i - (len(betas) - 1) / 2)
        ax.plot(
            x, one["exact"], linestyle="none", marker="_", markersize=11, color=style.CONTROL_COLOR, zorder=4
        )
        _bars(ax, x, one["llc"], one["llc_se"], one, **_look(i))
        entries.append(style.key(f"estimate, n_beta {beta:g}", **_look(i)))
    ax.plot(np.arange(small.sizes["model"]), small["coefficient"].max("n_beta"), linestyle="none", marker="*",
            markersize=7, color=COLORS[3], zorder=3)  # fmt: skip
    shapes = [str(label).split(": ")[1].split(",")[0] for label in small["model"].values]
    ax.set_xticks(np.arange(len(shapes)), shapes)
    ax.set_xlim(-0.6, len(shapes) - 0.4)
    ax.set_ylim(0, None)
    ax.set_xlabel("widths: inputs-hidden-outputs")
    ax.set_ylabel("estimate")
    ax.set_title("around weights 0", loc="left")
    entries += [
        style.key(
            "exact at this n_beta", linestyle="none", marker="_", markersize=11, color=style.CONTROL_COLOR
        ),
        style.key("learning coefficient", linestyle="none", marker="*", markersize=7, color=COLORS[3]),
    ]
    entries += _networks(axes[0, 1], axes[0, 2], rest, by="n_beta", first=len(betas))
    _finish(axes, entries, taken)
    caption = captions.joined(
        "Reduced-rank regression. Left: models of true rank 0 around weights 0, where the exact value at "
        "finite n_beta is an integral. Middle and right: random models at a balanced point against the "
        "learning coefficient (Aoyagi and Watanabe 2005).",
        f"Left: {_inside(_agreement(small, 'exact'))}",
        f"Right: {_errors(rest)}",
        ERRORS,
        captions.trust(taken, "llc"),
    )
    return Drawing(figure, taken, caption)


@style.styled
def validation_deep_linear(datasets: Mapping[str, xr.Dataset], *, bins: int = 15) -> Drawing:
    """Deep linear networks: estimate against the learning coefficient, relative error by size, histogram."""
    taken = need(datasets, "deep_linear", "llc", "llc_se", "coefficient", "parameters", "layers")
    figure, axes = style.grid(1, 3, panel=(2.9, 2.8), margin=1.9)
    entries = _networks(axes[0, 0], axes[0, 1], taken, by="layers")
    ax = axes[0, 2]
    errors = 100 * _relative_error(taken["llc"], taken["coefficient"]).values
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
    _finish(axes, entries, taken)
    caption = captions.joined(
        "Deep linear networks of random depth, widths and rank at a balanced point, against the learning "
        "coefficient (Aoyagi 2024), as in arXiv 2402.03698. Relative error is (estimate - truth) / truth.",
        _errors(taken),
        "At finite n_beta and localization, and before the flat directions are in equilibrium, the mean loss "
        "differs from its limit, so these errors are of the method, not of the sampler alone.",
        ERRORS,
        captions.trust(taken, "llc"),
    )
    return Drawing(figure, taken, caption)


def _networks(left: Axes, right: Axes, taken: xr.Dataset, *, by: str, first: int = 0) -> list:
    """Estimate against the coefficient, and relative error against size; a colour per value of ``by``."""
    stacked = taken.stack(case=("model", "n_beta"))
    stacked = stacked.isel(case=stacked["llc"].notnull().values)
    groups = sorted(set(np.asarray(stacked[by]).tolist()))
    entries = []
    for i, group in enumerate(groups, first):
        one = stacked.isel(case=np.asarray(stacked[by]) == group)
        _against(left, one["coefficient"], one, **_look(i))
        _relative(right, one["parameters"], one, one["coefficient"], **_look(i))
        name = f"{group:g} layers" if by == "layers" else f"random, {by} {group:g}"
        entries.append(style.key(name, **_look(i)))
    _diagonal(left, stacked["coefficient"], "learning coefficient")
    sizes = np.asarray(stacked["parameters"])
    if sizes.size:
        _log_axis(right, "x", sizes.min() / 1.4, sizes.max() * 1.4)
    right.set_xlabel("parameters")
    return entries


def _look(index: int, *, hollow: bool = False) -> dict:
    return {
        "color": COLORS[index % len(COLORS)],
        "marker": style.MARKERS[index % len(style.MARKERS)],
        "linestyle": "none",
        "markersize": 4,
        **FACES[hollow],
    }


def _bars(ax: Axes, x, y, error, source: xr.Dataset, **look) -> None:
    """Points with two standard errors, ringed where the estimate cannot be trusted."""
    ax.errorbar(np.asarray(x), np.asarray(y), 2 * np.asarray(error), elinewidth=0.8, **look)
    wrong = faulty(source, "llc")
    if wrong is not None and wrong.any():
        at = np.asarray(wrong)
        ax.plot(np.asarray(x)[at], np.asarray(y)[at], **style.DISTRUST)


def _against(ax: Axes, truth: xr.DataArray, one: xr.Dataset, **look) -> None:
    _bars(ax, truth, one["llc"], one["llc_se"], one, **look)


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
    decades = np.log10(high / low)
    parts = (1, 2, 5) if decades < 2 else (1,)
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    ticks = np.sort(np.concatenate([powers * part for part in parts]))
    axis.set_major_locator(FixedLocator(ticks[(ticks >= low) & (ticks <= high)]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: style.step_text(value)))
    axis.set_minor_formatter(NullFormatter())


def _finish(axes: np.ndarray, entries: Sequence, taken: xr.Dataset) -> None:
    style.beside(axes[0, -1], [*entries, *style.ring_keys(ring_reasons((taken, "llc")))])


def _relative_error(estimate: xr.DataArray, truth: xr.DataArray) -> xr.DataArray:
    return (estimate - truth) / truth


def _agreement(taken: xr.Dataset, truth: str) -> str:
    """Relative errors against ``truth``, and how they compare with their standard errors."""
    error = _relative_error(taken["llc"], taken[truth]).values
    scaled = np.abs((taken["llc"] - taken[truth]) / taken["llc_se"]).values
    known = np.isfinite(error)
    if not known.any():
        return "No estimate has a known exact value."
    size = 100 * np.abs(error[known])
    told = (
        f"Of {known.sum()} estimates the relative error is {np.median(size):.1f} % in the median and "
        f"{size.max():.1f} % at most"
    )
    known = np.isfinite(scaled)
    if not known.any():
        return f"{told}."
    return f"{told}; {100 * (scaled[known] <= 2).mean():.0f} % lie within two standard errors."


def _inside(sentence: str) -> str:
    """A sentence as it goes on after a colon."""
    return sentence[0].lower() + sentence[1:]


def _errors(taken: xr.Dataset) -> str:
    """Relative errors against the learning coefficient."""
    error = 100 * _relative_error(taken["llc"], taken["coefficient"]).values
    known = error[np.isfinite(error)]
    if not known.size:
        return "There is no estimate."
    low, middle, high = np.quantile(known, [0.1, 0.5, 0.9])
    return (
        f"{known.size} models of {np.nanmin(taken['parameters']):.0f} to "
        f"{np.nanmax(taken['parameters']):.0f} parameters: relative error {middle:+.1f} % in the median, "
        f"80 % of them from {low:+.1f} % to "
        f"{high:+.1f} %, extremes {known.min():+.1f} % and {known.max():+.1f} %."
    )

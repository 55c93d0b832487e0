"""The estimator against exact truths: quadratic wells, toy potentials, linear networks."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from rllc.figures import conditions, style
from rllc.figures.drawing import Datasets, Drawing, Finding
from rllc.figures.findings import known
from rllc.figures.inputs import faulty, need, ring_reasons

COLORS = ("#4477AA", "#AA3377", "#228833", "#CC7722", "#222222")
SHORT = 3.0  # required length of a chain, in relaxation times of a flat direction of the loss
LONG = f"chains of {SHORT:g} relaxation times or more"
EXACT_LINE = {"color": style.CONTROL_COLOR, "linewidth": 1.0}
LIMIT_LINE = EXACT_LINE | {"linestyle": ":"}
EXACT = {"linestyle": "none", "marker": "_", "markersize": 11, "color": style.CONTROL_COLOR}
COEFFICIENT = {"linestyle": "none", "marker": "*", "markersize": 7, "color": COLORS[3]}


@style.styled
def validation_quadratic(datasets: Datasets) -> Drawing:
    """Quadratic losses: estimate against the exact value of the discretised chain, and relative error."""
    data = need(datasets, "quadratic", "llc", "llc_se", "exact", "posterior")
    _, axes = style.grid(1, 2, panel=(3.3, 2.9), margin=1.9)
    (left, right), entries = axes[0], []
    for i, component in enumerate(data["component"].values.tolist()):
        what = "all coordinates" if component == "full" else "half of them frozen"
        for burn_in in data["burn_in"].values.tolist():
            one, look = data.sel(component=component, burn_in=burn_in), _look(i, hollow=burn_in > 0)
            one = one.stack(case=("dimension", "n_beta", "localization"))
            _bars(left, one["exact"], one, **look)
            _bars(right, one["exact"], one, "exact", **look)
            entries.append(style.key(f"{what},\n{'after burn-in' if burn_in else 'from the centre'}", **look))
    _diagonal(left, data["exact"], "exact value of the chain")
    right.axhspan(-1, 1, color="#e9e9e9", zorder=0)
    _log_axis(right, "x", *left.get_xlim())
    right.set_xlabel("exact value of the chain")
    apart = 100 * (data["exact"] / data["posterior"] - 1).values
    bias = [
        Finding(f"excess of the chain's exact value over the posterior's, {which}", float(value), unit="%")
        for which, value in (("lowest", np.nanmin(apart)), ("highest", np.nanmax(apart)))
    ]
    return _drawing(
        axes,
        data,
        entries,
        "Quadratic wells: the estimate against the exact mean of the discretised chain over the same draws.",
        [*_agreement(data), *bias],
        ["Grey band: 1 %."],
    )


@style.styled
def validation_potentials(datasets: Datasets) -> Drawing:
    """Toy potentials: estimate against n_beta, with its exact value and the learning coefficient."""
    data = need(datasets, "potentials", "llc", "llc_se", "exact", "coefficient")
    names = data["potential"].values.tolist()
    columns = min(4, len(names))
    _, axes = style.grid(-(-len(names) // columns), columns, panel=(2.05, 1.95), margin=1.9, sharex=True)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    pulls = data["localization"].values.tolist()
    for ax, name in zip(axes.flat, names, strict=False):
        own = data.sel(potential=name)
        for i, pull in enumerate(pulls):
            one = own.sel(localization=pull)
            ax.plot(one["n_beta"], one["exact"], zorder=2, **EXACT_LINE)
            for short in (False, True):
                part = one.isel(n_beta=_short(one).values == short)
                _bars(ax, part["n_beta"], part, **_look(i, hollow=short))
        ax.axhline(float(own["coefficient"].max()), **LIMIT_LINE)
        ax.set_xscale("log")
        ax.set_ylim(0, None)
        ax.set_title(str(own["label"].item()), loc="left", fontsize=7.5)
        if ax.get_subplotspec().is_last_row() or name in names[-columns:]:
            ax.set_xlabel("n_beta")
            ax.tick_params(labelbottom=True)
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel("estimate")
    entries = [
        style.key("exact at this n_beta\n(quadrature)", **EXACT_LINE),
        style.key("learning coefficient", **LIMIT_LINE),
        *(style.key(f"estimate, localization {pull:g}", **_look(i)) for i, pull in enumerate(pulls)),
    ]
    if _short(data).any():
        entries.append(style.key(f"chain under {SHORT:g}\nrelaxation times", **_look(0, hollow=True)))
    return _drawing(
        axes,
        data,
        entries,
        "Toy potentials: the estimate against the exact mean of the localised posterior at each n_beta.",
        [*_agreement(data), *_agreement(data.where(~_short(data)), LONG)],
    )


def _short(data: xr.Dataset) -> xr.DataArray:
    """Return where chains are too short to forget the centre in flat directions of the loss."""
    return data["moves"] * data["step_size"] * data["localization"] / 2 < SHORT


@style.styled
def validation_reduced_rank(datasets: Datasets) -> Drawing:
    """Reduced-rank regression: small models against exact integrals, others against learning coefficients."""
    data = need(datasets, "reduced_rank", "llc", "llc_se", "exact", "coefficient", "parameters")
    around_zero = data["exact"].notnull().any("n_beta")
    small, rest = data.sel(model=around_zero), data.sel(model=~around_zero)
    _, axes = style.grid(1, 3, panel=(2.9, 2.8), margin=1.9)
    (ax, middle, right), entries = axes[0], []
    betas = small["n_beta"].values[small["llc"].notnull().any("model").values].tolist()
    for i, beta in enumerate(betas):
        one = small.sel(n_beta=beta)
        x = np.arange(one.sizes["model"]) + 0.16 * (i - (len(betas) - 1) / 2)
        ax.plot(x, one["exact"], zorder=4, **EXACT)
        _bars(ax, x, one, **_look(i))
        entries.append(style.key(f"estimate, n_beta {beta:g}", **_look(i)))
    ax.plot(np.arange(small.sizes["model"]), small["coefficient"].max("n_beta"), zorder=3, **COEFFICIENT)
    shapes = [str(label).split(": ")[1].split(",")[0] for label in small["model"].values]
    ax.set_xticks(np.arange(len(shapes)), shapes)
    ax.set(xlim=(-0.6, len(shapes) - 0.4), ylim=(0, None))
    ax.set(xlabel="widths: inputs-hidden-outputs", ylabel="estimate")
    ax.set_title("around weights 0", loc="left")
    entries += [style.key("exact at this n_beta", **EXACT), style.key("learning coefficient", **COEFFICIENT)]
    entries += _networks(middle, right, rest, by="n_beta", name="random, n_beta {:g}", first=len(betas))
    return _drawing(
        axes,
        data,
        entries,
        "Reduced-rank regression: the estimate against integrals (left) and the learning coefficient.",
        [*_agreement(small, "around weights 0"), *_distance(rest, "random models")],
        ["Left: models of true rank 0."],
    )


@style.styled
def validation_deep_linear(datasets: Datasets, *, bins: int = 15) -> Drawing:
    """Deep linear networks: estimate against learning coefficient, relative error by size, histogram."""
    data = need(datasets, "deep_linear", "llc", "llc_se", "coefficient", "parameters", "layers")
    _, axes = style.grid(1, 3, panel=(2.9, 2.8), margin=1.9)
    left, middle, ax = axes[0]
    entries = _networks(left, middle, data, by="layers", name="{:g} layers")
    errors = _errors(data, "coefficient")
    ax.axvline(0.0, color=style.CONTROL_COLOR, linewidth=0.8)
    if errors.size:
        edges = np.linspace(errors.min() - 0.5, errors.max() + 0.5, bins + 1)
        ax.hist(errors, bins=edges, color="#9aa7b8", edgecolor="white", linewidth=0.5)
        ax.axvline(np.median(errors), color=COLORS[1], linestyle="--", linewidth=1.2)
        entries.append(style.key("median", color=COLORS[1], linestyle="--", linewidth=1.2))
    ax.set(xlabel="relative error (%)", ylabel="networks")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    return _drawing(
        axes,
        data,
        entries,
        "Deep linear networks at a balanced point: the estimate against the learning coefficient.",
        _distance(data),
    )


def _drawing(
    axes: np.ndarray,
    data: xr.Dataset,
    entries: Sequence[Line2D],
    title: str,
    findings: Sequence[Finding],
    more: Sequence[str] = (),
) -> Drawing:
    style.beside(axes[0, -1], [*entries, *style.ring_keys(ring_reasons((data, "llc")))])
    told = ["Error bars: two Monte Carlo standard errors.", *more, *conditions.unreliable(data, "llc")]
    return Drawing(axes[0, 0].figure, data, title, known(findings), told)


def _networks(
    left: Axes, right: Axes, data: xr.Dataset, *, by: str, name: str, first: int = 0
) -> list[Line2D]:
    """Draw estimate against coefficient, and relative error against size; a colour per value of ``by``."""
    stacked = data.stack(case=("model", "n_beta"))
    stacked = stacked.isel(case=stacked["llc"].notnull().values)
    entries = []
    for i, group in enumerate(np.unique(stacked[by]).tolist(), first):
        one = stacked.isel(case=stacked[by].values == group)
        _bars(left, one["coefficient"], one, **_look(i))
        _bars(right, one["parameters"], one, "coefficient", **_look(i))
        entries.append(style.key(name.format(group), **_look(i)))
    _diagonal(left, stacked["coefficient"], "learning coefficient")
    sizes = stacked["parameters"].values
    if sizes.size:
        _log_axis(right, "x", sizes.min() / 1.4, sizes.max() * 1.4)
    right.set_xlabel("parameters")
    return entries


def _look(n: int, *, hollow: bool = False) -> dict:
    look = style.numbered(n, COLORS[n % len(COLORS)]) | {"linestyle": "none", "markersize": 4}
    return look | ({"markerfacecolor": "white"} if hollow else {})


def _bars(ax: Axes, x: xr.DataArray | np.ndarray, one: xr.Dataset, truth: str | None = None, **look) -> None:
    """Draw estimates, or their errors relative to ``truth``, with two standard errors and rings."""
    x, y, error = np.asarray(x), one["llc"].values, one["llc_se"].values
    if truth is not None:
        exact = one[truth].values
        y, error = 100 * ((y - exact) / exact), 100 * error / exact
        ax.axhline(0.0, color=style.CONTROL_COLOR, linewidth=0.8, zorder=1)
        ax.set_ylabel("relative error (%)")
    ax.errorbar(x, y, 2 * error, elinewidth=0.8, **look)
    wrong = faulty(one, "llc")
    if wrong is not None and wrong.any():
        ax.plot(x[wrong.values], y[wrong.values], **style.DISTRUST)


def _diagonal(ax: Axes, truth: xr.DataArray, label: str) -> None:
    """Set equal logarithmic axes over the range of the exact values, and draw estimate = exact value."""
    drawn = [line.get_ydata() for line in ax.get_lines()]  # estimates
    values = np.concatenate([np.ravel(each) for each in (*drawn, truth)]).astype(float)
    values = values[np.isfinite(values) & (values > 0)]
    low, high = (values.min() / 1.6, values.max() * 1.6) if values.size else (0.1, 10.0)
    ax.plot([low, high], [low, high], color=style.CONTROL_COLOR, linewidth=0.8, zorder=1)
    for which in "xy":
        _log_axis(ax, which, low, high)
    ax.set(xlabel=label, ylabel="estimate")


def _log_axis(ax: Axes, which: str, low: float, high: float) -> None:
    """Set a logarithmic axis whose labels never overlap."""
    ax.set(**{f"{which}scale": "log", f"{which}lim": (low, high)})
    axis = ax.xaxis if which == "x" else ax.yaxis
    style.label_decades(axis, low, high, (1, 2, 5) if np.log10(high / low) < 2 else (1,))


def _errors(data: xr.Dataset, truth: str) -> np.ndarray:
    """Return the known relative errors in per cent."""
    errors = 100 * ((data["llc"] - data[truth]) / data[truth]).values
    return errors[np.isfinite(errors)]


def _agreement(data: xr.Dataset, of: str = "") -> list[Finding]:
    """Return relative errors against the exact values, and their ratio to their standard errors."""
    sizes, end = np.abs(_errors(data, "exact")), f", {of}" if of else ""
    if not sizes.size:
        return []
    scaled = abs((data["llc"] - data["exact"]) / data["llc_se"]).values
    scaled = scaled[np.isfinite(scaled)]
    inside = 100 * float((scaled <= 2).mean()) if scaled.size else np.nan
    return [
        Finding(f"median |relative error|{end}", float(np.median(sizes)), unit="%"),
        Finding(f"largest |relative error|{end}", float(sizes.max()), unit="%"),
        Finding(f"estimates within two standard errors{end}", inside, unit="%"),
    ]


def _distance(data: xr.Dataset, of: str = "") -> list[Finding]:
    """Return quantiles of the relative errors against the learning coefficient."""
    errors, end = _errors(data, "coefficient"), f", {of}" if of else ""
    if not errors.size:
        return []
    names = {"10 % quantile of": 0.1, "median": 0.5, "90 % quantile of": 0.9}
    return [
        Finding(f"{name} relative error{end}", float(np.quantile(errors, share)), unit="%")
        for name, share in names.items()
    ]

"""The claims of the works, tested: the rendered table."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rllc.analysis.columns import INTERVAL
from rllc.figures import captions, style
from rllc.figures.claims_row import (
    BOLD,
    MISSING,
    NOT_REACHED,
    PLAIN,
    VERDICTS,
    WIDTHS,
    Words,
    badge,
    curvature_alone,
    draw_row,
    in_lines,
)
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.inputs import need, of_seeds
from rllc.figures.summaries import DOUBT, DOUBTED, averaged, doubts, experiment_titles
from rllc.vocabulary import in_full

TALLEST, HEADING = 20.0, 0.36  # inches: of all rows before they stand side by side; a group's heading
MEANING = {
    "holds": "every seed passes: the whole interval of value and error is within the thresholds",
    "half": "some seeds pass, some fail",
    "does not": "every seed fails: the whole interval is beyond a threshold",
    "undecided": "an interval crosses a threshold, most estimates are not reliable (†), or what the claim "
    "presupposes does not pass",
    "not reached": "training stops before the step that the claim speaks of",
    "not judged": "there is no value, as where a seed has too few heads of a type; the row says why",
}
COUNTED = {
    "holds": "hold",
    "half": "half hold",
    "does not": "do not hold",
    "undecided": "are undecided",
    "not reached": "not reached",
    "not judged": "not judged",
}
NEEDED = ("text", "statistic", "at_least", "at_most", "value", "passes", "verdict")
OPTIONAL = (
    "value_se",
    "untrusted",
    "versus",
    "comparison",
    "compared_with",
    "reached",
    "given",
    "published",
    "reason",
    "control_verdict",
)
CALLED = {"threshold": "expected", "published": "their own data"}  # columns
CONTROLLED = "Curvature alone: the control without the loss gradient comes to the same verdict."
SHADED = {"color": "#F6F6F6", "linewidth": 0, "zorder": 0}  # every second row


@style.styled
def claims_sorting(
    datasets: Datasets,
    *,
    title: str = "Claims of the works, tested",
    titles: Mapping[str, str] | None = None,
    seeds: Seeds = None,
    group: str = "experiment_of_claim",
    experiments: Sequence[str] = ("*",),
) -> Drawing:
    """Every claim: its text, statistic, threshold, value per seed and verdict, grouped by experiment.

    datasets     ``claims``
    titles       what an experiment is called, by its name; default its label in the dataset
    group        the variable (claim) that names a claim's experiment; "experiment" where that is not there
    experiments  whose claims are drawn: names, or patterns as in a shell; seeds that none of them has
                 reached have no column
    """
    claims = of_seeds(need(datasets, "claims", *NEEDED), seeds)
    group = group if group in claims else "experiment"
    if group not in claims.variables or claims[group].dims != ("claim",):
        raise ValueError(f"claims.nc has no variable over claims that names the experiment, as {group!r}")
    claims = _of_experiments(claims, group, experiments)
    data = claims[[*NEEDED, *(name for name in OPTIONAL if name in claims), group]]
    data = data.drop_vars([name for name in data.coords if name not in ("claim", "seed", group)])
    called = experiment_titles(claims, titles)
    worded = _in_words(data, claims)
    errors = "value_se" in data and bool(data["value_se"].notnull().any())
    columns = _columns(data["seed"].values.tolist(), WIDTHS["seed"] + errors * WIDTHS["error"])
    theirs = "published" in data and any(data["published"].values.tolist())
    if theirs:
        columns["published"] = columns["verdict"] + WIDTHS["verdict"] + 0.1
    last = "published" if theirs else "verdict"
    width = columns[last] + WIDTHS[last] + 0.2
    order = claims["experiment"].values.tolist() if "experiment" in claims.dims else []
    named = data[group].values.tolist()
    groups = [name for name in dict.fromkeys([*order, *named]) if name in named]
    rows = [
        (called.get(name, name), in_lines(worded.isel(claim=int(n)), called, theirs=theirs))
        for name in groups
        for n in np.flatnonzero(data[group].values == name)
    ]
    figure = Figure()
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.text(0.2, 0.27, title, fontsize=12, fontweight="bold", va="center")
    side_by_side = _side_by_side(rows)
    bottoms = [_part(ax, n * width, width, part, columns) for n, part in enumerate(side_by_side)]
    bottom = _key(ax, max(bottoms) + 0.2, data["verdict"].values.tolist(), width * len(side_by_side)) + 0.15
    figure.set_size_inches(width * len(side_by_side), bottom)
    ax.set(xlim=(0, width * len(side_by_side)), ylim=(bottom, 0))
    means = averaged(claims, data["statistic"].values.tolist())
    return Drawing(figure, data, _caption(data, errors, means)[0])


def _of_experiments(claims: xr.Dataset, group: str, patterns: Sequence[str]) -> xr.Dataset:
    """The claims of these experiments, and the seeds that any of them has."""
    named = claims[group].values.tolist()
    chosen = [n for n, name in enumerate(named) if any(fnmatchcase(name, each) for each in patterns)]
    if not chosen:
        raise ValueError(f"no claim is about an experiment that is called {' or '.join(patterns)}: {named}")
    some = claims.isel(claim=chosen)
    reached = (some["value"].notnull() | ~some["passes"].isin((NOT_REACHED, MISSING))).any("claim")
    return some.isel(seed=np.flatnonzero(reached)) if reached.any() else some


def _in_words(data: xr.Dataset, claims: xr.Dataset) -> xr.Dataset:
    """The same with what statistics are called in place of their names."""
    texts = []
    for name in data["statistic"].values.tolist():
        attrs = claims[name].attrs if name in claims else {"long_name": name.replace("_", " ")}
        unit = attrs.get("units", "1")
        text = in_full(attrs, name)
        texts.append(text if unit in ("1", "steps", "regions", "heads") else f"{text} ({unit})")
    return data.assign(statistic=("claim", texts))


def _columns(seeds: Sequence[int], width: float) -> dict[str, float]:
    """Where each column begins, in inches; those of seeds, of that width, where they end."""
    edges, at = {}, 0.35
    for name in ("claim", "statistic", "threshold"):
        edges[name] = at
        at += WIDTHS[name]
    edges |= {f"seed {seed}": at + (n + 1) * width for n, seed in enumerate(seeds)}
    return edges | {"verdict": at + len(seeds) * width + 0.25}


def _side_by_side(rows: Sequence[tuple[str, Words]]) -> list[list[tuple[str, Words]]]:
    """Rows (group, words) in as many parts of like height as keep the table within ``TALLEST``."""
    ends = np.cumsum([words.height for _, words in rows])
    parts = int(np.ceil(ends[-1] / TALLEST))
    places = np.minimum((ends - ends[0]) * parts // ends[-1], parts - 1)
    return [[row for row, place in zip(rows, places, strict=True) if place == n] for n in range(parts)]


def _part(
    ax: Axes, left: float, width: float, rows: Sequence[tuple[str, Words]], columns: Mapping[str, float]
) -> float:
    """The names of the columns and some rows, each group under its name. Returns where they end."""
    for name, at in columns.items():
        side = "right" if name.startswith("seed") else "left"
        ax.text(left + at, 0.62, CALLED.get(name, name), **PLAIN, color="#555555", ha=side)
    top, group = 0.68, None
    for n, (name, words) in enumerate(rows):
        if name != group:
            top, group = top + 0.1, name
            ax.plot([left + 0.2, left + width - 0.2], [top + 0.06] * 2, color="#333333", linewidth=0.9)
            ax.text(left + 0.2, top + HEADING - 0.1, name, **(BOLD | {"fontsize": 9.5}))
            top += HEADING
        draw_row(ax, left, top, words, columns)
        if n % 2:
            ax.add_patch(Rectangle((left + 0.15, top), width - 0.3, words.height, **SHADED))
        top += words.height
    return top


def _key(ax: Axes, top: float, verdicts: Sequence[str], width: float) -> float:
    """What the verdicts that are met mean, a line each. Returns where it ends."""
    ax.axhline(top - 0.04, 0.2 / width, 1 - 0.2 / width, color="#333333", linewidth=0.9)
    met = [name for name in VERDICTS if name in verdicts]
    for n, name in enumerate(met):
        middle = top + 0.15 + 0.22 * n
        badge(ax, 0.35, middle, name)
        ax.text(0.35 + WIDTHS["verdict"], middle, MEANING[name], **PLAIN, color="#333333")
    return top + 0.05 + 0.22 * len(met)


def _presupposed(data: xr.Dataset) -> str:
    """Which claims presuppose another; nothing where none does."""
    given = data["given"].values.tolist() if "given" in data else []
    both = zip(data["claim"].values, given, strict=False)
    pairs = "; ".join(f"{name} presupposes {other}" for name, other in both if other)
    return captions.when(pairs, f"Undecided also where that does not pass: {pairs}.")


def _caption(data: xr.Dataset, errors: bool, means: str) -> tuple[str, str]:
    results = data["verdict"].values.tolist()
    counts = [f"{results.count(name)} {words}" for name, words in COUNTED.items() if name in results]
    doubted = "untrusted" in data and bool((data["untrusted"] > DOUBTED).any())
    theirs = "published" in data and any(data["published"].values.tolist())
    compared = "versus" in data and any(data["versus"].values.tolist())
    return captions.compose(
        f"{len(results)} claims: {', '.join(counts)}.",
        f"A seed passes if value ± {INTERVAL:g} standard errors is within the thresholds and fails if it is "
        "beyond one; between, or with most estimates not reliable, it is undecided. A claim is what all "
        "seeds say that came to its step, undecided where that hangs on undecided ones.",
        conditions=[
            "Minus, or over, that of another experiment: of the mean over its seeds." if compared else "",
            "±: the standard error of the value by those of the estimates." if errors else "",
            doubts("†") if doubted else "",
            "Their own data: the same statistic of what the claimants published." if theirs else "",
            CONTROLLED if any(curvature_alone(data.isel(claim=n)) for n in range(len(results))) else "",
            captions.seeds(data),
        ],
        details=[
            "Thresholds stand in the configuration; a value without error is judged by itself.",
            "An error holds no bias of a maximum." if errors else "",
            _presupposed(data),
            DOUBT if doubted else "",
            means,
        ],
    )

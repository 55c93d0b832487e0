"""The claims of the works, tested: the rendered table."""

import textwrap
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from rllc.analysis.columns import INTERVAL
from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.inputs import need, of_seeds
from rllc.figures.summaries import DOUBT, DOUBTED, averaged, doubts, experiment_titles

# Colours that stay apart under the common colour-vision deficiencies, and a sign for print in grey.
VERDICTS = {
    "holds": ("#0072B2", "✓"),
    "half": ("#B07D00", "◐"),
    "does not": ("#C04A00", "✗"),
    "undecided": ("#9A3D78", "?"),
    "not reached": ("#6E6E6E", "–"),
    "not judged": ("#8C8C8C", "·"),
}
MEANING = {
    "holds": "every seed passes: the whole interval of value and error is within the thresholds",
    "half": "some seeds pass, some fail",
    "does not": "every seed fails: the whole interval is beyond a threshold",
    "undecided": "an interval crosses a threshold, most estimates cannot be trusted (†), or what the claim "
    "presupposes does not pass",
    "not reached": "training stops before the step that the claim speaks of",
    "not judged": "there is no value, as where a seed has too few heads of a type; the row says why",
}
WIDTHS = {
    "claim": 4.6,
    "statistic": 3.35,
    "threshold": 1.05,
    "seed": 0.78,
    "error": 0.45,
    "verdict": 1.15,
    "published": 1.75,
}  # inches
COUNTED = {
    "holds": "hold",
    "half": "half hold",
    "does not": "do not hold",
    "undecided": "are undecided",
    "not reached": "not reached",
    "not judged": "not judged",
}
NOT_REACHED = -1  # of ``passes``, whose values are:
OF_SEED = {
    1: "holds",
    0: "does not",
    NOT_REACHED: "not reached",
    -2: "undecided",
    -3: "not judged",
}  # by ``passes``
LETTERS, WORDS, THEIRS = 72, 51, 27  # letters of a claim, a statistic and others' value on one line
LINE, PAD, HEADING = 0.155, 0.11, 0.36  # inches: a line of text, room in a row, a group's heading
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
CURVATURE = "curvature alone"
CALLED = {"threshold": "expected", "published": "their own data"}  # columns
CONTROLLED = "Curvature alone: the control without the loss gradient comes to the same verdict."
PLAIN = {"fontsize": 8.5, "va": "center"}
SHADED = {"color": "#F6F6F6", "linewidth": 0, "zorder": 0}  # every second row
BOLD = PLAIN | {"fontweight": "bold"}


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
    figure = Figure()
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.text(0.2, 0.27, title, fontsize=12, fontweight="bold", va="center")
    for name, at in columns.items():
        side = "right" if name.startswith("seed") else "left"
        text = CALLED.get(name, name)
        ax.text(at, 0.62, text, **PLAIN, color="#555555", ha=side)
    named, top, rows = data[group].values.tolist(), 0.78, 0
    order = claims["experiment"].values.tolist() if "experiment" in claims.dims else []
    for name in [name for name in dict.fromkeys([*order, *named]) if name in named]:
        ax.axhline(top + 0.06, 0.2 / width, 1 - 0.2 / width, color="#333333", linewidth=0.9)
        ax.text(0.2, top + HEADING - 0.1, called.get(name, name), **(BOLD | {"fontsize": 9.5}))
        top += HEADING
        for n in np.flatnonzero(data[group].values == name):
            height = _draw(ax, top, worded.isel(claim=int(n)), columns, called)
            if rows % 2:
                ax.axhspan(top, top + height, 0.15 / width, 1 - 0.15 / width, **SHADED)
            top, rows = top + height, rows + 1
        top += 0.1
    top = _key(ax, top + 0.1, data["verdict"].values.tolist(), width)
    figure.set_size_inches(width, top + 0.15)
    ax.set(xlim=(0, width), ylim=(top + 0.15, 0))
    means = averaged(claims, data["statistic"].values.tolist())
    return Drawing(figure, data, *_caption(data, errors, means))


def _of_experiments(claims: xr.Dataset, group: str, patterns: Sequence[str]) -> xr.Dataset:
    """The claims of these experiments, and the seeds that any of them has."""
    named = claims[group].values.tolist()
    chosen = [n for n, name in enumerate(named) if any(fnmatchcase(name, each) for each in patterns)]
    if not chosen:
        raise ValueError(f"no claim is about an experiment that is called {' or '.join(patterns)}: {named}")
    some = claims.isel(claim=chosen)
    reached = (some["value"].notnull() | (some["passes"] != NOT_REACHED)).any("claim")
    return some.isel(seed=np.flatnonzero(reached)) if reached.any() else some


def _in_words(data: xr.Dataset, claims: xr.Dataset) -> xr.Dataset:
    """The same with what statistics are called in place of their names."""
    texts = []
    for name in data["statistic"].values.tolist():
        attrs = claims[name].attrs if name in claims else {"long_name": name.replace("_", " ")}
        unit = attrs.get("units", "1")
        text = attrs.get("long_name", name)
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


def _draw(
    ax: Axes, top: float, claim: xr.Dataset, columns: Mapping[str, float], called: Mapping[str, str]
) -> float:
    """One claim; everything but its texts stands on the row's first line. Returns the row's height."""
    first = top + PAD / 2 + LINE / 2
    claimed = textwrap.wrap(str(claim["text"].item()), LETTERS) or [""]
    measured = statistic(claim, called)
    grey = PLAIN | {"color": "#333333"}
    theirs = textwrap.wrap(str(claim["published"].item()), THEIRS) if "published" in columns else []
    texts = {"claim": (claimed, PLAIN), "statistic": (measured, grey), "published": (theirs, grey)}
    for name, (lines, look) in texts.items():
        for n, line in enumerate(lines):
            ax.text(columns[name], first + n * LINE, line, **look)
    ax.text(columns["threshold"], first, threshold(claim), **grey)
    for seed in claim["seed"].values.tolist():
        one = claim.sel(seed=seed)
        value, passed = float(one["value"]), float(one["passes"])
        known = np.isfinite(value)
        color, sign = VERDICTS[OF_SEED[int(passed)] if known or passed < 0 else "not reached"]
        doubted = "†" if float(one.get("untrusted", 0)) > DOUBTED else ""
        error = float(one.get("value_se", np.nan))
        plus = f" ± {float(f'{error:.1g}'):,g}" if np.isfinite(error) else ""  # to one digit
        text = f"{number(value)}{plus}{doubted} {sign}" if known else sign
        ax.text(columns[f"seed {seed}"], first, text, **PLAIN, color=color, ha="right")
    _badge(ax, columns["verdict"], first, str(claim["verdict"].item()))
    alone = curvature_alone(claim)
    if alone:
        ax.text(columns["verdict"], first + LINE, CURVATURE, **(grey | {"fontsize": 7.5}))
    return LINE * max(1 + alone, *(len(lines) for lines, _ in texts.values())) + PAD


def curvature_alone(claim: xr.Dataset) -> bool:
    """Whether a decided claim comes to the same by the control without the loss gradient."""
    decided = claim["verdict"].item() in ("holds", "half", "does not")
    return decided and "control_verdict" in claim and claim["control_verdict"] == claim["verdict"]


def _badge(ax: Axes, left: float, middle: float, verdict: str) -> None:
    width = WIDTHS["verdict"] - 0.1
    color, sign = VERDICTS.get(verdict, VERDICTS["not reached"])
    rounded = "round,pad=0,rounding_size=0.06"
    corner = (left, middle - 0.085)
    ax.add_patch(FancyBboxPatch(corner, width, 0.17, boxstyle=rounded, facecolor=color, linewidth=0))
    ax.text(left + width / 2, middle, f"{sign}  {verdict}", **BOLD, color="white", ha="center")


def _key(ax: Axes, top: float, verdicts: Sequence[str], width: float) -> float:
    """What the verdicts that are met mean, a line each. Returns where it ends."""
    ax.axhline(top - 0.04, 0.2 / width, 1 - 0.2 / width, color="#333333", linewidth=0.9)
    met = [name for name in VERDICTS if name in verdicts]
    for n, name in enumerate(met):
        middle = top + 0.15 + 0.22 * n
        _badge(ax, 0.35, middle, name)
        ax.text(0.35 + WIDTHS["verdict"], middle, MEANING[name], **PLAIN, color="#333333")
    return top + 0.05 + 0.22 * len(met)


def statistic(claim: xr.Dataset, called: Mapping[str, str]) -> list[str]:
    """The statistic in lines of words, and what of the experiment that it is compared with."""
    lines = textwrap.wrap(str(claim["statistic"].item()), WORDS)
    if why := claim["reason"].item() if "reason" in claim else "":
        lines += textwrap.wrap(f"({why})", WORDS)
    versus = claim["versus"].item() if "versus" in claim else ""
    if not versus:
        return lines
    how = claim["comparison"].item() if "comparison" in claim else ""
    sign = {"ratio": "over that of", "difference": "minus that of"}.get(how, "against")
    return [*lines, *textwrap.wrap(f"{sign} {called.get(versus, versus)}", WORDS)]


def threshold(claim: xr.Dataset) -> str:
    """What the statistic has to be: "500 to 1,300", "4", "≥ 0.05", "≤ 12"."""
    low, high = float(claim["at_least"]), float(claim["at_most"])
    if low == high:
        return number(low)
    if np.isfinite(low) and np.isfinite(high):
        return f"{number(low)} to {number(high)}"
    return f"≥ {number(low)}" if np.isfinite(low) else f"≤ {number(high)}" if np.isfinite(high) else ""


def number(value: float) -> str:
    """Three digits, two near 0, four just below 1, whole numbers in full: 0.0512, 0.0054, 0.9987, 1,300."""
    if 0.9 <= value < 1:
        return f"{value:.4g}"
    if abs(value) >= 100 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.01 else f"{value:.2g}"


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
        "beyond one; between, or with most estimates in doubt, it is undecided. A claim is what all seeds "
        "say that came to its step, undecided where that hangs on undecided ones.",
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

"""The claims of a work, tested: the rendered table."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from rllc.figures import captions, style
from rllc.figures.drawing import Datasets, Drawing, Seeds
from rllc.figures.inputs import need, of_seeds
from rllc.figures.summaries import DOUBT, DOUBTED, averaged, doubts, experiment_titles

# Colours that stay apart under the common colour-vision deficiencies, and a sign for print in grey.
VERDICTS = {
    "holds": ("#0072B2", "✓"),
    "half": ("#B07D00", "◐"),
    "does not": ("#C04A00", "✗"),
    "not reached": ("#6E6E6E", "–"),
}
WIDTHS = {
    "claim": 4.6,
    "statistic": 2.35,
    "threshold": 1.05,
    "seed": 0.78,
    "error": 0.45,
    "verdict": 1.15,
}  # inches
LETTERS, WORDS = 72, 38  # letters of a claim, and of a statistic, on one line
LINE, PAD, HEADING = 0.155, 0.11, 0.36  # inches: a line of text, room in a row, a group's heading


class Row(NamedTuple):
    """A row of the table: its top edge in inches from the figure's top, its lines of text, and the claim."""

    top: float
    height: float
    lines: list[str]
    claim: xr.Dataset


@style.styled
def claims_sorting(
    datasets: Datasets,
    *,
    title: str = "List-sorting transformers: claims of the post, tested",
    titles: Mapping[str, str] | None = None,
    seeds: Seeds = None,
    group: str = "experiment_of_claim",
) -> Drawing:
    """Every claim: its text, statistic, threshold, value per seed and verdict, grouped by experiment.

    datasets  ``claims`` with ``text``, ``statistic``, ``at_least``, ``at_most``, ``value``, ``passes`` and
              ``verdict``
    titles    what an experiment is called, by its name; default its label in the dataset
    group     the variable (claim) that names a claim's experiment; "experiment" where that is not there
    """
    claims = of_seeds(
        need(datasets, "claims", "text", "statistic", "at_least", "at_most", "value", "passes", "verdict"),
        seeds,
    )
    group = group if group in claims else "experiment"
    if group not in claims.variables or claims[group].dims != ("claim",):
        raise ValueError(f"claims.nc has no variable over claims that names the experiment, as {group!r}")
    optional = ("value_se", "untrusted", "versus", "comparison", "compared_with", "reached")
    also = [name for name in optional if name in claims]
    data = claims[["text", "statistic", "at_least", "at_most", "value", "passes", "verdict", *also, group]]
    data = data.drop_vars([name for name in data.coords if name not in ("claim", "seed", group)])
    called = experiment_titles(claims, titles)
    names = data["seed"].values.tolist()
    order = claims["experiment"].values.tolist() if "experiment" in claims.dims else []
    named = data[group].values.tolist()
    groups = [name for name in dict.fromkeys([*order, *named]) if name in named]
    rows, headings, bottom = _rows(_in_words(data, claims, called), group, groups)
    with_errors = "value_se" in data and bool(data["value_se"].notnull().any())
    columns = _columns(names, WIDTHS["seed"] + with_errors * WIDTHS["error"])
    width = columns["verdict"] + WIDTHS["verdict"] + 0.2
    figure = Figure(figsize=(width, bottom + 0.15))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(bottom + 0.15, 0))
    ax.set_axis_off()
    ax.text(0.2, 0.27, title, fontsize=12, fontweight="bold", va="center")
    for name, at in columns.items():
        side = "right" if name.startswith("seed") else "left"
        text = "expected" if name == "threshold" else name
        ax.text(at, 0.62, text, fontsize=8.5, color="#555555", ha=side, va="center")
    for name, top in headings.items():
        ax.axhline(top + 0.06, 0.2 / width, 1 - 0.2 / width, color="#333333", linewidth=0.9)
        ax.text(
            0.2, top + HEADING - 0.1, called.get(name, name), fontsize=9.5, fontweight="bold", va="center"
        )
    for number, row in enumerate(rows):
        if number % 2:
            ax.axhspan(
                row.top, row.top + row.height, 0.15 / width, 1 - 0.15 / width, color="#F6F6F6", linewidth=0
            )
        _draw(ax, row, columns)
    return Drawing(figure, data, *_caption(data, averaged(claims, data["statistic"].values.tolist())))


def _in_words(data: xr.Dataset, claims: xr.Dataset, called: Mapping[str, str]) -> xr.Dataset:
    """The same with what statistics, and experiments in ``versus``, are called in place of their names."""
    names = data["statistic"].values.tolist()
    texts = [claims[n].attrs.get("long_name", n) if n in claims else n.replace("_", " ") for n in names]
    units = [claims[n].attrs.get("units", "1") if n in claims else "1" for n in names]
    texts = [
        text if unit in ("1", "steps", "regions") else f"{text} ({unit})"
        for text, unit in zip(texts, units, strict=True)
    ]
    worded = {"statistic": ("claim", texts)}
    if "versus" in data:
        worded["versus"] = "claim", [called.get(name, name) for name in data["versus"].values.tolist()]
    return data.assign(worded)


def _rows(data: xr.Dataset, group: str, groups: Sequence[str]) -> tuple[list[Row], dict[str, float], float]:
    """Where each row and each heading stands, and where the table ends."""
    rows, headings, top = [], {}, 0.78
    for name in groups:
        headings[name] = top
        top += HEADING
        for n in np.flatnonzero(data[group].values == name):
            lines = textwrap.wrap(str(data["text"].values[n]), LETTERS) or [""]
            height = LINE * max(len(lines), len(statistic(data.isel(claim=int(n))))) + PAD
            rows.append(Row(top, height, lines, data.isel(claim=int(n))))
            top += height
        top += 0.1
    return rows, headings, top


def _columns(seeds: Sequence[int], width: float) -> dict[str, float]:
    """Where each column begins, in inches; those of seeds, of that width, where they end."""
    claim = 0.35
    judged_by = claim + WIDTHS["claim"]
    threshold = judged_by + WIDTHS["statistic"]
    values = threshold + WIDTHS["threshold"]
    edges = {"claim": claim, "statistic": judged_by, "threshold": threshold}
    edges |= {f"seed {seed}": values + (n + 1) * width for n, seed in enumerate(seeds)}
    return edges | {"verdict": values + len(seeds) * width + 0.25}


def _draw(ax: Axes, row: Row, columns: Mapping[str, float]) -> None:
    """One claim; everything but its text stands on the row's first line."""
    first, claim = row.top + PAD / 2 + LINE / 2, row.claim
    for n, line in enumerate(row.lines):
        ax.text(columns["claim"], first + n * LINE, line, fontsize=8.5, va="center")
    plain = {"fontsize": 8.5, "va": "center", "color": "#333333"}
    for n, line in enumerate(statistic(claim)):
        ax.text(columns["statistic"], first + n * LINE, line, **plain)
    ax.text(columns["threshold"], first, threshold(claim), **plain)
    for seed in claim["seed"].values.tolist():
        value, passed = float(claim["value"].sel(seed=seed)), float(claim["passes"].sel(seed=seed))
        known = np.isfinite(value)
        color, sign = VERDICTS[
            "not reached" if not known or passed < 0 else "holds" if passed == 1 else "does not"
        ]
        doubted = "untrusted" in claim and float(claim["untrusted"].sel(seed=seed)) > DOUBTED
        error = float(claim["value_se"].sel(seed=seed)) if "value_se" in claim else np.nan
        text = f"{with_error(value, error)}{'†' if doubted else ''} {sign}" if known else sign
        at = columns[f"seed {seed}"]
        ax.text(at, first, text, fontsize=8.5, color=color, ha="right", va="center")
    color, sign = VERDICTS.get(str(claim["verdict"].item()), VERDICTS["not reached"])
    ax.add_patch(
        FancyBboxPatch(
            (columns["verdict"], first - 0.085), WIDTHS["verdict"] - 0.1, 0.17,
            boxstyle="round,pad=0,rounding_size=0.06", facecolor=color, linewidth=0,
        )
    )  # fmt: skip
    ax.text(
        columns["verdict"] + (WIDTHS["verdict"] - 0.1) / 2, first, f"{sign}  {claim['verdict'].item()}",
        fontsize=8.5, fontweight="bold", color="white", ha="center", va="center",
    )  # fmt: skip


def statistic(claim: xr.Dataset) -> list[str]:
    """The statistic in lines of words, and what of the experiment that it is compared with."""
    lines = textwrap.wrap(str(claim["statistic"].item()), WORDS)
    versus = str(claim["versus"].item()) if "versus" in claim else ""
    how = str(claim["comparison"].item()) if "comparison" in claim else ""
    sign = {"ratio": "over that of", "difference": "minus that of"}.get(how, "against")
    return [*lines, *textwrap.wrap(f"{sign} {versus}", WORDS)] if versus else lines


def threshold(claim: xr.Dataset) -> str:
    """What the statistic has to be: "500 to 1300", "at least 0.05", "at most 12"."""
    low, high = float(claim["at_least"]), float(claim["at_most"])
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


def with_error(value: float, error: float) -> str:
    """A value and its standard error to one digit, where it is known: 0.0512 ± 0.04, 1,200 ± 400, 1 ± 0."""
    return f"{number(value)} ± {float(f'{error:.1g}'):,g}" if np.isfinite(error) else number(value)


def _caption(data: xr.Dataset, means: str) -> tuple[str, str]:
    results = data["verdict"].values.tolist()
    counts = [f"{results.count(name)} {words}" for name, words in _COUNTED.items() if name in results]
    errors = "value_se" in data and bool(data["value_se"].notnull().any())
    doubted = "untrusted" in data and bool((data["untrusted"] > DOUBTED).any())
    return captions.compose(
        f"{len(results)} claims: {', '.join(counts)}.",
        "A claim holds if every seed passes that came to the step it speaks of, and half holds if some do; "
        "it is not reached where none came so far or the statistic does not exist.",
        conditions=[
            "A value passes if it is within the thresholds, which stand in the configuration.",
            captions.when(
                "versus" in data and any(data["versus"].values.tolist()),
                "Minus, or over, that of another experiment: of the mean over its seeds.",
            ),
            "±: the standard error of the value by those of the estimates." if errors else "",
            doubts("†") if doubted else "",
            captions.seeds(data),
        ],
        details=[
            captions.when(errors, "Passing does not ask for the error, which holds no bias of a maximum."),
            DOUBT if doubted else "",
            means,
        ],
    )


_COUNTED = {"holds": "hold", "half": "half hold", "does not": "do not hold", "not reached": "not reached"}

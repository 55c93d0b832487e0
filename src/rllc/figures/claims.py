"""The table of claims as a figure: how many hold in each family, and which do not."""

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from rllc.claims.columns import CHANCE, DECIDED, INTERVAL
from rllc.figures import conditions, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seeds, rounded
from rllc.figures.inputs import need, of_seeds

# Colours that differ under the common colour-vision deficiencies, and a sign for print in grey.
VERDICTS = {
    "holds": ("#0072B2", "✓"),
    "half": ("#B07D00", "◐"),
    "does not": ("#C04A00", "✗"),
    "undecided": ("#9A3D78", "?"),
    "not judged": ("#9C9C9C", "·"),
    "not reached": ("#D5D5D5", "–"),
}
LIGHT = ("not judged", "not reached")  # verdicts with dark letters on their colour
NEEDED = ("text", "family", "label", "unit", "at_least", "at_most", "value", "passes", "verdict")
OPTIONAL = (
    "value_se",
    "degrees_of_freedom",
    "chance",
    "control_verdict",
    "experiment_of_claim",
    "work",
    "reason",
    "source",
)
ROWS = 22  # largest number of failed claims: more would not be legible
WIDTH, LINE, GAP = 10.5, 0.175, 0.5  # inches; lines between two rows
LETTERS, OF_VALUES = 74, 44  # characters per line: of a claim's text, of its values


class Row(NamedTuple):
    """A listed claim in lines: its text, the name of its number, and the number by seed."""

    text: list[str]
    label: list[str]
    values: list[str]

    @property
    def lines(self) -> int:
        """Return the number of lines of the row."""
        return max(len(self.text) + len(self.label), len(self.values))


@style.styled
def claims(datasets: Datasets, *, works: Sequence[str] | None = None, seeds: Seeds = None) -> Drawing:
    """Numbers of verdicts by work. Below: the claims that do not hold in every seed.

    datasets  ``claims``
    works     whose claims are drawn: heads, stages, regression, sorting, files; default all
    """
    table = of_seeds(need(datasets, "claims", *NEEDED), seeds)
    data = table[[*NEEDED, *(name for name in OPTIONAL if name in table)]]
    if works is not None:
        data = data.isel(claim=np.flatnonzero(data["work"].isin(list(works)).values))
    if not data.sizes["claim"]:
        raise ValueError(f"claims.nc has no claim of {', '.join(works or ['any work'])}")
    families = list(dict.fromkeys(data["family"].values.tolist()))
    failing = _failing(data)
    rows = [_in_lines(data.isel(claim=int(n))) for n in failing[:ROWS]]
    heights = [0.3 + 0.24 * len(families), 0.35 + LINE * _lines(rows)]
    figure = Figure(figsize=(WIDTH, sum(heights) + 1.1), layout="constrained")
    bars, listed = figure.subplots(2, 1, height_ratios=heights)
    _bars(bars, data, families)
    _list(listed, data, failing[:ROWS], rows, len(failing))
    counts = data["verdict"].values.tolist()
    findings = [
        Finding(f"claims with the verdict {verdict!r}", counts.count(verdict), unit="claims")
        for verdict in VERDICTS
        if verdict in counts
    ]
    return Drawing(
        figure,
        data,
        "Claims judged on this study, by family, and those that do not hold.",
        findings,
        _conditions(data),
    )


def threshold(claim: xr.Dataset) -> str:
    """Return the bounds of a claim: "500 to 1,300", "= 4", "≥ 0.05", "≤ 12"."""
    low, high = float(claim["at_least"]), float(claim["at_most"])
    if low == high:
        return f"= {rounded(low)}"
    if np.isfinite(low) and np.isfinite(high):
        return f"{rounded(low)} to {rounded(high)}"
    return f"≥ {rounded(low)}" if np.isfinite(low) else f"≤ {rounded(high)}"


def _failing(data: xr.Dataset) -> list[int]:
    """Return the places of the claims that fail in some seed. Those that fail in all seeds come first."""
    verdicts = data["verdict"].values
    return [int(n) for verdict in ("does not", "half") for n in np.flatnonzero(verdicts == verdict)]


def _bars(ax: Axes, data: xr.Dataset, families: Sequence[str]) -> None:
    """Draw a bar of verdicts per family, each part with its count."""
    for y, family in enumerate(families):
        verdicts, left = data["verdict"].values[data["family"].values == family].tolist(), 0
        for verdict, (color, _) in VERDICTS.items():
            if count := verdicts.count(verdict):
                ax.barh(y, count, left=left, color=color, height=0.72, edgecolor="white", linewidth=0.8)
                ax.text(
                    left + count / 2,
                    y,
                    str(count),
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="black" if verdict in LIGHT else "white",
                )
                left += count
    met = [verdict for verdict in VERDICTS if verdict in data["verdict"].values]
    keys = [Patch(color=VERDICTS[verdict][0], label=f"{VERDICTS[verdict][1]} {verdict}") for verdict in met]
    ax.legend(
        handles=keys, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(keys), fontsize=8, frameon=False
    )
    ax.set_yticks(range(len(families)), families, fontsize=8.5)
    ax.set_ylim(len(families) - 0.4, -0.6)
    ax.set_xlabel("claims")
    locator = ax.xaxis.get_major_locator()
    assert isinstance(locator, MaxNLocator)
    locator.set_params(integer=True)
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")


def _in_lines(claim: xr.Dataset) -> Row:
    """Return the claim as a row."""
    text, label = (str(claim[name].item()) for name in ("text", "label"))
    return Row(
        textwrap.wrap(text, LETTERS) or [""], textwrap.wrap(label, LETTERS + 8), _in_columns(_values(claim))
    )


def _in_columns(values: str) -> list[str]:
    """Return the values of seeds in lines. No line breaks within a value."""
    whole = values.replace(" ", "\N{NO-BREAK SPACE}").replace(";\N{NO-BREAK SPACE}", "; ")
    return textwrap.wrap(whole, OF_VALUES, break_long_words=False, break_on_hyphens=False)


def _lines(rows: Sequence[Row]) -> float:
    """Return the number of lines of the rows, with gaps between them."""
    return sum(row.lines + GAP for row in rows)


def _list(ax: Axes, data: xr.Dataset, places: Sequence[int], rows: Sequence[Row], count: int) -> None:
    """Write the claims that do not hold: text, bound, and value with standard error by seed."""
    ax.set_axis_off()
    total = _lines(rows) + 1.6
    ax.set(xlim=(0, WIDTH), ylim=(total, 0))
    more = f", {len(rows)} of {count}: claims.html has the others" if count > len(rows) else ""
    title = f"Do not hold in every seed{more}" if count else "Every claim that is decided holds in every seed"
    ax.text(0, 0.5, title, fontsize=9.5, fontweight="bold", va="center")
    if not count:
        return
    for left, words in ((6.0, "expected"), (7.2, "value ± standard error by seed")):
        ax.text(left, 0.5, words, fontsize=8, color="#555555", va="center")
    top = 1.6
    for n, row in zip(places, rows, strict=True):
        claim = data.isel(claim=n)
        color, sign = VERDICTS[str(claim["verdict"].item())]
        ax.text(0, top, sign, fontsize=9, color=color, va="center")
        for k, line in enumerate([*row.text, *row.label]):
            # The properties of a text of matplotlib differ in type.
            look: dict[str, Any] = {"fontsize": 8.5}
            if k >= len(row.text):
                look = {"fontsize": 7.5, "color": "#666666"}
            ax.text(0.25, top + k, line, va="center", **look)
        ax.text(6.0, top, threshold(claim), fontsize=8.5, va="center")
        for k, line in enumerate(row.values):
            ax.text(7.2, top + k, line, fontsize=8.5, va="center")
        top += row.lines + GAP


def _values(claim: xr.Dataset) -> str:
    """Return the value of every seed with its error, and the unit."""
    parts = []
    for seed in claim["seed"].values.tolist():
        one = claim.sel(seed=seed)
        value = float(one["value"])
        if np.isfinite(value):
            parts.append(rounded(value, float(one.get("value_se", np.nan))))
    unit = str(claim["unit"].item())
    return "; ".join(parts) + ("" if unit == "1" else f" {unit}")


def _conditions(data: xr.Dataset) -> list[str]:
    said = [
        f"A seed passes if the {INTERVAL:.0%} Student interval of its value lies within the bounds. "
        "A claim holds if every seed passes."
    ]
    if "chance" in data and bool((data["chance"] > CHANCE).any()):
        said.append(
            f"Claims that pass in more than {CHANCE:.0%} of shuffles are not judged, unless they fail."
        )
    if "control_verdict" in data:
        same = (data["control_verdict"] == data["verdict"]) & data["verdict"].isin(DECIDED)
        if bool(same.any()):
            said.append(f"The prior-only control gives the same verdict for {int(same.sum())} claims.")
    return [*said, *conditions.seeds(data)]

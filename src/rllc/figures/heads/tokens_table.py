"""Table of the classes of heads by their tokens in context (arXiv 2410.02984, Table 1)."""

import textwrap
from collections import Counter

import xarray as xr
from matplotlib.figure import Figure

from rllc.analysis.tokens import CLASSES, MARGIN, PUBLISHED, token_classes
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seeds
from rllc.figures.excerpt import one_line
from rllc.figures.findings import MOST
from rllc.figures.heads.head_findings import at_step
from rllc.figures.heads.tokens import PATTERNS, selection
from rllc.figures.panels import by_seed
from rllc.figures.uncertain import mark

TABLE_WIDTH, SEED_HEADING_HEIGHT = 10.4, 0.3  # inches


@style.styled
def rllc_table1_head_classification(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """Table of heads: class by attention scores and tokens in context, and most common patterns."""
    data = inputs.over_heads(datasets, "tokens", "share", "common", "common_count", "tokens", seeds=seeds)
    data = data.isel(step=[-1])
    data = data.assign(token_class=token_classes(data, data["head_type"]))
    at = {"head": 0.2, "classification": 0.75, "explained": 2.75, "commonest": 5.6}
    rows = [
        (suffix if n == 0 else "", one.sel(head=head))
        for _, suffix, one in by_seed(data.isel(step=0))
        for n, head in enumerate(one["head"].values.tolist())
    ]
    wrapped = [
        [textwrap.wrap(_shares(cell), 45) or [""], textwrap.wrap(_forms(cell), 72) or [""]]
        for _, cell in rows
    ]
    heights = [0.155 * max(map(len, each)) + 0.07 for each in wrapped]
    total = 0.6 + sum(heights) + sum(SEED_HEADING_HEIGHT for suffix, _ in rows if suffix)
    figure = Figure(figsize=(TABLE_WIDTH, total))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(0, TABLE_WIDTH), ylim=(total, 0))
    titles = {"explained": "explained tokens in context", "commonest": "commonest forms (how many)"}
    for name, x in at.items():
        ax.text(x, 0.25, titles.get(name, name), fontsize=8.5, color="#555555", va="center")
    ax.axhline(0.42, 0.015, 0.985, color="#333333", linewidth=0.9)
    top = 0.45
    for n, ((suffix, cell), texts, height) in enumerate(zip(rows, wrapped, heights, strict=True)):
        if suffix:
            ax.text(at["head"], top + 0.16, suffix.removeprefix(", "), fontsize=8.5, va="center")
            top += SEED_HEADING_HEIGHT
        if n % 2:
            ax.axhspan(top, top + height, 0.015, 0.985, color="#F6F6F6", linewidth=0, zorder=0)
        first = top + 0.115
        color = style.TYPE_COLORS[cell["head_type"].item()]
        ax.text(
            at["head"], first, cell["head"].item(), fontsize=8.5, va="center", fontweight="bold", color=color
        )
        said = f"{_class(cell)}{mark(cell['head_type'])}"
        ax.text(at["classification"], first, said, fontsize=8.5, va="center")
        for x, column in zip((at["explained"], at["commonest"]), texts, strict=True):
            for m, line in enumerate(column):
                ax.text(x, first + 0.155 * m, line, fontsize=7.5, va="center", parse_math=False)
        top += height
    counts = Counter(cell["token_class"].item() for _, cell in rows)
    at_the_end = at_step(data.isel(step=0))
    return Drawing(
        figure,
        data.drop_vars("text", errors="ignore"),
        "Class of each head, by attention scores and tokens in context, and its most frequent forms.",
        [Finding(f"{name} heads, of {len(rows)} {at_the_end}", n) for name, n in counts.most_common(MOST)],
        [
            "Heads with no type by attention scores are multigram heads. Their label adds the pattern (Dyck: "
            "brackets) that explains most of their tokens, and its share; no plurality: not above the next "
            f"by {MARGIN:g} binomial errors.",
            "Recurrent pairs are our own pattern; the paper has none.",
            *selection(datasets["tokens"]),
            *conditions.seeds(data),
        ],
    )


def _class(cell: xr.Dataset) -> str:
    """Return the class with the largest share of its three patterns: "multigram (Dyck, 59%)"."""
    said = str(cell["token_class"].item())
    largest = float(cell["share"].sel(pattern=list(CLASSES)).max())
    return f"{said[:-1]}, {largest:.0%})" if said.endswith(")") else said


def _shares(cell: xr.Dataset) -> str:
    """Return the patterns with a share of at least 5 %, largest first; our own are marked: "n-gram 12%"."""
    share = cell["share"].fillna(0.0)
    pairs = sorted(zip(share.values.tolist(), share["pattern"].values.tolist(), strict=True), reverse=True)
    named = [
        f"{PATTERNS[p][0].removesuffix(' (brackets)')} {s:.0%}"
        for s, p in pairs
        if s >= 0.05 and p != "unexplained"
    ]
    return ", ".join(named) or "none of 5 %"


def _forms(cell: xr.Dataset) -> str:
    """Return the three most frequent forms of all patterns, with their counts; our own are marked."""
    forms = [
        (int(count), str(form), "" if p in PUBLISHED else ", ours")
        for p in cell["pattern"].values
        for form, count in zip(
            cell["common"].sel(pattern=p).values, cell["common_count"].sel(pattern=p).values, strict=True
        )
        if form
    ]
    best = sorted(forms, key=lambda each: (-each[0], each[1]))[:3]
    return ", ".join(f"{one_line([form])} ({count}{ours})" for count, form, ours in best)

"""Draw tokens in context: shares of patterns, and examples (arXiv 2410.02984, App. B)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rllc.analysis.recorded import recorded
from rllc.analysis.tokens import bracket_head, explained, largest_pattern, share_of_first
from rllc.figures import conditions, inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Names, Seed, Seeds
from rllc.figures.findings import known, over_seeds, percent
from rllc.figures.heads.head_findings import at_end, at_step, described
from rllc.figures.heads.token_examples import examples_of, write_example
from rllc.figures.letters import COLUMNS, HEIGHT, LINES, WIDTH
from rllc.figures.panels import by_seed
from rllc.figures.uncertain import called

# Colours that remain distinct with common colour-vision deficiencies. "induction" has the colour of induction
# heads.
PATTERNS = {
    "induction": ("induction", style.TYPE_COLORS["induction"]),
    "dyck": ("Dyck (brackets)", "#56B4E9"),
    "skip_ngram": ("skip n-gram", "#F0E442"),
    "ngram": ("n-gram", "#117733"),
    "recurrent_pair": ("recurrent pair (ours)", "#CC79A7"),
    "unexplained": ("unexplained", "#DDDDDD"),
}
LABELLED_FROM = 0.08  # smallest share of a segment with its number
PARTS, FEWEST_TOKENS = (
    (1, 0.5, 0.25),
    20,
)  # shares of a head's tokens that are told apart; the smallest number


@style.styled
def rllc_fig9_tokens_classification(datasets: Datasets, *, seeds: Seeds = None) -> Drawing:
    """Share of each head's tokens that each pattern explains. Rows: seeds. Columns: steps."""
    data = inputs.over_heads(datasets, "tokens", "share", "share_chance", also=("tokens",), seeds=seeds)
    steps = data["step"].values.tolist()
    heads = data.sizes["head"]
    figure, axes = style.grid(
        data.sizes["seed"],
        len(steps),
        panel=(3.4, 0.34 * heads + 0.75),
        margin=1.9,
        sharey="row",
        sharex=True,
    )
    for row, (_, suffix, one) in zip(axes, by_seed(data), strict=True):
        for ax, step in zip(row, steps, strict=True):
            _bars(ax, one.sel(step=step))
            ax.set_title(f"step {step:,}{suffix}", loc="left")
        kinds = one["head_type"].values.tolist()
        labels = [f"{head}  {called(one['head_type'].sel(head=head))}" for head in one["head"].values]
        row[0].set_yticks(range(heads), labels)
        for label, kind in zip(row[0].get_yticklabels(), kinds, strict=True):
            label.set_color(style.TYPE_COLORS[kind])
        row[0].invert_yaxis()
    for ax in axes[-1]:
        ax.set_xlabel("share of the head's tokens in context")
    keys = [Patch(facecolor=color, label=label) for label, color in PATTERNS.values()]
    style.beside(axes[0, -1], keys, title="explained by")
    return Drawing(
        figure,
        data,
        "Share of each head's tokens in context explained by each pattern, by training step.",
        [*_explained(data), *_brackets(datasets["tokens"], data)],
        [
            *selection(datasets["tokens"]),
            "A token counts for the first pattern of the legend that explains it.",
            "Thin bars: the same for random positions.",
            *_heads_without_tokens(data),
            *conditions.seeds(data),
        ],
    )


def _explained(data: xr.Dataset) -> list[Finding]:
    """Return the shares of tokens, and of random positions, that the paper's patterns explain at the end."""
    last = at_end(data, "share")
    share, chance = explained(last), explained(last.assign(share=last["share_chance"]))
    label = f"tokens explained by the paper's four patterns {at_step(last)}"
    return [
        finding
        for which, values in (
            ("median head", share.median("head")),
            ("lowest head", share.min("head")),
            ("highest head", share.max("head")),
            ("median head, random positions", chance.median("head")),
        )
        for finding in over_seeds(f"{label}, {which}", percent(values), unit="%")
    ]


def _brackets(tokens: xr.Dataset, data: xr.Dataset) -> list[Finding]:
    """Return the share of brackets among fewer tokens of the bracket head at the end: one seed's.

    tokens  ``pattern_index``; without it nothing is known of fewer tokens
    """
    if data.sizes["seed"] > 1 or "pattern_index" not in tokens:
        return []
    last = at_end(data, "share").isel(seed=0)
    head = bracket_head(last["share"])
    if head is None:
        return []
    one = tokens.sel(seed=data["seed"].values[0], step=int(last["step"]), head=head)
    kept = int((one["pattern_index"] >= 0).sum())
    counts = [count for part in PARTS if (count := round(part * kept)) >= FEWEST_TOKENS]
    return [
        Finding(
            f"brackets among the {count:,} most affected tokens of head {head} {at_step(last)}",
            percent(float(share_of_first(one, "dyck", count))),
            unit="%",
        )
        for count in counts
    ]


def _heads_without_tokens(data: xr.Dataset) -> list[str]:
    """Return how many heads have no token in context at the end, and the seeds where no head has one."""
    last = at_end(data, "share")
    blank = last["share"].isnull().all(["head", "pattern"])
    sentences = []
    if "tokens" in data:
        absent = int((last["tokens"].where(~blank) == 0).sum())
        heads = last.sizes["head"] * int((~blank).sum())
        of_seeds = "" if data.sizes["seed"] == 1 else " (all seeds)"
        have = "has" if absent == 1 else "have"
        if absent:
            sentences.append(
                f"{absent} of {heads} heads{of_seeds} {have} no token in context {at_step(last)}."
            )
    seeds = [str(seed) for seed in data["seed"].values[blank.values]]
    if seeds:
        which = f"Seed{'s' if seeds[1:] else ''} {', '.join(seeds)}"
        sentences.append(f"{which}: no head has a token in context {at_step(last)}.")
    return sentences


def _bars(ax: Axes, one: xr.Dataset) -> None:
    """Draw a bar per head, with a thin bar below it for random positions. Large segments show their share."""
    for name, thickness, offset in (("share", 0.52, -0.08), ("share_chance", 0.12, 0.32)):
        left = np.zeros(one.sizes["head"])
        rows = np.arange(one.sizes["head"]) + offset
        for pattern, (_, color) in PATTERNS.items():
            width = np.nan_to_num(one[name].sel(pattern=pattern).values)
            ax.barh(rows, width, thickness, left=left, color=color, edgecolor="white", linewidth=0.4)
            for y, x, w in zip(rows, left, width, strict=True):
                if name == "share" and w >= LABELLED_FROM:
                    text_color = "white" if pattern in ("ngram", "induction") else "black"
                    label = ax.text(x + w / 2, y, f"{w:.0%}", ha="center", va="center", fontsize=6)
                    label.set_color(text_color)
            left += width
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.grid(axis="y", visible=False)


def selection(tokens: xr.Dataset) -> list[str]:
    """Return the caption's sentence on how tokens were selected, with its recorded numbers."""
    values = recorded(tokens, "tokens")
    side = "training" if "train_blocks" in tokens.attrs.get("inputs", "") else "held-out"
    has_numbers = {"top", "searched"} <= values.keys()
    which = among = ""
    if has_numbers:
        which = f"{values['top']:,} "
        among = f" ({values['searched']:,} {side} contexts{_one_of(tokens, values)})"
    rise = "whose loss rises most if the head's output is replaced by its mean"
    return [f"Tokens in context: the {which}{rise}{among}."]


def _one_of(tokens: xr.Dataset, values: Mapping[str, Any]) -> str:
    """Return ", one token of 10,000", the share of the searched tokens that is kept; "" if unknown."""
    predictions = tokens.sizes.get("place", 1) - 1
    if not predictions:
        return ""
    return f", one token of {values['searched'] * predictions / values['top']:,.0f}"


@style.styled
def rllc_fig4_tokens_in_context(datasets: Datasets, *, heads: Names = None, seed: Seed = None) -> Drawing:
    """Examples of tokens in context at the last step: a row per head, three examples each.

    heads  heads to draw; default: the two with the largest share of induction and, among the rest, the two
           with the largest share of brackets (Dyck)
    """
    tokens = inputs.of_seed(inputs.need(datasets, "tokens", "share", "shown_token", "attention"), seed)
    one = tokens.isel(step=-1)
    types = inputs.types_of(datasets, one["head"], xr.DataArray([int(one["seed"])], dims="seed")).isel(seed=0)
    chosen = _chosen(one) if heads is None else list(heads)
    absent = [head for head in chosen if head not in one["head"].values]
    if absent:
        raise ValueError(
            f"heads: tokens.nc has no head {', '.join(absent)}; choose from {', '.join(one['head'].values)}"
        )
    largest = largest_pattern(one)
    rows = [(head, examples_of(one.sel(head=head), largest.sel(head=head).item())) for head in chosen]
    width, height = COLUMNS * WIDTH + 0.25, LINES * HEIGHT + 0.5
    figure = Figure(figsize=(3 * width + 0.2, len(rows) * (height + 0.25) + 0.1))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(0, figure.get_figwidth()), ylim=(figure.get_figheight(), 0))
    for n, (head, picked) in enumerate(rows):
        top = 0.15 + n * (height + 0.25)
        kind = types.sel(head=head).item()
        share, pattern = one["share"].sel(head=head), largest.sel(head=head).item() or "unexplained"
        said = f"{head}  {called(types.sel(head=head))}"
        title = f"{said}: {float(share.sel(pattern=pattern)):.0%} {PATTERNS[pattern][0]}"
        look = {"fontsize": 9, "fontweight": "bold", "color": style.TYPE_COLORS[kind], "va": "center"}
        ax.text(0.15, top, title if picked else f"{said}: no token in context", **look)
        for m, example in enumerate(picked):
            write_example(ax, example, 0.15 + m * width, top + 0.22)
    keep = ["share", "shown_rank", "shown_token", "attention", "pattern_index", "context", "position"]
    data = (
        one[[*keep, "attended", "matched", "rise"]].sel(head=chosen).assign(head_type=types.sel(head=chosen))
    )
    label = f"tokens of {{}} explained by {{}} at step {int(one['step']):,}"
    found = [
        Finding(
            label.format(described(head, types), PATTERNS[largest.sel(head=head).item()][0]),
            percent(float(one["share"].sel(head=head, pattern=largest.sel(head=head).item()))),
            unit="%",
        )
        for head in chosen
        if largest.sel(head=head).item()
    ]
    return Drawing(
        figure,
        data.expand_dims(seed=[int(one["seed"])]),
        "Examples of tokens in context: three per head, of its main pattern if it has one.",
        known(found),
        [
            *selection(datasets["tokens"]),
            "White on blue: the predicted token. Above it: the rise of its loss if the head is mean-ablated.",
            "Orange: the head's attention from the position before. Underlined: the token that gets most.",
            f"Training seed {int(one['seed'])}.",
        ],
    )


def _chosen(one: xr.Dataset) -> list[str]:
    """Return the two heads with most induction and, among the rest, the two with most brackets."""
    share = one["share"].fillna(0.0)
    chosen: list[str] = []
    for pattern in ("induction", "dyck"):
        order = np.argsort(-share.sel(pattern=pattern).values, kind="stable")
        named = [head for head in one["head"].values[order].tolist() if head not in chosen]
        chosen += named[:2]
    return chosen

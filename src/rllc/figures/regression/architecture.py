"""The architecture of a transformer of in-context regression, drawn (arXiv 2402.02364, Fig. D.2)."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from rllc.figures import inputs, style
from rllc.figures.drawing import Datasets, Drawing, Finding

# part of the model -> its colour
PARTS = {
    "embedding": "#88CCEE",
    "layer norm": "#DDCC77",
    "attention": "#CC6677",
    "MLP": "#117733",
    "unembedding": "#332288",
}
# name of a weight without its last component -> the part
KINDS = {
    "embed": "embedding", "pos_embed": "embedding", "unembed": "unembedding", "ln_final": "layer norm",
    "ln1": "layer norm", "ln2": "layer norm", "attn": "attention", "mlp": "MLP",
}  # fmt: skip
WIDE, HIGH, STEP = 3.6, 0.62, 0.95  # height of a box, and distance to the next one above
AGAIN = "Each block adds its input once more, as in the authors' code; the paper does not mention it."
APART = 0.08  # paths that leave the stream start above those that join it


@style.styled
def stage_figD2(datasets: Datasets) -> Drawing:  # noqa: N802
    """Parts of the model from input (below) to prediction, with their numbers of weights.

    datasets  ``structure``, whose counts are of the model that was measured
    """
    source = inputs.need(datasets, "structure", "weight_count", "residual_factor")
    first = source[["weight_count", "residual_factor"]].isel(seed=0, step=0, drop=True)
    counts = {
        str(n): int(c) for n, c in zip(first["weight"].values, first["weight_count"].values, strict=True)
    }
    layers = inputs.layers(source)
    heads = source.sizes["head"] // len(layers)
    width, vector = source.sizes["channel"], source.sizes["coordinate"]
    boxes = [("embedding", f"token and position embedding, {vector} → {width}", ("embed.", "pos_embed."))]
    for layer in layers:
        at = f"blocks.{layer}"
        boxes += [
            ("layer norm", "layer norm", (f"{at}.ln1.",)),
            ("attention", f"attention, {heads} heads", (f"{at}.attn.",)),
            ("layer norm", "layer norm", (f"{at}.ln2.",)),
            ("MLP", "MLP, ReLU", (f"{at}.mlp.",)),
        ]
    boxes += [("layer norm", "layer norm", ("ln_final.",))]
    boxes += [("unembedding", f"unembedding, {width} → {vector}", ("unembed.",))]
    figure = Figure(figsize=(5.2, 0.52 * len(boxes) + 1.2), layout="constrained")
    ax = figure.subplots()
    heights = [n * STEP for n in range(len(boxes))]
    for (part, words, names), y in zip(boxes, heights, strict=True):
        _box(ax, y, f"{words}: {_sum(counts, names):,}", PARTS[part])
    for below, above in zip([-STEP, *heights], [*heights, heights[-1] + STEP], strict=True):
        _arrow(ax, (0, below + HIGH / 2 * (below >= 0)), (0, above - HIGH / 2 * (above <= heights[-1])))
    factor = float(first["residual_factor"])
    for layer in layers:
        bottom = 4 * layer
        for skipped in (bottom, bottom + 2):
            _around(ax, heights[skipped] + STEP / 2, heights[skipped + 2] + STEP / 2, "#777777", "+")
        if factor > 1:
            words = f"block {layer}'s\ninput again"
            low, high = heights[bottom] + STEP / 2, heights[bottom + 4] + STEP / 2
            _around(ax, low, high, "#AA4499", words, side=-1)
    ax.text(0.12, -STEP, f"x₁, y₁, x₂, y₂, ... as vectors of {vector} numbers", va="center", fontsize=7.5)
    top = "predictions: component 0 where an x is read"
    ax.text(0.12, heights[-1] + STEP, top, va="center", fontsize=7.5)
    ax.set(xlim=(-3.4, 3.4), ylim=(-STEP - 0.3, heights[-1] + STEP + 0.3))
    ax.set_axis_off()
    of_parts = {part: _of_part(counts, part) for part in PARTS}
    return Drawing(
        figure,
        first,
        "Parts of the regression transformer from input (below) to prediction, with numbers of weights.",
        [
            Finding("weights of the model", float(sum(counts.values()))),
            *(Finding(f"weights, {part}", float(count)) for part, count in of_parts.items()),
        ],
        [AGAIN] if factor > 1 else [],
    )


def _sum(counts: Mapping[str, int], starts: tuple[str, ...]) -> int:
    return sum(count for name, count in counts.items() if name.startswith(starts))


def _of_part(counts: Mapping[str, int], part: str) -> int:
    """Return the number of weights of all parts of a kind."""
    return sum(count for name, count in counts.items() if KINDS[name.split(".")[-2]] == part)


def _box(ax: Axes, y: float, text: str, color: str) -> None:
    ax.add_patch(
        FancyBboxPatch(
            (-WIDE / 2, y - HIGH / 2), WIDE, HIGH, boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=style.lightness(color, 0.6), edgecolor=color, linewidth=1.0, zorder=3,
        )
    )  # fmt: skip
    ax.text(0, y, text, ha="center", va="center", fontsize=7.5, zorder=4)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], color: str = "#333333") -> None:
    look = {"arrowstyle": "-|>", "color": color, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=look, zorder=2)


def _around(ax: Axes, low: float, high: float, color: str, words: str, side: int = 1) -> None:
    """Draw a path beside the boxes, from the stream at ``low`` to the stream at ``high``."""
    x, low, high = side * (WIDE / 2 + 0.3), low + APART, high - APART
    ax.plot([0, x, x], [low, low, high], color=color, linewidth=0.9, zorder=1)
    _arrow(ax, (x, high), (0, high), color)
    ax.text(
        x + 0.1 * side, (low + high) / 2, words, ha="left" if side > 0 else "right", va="center",
        fontsize=7.5, color=color,
    )  # fmt: skip

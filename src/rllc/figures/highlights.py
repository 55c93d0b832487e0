"""Tokens whose loss falls in each stage of development, in text (arXiv 2402.02364, Fig. 5)."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rllc.figures import conditions, inputs, passages, style
from rllc.figures.drawing import Datasets, Drawing, Finding, Seed
from rllc.figures.excerpt import visible
from rllc.figures.letters import COLUMNS, HEIGHT, LINES, WIDTH, Letter, legible, write
from rllc.figures.passages import BETTER, CHOSEN, WORSE, Passage
from rllc.units import NATS

ACROSS = COLUMNS * WIDTH + 0.3  # inches of a passage with its margin
TOP, ABOVE, BELOW, KEY = 0.18, 0.3, 0.22, 0.25
GREY = "#555555"
FEW, MOST = 2, 5  # largest numbers of stages: with two findings each, and with any


@style.styled
def stage_fig5_text_highlights(datasets: Datasets, *, seed: Seed = None) -> Drawing:
    """Excerpts of held-out text, coloured by each token's gain. Rows: stages. Columns: selection criteria."""
    data = inputs.of_seed(inputs.need(datasets, "highlights", "gain", "scale", "excerpt_context"), seed)
    stages = passages.stages_of(data)
    rows = [{each.chosen: each for each in passages.passages(stage)} for stage in stages]
    letters = [
        {chosen: _letters(each, float(stage["scale"])) for chosen, each in row.items()}
        for stage, row in zip(stages, rows, strict=True)
    ]
    lines = [max(-(-len(each) // COLUMNS) for each in row.values()) for row in letters]
    tops = TOP + np.cumsum([0.0, *(ABOVE + HEIGHT * each + BELOW for each in lines)])
    height = float(tops[-1]) + KEY
    figure = Figure(figsize=(len(CHOSEN) * ACROSS + 0.1, height))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    ax.set(xlim=(0, figure.get_figwidth()), ylim=(height, 0))
    for stage, row, texts, top in zip(stages, rows, letters, tops, strict=False):
        title = f"{passages.called(stage)}, to {passages.ended(stage)}"
        ax.text(0.15, top, title, fontsize=9, fontweight="bold", va="center")
        for m, (chosen, words) in enumerate(CHOSEN.items()):
            left = 0.15 + m * ACROSS
            score = f"{row[chosen].score:+.2f} nats" if chosen in row else "there is none"
            ax.text(left, top + 0.2, f"{words}: {score}", fontsize=6.5, color=GREY, va="center")
            write(ax, texts.get(chosen, []), left, top + ABOVE)
    _key(ax, 0.15, float(tops[-1]))
    shown = np.unique(data["excerpt_context"].values[np.isfinite(data["excerpt_context"].values)])
    drawn = data.drop_vars(["logit_gain"]).sel(context=shown).expand_dims(seed=[int(data["seed"])])
    return Drawing(
        figure,
        drawn,
        "Excerpts of held-out text, coloured by how far the loss of each token falls in a stage.",
        [*_gains(stages), *passages.of_loss(datasets, data)],
        [
            f"Stages of the {passages.of_curve(data)}; {data.sizes['context']:,} held-out contexts.",
            *(
                ["Falls: means over tokens; errors: over contexts."]
                if np.isfinite(data["mean_gain_se"]).any()
                else []
            ),
            *(["The LLC has no boundary: all of training is one stage."] if len(stages) == 1 else []),
            *conditions.seeds(drawn),
        ],
    )


def _gains(stages: Sequence[xr.Dataset]) -> list[Finding]:
    """Return the mean fall of the loss in each stage, and with few stages also that of repeated tokens."""
    kinds = ("all", "repeated") if len(stages) <= FEW else ("all",)
    found = []
    for stage in stages[:MOST]:
        start, end = (int(stage[name]) for name in ("stage_start", "stage_end"))
        for kind in kinds:
            mean, error = (float(stage[name].sel(tokens=kind)) for name in ("mean_gain", "mean_gain_se"))
            if np.isfinite(mean):
                label = f"fall of the loss, steps {start:,} to {end:,}, {passages.KINDS[kind]}"
                found.append(Finding(label, mean, error, NATS))
    return found


def _letters(passage: Passage, scale: float) -> list[Letter]:
    """Return the text of a passage in its colours, cut if it is too long."""
    letters = []
    for text, gain in passage.parts:
        step = passages.shade(gain, scale)
        look = Letter("", paper=passages.color(step), underlined=step < 0)
        written = legible(visible(text))
        letters += [look._replace(text=c, apart=n == 0) for n, c in enumerate(written)]
    room = COLUMNS * LINES
    return letters if len(letters) <= room else [*letters[: room - 2], Letter(" "), Letter("…", ink=GREY)]


def _key(ax: Axes, left: float, top: float) -> None:
    """Draw the key of colours, from worst to best."""
    look = {"fontsize": 6.9, "color": GREY, "va": "center"}
    middle = top + HEIGHT * 0.46
    ax.text(left, middle, "loss rises", **look)
    ramp = [Letter(" ", paper=each, underlined=True) for each in reversed(WORSE) for _ in range(2)]
    ramp += [Letter(" ")] * 2 + [Letter(" ", paper=each) for each in BETTER for _ in range(2)]
    write(ax, ramp, left + 0.55, top)
    right = left + 0.6 + len(ramp) * WIDTH
    text = "loss falls; ends of the scale: the 99 % quantile of |gain| in the stage"
    ax.text(right, middle, text, **look)

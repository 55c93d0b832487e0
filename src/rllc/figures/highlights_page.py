"""Tokens whose loss falls in each stage as a page to read, in one static file without a script."""

from collections.abc import Iterator
from html import escape

import xarray as xr

from rllc.analysis.highlights import REPEATS
from rllc.figures import inputs, passages
from rllc.figures.drawing import Datasets, Seeds
from rllc.figures.excerpt import visible
from rllc.figures.page import END, GAP, INK, WIDE, head, marked, plain
from rllc.figures.passages import BETTER, CHOSEN, KINDS, STEPS, WORSE, Passage

INTRODUCTION = """<p>Which tokens does the model learn to predict in each stage of its development?
The loss of every next token of {contexts:,} held-out contexts at the start of a stage, less that at its end,
is its <em>gain</em>. Stages are those of the {curve}; the idea is Fig. 5 of
<a href="https://arxiv.org/abs/2402.02364">arXiv 2402.02364</a>.</p>
<p>How to read the text: {better} the loss falls; {worse} it rises. The last of {steps} steps of either
colour is from the 99 % quantile of |gain| in the stage on; pointing at a token shows its gain in nats.
{repeat}</p>
<p>↵ is the end of a line, ⇥ a tab, … what is left out, ‹e2› a byte that is no character.
This page quotes the text that the model was measured on.</p>"""


def text_highlights(datasets: Datasets, *, title: str = "", seeds: Seeds = None) -> str:
    """Return the page: a table of all stages, and for each its excerpts and its pairs with the largest gains.

    datasets  ``highlights``; ``stages`` for what their LLC has to do with the loss
    title     what the experiment is called
    """
    data = inputs.of_seeds(inputs.need(datasets, "highlights", "gain", "scale", "pair"), seeds)
    several = data.sizes["seed"] > 1
    cells = [
        (seed, stage)
        for seed in data["seed"].values.tolist()
        for stage in passages.stages_of(data.sel(seed=seed))
    ]
    named = f"Tokens whose loss falls in each stage{f': {title}' if title else ''}"
    lines = [
        head(named, _style()),
        INTRODUCTION.format(
            contexts=data.sizes["context"],
            curve=escape(passages.of_curve(data)),
            better=_ramp("p", "better"),
            worse=_ramp("m", "worse"),
            steps=STEPS,
            repeat=passages.REPEAT,
        ),
        *(f"<p>{escape(_capital(str(each)))}.</p>" for each in passages.of_loss(datasets, data)),
        *_table(cells, several),
        *(line for seed, stage in cells for line in _section(seed, stage, several)),
    ]
    return "\n".join([*lines, *END])


def _style() -> str:
    def rules(prefix: str, colors: tuple[str, ...], more: str) -> str:
        return "".join(
            f".{prefix}{n}{{background:{each};color:{INK}{more}}}" for n, each in enumerate(colors, start=1)
        )

    worse = rules("m", WORSE, ";text-decoration:underline")
    apart = "pre span[class]{box-shadow:inset 1px 0 var(--box)}"
    return rules("p", BETTER, "") + worse + apart + ".g{color:var(--soft)}"


def _ramp(prefix: str, word: str) -> str:
    """Return the colours of one side of the scale. The strongest one shows its name."""
    blank = "".join(f'<span class="{prefix}{n}">&nbsp;</span>' for n in range(1, STEPS))
    return f'{blank}<span class="{prefix}{STEPS}">&nbsp;{word}&nbsp;</span>'


def _anchor(seed: int, stage: xr.Dataset) -> str:
    return f"seed{seed}-stage{int(stage['stage'])}"


def _name(seed: int, stage: xr.Dataset, several: bool) -> str:
    return passages.called(stage) + (f", of seed {seed}" if several else "")


def _table(cells: list, several: bool) -> Iterator[str]:
    yield WIDE.format(label="All stages")
    yield "<caption>Mean gain in nats/token ± one standard error over contexts</caption>"
    kinds = "".join(f'<th scope="col">{escape(words)}</th>' for words in KINDS.values())
    yield f'<thead><tr><th scope="col">stage</th>{kinds}<th scope="col" class="w">up to</th></tr></thead>'
    yield "<tbody>"
    for seed, stage in cells:
        means = "".join(f"<td>{passages.mean_gain(stage, kind)}</td>" for kind in KINDS)
        link = f'<a href="#{_anchor(seed, stage)}">{escape(_name(seed, stage, several))}</a>'
        yield f'<tr><th scope="row">{link}</th>{means}<td class="w">{passages.ended(stage)}</td></tr>'
    yield "</tbody></table></div>"


def _section(seed: int, stage: xr.Dataset, several: bool) -> Iterator[str]:
    yield f'<section id="{_anchor(seed, stage)}">'
    yield f"<h2>{escape(_name(seed, stage, several))}</h2>"
    ranks = [stage.isel(rank=n) for n in range(stage.sizes["rank"])]
    listed = [_pair(one) for one in ranks if one["pair"].item()]
    if listed:
        yield (
            "<p>Tokens that gain most, after the token before them, with their mean gain and how often they "
            f"are there: {', '.join(listed)}.</p>"
        )
    for passage in passages.passages(stage):
        yield _figure(passage, float(stage["scale"]), stage)
    yield "</section>"


def _pair(one: xr.Dataset) -> str:
    """Return a pair of tokens, its gain, and its count."""
    gain, count = float(one["pair_gain"]), int(one["pair_count"])
    return f"<code>{marked(visible(str(one['pair'].item())))}</code> {gain:+.2f} ({count:,})"


def _figure(passage: Passage, scale: float, stage: xr.Dataset) -> str:
    """Return an excerpt, described in words and shown as text."""
    score = "repeats less the rest" if passage.chosen == REPEATS else "mean gain"
    words = _capital(CHOSEN[passage.chosen])
    where = f"context {passage.context}, from position {passage.start} on"
    said = f"{words}: {score} {passage.score:+.2f} nats; {where}."
    before = GAP if passage.start else ""
    after = GAP if passage.start + int(stage.attrs["length"]) < stage.sizes["position"] else ""
    text = "".join(_token(*part, scale) for part in passage.parts)
    return f"<figure><figcaption>{said}</figcaption><pre>{before}{text}{after}</pre></figure>"


def _token(text: str, gain: float, scale: float) -> str:
    """Return a token on its colour, with its gain in nats."""
    step = passages.shade(gain, scale)
    name = f' class="{"p" if step > 0 else "m"}{abs(step)}"' if step else ""
    return f'<span{name} title="{gain:+.2f}">{plain(text)}</span>'


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"

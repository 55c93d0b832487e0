"""Tokens in context as a page to read: every example with its text, in one static file without a script."""

from collections.abc import Iterator
from html import escape

import numpy as np
import xarray as xr

from rllc.analysis.recorded import recorded
from rllc.analysis.tokens import token_classes
from rllc.figures import inputs
from rllc.figures.drawing import Datasets, Seeds
from rllc.figures.excerpt import Example, examples, level, shown
from rllc.figures.heads.token_examples import ORANGES
from rllc.figures.heads.tokens import PATTERNS
from rllc.figures.page import END, GAP, INK, WIDE, head, marked, percent, plain

ROOM = 420  # characters of the context before the target
TARGET = ("#ffffff", "#0b4f9e")
INTRODUCTION = """<p>What is each attention head needed for at training step {step}? Its output is replaced
by its mean, and {top} whose loss rises most{searched} are looked at: its <em>tokens in context</em>.
The first of these patterns that holds explains a token. Recurrent pairs are ours, the others are those of
<a href="https://arxiv.org/abs/2410.02984">arXiv 2410.02984</a>.</p>
{patterns}
<p>How to read an example: <span class="t">the token that is predicted</span>; the head's attention just
before it, {steps}; <mark>what it attends to most</mark>; <u>what the pattern refers to</u>, where that is
another token; <i>what follows</i>. ↵ is the end of a line, ⇥ a tab, · a space of a marked token, … what
is left out, ‹› the start of a text, ‹e2› a byte of a character that tokens divide.</p>
<p>This page quotes the text that the model was trained on or measured on.</p>"""
MEANINGS = {  # by the conditions of ``rllc.tasks.language.patterns.classify``
    "induction": "the current token came before and was followed by the predicted one, and the head attends "
    "to that follower (in layer 0 also: three tokens recur, and it attends to the first)",
    "dyck": "the predicted token closes what an earlier token opened: brackets, quotation marks, pairs of "
    "words such as either … or; wherever the head attends",
    "skip_ngram": "the token attended to and the predicted one belong together in a listed phrase, such as "
    "more … than, whatever is between",
    "ngram": "the text from the token attended to up to the predicted one is that of others of the head's "
    "tokens, too",
    "recurrent_pair": "the token attended to and the predicted one are a pair of several of the head's "
    "tokens, at different distances",
    "unexplained": "none of these",
}
MATCHED: dict[str, str] = {
    "induction": "{text} followed the same token before, at position {place}",
    "dyck": "it closes what {text} opens at position {place}",
    "skip_ngram": "with {text} at position {place} it makes a skip n-gram",
    "ngram": "the tokens from {text} at position {place} on are those of other tokens of this head, too",
    "recurrent_pair": "{text} at position {place} and this token are a pair of several tokens of this head",
}


def tokens_in_context(datasets: Datasets, *, title: str = "", seeds: Seeds = None) -> str:
    """Return the page at the last step: a table of all heads, and examples of every pattern of each head.

    datasets  ``tokens``; ``attention_scores`` for the types of heads, where it is there
    title     what the experiment is called
    """
    needed = ("share", "share_chance", "unique", "tokens", "shown_token", "attention")
    types = inputs.over_heads(datasets, "tokens", *needed, seeds=seeds)["head_type"]
    every = inputs.of_seeds(datasets["tokens"], seeds).isel(step=-1).assign(head_type=types)
    last = every.assign(token_class=token_classes(every.expand_dims("step"), types).isel(step=0))
    step = int(last["step"])
    named = f"Tokens in context{f': {title}' if title else ''}"
    cells = [
        (seed, last.sel(seed=seed, head=head))
        for seed in last["seed"].values.tolist()
        for head in last["head"].values.tolist()
    ]
    several = last.sizes["seed"] > 1
    lines = [
        head(named, _style()),
        _introduction(datasets["tokens"], step),
        *_table(cells, step, several),
        *(line for seed, cell in cells for line in _section(seed, cell, several)),
    ]
    return "\n".join([*lines, *END])


def _style() -> str:
    steps = "".join(f".a{n}{{background:{color};color:{INK}}}" for n, color in enumerate(ORANGES) if n)
    return (
        f".t{{background:{TARGET[1]};color:{TARGET[0]};font-weight:bold}}"
        "mark{background:none;color:inherit;outline:2px solid currentColor}"
        f"{steps}mark{{outline-color:var(--ink)}}"
        "dt{font-weight:bold}dd{margin:0 0 .3rem 1.2rem}"
        "u{text-decoration-thickness:2px}i,.g,.n{color:var(--soft)}"
    )


def _introduction(tokens: xr.Dataset, step: int) -> str:
    values = recorded(tokens, "tokens")
    searched = f" in {values['searched']:,} contexts" if "searched" in values else ""
    top = f"the {values['top']:,} tokens" if "top" in values else "the tokens"
    steps = " ".join(
        f'<span class="a{n}">&nbsp;{words}&nbsp;</span>'
        for n, words in enumerate(("from 2 %", "10 %", "25 %", "50 %", "80 %"), start=1)
    )
    patterns = "".join(
        f"<dt>{escape(label)}</dt><dd>{escape(MEANINGS[name])}</dd>" for name, (label, _) in PATTERNS.items()
    )
    return INTRODUCTION.format(
        patterns=f"<dl>{patterns}</dl>", step=f"{step:,}", top=top, searched=searched, steps=steps
    )


def _name(seed: int, cell: xr.Dataset, several: bool) -> str:
    return f"{cell['head'].item()} of seed {seed}" if several else str(cell["head"].item())


def _anchor(seed: int, cell: xr.Dataset) -> str:
    return f"seed{seed}-head{cell['head'].item().replace(':', '-')}"


def _table(cells: list, step: int, several: bool) -> Iterator[str]:
    yield WIDE.format(label="All heads")
    of = f"Share of each head's tokens in context that a pattern explains, at step {step:,}"
    chance = "after the bar: the share by chance, of positions drawn at random in the same contexts"
    yield f'<caption>{of}; <span class="g">{chance}</span></caption>'
    patterns = "".join(f'<th scope="col">{escape(label)}</th>' for label, _ in PATTERNS.values())
    yield (
        '<thead><tr><th scope="col">head</th><th scope="col" class="w">classification</th>'
        f'<th scope="col">tokens</th>{patterns}</tr></thead><tbody>'
    )
    for seed, cell in cells:
        shares = "".join(f"<td>{_shares(cell.sel(pattern=p))}</td>" for p in PATTERNS)
        link = f'<a href="#{_anchor(seed, cell)}">{escape(_name(seed, cell, several))}</a>'
        kind = escape(cell["token_class"].item())
        yield (
            f'<tr><th scope="row">{link}</th><td class="w">{kind}</td>'
            f"<td>{int(cell['tokens'].fillna(0).item()):,}</td>{shares}</tr>"
        )
    yield "</tbody></table></div>"


def _shares(one: xr.Dataset) -> str:
    share, chance = (percent(one[name].item()) for name in ("share", "share_chance"))
    return f'{share} <span class="g">| {chance}</span>'


def _section(seed: int, cell: xr.Dataset, several: bool) -> Iterator[str]:
    count = int(cell["tokens"].fillna(0).item())
    yield f'<section id="{_anchor(seed, cell)}">'
    yield f"<h2>Head {escape(_name(seed, cell, several))}: {escape(cell['token_class'].item())}</h2>"
    if not count:
        yield "<p>No token: replacing the head's output by its mean raises no loss.</p>"
    every = examples(cell) if count else []
    there = {example.pattern for example in every}
    explained = there - {"unexplained"} or there
    most = max(explained, key=lambda pattern: float(cell["share"].sel(pattern=pattern)), default="")
    for pattern, (label, _) in PATTERNS.items():
        here = [example for example in every if example.pattern == pattern]
        if not here:
            continue
        unique = cell["unique"].sel(pattern=pattern).item()
        forms = f", {int(unique):,} different" if np.isfinite(unique) else ""
        share = percent(cell["share"].sel(pattern=pattern).item())
        said = f"{escape(label)}: {share} of {count:,} tokens{forms}; {len(here)} shown"
        state = " open" if pattern == most else ""
        yield f'<details data-pattern="{pattern}"{state}><summary>{said}</summary>'
        for example in here:
            yield _figure(example)
        yield "</details>"
    yield "</section>"


def _figure(example: Example) -> str:
    """Return an example, described in words and shown as text."""
    weight = float(example.attention[example.attended])
    words = MATCHED.get(example.pattern, "")
    matched = words and words.format(text=_code(example, example.matched), place=example.matched)
    said = (
        f"Rank {example.rank + 1}: without the head the loss of {_code(example, example.target)} at position "
        f"{example.target} rises by {example.rise:.1f} nats. The head attends most to "
        f"{_code(example, example.attended)} at position {example.attended} ({percent(weight)})"
        f"{f'; {matched}' if matched else ''}."
    )
    parts = []
    for place in shown(example, ROOM):
        parts.append(GAP if place is None else _token(example, place))
    return f"<figure><figcaption>{said}</figcaption><pre>{''.join(parts)}</pre></figure>"


def _code(example: Example, place: int) -> str:
    return f"<code>{marked(example.text[place])}</code>"


def _token(example: Example, place: int) -> str:
    """Return a token as plain text, or marked by its role in the example."""
    text = example.text[place]
    if place == example.target:
        return f'<b class="t">{marked(text)}</b>'
    if place > example.target:
        return f"<i>{plain(text)}</i>"
    step = level(float(example.attention[place]))
    name = f' class="a{step}"' if step else ""
    if place == example.attended:
        return f"<mark{name}>{marked(text)}</mark>"
    if place == example.matched:
        return f"<u{name}>{marked(text)}</u>"
    return f"<span{name}>{marked(text)}</span>" if step else plain(text)

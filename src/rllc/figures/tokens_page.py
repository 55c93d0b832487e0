"""Tokens in context as a page to read: every example with its text, in one static file without a script."""

import numpy as np
import xarray as xr

from rllc.analysis.recorded import recorded
from rllc.analysis.tokens import token_classes
from rllc.figures import inputs
from rllc.figures.drawing import Datasets, Seeds
from rllc.figures.excerpt import Example, examples, level, shown
from rllc.figures.heads.token_examples import ORANGES
from rllc.figures.heads.tokens import PATTERNS
from rllc.figures.page import render
from rllc.figures.uncertain import mark

ROOM = 420  # characters of the context before the target
TARGET = ("#ffffff", "#0b4f9e")
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


def tokens_in_context(datasets: Datasets, *, title: str = "", seeds: Seeds = None) -> str:
    """Return the page at the last step: a table of all heads, and examples of every pattern of each head.

    datasets  ``tokens``; ``attention_scores`` for the types of heads, where it is there
    title     what the experiment is called
    """
    needed = ("share", "share_chance", "unique", "tokens", "shown_token", "attention")
    types = inputs.over_heads(datasets, "tokens", *needed, seeds=seeds)["head_type"]
    every = inputs.of_seeds(datasets["tokens"], seeds).isel(step=-1).assign(head_type=types)
    last = every.assign(token_class=token_classes(every.expand_dims("step"), types).isel(step=0))
    values = recorded(datasets["tokens"], "tokens")
    several = last.sizes["seed"] > 1
    return render(
        "tokens.html",
        title=f"Tokens in context{f': {title}' if title else ''}",
        target=TARGET,
        oranges=ORANGES[1:],
        step=int(last["step"]),
        top=values.get("top"),
        searched=values.get("searched"),
        patterns=[
            {"name": name, "label": label, "meaning": MEANINGS[name]} for name, (label, _) in PATTERNS.items()
        ],
        heads=[
            _head(seed, last.sel(seed=seed, head=head), several)
            for seed in last["seed"].values.tolist()
            for head in last["head"].values.tolist()
        ],
    )


def _head(seed: int, cell: xr.Dataset, several: bool) -> dict:
    """Return what the page shows of one head of one seed."""
    name = cell["head"].item()
    count = int(cell["tokens"].fillna(0).item())
    by_pattern: dict[str, list[dict]] = {}
    for example in examples(cell) if count else []:
        by_pattern.setdefault(example.pattern, []).append(_example(example))
    share, chance, unique = (
        dict(zip(PATTERNS, cell[each].sel(pattern=list(PATTERNS)).values.tolist(), strict=True))
        for each in ("share", "share_chance", "unique")
    )
    there = [pattern for pattern in PATTERNS if pattern in by_pattern]
    explained = [pattern for pattern in there if pattern != "unexplained"] or there
    return {
        "anchor": f"seed{seed}-head{name.replace(':', '-')}",
        "name": f"{name} of seed {seed}" if several else name,
        "token_class": f"{cell['token_class'].item()}{mark(cell['head_type'])}",
        "count": count,
        "share": share,
        "chance": chance,
        "unique": {each: int(forms) if np.isfinite(forms) else None for each, forms in unique.items()},
        "examples": by_pattern,
        "open": max(explained, key=share.__getitem__, default=""),
    }


def _example(example: Example) -> dict:
    """Return an example: numbers, the tokens that its description names, and its text."""
    return {
        "rank": example.rank + 1,
        "rise": example.rise,
        "weight": float(example.attention[example.attended]),
        "target": _token(example, example.target),
        "attended": _token(example, example.attended),
        "matched": _token(example, example.matched),
        "tokens": [None if place is None else _token(example, place) for place in shown(example, ROOM)],
    }


def _token(example: Example, place: int) -> dict:
    """Return a token: its text, its place, its role in the example, and the step of the attention to it."""
    roles = {example.matched: "matched", example.attended: "attended", example.target: "target"}
    return {
        "text": example.text[place],
        "place": place,
        "role": "after" if place > example.target else roles.get(place, "context"),
        "level": level(float(example.attention[place])),
    }

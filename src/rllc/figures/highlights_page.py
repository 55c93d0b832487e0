"""Tokens whose loss falls in each stage as a page to read, in one static file without a script."""

import xarray as xr

from rllc.analysis.highlights import REPEATS
from rllc.figures import inputs, passages
from rllc.figures.drawing import Datasets, Seeds
from rllc.figures.excerpt import visible
from rllc.figures.page import render
from rllc.figures.passages import BETTER, CHOSEN, KINDS, STEPS, WORSE, Passage


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
    return render(
        "highlights.html",
        title=f"Tokens whose loss falls in each stage{f': {title}' if title else ''}",
        better=BETTER,
        worse=WORSE,
        steps=STEPS,
        contexts=data.sizes["context"],
        curve=passages.of_curve(data),
        repeat=passages.REPEAT,
        findings=[str(each) for each in passages.of_loss(datasets, data)],
        kinds=list(KINDS.values()),
        stages=[_stage(seed, stage, several) for seed, stage in cells],
    )


def _stage(seed: int, stage: xr.Dataset, several: bool) -> dict:
    """Return what the page shows of one stage of one seed."""
    ranks = [stage.isel(rank=n) for n in range(stage.sizes["rank"])]
    return {
        "anchor": f"seed{seed}-stage{int(stage['stage'])}",
        "name": passages.called(stage) + (f", of seed {seed}" if several else ""),
        "means": [passages.mean_gain(stage, kind) for kind in KINDS],
        "ended": passages.ended(stage),
        "pairs": [
            {
                "text": visible(str(one["pair"].item())),
                "gain": float(one["pair_gain"]),
                "count": int(one["pair_count"]),
            }
            for one in ranks
            if one["pair"].item()
        ],
        "passages": [_passage(each, stage) for each in passages.passages(stage)],
    }


def _passage(passage: Passage, stage: xr.Dataset) -> dict:
    """Return an excerpt: how it was chosen, and its tokens with their gains and steps of colour."""
    scale, end = float(stage["scale"]), passage.start + int(stage.attrs["length"])
    return {
        "chosen": CHOSEN[passage.chosen],
        "score_name": "repeats less the rest" if passage.chosen == REPEATS else "mean gain",
        "score": passage.score,
        "context": passage.context,
        "start": passage.start,
        "cut": end < stage.sizes["position"],
        "tokens": [
            {"text": text, "gain": gain, "step": passages.shade(gain, scale)} for text, gain in passage.parts
        ],
    }

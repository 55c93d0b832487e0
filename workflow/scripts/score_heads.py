"""Attention scores and composition of every head: one seed, one chunk of checkpoints."""

from pathlib import Path

import xarray as xr

from rllc.job.measuring import Measuring
from rllc.job.stage import run
from rllc.measures.composition import composition_scores
from rllc.measures.heads import head_scores, repeat_gap
from rllc.tasks.language.tokenizer import bos_id, load


def main(job: Measuring, tokenizer: Path, patterns: dict) -> None:
    """Previous-token, current-token and prefix-matching scores on random tokens; Q-, K-, V-composition."""
    random = {"bos": bos_id(load(tokenizer)), "seed": job.stream, **patterns}

    def measure(weights, model, _):
        architecture = model.architecture
        scores = head_scores(weights, architecture=architecture, **random)
        gap = repeat_gap(weights, architecture=architecture, **random)
        composition = composition_scores(weights, architecture=architecture)
        return xr.merge([scores, gap, composition], join="exact", compat="no_conflicts")

    job.write(measure, patterns=random)


if __name__ == "__main__":
    run(main)

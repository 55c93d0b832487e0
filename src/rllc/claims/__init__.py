"""Claims about a run, as functions of labelled curves: what a module of claims, ours or a user's, imports.

from rllc.claims import claim, fall

@claim("Heads of layer 0 end below their peak", source="arXiv 2410.02984, App. G",
       label="fall of the mean rLLC of layer 0", at_least=0.05)
def layer0_falls(run):
    heads = run.curve("rllc.rllc", heads=run.heads(layer=0), distribution=run.text)
    return fall(heads.mean("head"))
"""

from rllc.analysis.curves import (
    NotJudged,
    change,
    fall,
    fall_to_minimum,
    last,
    log2_gain,
    log2_ratio,
    maximum,
    minimum,
    peak_step,
    pearson,
    smooth,
    spearman,
    value_at,
)
from rllc.claims.claim import Claim, Statistic, claim, number
from rllc.claims.experiment import Experiment
from rllc.claims.run import Run

__all__ = [
    "Claim", "Experiment", "NotJudged", "Run", "Statistic", "change", "claim", "fall", "fall_to_minimum",
    "last", "log2_gain", "log2_ratio", "maximum", "minimum", "number", "peak_step", "pearson",
    "smooth", "spearman", "value_at",
]  # fmt: skip

"""The checkpoints of an experiment, and their chunks."""

import math
from bisect import bisect_right
from pathlib import Path

from rllc.study.huggingface.folders import planned_folders
from rllc.study.huggingface.sections import HuggingFace
from rllc.study.imported import planned_files
from rllc.study.setup import Setup


def powers(ratio: float, first: int, last: int) -> set[int]:
    """Return the integer parts of ``ratio**k`` from ``first`` to ``last``. No other setting moves them."""
    exponents = range(math.ceil(math.log(last, ratio)) + 1) if last >= 1 else ()
    return {step for k in exponents if first <= (step := int(ratio**k + 1e-9)) <= last}


def steps(experiment: Setup, root: Path = Path()) -> list[int]:
    """Return all checkpoint steps, ascending: scheduled (trained here) or found (those of others)."""
    checkpoints = experiment.checkpoints
    if checkpoints.source == "import":
        return list(planned_files(root / checkpoints.folder(experiment.seeds[0]), experiment.model.family))
    if checkpoints.source == "huggingface":
        if not isinstance(experiment.model, HuggingFace):
            raise ValueError(f"checkpoints of Hugging Face are not of the family {experiment.model.family}")
        return list(planned_folders(experiment.model, checkpoints, experiment.seeds[0]))
    last = experiment.own_training.steps
    scheduled = {0, last, *checkpoints.extra}
    for first, end, every in checkpoints.ranges:
        scheduled |= set(range(first, min(end, last) + 1, every))
    if checkpoints.ratio is not None:
        scheduled |= powers(checkpoints.ratio, max(checkpoints.first, 1), last)
    return sorted(scheduled)


def chunks(experiment: Setup, root: Path = Path()) -> dict[int, list[int]]:
    """Return the non-empty chunks: first step -> checkpoint steps. A new step moves no other step."""
    edges = experiment.checkpoints.chunks
    table: dict[int, list[int]] = {}
    for step in steps(experiment, root):
        table.setdefault(edges[bisect_right(edges, step) - 1], []).append(step)
    return table

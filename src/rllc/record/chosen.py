"""A job on some of the checkpoints of its chunk."""

import dataclasses
import json
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from rllc.record import manifest as manifests
from rllc.record.measuring import Measuring
from rllc.record.store import write_text


@contextmanager
def only(job: Measuring, steps: Collection[int]) -> Iterator[Measuring]:
    """The same job with only the checkpoints at ``steps``: a manifest of them, for as long as it runs.

    Raises ValueError where the chunk lacks one of them.
    """
    whole = manifests.read(job.checkpoints)
    absent = sorted(set(steps) - {entry["step"] for entry in whole["checkpoints"]})
    if absent:
        raise ValueError(f"{job.checkpoints} has no checkpoint at step {', '.join(map(str, absent))}")
    folder = job.checkpoints.parent.resolve()
    listed = [
        {**entry, "file": str(folder / entry["file"])}
        for entry in whole["checkpoints"]
        if entry["step"] in steps
    ]
    with tempfile.TemporaryDirectory() as name:
        chosen = Path(name) / job.checkpoints.name
        write_text(json.dumps({**whole, "checkpoints": listed}), chosen)
        yield dataclasses.replace(job, checkpoints=chosen)

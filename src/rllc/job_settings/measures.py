"""Settings of jobs that measure the checkpoints of a chunk."""

from dataclasses import dataclass
from typing import Any

from rllc.job_settings.compute import Compute
from rllc.job_settings.functions import NamedFunction


@dataclass(frozen=True)
class Measure:
    """One measure of one seed and chunk.

    family        function that builds the model, and the teacher
    kernel        function that measures
    keywords      keyword arguments of the kernel
    attribute     name under which results record the keywords
    steps         steps of the chunk that are measured
    side          side of the tokens: held_out, or train (the contexts that are trained on)
    stream        random stream of the measure; per checkpoint, ``Measuring.seed(step)``
    batch_stream  random stream of the minibatches: the same for all seeds and steps
    bos           token that opens every context, as in ``rllc.tasks.language.tokenizer.opening``
    earlier       number of checkpoints before each that the measure reads too
    """

    family: NamedFunction
    kernel: NamedFunction
    keywords: dict[str, Any]
    attribute: str
    steps: list[int]
    compute: Compute
    side: str
    stream: int
    batch_stream: int
    bos: str | None = None
    earlier: int = 0

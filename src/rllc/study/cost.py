"""What a pass of a model costs: CPU time and memory, estimated before anything runs.

Counted matrix products divided by a measured speed, what goes on between them, and a fixed cost per job.
``benchmarks/README.md`` has the measurements; the estimates are meant to be right within a factor of two.
"""

from dataclasses import dataclass

from rllc.study.families import Load, ModelSection, family_of
from rllc.study.tasks import Tokenizer

START = 2.0  # CPU seconds until a job that imports torch computes
HEAD = 0.17  # share of a full forward and backward pass that one head costs, next to the others


@dataclass(frozen=True)
class Cost:
    """Of one job: CPU seconds, peak memory and bytes that stay on disk."""

    cpu_seconds: float
    megabytes: float = 700.0
    disk_bytes: float = 2e5


def forward(
    model: ModelSection,
    tokens: Tokenizer,
    batch_size: int,
    scored: int | None,
    *,
    length: int | None = None,
) -> float:
    """CPU seconds of a forward pass over one minibatch; backward takes twice that.

    length  tokens of a sequence, where they are not the tokenizer's contexts
    """
    predictions = length or tokens.predictions
    load = Load(batch_size, length or tokens.context, predictions, scored or predictions)
    return family_of(model).forward(model, tokens, load)


def logits(model: ModelSection, tokens: Tokenizer, batch_size: int, scored: int | None) -> float:
    """Megabytes of the logits, or what else is predicted, of one minibatch."""
    outputs = family_of(model).outputs(model, tokens)
    return 4e-6 * batch_size * (scored or tokens.predictions) * outputs

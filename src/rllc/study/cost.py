"""The cost of a model's forward pass: CPU time and memory, estimated before anything runs.

The time is the number of operations in matrix products over a measured speed, plus the time between products
and a fixed cost per job. ``benchmarks/README.md`` has the measurements. The estimates aim at a factor of two.
"""

from dataclasses import dataclass

from rllc.study.families import Load, ModelSection, family_of
from rllc.study.tasks import Tokenizer

START = 2.0  # CPU seconds of the start of a job that imports torch
MEGABYTES, PER_LOGITS = 900, 8  # memory of a job that evaluates a model, and per megabyte of its logits
MEGABYTE = 4e-6  # megabytes of a float32 weight
HASHED = 200.0  # megabytes of weights that a job reads and hashes per CPU second
HEAD = 0.17  # cost of one more head, as a share of a full forward and backward pass


@dataclass(frozen=True)
class Cost:
    """Cost of one job: CPU seconds, peak memory, and bytes that stay on disk."""

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
    """Return the CPU seconds of a forward pass over one minibatch. The backward pass takes twice that.

    length  tokens of a sequence; None: those of the tokenizer's contexts
    """
    predictions = length or tokens.predictions
    load = Load(batch_size, length or tokens.context, predictions, scored or predictions)
    return family_of(model).forward(model, tokens, load)


def evaluating(logits: float) -> float:
    """Return the megabytes of a job that evaluates minibatches whose logits take ``logits`` megabytes."""
    return MEGABYTES + PER_LOGITS * logits


def logits(model: ModelSection, tokens: Tokenizer, batch_size: int, scored: int | None) -> float:
    """Return the megabytes of the logits, or of other predictions, of one minibatch."""
    outputs = family_of(model).outputs(model, tokens)
    return 4e-6 * batch_size * (scored or tokens.predictions) * outputs

"""Check the heads and the minibatches that ``estimate_heads`` is given."""

from collections.abc import Iterable, Sequence
from typing import Any

from rllc.estimator.samplers.batches import kind_of
from rllc.models.transformer import Architecture
from rllc.sampler_config import shown
from rllc.tasks.batch import Batch
from rllc.vocabulary import head_labels


def check_heads(heads: Sequence[str] | None, architecture: Architecture) -> list[str]:
    """Return the labels of the heads to sample. Raise ValueError unless they exist and differ."""
    valid = head_labels(architecture.n_layers, architecture.n_heads)
    if heads is None:
        return valid
    advice = f"choose from {', '.join(valid)}"
    if isinstance(heads, str) or not isinstance(heads, Iterable):
        raise ValueError(f"heads is {shown(heads)}: expected a list of labels, or None for all; {advice}")
    chosen = list(heads)
    if not chosen:
        raise ValueError(f"heads is empty: {advice}; or give None for all")
    for place, head in enumerate(chosen):
        if head not in valid:
            raise ValueError(f"heads has the unknown label {head!r}: {advice}")
        if head in chosen[:place]:
            raise ValueError(f"heads has {head!r} twice: give each label once")
    return chosen


def check_batch(batch: Any, architecture: Architecture) -> None:
    """Raise ValueError if a minibatch, the first that chains read, does not fit the architecture."""
    if not isinstance(batch, Batch):
        raise ValueError(
            f"batches hold {kind_of(batch)}: expected an rllc.tasks.batch.Batch in each place; make it with "
            "rllc.tasks.batch.next_token_batch"
        )
    contexts, positions, targets = batch
    vocabulary, longest = architecture.d_vocab, architecture.n_ctx
    target_shape = (len(contexts), len(positions), *([vocabulary] if targets.is_floating_point() else []))
    if (
        contexts.ndim != 2
        or contexts.is_floating_point()
        or contexts.shape[1] > longest
        or targets.shape != target_shape
    ):
        raise ValueError(
            f"batches hold contexts {list(contexts.shape)} of {contexts.dtype}, {len(positions)} positions "
            f"and targets {list(targets.shape)}: expected contexts [batch, up to {longest}] of integers, and "
            f"targets [batch, scored] or [batch, scored, {vocabulary}]"
        )
    outside = contexts[(contexts < 0) | (contexts >= vocabulary)]
    if len(outside):
        raise ValueError(
            f"batches hold token {int(outside[0])}: expected 0 to {vocabulary - 1} (d_vocab is {vocabulary})"
        )

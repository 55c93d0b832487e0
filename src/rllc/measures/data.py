"""What a measure is given beside a checkpoint: minibatches and random streams."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import xarray as xr
from tokenizers import Tokenizer

from rllc.models.model import Model
from rllc.models.weights import Weights

# One checkpoint's numbers: (weights, model, step) -> dataset, without the dims seed, step and distribution.
Measurement = Callable[[Weights, Model, int], xr.Dataset]


class Data(Protocol):
    """The data of one seed and one distribution, as a job reads it (``rllc.job.measuring``).

    stream  the measure's random stream for this seed
    bos, encoder  the token that begins every context, and the tokenizer, where the measure reads it
    """

    stream: int
    bos: int
    encoder: Tokenizer

    def batches(self, purpose: str, *, count: int, batch_size: int, scored: int | None) -> Sequence[Any]:
        """Held-out minibatches, the same for the same purpose and sizes; scored None: every position."""

    def contexts(self, count: int | None = None) -> np.ndarray:
        """The first ``count`` contexts (None: all) of the side that the measure reads: [count, length]."""

    def training_contexts(self) -> np.ndarray:
        """Integers [total, context]: the contexts of the distribution that are not held out."""

    def part(self, name: str) -> xr.Dataset:
        """What the measure ``name``, which its row names under ``after``, found for this seed in the last
        chunk of checkpoints."""

    def seed(self, step: int, *, seeded: bool = False) -> int:
        """Seed of the noise at a step: the same for all distributions, and ``seeded`` for all steps."""

"""What a measure is given beside a checkpoint: minibatches and random streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
import xarray as xr

from rllc.models.model import Model
from rllc.models.weights import Weights
from rllc.seeds import derive, generator
from rllc.tasks.batch import Batch, Examples, batches_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# One checkpoint's numbers: (weights, model, step) -> dataset, without the dims seed, step and distribution.
Measurement = Callable[[Weights, Model, int], xr.Dataset]


class Data(Protocol):
    """The data of one seed and one distribution: of a job (``rllc.job.measuring``), or ``InMemoryData``."""

    @property
    def stream(self) -> int:
        """The measure's random stream for this seed."""
        ...

    @property
    def bos(self) -> int | None:
        """The token that begins every context; None: there is none."""
        ...

    @property
    def encoder(self) -> Tokenizer:
        """The tokenizer, where the measure reads it."""
        ...

    def batches(self, purpose: str, *, count: int, batch_size: int, scored: int | None) -> Sequence[Batch]:
        """Held-out minibatches, the same for the same purpose and sizes; scored None: every position."""
        ...

    def contexts(self, count: int | None = None) -> np.ndarray:
        """The first ``count`` contexts (None: all) of the side that the measure reads: [count, length]."""
        ...

    def training_contexts(self) -> np.ndarray:
        """Integers [total, context]: the contexts of the distribution that are not held out."""
        ...

    def before(self, step: int, count: int) -> list[tuple[int, Weights]]:
        """Step and weights of the last ``count`` checkpoints before ``step``, the latest first.

        The specification of the measure says how many it reads (``earlier``).
        """
        ...

    def part(self, name: str) -> xr.Dataset:
        """Return what the measure ``name`` found for this seed in the last chunk of checkpoints.

        The specification of the reading measure names it under ``after``.
        """
        ...

    def seed(self, step: int, *, seeded: bool = False) -> int:
        """Seed of the noise at a step: the same for all distributions, and ``seeded`` for all steps."""
        ...


@dataclass(frozen=True, kw_only=True)
class InMemoryData:
    """Data of a measure, held in memory: for a notebook, a script or a test.

    held_out   contexts, of which minibatches are drawn as in the workflow, or minibatches, which are given
               out in their order
    training   contexts that the model is trained on, integers [total, context]; n-grams are counted in them
    first      the token that begins every context; None: the one with which all given contexts begin, and no
               token where they begin with different ones
    tokenizer  of the contexts, for measures of text
    parts      datasets of other measures on which a measure builds, by their names
    earlier    weights of checkpoints by step, for a measure that compares one with those before it
    stream     seed of every random number
    device     of the minibatches

    A measure that asks for what is not given raises ValueError, which names it.

    >>> import numpy as np
    >>> data = InMemoryData(held_out=np.zeros((8, 5), dtype=int))
    >>> [batch.contexts.shape for batch in data.batches("loss", count=2, batch_size=4, scored=None)]
    [torch.Size([4, 5]), torch.Size([4, 5])]
    """

    held_out: np.ndarray | Examples | Sequence[Batch]
    training: np.ndarray | None = None
    first: int | None = None
    tokenizer: Tokenizer | None = None
    parts: Mapping[str, xr.Dataset] = field(default_factory=dict)
    earlier: Mapping[int, Weights] = field(default_factory=dict)
    stream: int = 0
    device: str | torch.device = "cpu"

    def batches(self, purpose: str, *, count: int, batch_size: int, scored: int | None) -> list[Batch]:
        """Return held-out minibatches on the device. Raises ValueError where given ones do not fit."""
        if isinstance(self.held_out, np.ndarray | Examples):
            random = generator(self.stream, purpose, count, batch_size)
            found = batches_of(
                self._examples(), batch_size=batch_size, count=count, scored=scored, random=random
            )
        else:
            found = self._given(count, batch_size, scored)
        return [Batch(*(part.to(self.device) for part in batch)) for batch in found]

    def contexts(self, count: int | None = None) -> np.ndarray:
        """Return the first held-out contexts, or all. Raises ValueError where there are fewer."""
        every = self._contexts()
        if count is not None and len(every) < count:
            raise ValueError(
                f"held_out has {len(every)} contexts, and {count} are asked for: give more, or ask for fewer"
            )
        return every[:count]

    def training_contexts(self) -> np.ndarray:
        """Return the contexts that are trained on. Raises ValueError where none are given."""
        if self.training is None:
            raise ValueError(
                "the measure reads contexts that are trained on: give InMemoryData(training=...)"
            )
        return self.training

    def before(self, step: int, count: int) -> list[tuple[int, Weights]]:
        """Return step and weights of the last given checkpoints before ``step``, the latest first."""
        known = sorted((each for each in self.earlier if each < step), reverse=True)
        return [(each, self.earlier[each]) for each in known[:count]]

    def part(self, name: str) -> xr.Dataset:
        """Return the dataset of another measure. Raises ValueError where it is not given."""
        if name not in self.parts:
            raise ValueError(
                f"the measure builds on the dataset {name!r}: give InMemoryData(parts={{{name!r}: ...}})"
            )
        return self.parts[name]

    def seed(self, step: int, *, seeded: bool = False) -> int:
        """Return the seed of the noise at a step."""
        return self.stream if seeded else derive(self.stream, step)

    @property
    def bos(self) -> int | None:
        """The token that begins every context; None where contexts begin with different tokens."""
        if self.first is not None:
            return self.first
        first = np.unique(self._contexts()[:, 0])
        return int(first[0]) if len(first) == 1 else None

    @property
    def encoder(self) -> Tokenizer:
        """The tokenizer. Raises ValueError where none is given."""
        if self.tokenizer is None:
            raise ValueError("the measure reads the tokenizer: give InMemoryData(tokenizer=...)")
        return self.tokenizer

    def _examples(self) -> Examples:
        return self.held_out if isinstance(self.held_out, Examples) else Examples(np.asarray(self.held_out))

    def _contexts(self) -> np.ndarray:
        if isinstance(self.held_out, np.ndarray | Examples):
            return self._examples().contexts
        return np.concatenate([batch.contexts.cpu().numpy() for batch in self.held_out])

    def _given(self, count: int, batch_size: int, scored: int | None) -> Sequence[Batch]:
        """Return the first minibatches. Raises ValueError where they are too few or do not fit."""
        assert not isinstance(self.held_out, np.ndarray | Examples)
        if len(self.held_out) < count:
            raise ValueError(
                f"{len(self.held_out)} minibatches are given and {count} are asked for: give more"
            )
        given = [self.held_out[index] for index in range(count)]
        for batch in given:
            size, positions = len(batch.contexts), len(batch.positions)
            if size != batch_size:
                raise ValueError(f"a minibatch has {size} contexts: expected batch_size, {batch_size}")
            if scored is not None and positions != scored:
                raise ValueError(
                    f"a minibatch scores {positions} positions and {scored} are asked for: give contexts "
                    "instead, of which minibatches are drawn, or minibatches that score as many"
                )
        return given

"""What every measure needs of a model, whatever its family."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from rllc.models.weights import Masks, Weights
from rllc.tasks.batch import Batch
from rllc.tasks.lazy import LazySequence


class Model(Protocol):
    """A model of one family at one shape: functions of a dict of weights.

    A family may offer more, which its row in ``rllc.study.families`` names and measures ask for there:

    predictions  ``predictions(weights, batch)``: targets that a model gives as a teacher
    heads        ``architecture``, an ``rllc.models.transformer.Architecture``, of which kernels read the rest
    """

    @property
    def heads(self) -> list[str]:
        """Labels ``"layer:head"`` of all attention heads, layer by layer; empty where there are none."""
        ...

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every weight."""
        ...

    def initial_weights(self, *, seed: int, **initial: Any) -> dict[str, Tensor]:
        """Weights before training, float32; ``initial`` is the config section of that name."""
        ...

    def outputs(self, weights: Weights, batch: Batch) -> Tensor:
        """What is predicted (logits, numbers): [batch, scored, ...], without positions [batch, ...]."""
        ...

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Loss of each prediction: [batch, scored] or [batch]."""
        ...

    def loss(self, weights: Weights, batch: Batch) -> Tensor:
        """Mean of ``losses`` over a batch, a scalar with two derivatives.

        With a teacher's predictions as targets it is what these make of it: of tokens a divergence.
        """
        ...

    def masks(self, component: str) -> Masks | None:
        """Boolean masks of a component's coordinates by weight name; None: every weight.

        Raises ValueError where the model has no such component.
        """
        ...


def build(family: Callable[..., Model], facts: Mapping[str, Any]) -> Model:
    """The model of a manifest: ``family`` called with the facts beside the family's name."""
    return family(**{name: fact for name, fact in facts.items() if name != "family"})


class TaughtBatches(LazySequence[Batch]):
    """Batches with the predictions of a teacher as targets.

    The reconstruction of the model-generated data refinement of arXiv 2410.02984, App. F.3: contexts
    stay, the one-hot next token becomes ``softmax(teacher)``. Targets [batch, scored, vocab] are computed
    when a batch is asked for; ``KEPT`` bytes of them stay, since every checkpoint asks for the same.
    """

    KEPT = 2**27

    def __init__(self, batches: Sequence[Batch], teacher: Weights, model: Any):
        self._batches, self._teacher, self._model = batches, teacher, model
        self._kept: dict[int, Batch] = {}
        self._room = self.KEPT

    def __len__(self) -> int:
        return len(self._batches)

    def item(self, index: int) -> Batch:
        if index in self._kept:
            return self._kept[index]
        batch = self._batches[index]
        with torch.no_grad():
            taught = batch._replace(targets=self._model.predictions(self._teacher, batch))
        if taught.targets.nbytes <= self._room:
            self._kept[index] = taught
            self._room -= taught.targets.nbytes
        return taught

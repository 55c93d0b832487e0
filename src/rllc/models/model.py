"""The functions that every measure needs from a model of any family."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from rllc.models.weights import Masks, Weights
from rllc.tasks.batch import Batch
from rllc.tasks.lazy import LazySequence


class Model(Protocol):
    """A model of one family and one shape: functions of a dict of weights.

    A family may have further capabilities. Its row in ``rllc.study.families`` names them, and measures
    require them there:

    predictions  ``predictions(weights, batch)``: targets that the model gives as a teacher
    heads        the functions of ``ModelWithHeads``
    circuits     ``architecture``, an ``rllc.models.transformer.Architecture`` that kernels read

    A model may also have ``losses_around(weights, components)``: a loss, and for each component a faster one
    that equals it where only the component's weights differ from ``weights``.
    """

    @property
    def heads(self) -> list[str]:
        """The labels ``"layer:head"`` of all attention heads, layer by layer; empty without heads."""
        ...

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the name and shape of every weight."""
        ...

    def initial_weights(self, *, seed: int, **initial: Any) -> dict[str, Tensor]:
        """Return the weights before training, float32; ``initial`` is the config section of that name."""
        ...

    def outputs(self, weights: Weights, batch: Batch) -> Tensor:
        """Return predictions (logits, numbers): [batch, scored, ...], or [batch, ...] without positions."""
        ...

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each prediction: [batch, scored] or [batch]."""
        ...

    def loss(self, weights: Weights, batch: Batch) -> Tensor:
        """Return the mean of ``losses`` over a batch, a scalar with two derivatives.

        A teacher's predictions as targets change its meaning: for tokens it becomes a divergence.
        """
        ...

    def masks(self, component: str) -> Masks | None:
        """Return boolean masks of a component's coordinates by weight name; None: every weight.

        Raises ValueError where the model has no such component.
        """
        ...


class ForwardPass(Protocol):
    """One forward pass of a minibatch, in which outputs of heads and MLPs can be replaced.

    The output of a head is what its layer's output projection reads of it, z [batch, position, width]. The
    output of a group is that of its heads, side by side. The output of an MLP is what it adds to the residual
    stream. ``position`` are all positions, or the scored ones where the others do not matter.
    """

    @property
    def losses(self) -> Tensor:
        """The loss of each prediction: [batch, scored]."""
        ...

    def output(self, component: str) -> Tensor:
        """Return the output of a head, a group or an MLP, by its label."""
        ...

    def attention(self, head: str) -> Tensor:
        """Return the attention of a head, or the mean over the heads of a group: [batch, query, key]."""
        ...

    def replaced(self, outputs: Mapping[str, Tensor]) -> "ForwardPass":
        """Return the pass in which components have other outputs, and all that follows is computed again.

        outputs  label -> output, or a tensor that expands to it
        """
        ...


class ModelWithHeads(Model, Protocol):
    """A model of tokens whose attention heads and MLPs can be observed and replaced."""

    @property
    def mlps(self) -> list[str]:
        """The labels ``"mlp:layer"`` of all MLPs whose outputs can be replaced; empty without MLPs."""
        ...

    @property
    def vocabulary(self) -> int:
        """The number of tokens that the model embeds."""
        ...

    @property
    def longest(self) -> int | None:
        """The number of tokens of the longest context; None where there is no limit."""
        ...

    def forward_pass(self, weights: Weights, batch: Batch) -> ForwardPass:
        """Return the forward pass of a minibatch, with nothing replaced."""
        ...

    def mean_outputs(self, weights: Weights, batches: Sequence[Batch]) -> dict[str, Tensor]:
        """Return the mean output of every head and MLP over all contexts and positions: [1, width]."""
        ...

    def attention_rows(self, weights: Weights, tokens: Tensor, queries: Tensor) -> Tensor:
        """Return the attention of one query per context: [context, head, member, key].

        tokens [context, position], queries [context]: the position of the query. ``member`` are the heads of
        a group; a head has one.
        """
        ...


def build(family: Callable[..., Model], facts: Mapping[str, Any]) -> Model:
    """Return the model of a manifest: ``family`` called with all facts except the family's name."""
    return family(**{name: fact for name, fact in facts.items() if name != "family"})


class TaughtBatches(LazySequence[Batch]):
    """Batches with the predictions of a teacher as targets.

    This reconstructs the refinement by model-generated data of arXiv 2410.02984, App. F.3: contexts stay, and
    ``softmax(teacher)`` replaces the one-hot next token. Targets [batch, scored, vocab] are computed when a
    batch is read. Up to ``KEPT`` bytes of them stay in memory, since every checkpoint reads the same batches.
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

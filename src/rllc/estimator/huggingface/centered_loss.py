"""The loss of a transformers model where a component differs from w*, with what w* gives computed once.

Two accelerations, exact up to rounding:

blocks  where the unembedding is frozen, logits are never whole (kernels/blocked_loss.py). The model runs with
        the identity in the place of its unembedding
tail    a component whose lowest weight lies in layer L leaves the layers below L as they are at w*. One pass
        at w* per minibatch, shared by all chains and components, gives the output of layer L - 1. Chains run
        the layers from L
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from rllc.estimator.huggingface.partial_forward import Call, always, first, recorded, replaced
from rllc.estimator.huggingface.places import Places
from rllc.estimator.kernels.blocked_loss import blocked_loss
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.loss import token_losses
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch


class Path(NamedTuple):
    """How a loss is computed: the first layer that is run, and whether logits come in blocks."""

    layer: int
    blocked: bool


class CenterPass(NamedTuple):
    """One pass at w* on a minibatch: calls of the recorded layers, and ``CenteredLoss.output``."""

    batch: Batch
    calls: dict[int, Call]
    output: Tensor


class CenteredLoss:
    """The loss of one model around the weights w*.

    blocked  whether logits come in blocks where the unembedding is frozen
    record   layers whose calls at w* are kept
    """

    def __init__(self, model: HuggingFaceModel, weights: Weights, *, blocked: bool, record: Iterable[int]):
        self.model, self.weights, self.places = model, weights, Places(model)
        self._blocked = blocked
        self._recorded = {layer: self.places.layers[layer] for layer in record}
        self._last: CenterPass | None = None

    def __call__(self, weights: Weights, batch: Batch) -> Tensor:
        """Return the mean loss of a batch at any weights. At w*, this makes the pass that chains read."""
        if any(weights[name].data_ptr() != own.data_ptr() for name, own in self.weights.items()):
            return self.model.loss(weights, batch)
        return self.loss_of(self._pass_at_center(batch).output, batch, blocked=self._in_blocks(batch))

    def along(self, path: Path, weights: Weights, batch: Batch) -> Tensor:
        """Return the mean loss of a batch at weights that are w* in what the path leaves out."""
        path = path._replace(blocked=path.blocked and self._in_blocks(batch))
        return self.loss_of(self.output(path, weights, batch), batch, blocked=path.blocked)

    def at_center(self, batch: Batch) -> CenterPass:
        """Return the pass at w* on a batch. The last one is kept, since chains read a batch in turn."""
        last = self._last
        if last is None or any(one is not other for one, other in zip(last.batch, batch, strict=True)):
            return self._pass_at_center(batch)
        return last

    @torch.no_grad()
    def _pass_at_center(self, batch: Batch) -> CenterPass:
        self._last = None  # its memory is free for the next one
        with recorded(self._recorded) as calls:
            output = self._run(self.weights, batch, blocked=self._in_blocks(batch))
        self._last = CenterPass(batch, calls, output)
        return self._last

    def output(self, path: Path, weights: Weights, batch: Batch) -> Tensor:
        """Return the input of the unembedding [batch, scored, model] if ``path.blocked``, else the logits."""
        if not path.layer:
            return self._run(weights, batch, blocked=path.blocked)
        below = self.at_center(batch).calls[path.layer - 1].returned
        return self.after(path.layer, below, weights, batch, blocked=path.blocked)

    def after(self, layer: int, below: object, weights: Weights, batch: Batch, *, blocked: bool) -> Tensor:
        """Return ``output`` with ``below`` in the place of what the layers before ``layer`` return."""
        with replaced(dict.fromkeys(self.places.layers[:layer], always(below))):
            return self._run(weights, batch, blocked=blocked)

    def loss_of(self, output: Tensor, batch: Batch, *, blocked: bool) -> Tensor:
        """Return the mean loss from ``output``."""
        if not blocked:
            return token_losses(output, batch.targets).mean()
        weight, bias = self.unembedding()
        return blocked_loss(output.flatten(0, 1), weight, bias, batch.targets.flatten())

    def unembedding(self) -> tuple[Tensor, Tensor | None]:
        """Return the matrix of the unembedding at w* [vocabulary, model], and its bias or None."""
        names = self.places.names
        return self.weights[names["weight"]], self.weights[names["bias"]] if "bias" in names else None

    def _in_blocks(self, batch: Batch) -> bool:
        return self._blocked and not batch.targets.is_floating_point()

    def _run(self, weights: Weights, batch: Batch, *, blocked: bool) -> Tensor:
        head = self.places.unembedding
        with replaced({head: first} if blocked and head is not None else {}):
            return self.model.outputs(weights, batch)

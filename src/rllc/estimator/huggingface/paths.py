"""Choose how the loss of each component of a transformers model is computed, and check the choice.

Each path is compared with the plain one on a small minibatch, at w* and where the component is displaced.
Where it differs, the next slower path is taken and the log says so.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import linear

from rllc.components import parse
from rllc.estimator.huggingface.centered_loss import CenteredLoss, Path
from rllc.estimator.huggingface.neox_heads import NeoxHeads, missing
from rllc.estimator.huggingface.places import Places
from rllc.estimator.samplers.admissible import Loss
from rllc.models.huggingface.loss import TOLERANCE
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.weights import Masks, Weights
from rllc.tasks.batch import Batch

LOG = logging.getLogger(__name__)
MOVED = 0.1  # of the check: displacement of the weights over their root mean square
CONTEXTS, LENGTH = 2, 6  # of the check's minibatch


def losses_around(
    model: HuggingFaceModel, weights: Weights, components: Mapping[str, Masks | None]
) -> tuple[Loss, dict[str, Loss]]:
    """Return the loss to use at w*, and for each component the loss where only its weights differ from w*.

    weights     w*
    components  masks by weight name for each component; None: every weight
    """
    places = Places(model)
    every = {name: torch.tensor(True, device=weight.device) for name, weight in weights.items()}
    masked = {label: every if masks is None else masks for label, masks in components.items()}
    lowest = {label: min(map(places.layer_of, own)) for label, own in masked.items()}
    frozen = set(places.names.values())
    blocked = bool(frozen) and _blocks_are_plain(model, weights, every, frozen)
    heads = {label: parse(label).heads[0] for label in components if blocked and _in_kernel(label, model)}
    record = {layer - 1 for layer in lowest.values() if layer} | {layer for layer, _ in heads.values()}
    loss = CenteredLoss(model, weights, blocked=blocked, record=record)
    paths = {label: Path(lowest[label], blocked and not frozen & set(own)) for label, own in masked.items()}
    losses = _of_heads(loss, heads, masked)
    return loss, losses | _of_tails(loss, {k: path for k, path in paths.items() if k not in losses}, masked)


def _of_heads(
    loss: CenteredLoss, heads: Mapping[str, tuple[int, int]], masked: Mapping[str, Masks]
) -> dict[str, Loss]:
    """Return the losses of heads (layer, index) by the kernel; one head per layer is checked."""
    kernel, plain, losses = NeoxHeads(loss), {}, {}
    for label, (layer, index) in heads.items():
        head = kernel.of(layer, index)
        if layer not in plain:
            plain[layer] = _head_is_plain(loss, head, masked[label], layer)
        if plain[layer]:
            losses[label] = head
    return losses


def _of_tails(loss: CenteredLoss, paths: Mapping[str, Path], masked: Mapping[str, Masks]) -> dict[str, Loss]:
    """Return the losses of components by their paths; one component per path is checked."""
    plain: dict[Path, bool] = {}
    losses: dict[str, Loss] = {}
    for label, path in paths.items():
        if path not in plain:
            plain[path] = path.layer == 0 or _tail_is_plain(loss, path, masked[label])
        own = path if plain[path] else path._replace(layer=0)
        losses[label] = loss.model.loss if own == Path(0, False) else partial(loss.along, own)
    return losses


def _in_kernel(label: str, model: HuggingFaceModel) -> bool:
    """Return whether a component is one head of a model that ``neox_heads`` takes."""
    return [part.kind for part in parse(label).parts] == ["head"] and missing(model) is None


def _blocks_are_plain(model: HuggingFaceModel, weights: Weights, every: Masks, frozen: set[str]) -> bool:
    """Return whether the unembedding's input gives the logits, by a product with its matrix alone."""
    loss = CenteredLoss(model, weights, blocked=True, record=())
    found = partial(_logits, loss, Path(0, True))
    others = {name: mask for name, mask in every.items() if name not in frozen}
    difference = _difference(loss, found, model.outputs, others)
    if difference:
        LOG.warning(
            "logits of %s are computed whole: its unembedding alone does not give them (%s)",
            type(model.module).__name__, difference,
        )  # fmt: skip
    return not difference


def _tail_is_plain(loss: CenteredLoss, path: Path, masks: Masks) -> bool:
    """Return whether the layers from ``path.layer`` give the logits, after the lower ones at w*."""
    difference = _difference(loss, partial(_logits, loss, path), loss.model.outputs, masks)
    if difference:
        LOG.warning(
            "all layers of %s are run for components of layer %d: its layers alone do not give the logits "
            "(%s)", type(loss.model.module).__name__, path.layer, difference,
        )  # fmt: skip
    return not difference


def _head_is_plain(loss: CenteredLoss, head: Loss, masks: Masks, layer: int) -> bool:
    """Return whether the kernel of heads gives the loss."""
    difference = _difference(loss, head, loss.model.loss, masks)
    if difference:
        LOG.warning(
            "heads of layer %d run %s's own layers: the kernel does not give the loss (%s)",
            layer, type(loss.model.module).__name__, difference,
        )  # fmt: skip
    return not difference


def _logits(loss: CenteredLoss, path: Path, weights: Weights, batch: Batch) -> Tensor:
    """Return the logits by a path."""
    found = loss.output(path, weights, batch)
    return linear(found, *loss.unembedding()) if path.blocked else found


@torch.no_grad()
def _difference(
    loss: CenteredLoss,
    found: Callable[[dict[str, Tensor], Batch], Tensor],
    plain: Callable[[dict[str, Tensor], Batch], Tensor],
    masks: Masks,
) -> str:
    """Describe how ``found`` differs from ``plain`` where the masked weights are displaced, and at w*.

    Empty where they are equal. The displaced weights come first: they must not change what is kept of w*.
    """
    batch = _batch(loss.model, next(iter(loss.weights.values())).device)
    displaced, center = _displaced(loss.weights, masks), dict(loss.weights)
    for where, weights in (("at other weights", displaced), ("at w*", center)):
        expected = plain(weights, batch)
        try:
            error = (found(weights, batch) - expected).abs().max() / expected.abs().max()
        except Exception as problem:  # of any kind, by the code of the model
            return f"{where}: {type(problem).__name__}: {problem}"
        if not error <= TOLERANCE:
            return f"{where} they differ by {error:.1g} of the largest"
    return ""


def _batch(model: HuggingFaceModel, device: torch.device) -> Batch:
    tokens = torch.arange(CONTEXTS * LENGTH, device=device).view(CONTEXTS, LENGTH) % model.vocabulary
    positions = torch.arange(0, LENGTH - 1, 2, device=device)
    return Batch(tokens, positions, tokens[:, positions + 1])


def _displaced(weights: Weights, masks: Masks) -> dict[str, Tensor]:
    random, displaced = torch.Generator().manual_seed(0), dict(weights)
    for name, mask in masks.items():
        weight = weights[name]
        normal = torch.randn(weight.shape, generator=random).to(weight)
        displaced[name] = weight + MOVED * weight.square().mean().sqrt() * normal * mask
    return displaced

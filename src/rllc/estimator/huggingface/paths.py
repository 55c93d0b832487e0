"""Choose how the loss of each component of a transformers model is computed, and check the choice.

Each path is compared with the plain logits, at w* and where the component is displaced. Where it differs,
the next slower one is taken and the log says so.
"""

import logging
from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import linear

from rllc.estimator.huggingface.centered_loss import CenteredLoss, Path
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
    names = {label: set(weights if masks is None else masks) for label, masks in components.items()}
    lowest = {label: min(map(places.layer_of, own)) for label, own in names.items()}
    record = {layer - 1 for layer in lowest.values() if layer}
    frozen = set(places.names.values())
    blocked = bool(frozen) and _blocks_are_plain(model, weights, frozen)
    loss = CenteredLoss(model, weights, blocked=blocked, record=record)
    checked: dict[Path, bool] = {}
    paths: dict[str, Path] = {}
    for label, own in names.items():
        path = Path(lowest[label], blocked and not own & frozen)
        if path.layer and path not in checked:
            checked[path] = _tail_is_plain(loss, path, own)
        paths[label] = path if checked.get(path, True) else path._replace(layer=0)
    return loss, {
        label: partial(loss.along, path) if path != Path(0, False) else model.loss
        for label, path in paths.items()
    }


def _blocks_are_plain(model: HuggingFaceModel, weights: Weights, unembedding: set[str]) -> bool:
    """Return whether the unembedding's input gives the logits, by a product with its matrix alone."""
    loss = CenteredLoss(model, weights, blocked=True, record=())
    difference = _difference(loss, Path(0, True), set(weights) - unembedding)
    if difference:
        LOG.warning(
            "logits of %s are computed whole: its unembedding alone does not give them (%s)",
            type(model.module).__name__, difference,
        )  # fmt: skip
    return not difference


def _tail_is_plain(loss: CenteredLoss, path: Path, names: set[str]) -> bool:
    """Return whether the layers from ``path.layer`` give the logits, after the lower ones at w*."""
    difference = _difference(loss, path, names)
    if difference:
        LOG.warning(
            "all layers of %s are run for components of layer %d: its layers alone do not give the logits "
            "(%s)", type(loss.model.module).__name__, path.layer, difference,
        )  # fmt: skip
    return not difference


@torch.no_grad()
def _difference(loss: CenteredLoss, path: Path, names: set[str]) -> str:
    """Describe how the logits of a path differ from the plain ones, at displaced weights and at w*.

    Empty where they are equal. The displaced weights come first: they must not change what is kept of w*.
    """
    batch = _batch(loss.model, next(iter(loss.weights.values())).device)
    for where, weights in (("at other weights", _displaced(loss.weights, names)), ("at w*", loss.weights)):
        plain = loss.model.outputs(weights, batch)
        try:
            found = loss.output(path, weights, batch)
            if path.blocked:
                found = linear(found, *loss.unembedding())
            error = (found - plain).abs().max() / plain.abs().max()
        except Exception as problem:  # of any kind, by the code of the model
            return f"{where}: {type(problem).__name__}: {problem}"
        if not error <= TOLERANCE:
            return f"{where} they differ by {error:.1g} of the largest"
    return ""


def _batch(model: HuggingFaceModel, device: torch.device) -> Batch:
    tokens = torch.arange(CONTEXTS * LENGTH, device=device).view(CONTEXTS, LENGTH) % model.vocabulary
    positions = torch.arange(0, LENGTH - 1, 2, device=device)
    return Batch(tokens, positions, tokens[:, positions + 1])


def _displaced(weights: Weights, names: set[str]) -> dict[str, Tensor]:
    random = torch.Generator().manual_seed(0)
    return {
        name: weight + MOVED * weight.square().mean().sqrt() * _normal(weight, random)
        if name in names
        else weight
        for name, weight in weights.items()
    }


def _normal(like: Tensor, random: torch.Generator) -> Tensor:
    return torch.randn(like.shape, generator=random).to(like)

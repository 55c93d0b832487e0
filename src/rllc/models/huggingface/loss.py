"""The logits of a transformers model as a function of its weights.

transformers' own module is called by ``torch.func.functional_call``. Logits are computed at scored positions
only (``logits_to_keep``), where this gives the plain logits.
"""

import inspect
import logging
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rllc.models.huggingface.structure import text_config
from rllc.models.weights import Weights

TOLERANCE = 1e-5  # relative difference of logits that counts as rounding
FLOATS = (torch.float32, torch.float64)


def weights_of(module: nn.Module) -> dict[str, Tensor]:
    """Return the weights of a module by name, detached; tied weights once, under their first name."""
    return {name: weight.detach() for name, weight in module.named_parameters()}


def check_module(module: nn.Module) -> None:
    """Raise ValueError unless a model is of transformers, in eval mode, and in float32 or float64."""
    text_config(module)
    if module.training:
        raise ValueError(
            "model is in train mode, so that dropout would change its loss at random: call model.eval() first"
        )
    other = {weight.dtype for weight in module.parameters()} - set(FLOATS)
    if other:
        raise ValueError(
            f"model has weights of {', '.join(sorted(map(str, other)))}: expected float32, since shorter "
            "types lose small moves; load it with dtype=torch.float32, or call model.float()"
        )


def check_names(weights: Weights, names: Sequence[str]) -> None:
    """Raise ValueError unless ``weights`` has exactly ``names``, those of the module's parameters.

    ``functional_call`` would take a missing name from the module, and ignore an unknown one.
    """
    if weights.keys() == set(names):
        return
    wrong = [f"{name} is missing" for name in names if name not in weights]
    wrong += [f"{name} is unknown, or tied to another" for name in weights if name not in names]
    raise ValueError(f"weights do not fit the model: {'; '.join(wrong[:5])}; expected its named_parameters()")


def logits(module: nn.Module, weights: Weights, tokens: Tensor, positions: Tensor, *, keep: bool) -> Tensor:
    """Return the logits at the scored positions: [batch, scored, vocabulary].

    keep  compute only these (``logits_to_keep``), as ``keeps_logits`` allows
    """
    given = {"input_ids": tokens, "use_cache": False}
    if keep:
        given["logits_to_keep"] = positions
    out = torch.func.functional_call(module, dict(weights), (), given).logits
    return out if keep else out[:, positions]


@torch.no_grad()
def keeps_logits(module: nn.Module) -> bool:
    """Return whether ``logits_to_keep`` gives the plain logits. Where it does not, the log says so."""
    if "logits_to_keep" not in inspect.signature(module.forward).parameters:
        return False
    first = next(module.parameters())
    tokens = torch.arange(8, device=first.device).view(2, 4) % text_config(module).vocab_size
    positions = torch.tensor([0, 2], device=first.device)
    plain, kept = (logits(module, weights_of(module), tokens, positions, keep=keep) for keep in (False, True))
    equal = plain.shape == kept.shape and bool(
        ((plain - kept).abs().max() <= TOLERANCE * plain.abs().max()).item()
    )
    if not equal:
        logging.getLogger(__name__).warning(
            "logits_to_keep changes the logits of %s: all positions are computed", type(module).__name__
        )
    return equal

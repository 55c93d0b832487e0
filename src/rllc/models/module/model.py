"""A torch module of the user as functions of its weights (``rllc.models.model.Model``)."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from rllc.components import parse
from rllc.models.huggingface.loss import check_names, weights_of
from rllc.models.named_weights import aliases_of, matching
from rllc.models.token_model import TokenModel
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch

Logits = Callable[[nn.Module, Tensor], Tensor]  # (module, tokens) -> logits


class ModuleModel(TokenModel):
    """One module, whose weights are given at each call.

    module     maps tokens int64 [batch, length] to logits [batch, length, vocabulary]: a tensor, an object
               with ``logits``, or a tuple that begins with them. Its own weights are not changed
    logits     how logits are computed otherwise: a function of module and tokens
    initially  seed -> a module with initial weights; None: no model can be trained from scratch
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        logits: Logits | None = None,
        initially: Callable[[int], nn.Module] | None = None,
    ):
        self.module = module
        self._called = _Called(module, logits or _logits_of_call)
        self._initially = initially

    @property
    def heads(self) -> list[str]:
        """No labels: the family looks for no heads."""
        return []

    @cached_property
    def names(self) -> list[str]:
        """The names of the weights; of tied weights the first."""
        return [name for name, _ in self.module.named_parameters()]

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Further names of tied weights -> their name in ``names``."""
        return aliases_of(self.module)

    def weights(self) -> dict[str, Tensor]:
        """Return the weights of the module by name; tied weights once."""
        return weights_of(self.module)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(weight.shape) for name, weight in self.module.named_parameters()}

    def initial_weights(self, *, seed: int, **initial: Any) -> dict[str, Tensor]:
        """Return the weights of a module that is built anew, with torch's random numbers from ``seed``."""
        if initial:
            raise ValueError(
                f"initial has {', '.join(initial)}: expected nothing, the function build says it"
            )
        if self._initially is None:
            raise ValueError("the model has no function that builds it anew: expected `initially`")
        return weights_of(self._initially(seed))

    def outputs(self, weights: Weights, batch: Batch) -> Tensor:
        """Return logits: [batch, scored, vocab]."""
        return self.logits(weights, batch.contexts)[:, batch.positions]

    def logits(self, weights: Weights, tokens: Tensor) -> Tensor:
        """Return the logits at all positions: [batch, length, vocab]."""
        check_names(weights, self.names)
        if next(self.module.parameters()).device != tokens.device:
            self.module.to(tokens.device)  # its buffers enter the forward pass
        given = {f"module.{name}": weight for name, weight in weights.items()}
        return torch.func.functional_call(self._called, given, (tokens,))

    def masks(self, component: str) -> dict[str, Tensor] | None:
        parsed = parse(component)
        if parsed.label == "full":
            return None
        (part, *_) = parsed.parts
        if part.kind != "weights":
            raise ValueError(
                f"component {component!r} is not in a module of the user, whose parts have no known names: "
                'expected "full" or "weights:<regular expression>"'
            )
        return matching(part, self.shapes(), self.aliases)


class _Called(nn.Module):
    """A module that is called by a function, so that ``functional_call`` can replace its weights."""

    def __init__(self, module: nn.Module, logits: Logits):
        super().__init__()
        self.module, self._logits = module, logits
        self.training = module.training

    def forward(self, tokens: Tensor) -> Tensor:
        return self._logits(self.module, tokens)


def _logits_of_call(module: nn.Module, tokens: Tensor) -> Any:
    """Return the logits among the outputs of a call; the outputs themselves where none can be recognised."""
    out = module(tokens)
    if isinstance(out, Tensor):
        return out
    if isinstance(getattr(out, "logits", None), Tensor):
        return out.logits
    return out[0] if isinstance(out, tuple | list) and out else out

"""Causal language models of transformers as functions of their weights (``rllc.models.model.Model``)."""

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from rllc.models.huggingface import interventions
from rllc.models.huggingface.components import Components
from rllc.models.huggingface.loss import check_module, check_names, keeps_logits, logits, weights_of
from rllc.models.huggingface.sites import Sites
from rllc.models.huggingface.structure import is_rotary, position_embedding, text_config
from rllc.models.token_model import TokenModel
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch


class HuggingFaceModel(TokenModel):
    """One module of transformers, whose weights are given at each call.

    Raises ValueError where the module is not a causal language model of transformers, is in train mode, or
    has weights that are neither float32 nor float64.

    module  the module; its own weights are the centre w*. It is not changed
    """

    def __init__(self, module: nn.Module):
        check_module(module)
        self.module = module
        self.components = Components(module)

    @property
    def heads(self) -> list[str]:
        """Labels of all heads, layer by layer; of all groups where heads share keys and values."""
        return self.components.heads

    @property
    def vocabulary(self) -> int:
        return text_config(self.module).vocab_size

    @property
    def longest(self) -> int | None:
        """The number of positions of the model; None where the config does not limit it."""
        return getattr(text_config(self.module), "max_position_embeddings", None)

    @cached_property
    def names(self) -> list[str]:
        """The names of the weights; of tied weights the first."""
        return [name for name, _ in self.module.named_parameters()]

    @cached_property
    def keeps_logits(self) -> bool:
        return keeps_logits(self.module)

    @cached_property
    def sites(self) -> Sites:
        """Where outputs of heads and MLPs are read. Raises ValueError where heads cannot be found."""
        return Sites(self.components)

    @property
    def mlps(self) -> list[str]:
        """Labels of the MLPs, ``"mlp:layer"``, whose outputs can be replaced."""
        return list(self.sites.mlps)

    @property
    def name(self) -> str:
        """The model in words, for errors."""
        return f"a {text_config(self.module).model_type} model of transformers"

    @property
    def beside_attention(self) -> str:
        """What it has that attention-only transformers lack, for errors."""
        rotates = "its queries and keys rotate with their positions, and " if is_rotary(self.module) else ""
        return f"{rotates}MLPs stand between its heads"

    @cached_property
    def position_embedding(self) -> str | None:
        """The name of the weights of learned positions; None without any."""
        return position_embedding(self.module, self.longest)

    def facts(self) -> dict[str, Any]:
        """Return the argument of ``rllc.models.huggingface.build.model``: the config, as plain data."""
        config = self.module.config.to_dict()  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]
        return {"config": config}

    def weights(self) -> dict[str, Tensor]:
        """Return the weights of the module by name; tied weights once."""
        return weights_of(self.module)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(weight.shape) for name, weight in self.module.named_parameters()}

    def initial_weights(self, *, seed: int, **initial: Any) -> dict[str, Tensor]:
        """Return weights as transformers initialises them for this config, on the CPU."""
        if initial:
            raise ValueError(f"initial has {', '.join(initial)}: expected nothing, the config says it")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return weights_of(type(self.module)(copy.deepcopy(self.module.config)))

    def outputs(self, weights: Weights, batch: Batch) -> Tensor:
        """Return logits: [batch, scored, vocab]."""
        check_names(weights, self.names)
        self._follow(batch.contexts.device)
        return logits(self.module, weights, batch.contexts, batch.positions, keep=self.keeps_logits)

    def _follow(self, device: torch.device) -> None:
        """Move the module, whose buffers enter its forward pass, to the device of the weights and batches."""
        if next(self.module.parameters()).device != device:
            self.module.to(device)

    def masks(self, component: str) -> dict[str, Tensor] | None:
        return self.components.masks(component)

    def forward_pass(self, weights: Weights, batch: Batch) -> interventions.HuggingFacePass:
        """Return the forward pass of a minibatch, whose outputs of heads and MLPs can be replaced."""
        check_names(weights, self.names)
        self._follow(batch.contexts.device)
        return interventions.HuggingFacePass(self.module, self.sites, weights, batch, keep=self.keeps_logits)

    def mean_outputs(self, weights: Weights, batches: Sequence[Batch]) -> dict[str, Tensor]:
        """Return the mean output of every head and MLP over all contexts and positions: [1, width]."""
        check_names(weights, self.names)
        self._follow(next(iter(weights.values())).device)
        return interventions.mean_outputs(self.module, self.sites, weights, batches, keep=self.keeps_logits)

    def attention_rows(self, weights: Weights, tokens: Tensor, queries: Tensor) -> Tensor:
        """Return the attention of one query per context: [context, head, member, key]."""
        check_names(weights, self.names)
        self._follow(tokens.device)
        return interventions.attention_rows(self.module, self.sites, weights, tokens, queries)

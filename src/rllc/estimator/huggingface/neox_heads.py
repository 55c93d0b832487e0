"""The loss where one head of GPT-NeoX differs from w*.

With the parallel residual, the MLP of a layer reads the layer's input, not its attention. So the output of
the layer is ``base + z W_O^T``, with ``base`` its output at w* without the head, and z the output of the
head. Above an earlier layer, transformers' own layers follow. Above the last one, logits have low rank
(kernels/low_rank_loss.py), which pays in wide models. b_K counts, since positions are rotary.
"""

from functools import cached_property, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from rllc.estimator.huggingface.centered_loss import CenteredLoss, CenterPass
from rllc.estimator.kernels.low_rank_loss import Base, centred, fold_norm, low_rank_loss
from rllc.estimator.kernels.rotary_attention import HeadWeights, Inputs, attend
from rllc.estimator.samplers.admissible import Loss
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.weights import Weights
from rllc.tasks.batch import Batch

CLASS = "transformers.models.gpt_neox.modeling_gpt_neox.GPTNeoXForCausalLM"
# Low rank takes less time than blocks where d_model exceeds NARROW + 2 d_head: measured on a CPU, at d_model
# 128 to 512 and a vocabulary of 50,304. It keeps logits of a minibatch, of at most LARGEST bytes.
NARROW, LARGEST = 160, 2**31
FINAL_NORM = "gpt_neox.final_layer_norm"


def missing(model: HuggingFaceModel) -> str | None:
    """Return what a model lacks for ``NeoxHeads``; None where it has everything."""
    module: Any = model.module
    kind = f"{type(module).__module__}.{type(module).__qualname__}"
    if kind != CLASS:
        return f"it is a {kind}, not a {CLASS}"
    if not module.config.use_parallel_residual:
        return "its MLPs read the attention of their layer (use_parallel_residual is False)"
    if module.config._attn_implementation != "eager":
        return f"its attention is {module.config._attn_implementation}, not eager"
    norms = [module.gpt_neox.final_layer_norm, *(layer.input_layernorm for layer in module.gpt_neox.layers)]
    if any(type(norm) is not nn.LayerNorm or norm.bias is None for norm in norms):
        return "its norms are not layer norms with bias"
    return None


class Rest(NamedTuple):
    """A layer without one head, on a minibatch.

    residual  the layer's output without the head [batch, queried, model]
    low_rank  what the head's logits are a change of, in the last layer; None where logits come in blocks
    """

    residual: Tensor
    low_rank: Base | None


class NeoxHeads:
    """Losses of the heads of one model, for which nothing is ``missing``.

    loss  the model's loss around w*. It records the layers of the heads
    """

    def __init__(self, loss: CenteredLoss):
        self._loss = loss
        self._module: Any = loss.model.module
        self._config: Any = self._module.config
        self._last = len(loss.places.layers) - 1
        self._center: CenterPass | None = None  # of which the next three are
        self._inputs: dict[int, Inputs] = {}
        self._logits: Tensor | None = None
        self._rest: tuple[tuple[int, int], Rest] | None = None  # of the head that was evaluated last

    def of(self, layer: int, index: int) -> Loss:
        """Return ``loss(weights, batch)`` where only this head may differ from w*."""
        return partial(self._mean_loss, layer, index)

    def _mean_loss(self, layer: int, index: int, weights: Weights, batch: Batch) -> Tensor:
        if batch.targets.is_floating_point():
            return self._loss.model.loss(weights, batch)
        center = self._loss.at_center(batch)
        if center is not self._center:
            self._center, self._inputs, self._logits, self._rest = center, {}, None, None
        rest = self._without(layer, index, center)
        head = self._head(layer, index, weights)
        z = self._attend(head, layer, center)
        if rest.low_rank is not None:
            return low_rank_loss(z.flatten(0, 1), head.W_O, rest.low_rank)
        residual = rest.residual + z @ head.W_O.T
        if layer == self._last:
            gain, bias = self._final_norm
            output = layer_norm(residual, gain.shape, gain, bias, self._eps)
        else:
            output = self._loss.after(layer + 1, residual, weights, batch, blocked=True)
        return self._loss.loss_of(output, batch, blocked=True)

    def _head(self, layer: int, index: int, weights: Weights) -> HeadWeights:
        width = self._config.hidden_size // self._config.num_attention_heads
        rows = slice(3 * width * index, 3 * width * (index + 1))
        name = f"gpt_neox.layers.{layer}.attention"
        bias = weights.get(f"{name}.query_key_value.bias")
        return HeadWeights(
            weights[f"{name}.query_key_value.weight"][rows],
            None if bias is None else bias[rows],
            weights[f"{name}.dense.weight"][:, width * index : width * (index + 1)],
        )

    def _attend(self, head: HeadWeights, layer: int, center: CenterPass) -> Tensor:
        return attend(head, self._inputs_of(layer, center), scaling=head.W_O.shape[1] ** -0.5)

    def _inputs_of(self, layer: int, center: CenterPass) -> Inputs:
        if layer not in self._inputs:
            call, name = center.calls[layer], f"gpt_neox.layers.{layer}.input_layernorm"
            (x,), (cos, sin) = call.given, call.named["position_embeddings"]
            gain, bias = (self._loss.weights[f"{name}.{part}"] for part in ("weight", "bias"))
            eps = self._module.gpt_neox.layers[layer].input_layernorm.eps
            self._inputs[layer] = Inputs(
                layer_norm(x, gain.shape, gain, bias, eps), cos, sin, call.named["attention_mask"][:, 0],
                center.batch.positions if layer == self._last else None,
            )  # fmt: skip
        return self._inputs[layer]

    @torch.no_grad()
    def _without(self, layer: int, index: int, center: CenterPass) -> Rest:
        """Return the layer without a head, which all chains of the head share."""
        if self._rest is None or self._rest[0] != (layer, index):
            self._rest = None  # its memory is free for the next one
            head = self._head(layer, index, self._loss.weights)
            z = self._attend(head, layer, center)
            whole, low_rank = center.calls[layer].returned, None
            if layer == self._last:
                whole = whole[:, center.batch.positions]
            residual = whole - z @ head.W_O.T
            if layer == self._last and self._pays(head, center.batch):
                low_rank = self._changed_by(head, z.flatten(0, 1), whole, residual, center.batch)
            self._rest = (layer, index), Rest(residual, low_rank)
        return self._rest[1]

    def _changed_by(
        self, head: HeadWeights, z: Tensor, whole: Tensor, residual: Tensor, batch: Batch
    ) -> Base:
        W, c = self._folded
        if self._logits is None:
            self._logits = centred(whole.flatten(0, 1)) @ W.T
        logits = torch.addmm(self._logits, z, centred(head.W_O.T) @ W.T, alpha=-1)
        return Base(centred(residual.flatten(0, 1)), logits, W, c, batch.targets.flatten(), self._eps)

    def _pays(self, head: HeadWeights, batch: Batch) -> bool:
        weight, _ = self._loss.unembedding()
        model, width = head.W_O.shape
        kept = batch.targets.numel() * len(weight) * weight.element_size()
        return model > NARROW + 2 * width and kept <= LARGEST

    @property
    def _eps(self) -> float:
        return self._module.gpt_neox.final_layer_norm.eps

    @property
    def _final_norm(self) -> tuple[Tensor, Tensor]:
        return self._loss.weights[f"{FINAL_NORM}.weight"], self._loss.weights[f"{FINAL_NORM}.bias"]

    @cached_property
    def _folded(self) -> tuple[Tensor, Tensor]:
        return fold_norm(*self._loss.unembedding(), *self._final_norm)

"""Transformers with MLPs that read vectors and predict numbers, following arXiv 2402.02364 (App. F.3).

    embed.W_E [d_vector, d_model]   pos_embed.W_pos [context, d_model]
    blocks.L.ln1.{w,b}, blocks.L.ln2.{w,b} [d_model]
    blocks.L.attn.W_QKV [d_model, n_heads (query | key | value of d_head)]   .W_O [n_heads d_head, d_model]
    blocks.L.mlp.W_in [d_model, d_model]  .b_in [d_model]  .W_out [d_model, d_model]  .b_out [d_model]
    ln_final.{w,b} [d_model]     unembed.W_U [d_model, d_vector]  .b_U [d_vector]

Vectors multiply from the left: x @ W. A prediction is component 0 of the output. The residual stream is
``plain``, h <- h + a + m with a = attention(LN h) and m = MLP(LN(h + a)), or ``doubled``, h <- 2 h + a + m.
The authors' code and their published curves use ``doubled``: a block returns h + a + m and the loop adds h
again.

Attention is explicit (no fused kernel), so that the loss has second derivatives. Values that no scored
prediction reads are not computed: the last block has queries at the scored positions only, and attention is
causal, so positions after the last scored one are left out.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from rllc.models.weights import Weights
from rllc.seeds import generator
from rllc.tasks.batch import Batch


@dataclass(frozen=True)
class InContext:
    """The transformers of one shape: all parameters of a forward pass except the weights.

    context, d_vector  vectors in a sequence, and numbers in a vector
    attention_output   whether a matrix W_O mixes the heads; without it they are concatenated
    """

    n_layers: int
    n_heads: int
    d_model: int
    d_head: int
    context: int
    d_vector: int
    residual: str = "doubled"
    attention_output: bool = True
    layer_norm_eps: float = 1e-5

    @property
    def heads(self) -> list[str]:
        """An empty list: no head of this model is a component."""
        return []

    @property
    def norms(self) -> list[str]:
        """The names of the layer norms, in the order of the forward pass."""
        each = [f"blocks.{layer}.{norm}" for layer in range(self.n_layers) for norm in ("ln1", "ln2")]
        return [*each, "ln_final"]

    def facts(self) -> dict[str, Any]:
        """Return the arguments of ``model``."""
        return asdict(self)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        d, heads = self.d_model, self.n_heads * self.d_head
        table: dict[str, tuple[int, ...]] = {
            "embed.W_E": (self.d_vector, d), "pos_embed.W_pos": (self.context, d),
            "unembed.W_U": (d, self.d_vector), "unembed.b_U": (self.d_vector,),
        }  # fmt: skip
        table |= {f"{norm}.{part}": (d,) for norm in self.norms for part in ("w", "b")}
        for layer in range(self.n_layers):
            block = f"blocks.{layer}"
            table[f"{block}.attn.W_QKV"] = (d, 3 * heads)
            if self.attention_output:
                table[f"{block}.attn.W_O"] = (heads, d)
            for part in ("in", "out"):
                table |= {f"{block}.mlp.W_{part}": (d, d), f"{block}.mlp.b_{part}": (d,)}
        return table

    def initial_weights(self, *, seed: int, scale: float = 1.0) -> dict[str, Tensor]:
        """Return weights uniform within scale / sqrt(inputs of the layer); layer norms w = 1, b = 0.

        Each weight has its own random stream (seed, weight name). W_pos counts as a layer with ``context``
        inputs, the one-hot position.
        """
        shapes, weights = self.shapes(), {}
        for name, shape in shapes.items():
            room, part = name.rsplit(".", 1)
            if room in self.norms:
                weights[name] = torch.full(shape, float(part == "w"))
                continue
            inputs = shapes[f"{room}.{part.replace('b_', 'W_')}"][0]
            draw = generator(seed, "initial weights", name).uniform(-1.0, 1.0, shape).astype(np.float32)
            weights[name] = torch.from_numpy(draw) * (scale / inputs**0.5)
        return weights

    def outputs(self, weights: Weights, batch: Batch) -> Tensor:
        """Return predicted answers: [batch, scored]."""
        h, at = self._embedded(weights, batch.contexts, batch.positions), batch.positions
        for layer in range(self.n_layers):
            h = self._block(weights, layer, h, at if layer == self.n_layers - 1 else None)
        # Only component 0 of the output is a prediction, so only it is computed.
        h = self._norm(weights, "ln_final", h)
        return h @ weights["unembed.W_U"][:, 0] + weights["unembed.b_U"][0]

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the squared error of each prediction."""
        return (outputs - targets).square()

    def loss(self, weights: Weights, batch: Batch) -> Tensor:
        return self.losses(self.outputs(weights, batch), batch.targets).mean()

    def masks(self, component: str) -> None:
        if component != "full":
            raise ValueError(f"unknown component {component!r}: this model has only `full`")

    @torch.no_grad()
    def patterns(self, weights: Weights, contexts: Tensor) -> Tensor:
        """Return the attention of every query to every key: [layer, batch, head, position, position]."""
        h, found = self._embedded(weights, contexts), []
        for layer in range(self.n_layers):
            query, key, _ = self._projected(weights, layer, self._norm(weights, f"blocks.{layer}.ln1", h))
            found.append(self._pattern(query, key, None))
            h = self._block(weights, layer, h, None)
        return torch.stack(found)

    def _embedded(self, weights: Weights, contexts: Tensor, at: Tensor | None = None) -> Tensor:
        contexts = contexts if at is None else contexts[:, : int(at[-1]) + 1]
        return contexts @ weights["embed.W_E"] + weights["pos_embed.W_pos"][: contexts.shape[1]]

    def _norm(self, weights: Weights, name: str, h: Tensor) -> Tensor:
        return layer_norm(h, h.shape[-1:], weights[f"{name}.w"], weights[f"{name}.b"], self.layer_norm_eps)

    def _block(self, weights: Weights, layer: int, h: Tensor, at: Tensor | None) -> Tensor:
        """Return the residual stream after a block [batch, position, model], at queried positions ``at``."""
        name = f"blocks.{layer}"
        query, key, value = self._projected(weights, layer, self._norm(weights, f"{name}.ln1", h))
        if at is not None:
            query, h = query[:, :, at], h[:, at]
        z = (self._pattern(query, key, at) @ value).transpose(1, 2).flatten(2)
        if self.attention_output:
            z = z @ weights[f"{name}.attn.W_O"]
        after = h + z
        hidden = self._norm(weights, f"{name}.ln2", after) @ weights[f"{name}.mlp.W_in"]
        hidden = (hidden + weights[f"{name}.mlp.b_in"]).relu()
        after = after + (hidden @ weights[f"{name}.mlp.W_out"] + weights[f"{name}.mlp.b_out"])
        return h + after if self.residual == "doubled" else after

    def _projected(self, weights: Weights, layer: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values: each [batch, head, position, d_head]."""
        fused = (x @ weights[f"blocks.{layer}.attn.W_QKV"]).unflatten(-1, (self.n_heads, 3 * self.d_head))
        query, key, value = fused.transpose(1, 2).split(self.d_head, -1)
        return query, key, value

    def _pattern(self, query: Tensor, key: Tensor, at: Tensor | None) -> Tensor:
        """Return causal softmax attention: [batch, head, query, key]."""
        every = torch.arange(key.shape[-2], device=key.device)
        future = every > (every if at is None else at)[:, None]
        never = torch.zeros(future.shape, dtype=key.dtype, device=key.device).masked_fill(future, -torch.inf)
        return (query @ (key * self.d_head**-0.5).mT + never).softmax(-1)


def model(**facts: Any) -> InContext:
    """Return the model whose shape has these fields."""
    return InContext(**facts)

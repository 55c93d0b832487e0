"""Refined LLCs of the attention heads of a transformer, much faster than by ``llc.estimate``.

What chains would repeat is done once per minibatch, for all chains and heads of a layer: what lies upstream,
the outputs of the other heads, and the logits that a last-layer head changes by a low-rank term. Only the
head's own tensors are state; logits, and in the last layer queries, exist at scored positions only
(measures/head_kernels.py). Draws are those of ``llc.estimate`` with the same seed.
"""

from collections.abc import Sequence

import torch
import xarray as xr
from torch import Tensor

from rllc.measures.folded import fold_layer, fold_unembedding
from rllc.measures.head_kernels import Head, Layer, earlier_layer_pass, last_layer_pass
from rllc.measures.llc import DIVERGENCE_FACTOR, check_setting, mean_center_loss, summarise
from rllc.measures.sgld import move, noise_stream, to_device
from rllc.models.loss import next_token_loss, token_losses
from rllc.models.transformer import (
    Architecture,
    Weights,
    attention_inputs,
    embed,
    head_outputs,
    shapes,
    unembed,
)
from rllc.tasks.batch import Batch
from rllc.vocabulary import head_labels

# Bytes of logits at once where max_memory does not say: what a core's cache keeps, or what fills a GPU.
LOGITS_BYTES = {"cpu": 2**20, "cuda": 2**30}


def estimate_heads(
    weights: Weights,
    architecture: Architecture,
    batches: Sequence[Batch],
    *,
    heads: Sequence[str] | None = None,
    n_beta: float,
    localization: float,
    step_size: float,
    chains: int,
    draws: int,
    burn_in: int = 0,
    seed: int = 0,
    baseline: str = "paired",
    init_batches: Sequence[Batch] | None = None,
    gradient: bool = True,
    device: str | torch.device | None = None,
    max_memory: int | None = None,
    divergence_factor: float = DIVERGENCE_FACTOR,
) -> xr.Dataset:
    """The refined LLC of every head (arXiv 2410.02984, sec. 2.2): one component per head label.

    Returns what ``llc.estimate`` does with the loss ``models.loss.next_token_loss(architecture)`` and the
    masks of each head (index h of W_K, W_O, W_Q, W_V, b_K, b_Q, b_V), draw by draw, to float tolerance.
    All arguments that both have mean the same.

    weights     all weights of the model, by name
    heads       labels ``"layer:head"`` (None: all heads)
    max_memory  bytes of logits, and of one kind of activation, at once (one chain and one row at least)

    Raises ValueError as ``estimate``, and where a weight is missing or misshapen or a head is not there.
    """
    check_setting(
        n_beta=n_beta, localization=localization, step_size=step_size, chains=chains, draws=draws,
        burn_in=burn_in, baseline=baseline, batches=batches, init_batches=init_batches,
        max_memory=max_memory, divergence_factor=divergence_factor,
    )  # fmt: skip
    labels = _check_heads(heads, architecture)
    _check_weights(weights, architecture)
    weights = {name: w.detach() if device is None else w.detach().to(device) for name, w in weights.items()}
    setting = {
        "n_beta": n_beta, "localization": localization, "step_size": step_size, "chains": chains,
        "draws": draws, "seed": seed, "gradient": gradient,
    }  # fmt: skip
    traces, at_center, size = sample_heads(
        weights, architecture, batches, heads=labels, max_memory=max_memory, **setting
    )
    return summarise(
        traces.cpu().numpy(),
        at_center.cpu().numpy(),
        components=labels,
        sizes=[size] * len(labels),
        init_loss=mean_center_loss(next_token_loss(architecture), weights, init_batches),
        burn_in=burn_in,
        baseline=baseline,
        divergence_factor=divergence_factor,
        setting={**setting, "sampler": "sgld"},
    )


@torch.no_grad()
def sample_heads(
    weights: Weights,
    architecture: Architecture,
    batches: Sequence[Batch],
    *,
    heads: Sequence[str],
    n_beta: float,
    localization: float,
    step_size: float,
    chains: int,
    draws: int,
    seed: int,
    gradient: bool,
    max_memory: int | None,
) -> tuple[Tensor, Tensor, int]:
    """Loss traces [head, chain, draw], the loss at the centre [draw], and the size of a head."""
    unembedding = fold_unembedding(weights, architecture)
    device = unembedding.W.device
    limit = LOGITS_BYTES.get(device.type, 2**30) if max_memory is None else max_memory
    setting = {"n_beta": n_beta, "localization": localization, "step_size": step_size}
    frozen = [fold_layer(weights, layer, architecture) for layer in range(architecture.n_layers)]
    centers = {head: gather(weights, *_place(head)) for head in heads}
    states = {head: center.repeat(chains, 1) for head, center in centers.items()}
    streams = {head: [noise_stream(seed, head, c, device) for c in range(chains)] for head in heads}
    noise = torch.empty_like(next(iter(states.values())))
    traces = torch.empty(len(heads), chains, draws, dtype=torch.float64, device=device)
    at_center = torch.empty(draws, dtype=torch.float64, device=device)
    for draw in range(draws):
        last = draw == draws - 1
        batch = to_device(batches[draw % len(batches)], device)
        layers = walk(weights, batch, architecture)
        logits = unembed(weights, layers[-1].residual, architecture)
        at_center[draw] = token_losses(logits, batch.targets).mean()
        base_logits = layers[-1].residual.flatten(0, 1) @ unembedding.W
        for row, head in enumerate(heads):
            layer, index = _place(head)
            here = layers[layer], weights[f"blocks.{layer}.attn.W_O"][index]
            how = {"index": index, "limit": limit, "gradient": gradient and not last}
            if layer == architecture.n_layers - 1:
                losses, slope = last_layer_pass(
                    states[head], *here, unembedding, base_logits, batch, architecture, **how
                )
            else:
                losses, slope = earlier_layer_pass(
                    states[head], *here, frozen[layer + 1 :], unembedding, batch, architecture, **how
                )
            traces[row, :, draw] = losses
            if not last:
                for chain, stream in enumerate(streams[head]):
                    noise[chain].normal_(generator=stream)
                move(states[head], center=centers[head], gradient=slope, noise=noise, **setting)
    return traces, at_center, noise.shape[1]


def gather(weights: Weights, layer: int, index: int) -> Tensor:
    """A head's weights as one flat vector [n], in the order of ``Head``: names sorted, row-major."""
    return torch.cat([weights[f"blocks.{layer}.attn.{name}"][index].reshape(-1) for name in Head._fields])


def walk(weights: Weights, batch: Batch, architecture: Architecture) -> list[Layer]:
    """Every layer at w* on the batch, the last one at the scored positions."""
    residual, position = embed(weights, batch.tokens, architecture)
    layers = []
    for layer in range(architecture.n_layers):
        at = batch.positions if layer == architecture.n_layers - 1 else None
        inputs = attention_inputs(weights, layer, residual, position, architecture)
        z = head_outputs(weights, layer, inputs, at)
        name = f"blocks.{layer}.attn"
        written = torch.einsum("bhpd,hdm->bpm", z, weights[f"{name}.W_O"]) + weights[f"{name}.b_O"]
        residual = (residual if at is None else residual[:, at]) + written
        layers.append(Layer(*inputs, z, residual))
    return layers


def _place(head: str) -> tuple[int, int]:
    layer, index = map(int, head.split(":"))
    return layer, index


def _check_heads(heads: Sequence[str] | None, architecture: Architecture) -> list[str]:
    known = head_labels(architecture.n_layers, architecture.n_heads)
    chosen = known if heads is None else list(heads)
    unknown = [head for head in chosen if head not in known]
    if unknown or not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"heads {chosen}: expected different labels among {', '.join(known)}")
    return chosen


def _check_weights(weights: Weights, architecture: Architecture) -> None:
    for name, shape in shapes(architecture).items():
        if name not in weights:
            raise ValueError(f"the weights lack {name!r}: expected all of {', '.join(shapes(architecture))}")
        if tuple(weights[name].shape) != shape:
            raise ValueError(
                f"{name!r} has shape {list(weights[name].shape)}: the architecture expects {list(shape)}"
            )

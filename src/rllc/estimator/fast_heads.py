"""Refined LLCs of the attention heads of a transformer, much faster than by ``llc.estimate``.

Work that chains would repeat is done once per minibatch, for all chains and heads of a layer
(kernels/at_center.py). This is the input of the layer, the outputs of the other heads, and the logits that a
last-layer head changes by a low-rank term. Only the head's own tensors are state. Logits, and in the last
layer queries, exist at scored positions only (kernels/heads.py). Draws are those of ``llc.estimate`` with the
same seed.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
import xarray as xr
from torch import Tensor

from rllc.estimator.control import check_center
from rllc.estimator.kernels.at_center import Folded, forward_at_center
from rllc.estimator.kernels.cross_entropy import Targets, targets_of
from rllc.estimator.kernels.folded import fold_layer, fold_unembedding
from rllc.estimator.kernels.head_attention import Head
from rllc.estimator.kernels.heads import Above, Bounds, Layer, losses_and_gradients
from rllc.estimator.results import Prepared, estimated
from rllc.estimator.samplers.admissible import check_at_center, check_tensors
from rllc.estimator.samplers.batches import kind_of, to_device
from rllc.estimator.samplers.by_name import advance_of, reads_gradient
from rllc.estimator.samplers.chains import ChainBatch, Step, Traces, chains_at, run_chains
from rllc.estimator.samplers.pairs import Pairs, rises
from rllc.models.device import tuned
from rllc.models.loss import next_token_loss
from rllc.models.transformer import Architecture, shapes
from rllc.models.weights import Weights, check_weights
from rllc.sampler_config import SamplerConfig, shown
from rllc.tasks.batch import Batch
from rllc.vocabulary import head_labels

# Bytes at once where max_memory does not say. On a CPU, blocks of logits and the activations of one context
# or a few stay in a core's cache; on a GPU, few and large launches.
LOGITS_BYTES = {"cpu": 2**22, "cuda": 2**31}
ACTIVATION_BYTES = {"cpu": 2**21, "cuda": 2**32}


def estimate_heads(
    weights: Weights,
    architecture: Architecture,
    batches: Sequence[Batch],
    *,
    heads: Sequence[str] | None = None,
    setting: SamplerConfig,
    **rest: Any,
) -> xr.Dataset:
    """Return the refined LLC of every head (arXiv 2410.02984, sec. 2.2): one component per head label.

    The result is that of ``llc.estimate`` with the loss ``models.loss.next_token_loss(architecture)`` and
    the masks of each head (index h of W_K, W_O, W_Q, W_V, b_K, b_Q, b_V). It agrees draw by draw, to float
    tolerance. Arguments of the same name mean the same. The rest are those of ``results.estimated``.

    weights     all weights of the model, by name
    heads       labels ``"layer:head"`` (None: all heads)
    setting     of any sampler
    max_memory  bytes of logits, and of one kind of activation, at once (one chain and one row, or one
                context, at least)

    Raises ValueError as ``estimate``, and where a weight is missing or misshapen, or a head is not there.

    >>> from rllc.models import attention_only
    >>> from rllc.tasks.batch import next_token_batch
    >>> model = attention_only.model(n_layers=1, n_heads=2, d_model=8, d_head=4, n_ctx=16, d_vocab=11)
    >>> tokens = torch.randint(0, 11, (8, 16), generator=torch.Generator().manual_seed(0)).numpy()
    >>> batches = [next_token_batch(tokens, torch.arange(15).numpy())]
    >>> config = SamplerConfig(n_beta=30, localization=200, step_size=1e-3, chains=2, draws=20)
    >>> found = estimate_heads(model.initial_weights(seed=0), model.architecture, batches, setting=config)
    >>> dict(found["llc"].sizes)
    {'component': 2}
    """
    for name, value, kind in (
        ("setting", setting, SamplerConfig),
        ("architecture", architecture, Architecture),
    ):
        if not isinstance(value, kind):
            raise ValueError(f"{name} is {shown(value)}: expected an {kind.__module__}.{kind.__name__}")
    labels = _check_heads(heads, architecture)
    expected = shapes(architecture)
    check_tensors(weights)
    own = {name: w for name, w in weights.items() if name in expected}
    check_weights(own, expected, f"what is given for {architecture}")

    def prepare(weights: Weights, at_center: Tensor | None) -> Prepared:
        return Prepared(
            partial(sample_heads, weights, architecture, batches, at_center=at_center),
            partial(sample_head_pairs, weights, architecture, batches),
            dict.fromkeys(labels, len(gather(weights, 0, 0))),
        )

    loss = next_token_loss(architecture)
    return estimated(loss, weights, batches, prepare=prepare, setting=setting, **rest)


@tuned()
@torch.no_grad()
def sample_heads(
    weights: Weights,
    architecture: Architecture,
    batches: Sequence[Batch],
    heads: Sequence[str],
    *,
    setting: SamplerConfig,
    max_memory: int | None = None,
    together: bool | None = None,
    at_center: Tensor | None = None,
) -> Traces:
    """Return the traces of the chains of ``heads``.

    together   whether all chains that fit run in one launch (None: on a GPU), or one after the other
    at_center  losses at w* by draw, where they are known; a loss that differs is an error

    State and results have the weights' dtype. Products are rounded as ``torch.autocast`` asks, their sums
    and results are not: on a CPU to bf16, on a GPU to TF32.
    """
    device = next(iter(weights.values())).device
    limits = _limits(device, max_memory, together)
    model = _folded(weights, architecture)
    how = {"chains": range(setting.chains), "setting": setting}
    group = [
        chains_at(gather(weights, *_place(head)), component=head, row=row, **how)
        for row, head in enumerate(heads)
    ]
    traces = Traces.unknown(len(heads), setting.chains, setting.draws, device=device)
    if at_center is not None:
        traces.at_center.copy_(at_center)

    first = 0 if at_center is None else setting.burn_in * setting.thinning

    def load_batch(step: Step) -> tuple[Any, Tensor | None]:
        if not step.read and (not step.records or at_center is not None):
            return None, None
        batch = to_device(batches[step.number % len(batches)], device)
        if step.number == first:
            _check_batch(batch, architecture)
        seen, center_loss = _look(model, batch, limits)
        if step.number == first:  # later ones are looked at in the end, so that no host waits for a draw
            check_at_center(center_loss)
            if at_center is not None:
                check_center(center_loss, at_center[step.draw])
        return seen, center_loss if at_center is None or setting.drift_free else None

    def evaluate(chain_batch: ChainBatch, seen: Any, gradient: bool) -> tuple[Tensor, Tensor | None]:
        return _evaluate(model, limits, chain_batch.component, chain_batch.positions, seen, gradient=gradient)

    with _products(device):
        run_chains(
            [group], traces, advance=advance_of(setting), load_batch=load_batch, evaluate=evaluate,
            setting=setting, gradient=reads_gradient(setting), control=at_center is not None,
        )  # fmt: skip
    check_at_center(traces.at_center)
    return traces


@tuned()
@torch.no_grad()
def sample_head_pairs(
    weights: Weights,
    architecture: Architecture,
    batches: Sequence[Batch],
    heads: Sequence[str],
    *,
    setting: SamplerConfig,
    further: Sequence[Batch] | None = None,
) -> Pairs:
    """Return the antithetic pairs of ``heads``.

    Arguments are those of ``sample_heads`` and ``pairs.rises``.
    """
    device = next(iter(weights.values())).device
    limits = _limits(device)
    model = _folded(weights, architecture)

    def look(batch: Batch) -> tuple[Any, Tensor]:
        return _look(model, to_device(batch, device), limits)

    def losses(head: str, positions: Tensor, seen: Any) -> Tensor:
        return _evaluate(model, limits, head, positions, seen, gradient=False)[0]

    if further is not None:
        _check_batch(further[0], architecture)
    centers = {head: gather(weights, *_place(head)) for head in heads}
    with _products(device):
        return rises(centers, batches, look=look, losses=losses, setting=setting, further=further)


def _limits(device: torch.device, max_memory: int | None = None, together: bool | None = None) -> Bounds:
    return Bounds(
        *(max_memory or given.get(device.type, given["cpu"]) for given in (LOGITS_BYTES, ACTIVATION_BYTES)),
        together=device.type != "cpu" if together is None else together,
    )


def _folded(weights: Weights, architecture: Architecture) -> Folded:
    with _products(next(iter(weights.values())).device):
        layers = [fold_layer(weights, layer, architecture) for layer in range(architecture.n_layers)]
        return Folded(weights, architecture, layers, fold_unembedding(weights, architecture))


def _look(model: Folded, batch: Batch, limits: Bounds) -> tuple[tuple[list[Layer], Targets], Tensor]:
    """Return the layers and targets of a minibatch that heads read, and the loss at w*."""
    targets = targets_of(batch.targets, model.unembedding)
    layers, center_loss = forward_at_center(model, batch, targets, limits)
    return (layers, targets), center_loss


def _evaluate(
    model: Folded, limits: Bounds, head: str, positions: Tensor, seen: Any, *, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """Return a head's losses [chain], and gradients, at positions [chain, n].

    seen  layers and targets, as ``_look`` returns them
    """
    layers, targets = seen
    layer, index = _place(head)
    higher = [(model.layers[i], layers[i].asked) for i in range(layer + 1, len(layers))]
    return losses_and_gradients(
        positions, layers[layer], index, model.weights[f"blocks.{layer}.attn.W_O"][index],
        Above(higher, model.unembedding, targets, model.architecture), limits, gradient=gradient,
    )  # fmt: skip


@contextmanager
def _products(device: torch.device) -> Iterator[None]:
    """Context manager: lower the precision inside products alone. Autocast would round their results too."""
    before, lower = torch.get_float32_matmul_precision(), torch.is_autocast_enabled(device.type)
    torch.set_float32_matmul_precision("medium" if lower else before)
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def gather(weights: Weights, layer: int, index: int) -> Tensor:
    """Return a head's weights as one flat vector [n], in the order of ``Head``: names sorted, row-major."""
    return torch.cat([weights[f"blocks.{layer}.attn.{name}"][index].reshape(-1) for name in Head._fields])


def _place(head: str) -> tuple[int, int]:
    layer, index = map(int, head.split(":"))
    return layer, index


def _check_heads(heads: Sequence[str] | None, architecture: Architecture) -> list[str]:
    known = head_labels(architecture.n_layers, architecture.n_heads)
    chosen: list[str] = known if heads is None else list(heads) if isinstance(heads, Iterable) else [heads]
    unknown = [head for head in chosen if head not in known]
    if unknown or not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"heads {chosen}: expected different labels among {', '.join(known)}")
    return chosen


def _check_batch(batch: Any, architecture: Architecture) -> None:
    if not isinstance(batch, Batch):
        raise ValueError(f"batches hold {kind_of(batch)}: expected an rllc.tasks.batch.Batch in each place")
    contexts, positions, targets = batch
    vocabulary, longest = architecture.d_vocab, architecture.n_ctx
    known = contexts.ndim == 2 and bool(((contexts >= 0) & (contexts < vocabulary)).all())
    scored = (len(contexts), len(positions), *([vocabulary] if targets.is_floating_point() else []))
    if not known or contexts.is_floating_point() or contexts.shape[1] > longest or targets.shape != scored:
        raise ValueError(
            f"batches hold contexts {list(contexts.shape)} of {contexts.dtype}, {len(positions)} positions "
            f"and targets {list(targets.shape)}: expected contexts [batch, up to {longest}] of tokens below "
            f"{vocabulary}, and targets [batch, scored] or [batch, scored, {vocabulary}]"
        )

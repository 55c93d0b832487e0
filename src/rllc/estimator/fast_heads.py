"""Estimate the refined LLC of attention heads, much faster than ``llc.estimate``.

The forward pass at w* runs once per minibatch, and all chains and heads of a layer share it
(kernels/at_center.py). It gives the layer's input, the outputs of the other heads, and the logits at w*. A
head in the last layer changes these logits by a low-rank term. Chains hold only the tensors of their head.
Logits are computed at scored positions only, and so are queries in the last layer (kernels/heads.py). Draws
equal those of ``llc.estimate`` with the same seed, to float tolerance.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
import xarray as xr
from torch import Tensor

from rllc.estimator.check_heads import check_batch, check_heads
from rllc.estimator.control import check_center
from rllc.estimator.kernels.at_center import Folded, forward_at_center
from rllc.estimator.kernels.cross_entropy import Targets, targets_of
from rllc.estimator.kernels.folded import fold_layer, fold_unembedding
from rllc.estimator.kernels.head_attention import Head
from rllc.estimator.kernels.heads import Above, Bounds, Layer, losses_and_gradients
from rllc.estimator.results import Prepared, estimated
from rllc.estimator.samplers.admissible import check_at_center, check_tensors
from rllc.estimator.samplers.batches import to_device
from rllc.estimator.samplers.by_name import advance_of, reads_gradient
from rllc.estimator.samplers.chains import ChainBatch, Step, Traces, chains_at, run_chains
from rllc.estimator.samplers.pairs import Pairs, rises
from rllc.models.device import tuned
from rllc.models.loss import next_token_loss
from rllc.models.transformer import Architecture, shapes
from rllc.models.weights import Weights, check_weights
from rllc.sampler_config import SamplerConfig, shown
from rllc.tasks.batch import Batch

# Default sizes of blocks in bytes, used if max_memory is None. On a CPU a block of logits, or the activations
# of a few contexts, fits in a core's cache. On a GPU blocks are large, so that there are few kernel launches.
LOGITS_BYTES = {"cpu": 2**22, "cuda": 2**31}
ACTIVATION_BYTES = {"cpu": 2**21, "cuda": 2**32}


class CenterPass(NamedTuple):
    """The forward pass at w* on one minibatch: the tensors that heads read."""

    layers: list[Layer]
    targets: Targets


def estimate_heads(
    weights: Weights,
    architecture: Architecture,
    batches: Sequence[Batch],
    *,
    heads: Sequence[str] | None = None,
    setting: SamplerConfig,
    **rest: Any,
) -> xr.Dataset:
    """Return the refined LLC of attention heads (arXiv 2410.02984, sec. 2.2), one component per head.

    Equals ``llc.estimate`` draw by draw, to float tolerance, with the loss
    ``models.loss.next_token_loss(architecture)`` and a mask per head. A head's mask selects index h of W_K,
    W_O, W_Q, W_V, b_K, b_Q and b_V. Arguments with the same name mean the same in both, except
    ``max_memory``. ``rest`` are further arguments of ``results.estimated``.

    weights     all weights of the model, by name
    batches     next-token minibatches (``rllc.tasks.batch.Batch``)
    heads       labels ``"layer:head"`` (None: all heads)
    setting     sampler settings, for any sampler
    max_memory  largest size in bytes of a block of logits, and of each kind of activation. A block holds at
                least one chain and one (context, position) pair, or one chain and one context

    Raises ValueError as ``llc.estimate`` does, and in these cases: a weight is missing or has a wrong shape,
    a head does not exist, a batch does not fit, or the loss at w* of a draw of a control differs from that of
    its estimate (draws whose loss a control does not compute are not compared).

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
    labels = check_heads(heads, architecture)
    expected = shapes(architecture)
    check_tensors(weights)
    own = {name: w for name, w in weights.items() if name in expected}
    check_weights(own, expected, "weights")

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

    together   True: run all chains that fit in one launch. False: one chain after the other. None: True on a
               GPU, else False
    at_center  [draw]: for a control, its estimate's losses at w*; else None. Raises ValueError if the loss of
               a draw differs. Draws whose loss a control does not compute are not compared

    Other arguments are those of ``estimate_heads``. Positions and gradients have the weights' dtype; the
    traces are float64. Under ``torch.autocast`` the inputs of matrix products are rounded, on a CPU to bf16
    and on a GPU to TF32. Sums and outputs keep the weights' dtype.
    """
    device = next(iter(weights.values())).device
    bounds = _bounds(device, max_memory, together)
    model = _fold(weights, architecture)
    group = [
        chains_at(
            gather(weights, *_layer_and_index(head)), component=head, row=row, chains=range(setting.chains),
            setting=setting,
        )
        for row, head in enumerate(heads)
    ]  # fmt: skip
    traces = Traces.unknown(len(heads), setting.chains, setting.draws, device=device)
    control = at_center is not None
    if control:
        traces.at_center.copy_(at_center)
    own_center = torch.full_like(traces.at_center, float("nan"))
    gradient = reads_gradient(setting)
    # The first step at which a loss is computed: a control without gradients needs none in its burn-in.
    first_check = setting.burn_in * setting.thinning if control and not gradient else 0

    def load_batch(step: Step) -> tuple[CenterPass | None, Tensor | None]:
        needed = step.read or (step.records and not control)
        if not needed:
            return None, None
        batch = to_device(batches[step.number % len(batches)], device)
        if step.number == first_check:
            check_batch(batch, architecture)
        center_pass, center_loss = _run_at_center(model, batch, bounds)
        if step.records:
            own_center[step.draw] = center_loss
        # The first loss is checked now, the others after the run: each check waits for a GPU.
        if step.number == first_check:
            check_at_center(center_loss)
            if at_center is not None:
                check_center(own_center, at_center)
        # A control keeps its estimate's losses in ``traces.at_center``. Only a drift-free one has acceptance
        # probabilities, which need the loss at the centre.
        return center_pass, (center_loss if not control or setting.drift_free else None)

    def evaluate(chain_batch: ChainBatch, center_pass: Any, gradient: bool) -> tuple[Tensor, Tensor | None]:
        head, positions = chain_batch.component, chain_batch.positions
        return _evaluate(model, bounds, head, positions, center_pass, gradient=gradient)

    with _product_precision(device):
        run_chains(
            [group], traces, advance=advance_of(setting), load_batch=load_batch, evaluate=evaluate,
            setting=setting, gradient=gradient, control=control,
        )  # fmt: skip
    check_at_center(traces.at_center)
    if control:
        check_center(own_center, at_center)
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
    bounds = _bounds(device)
    model = _fold(weights, architecture)

    def run_at_center(batch: Batch) -> tuple[CenterPass, Tensor]:
        return _run_at_center(model, to_device(batch, device), bounds)

    def losses(head: str, positions: Tensor, center_pass: Any) -> Tensor:
        return _evaluate(model, bounds, head, positions, center_pass, gradient=False)[0]

    if further is not None:
        check_batch(further[0], architecture)
    centers = {head: gather(weights, *_layer_and_index(head)) for head in heads}
    with _product_precision(device):
        return rises(centers, batches, look=run_at_center, losses=losses, setting=setting, further=further)


def _bounds(device: torch.device, max_memory: int | None = None, together: bool | None = None) -> Bounds:
    """Return the sizes of blocks, with the device's defaults for arguments that are None."""
    logits = max_memory or LOGITS_BYTES.get(device.type, LOGITS_BYTES["cpu"])
    activations = max_memory or ACTIVATION_BYTES.get(device.type, ACTIVATION_BYTES["cpu"])
    return Bounds(logits, activations, together=device.type != "cpu" if together is None else together)


def _fold(weights: Weights, architecture: Architecture) -> Folded:
    """Return the model with its layer norms folded into the adjacent weights."""
    with _product_precision(next(iter(weights.values())).device):
        layers = [fold_layer(weights, layer, architecture) for layer in range(architecture.n_layers)]
        return Folded(weights, architecture, layers, fold_unembedding(weights, architecture))


def _run_at_center(model: Folded, batch: Batch, bounds: Bounds) -> tuple[CenterPass, Tensor]:
    """Run the model at w* on a minibatch. Return the tensors that heads read, and the mean loss."""
    targets = targets_of(batch.targets, model.unembedding)
    layers, center_loss = forward_at_center(model, batch, targets, bounds)
    return CenterPass(layers, targets), center_loss


def _evaluate(
    model: Folded, bounds: Bounds, head: str, positions: Tensor, center_pass: CenterPass, *, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """Return a head's losses [chain], and gradients [chain, n] or None, at positions [chain, n]."""
    layers, targets = center_pass
    layer, index = _layer_and_index(head)
    higher = [(model.layers[i], layers[i].asked) for i in range(layer + 1, len(layers))]
    return losses_and_gradients(
        positions, layers[layer], index, model.weights[f"blocks.{layer}.attn.W_O"][index],
        Above(higher, model.unembedding, targets, model.architecture), bounds, gradient=gradient,
    )  # fmt: skip


@contextmanager
def _product_precision(device: torch.device) -> Iterator[None]:
    """Context manager: under autocast, turn it off and lower the precision of matrix products instead.

    Autocast would also round the outputs of products.
    """
    before, lower = torch.get_float32_matmul_precision(), torch.is_autocast_enabled(device.type)
    torch.set_float32_matmul_precision("medium" if lower else before)
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def gather(weights: Weights, layer: int, index: int) -> Tensor:
    """Return a head's weights as one vector [n]: the fields of ``Head`` in order, each flattened by rows."""
    return torch.cat([weights[f"blocks.{layer}.attn.{name}"][index].reshape(-1) for name in Head._fields])


def _layer_and_index(head: str) -> tuple[int, int]:
    """Return the layer and the index in the layer of a head label ``"layer:head"``."""
    layer, index = map(int, head.split(":"))
    return layer, index

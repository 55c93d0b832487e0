"""Estimate the refined LLC of heads and other components of a transformer: the public entry."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from rllc.estimator import fast_heads
from rllc.estimator.huggingface.paths import losses_around
from rllc.estimator.llc import estimate_components
from rllc.models.huggingface.model import HuggingFaceModel
from rllc.models.transformer import Architecture
from rllc.models.weights import Weights
from rllc.sampler_config import COUNT, SamplerConfig, shown
from rllc.seeds import generator
from rllc.tasks.batch import Batch, Examples, batches_of


@overload
def estimate_heads(
    weights: Weights,
    architecture: Architecture,
    batches: Sequence[Batch],
    *,
    setting: SamplerConfig,
    heads: Sequence[str] | None = None,
    **rest: Any,
) -> xr.Dataset: ...


@overload
def estimate_heads(
    model: nn.Module,
    tokens: Tensor | np.ndarray,
    *,
    setting: SamplerConfig,
    components: Sequence[str] | None = None,
    batch_size: int = 8,
    scored_positions: int | None = None,
    vectorize: bool = False,
    **rest: Any,
) -> xr.Dataset: ...


def estimate_heads(*data: Any, **rest: Any) -> xr.Dataset:
    """Return the refined LLC of attention heads and other components (arXiv 2410.02984, sec. 2.2).

    There are two forms. ``setting`` has the sampler's settings in both::

        estimate_heads(weights, architecture, batches, setting=..., heads=["1:6"])
        estimate_heads(model, tokens, setting=..., components=["1:6", "mlp:1", "embedding"])

    The first is for attention-only transformers; ``fast_heads.estimate_heads`` describes its arguments. The
    second takes a causal language model of transformers, in eval mode and float32. The loss is that of its
    own forward pass, of which chains run only what changes (huggingface/paths.py):

    model             the module; its weights are w*
    tokens            integers [contexts, length]; the loss is that of predicting each next token
    components        labels (``rllc.components``). None: all heads, or all groups where heads share keys and
                      values
    batch_size        contexts of a minibatch. Each move has its own, drawn without replacement in as many
                      passes over ``tokens`` as needed
    scored_positions  positions of each minibatch whose predictions enter the loss, drawn at random; None: all
    vectorize         run the chains of a component in one call (``torch.func.vmap``): for GPUs

    Further arguments are those of ``rllc.estimate``: ``init_batches``, ``pair_batches`` (of ``rllc.Batch``),
    ``control_of``, ``report_control``, ``max_memory``. Everything is computed on the device of the model.

    Returns the dataset of ``rllc.estimate``, with one ``component`` per label.

    Raises ValueError as ``rllc.estimate`` does, and where the model lacks a component, is in train mode or
    not in float32, or where the tokens do not fit it.

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
    if "model" in rest or (data and isinstance(data[0], nn.Module)):
        return _of_module(*data, **rest)
    return fast_heads.estimate_heads(*data, **rest)


def _of_module(
    model: nn.Module,
    tokens: Tensor | np.ndarray,
    *,
    setting: SamplerConfig,
    components: Sequence[str] | None = None,
    batch_size: int = 8,
    scored_positions: int | None = None,
    **rest: Any,
) -> xr.Dataset:
    """Return ``estimate_heads`` of a module of transformers."""
    if not isinstance(setting, SamplerConfig):
        raise ValueError(f"setting is {shown(setting)}: expected an rllc.SamplerConfig")
    if rest.get("device") is not None:
        raise ValueError(f"device is {shown(rest['device'])}: move the model instead, by model.to(device)")
    family = HuggingFaceModel(model)
    labels = _labels(components, family)
    examples = Examples(_tokens(tokens, family))
    size = int(COUNT.of("batch_size", batch_size))
    scored = None if scored_positions is None else int(COUNT.of("scored_positions", scored_positions))
    random = generator(setting.seed, "minibatches")
    batches = batches_of(examples, batch_size=size, count=setting.moves + 1, scored=scored, random=random)
    masks: Mapping[str, Any] = {label: family.masks(label) for label in labels}
    weights = family.weights()
    loss, losses = losses_around(family, weights, masks)
    return estimate_components(
        loss, weights, batches, components=masks, losses=losses, setting=setting, **rest
    )


def _labels(components: Sequence[str] | None, model: HuggingFaceModel) -> list[str]:
    """Return the labels to sample. Raises ValueError unless they are different labels."""
    if components is None:
        return model.heads
    given = not isinstance(components, str) and isinstance(components, Iterable)
    chosen = list(components) if given else []
    if not chosen or not all(isinstance(label, str) for label in chosen):
        raise ValueError(
            f'components is {shown(components)}: expected a list of labels, such as ["mlp:0", "embedding"], '
            "or None for all heads"
        )
    twice = sorted({label for label in chosen if chosen.count(label) > 1})
    if twice:
        raise ValueError(f"components has {', '.join(map(repr, twice))} twice: give each label once")
    return chosen


def _tokens(tokens: Tensor | np.ndarray, model: HuggingFaceModel) -> np.ndarray:
    """Return the tokens as an array. Raises ValueError where they do not fit the model."""
    if not isinstance(tokens, Tensor | np.ndarray):
        raise ValueError(f"tokens is a {type(tokens).__name__}: expected integers [contexts, length]")
    array = tokens.cpu().numpy() if isinstance(tokens, torch.Tensor) else tokens
    longest = np.inf if model.longest is None else model.longest
    if array.ndim != 2 or array.dtype.kind not in "iu" or not 2 <= array.shape[1] <= longest:
        raise ValueError(
            f"tokens are {array.dtype} {list(array.shape)}: expected integers [contexts, length], length "
            f"2 to {longest}"
        )
    outside = array[(array < 0) | (array >= model.vocabulary)]
    if len(outside):
        raise ValueError(
            f"tokens hold {int(outside[0])}: expected 0 to {model.vocabulary - 1}, the model's vocabulary"
        )
    return array

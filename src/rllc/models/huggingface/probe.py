"""Find the weights of every attention head by gradients, in any architecture.

Head h of a layer is the slice h of the input z of the output projection, the columns of the output
projection that read this slice, and the rows of the query, key and value projections that the slice depends
on. The probe runs the model once on four tokens. In every attention it replaces the output of each projection
by random numbers and each norm by the identity. So the gradient of a slice of z with respect to these numbers
does not depend on the weights. It is nonzero exactly at the rows of the head, whether the projections are
fused, interleaved or transposed.

Heads that depend on a common row share keys and values (grouped-query attention). Together they are a unit.
Norms of queries and keys over all heads (OLMo-2) couple the heads, which is why the probe removes them. Their
weights belong to no head, as those of every other norm.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rllc.models.huggingface.structure import is_norm, text_config

TOKENS = 4


class Unit(NamedTuple):
    """A head, or all heads that share keys and values.

    heads    indices of its heads in the layer
    rows     projection -> boolean [outputs]: the outputs that z of these heads depends on
    columns  boolean [inputs] of the output projection
    """

    heads: tuple[int, ...]
    rows: Mapping[nn.Module, Tensor]
    columns: Tensor


class AttentionUnits(NamedTuple):
    """The units of one attention, and its output projection."""

    units: list[Unit]
    output: nn.Module


class _Call(NamedTuple):
    """A call of a projection: its input, and the random numbers in the place of its output."""

    module: nn.Module
    given: Tensor
    returned: Tensor


def is_projection(module: nn.Module) -> bool:
    """Return whether a module is a matrix product: ``nn.Linear``, or ``Conv1D`` of transformers."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def head_counts(model: nn.Module) -> tuple[int, int]:
    """Return the number of heads per layer and the number of their keys and values, by the config."""
    config = text_config(model)
    heads = config.num_attention_heads
    if getattr(config, "multi_query", False) and not getattr(config, "new_decoder_architecture", False):
        return heads, 1
    for name in ("num_key_value_heads", "num_kv_heads"):
        if isinstance(getattr(config, name, None), int):
            return heads, getattr(config, name)
    return heads, heads


@torch.enable_grad()
def find_units(model: nn.Module, attentions: Mapping[int, nn.Module]) -> dict[int, AttentionUnits]:
    """Return the units of the attention of each layer, ordered by their first head.

    attentions  layer -> its attention

    Raises ValueError where the heads found do not agree with the config, share rows of their queries, leave a
    row of a projection without a head, where the attention has weights that are in no projection or norm, or
    where the model does not run on tokens alone.
    """
    heads, groups = head_counts(model)
    with _replaced(list(attentions.values())) as calls:
        device = next(model.parameters()).device
        tokens = torch.arange(TOKENS, device=device)[None] % text_config(model).vocab_size
        try:
            model(input_ids=tokens, use_cache=False)
        except Exception as error:  # of any kind, by the code of the model
            raise ValueError(
                f"{type(model).__name__} cannot be run on {TOKENS} tokens: {type(error).__name__}: {error}"
            ) from error
    found = {}
    for (layer, attention), own in zip(attentions.items(), calls, strict=True):
        try:
            found[layer] = _units_of(attention, own, heads=heads, groups=groups)
        except ValueError as error:
            raise ValueError(
                f"the heads of layer {layer} of {type(model).__name__} cannot be found: {error}; sample "
                f'"attn:{layer}" or "layer:{layer}" instead'
            ) from error
    return found


@contextmanager
def _replaced(attentions: Sequence[nn.Module]) -> Iterator[list[list[_Call]]]:
    """Context manager: replace outputs of projections by random numbers, and norms by the identity.

    Yields the calls of the projections of each attention, in order. The list fills as the model runs.
    """
    random = torch.Generator().manual_seed(0)
    calls: list[list[_Call]] = [[] for _ in attentions]
    hooks = []

    def record(own: list[_Call]) -> Any:
        def hook(module: nn.Module, given: Any, named: Mapping[str, Any], returned: Tensor) -> Tensor:
            numbers = torch.randn(returned.shape, generator=random).to(returned)
            own.append(_Call(module, _first(given, named), numbers.requires_grad_()))
            return own[-1].returned

        return hook

    def identity(module: nn.Module, given: Any, named: Mapping[str, Any], _: Any) -> Any:
        return _first(given, named)

    for attention, own in zip(attentions, calls, strict=True):
        for module in attention.modules():
            if is_projection(module):
                hooks.append(module.register_forward_hook(record(own), with_kwargs=True))
            elif is_norm(module):
                hooks.append(module.register_forward_hook(identity, with_kwargs=True))
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()


def _first(given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """Return the first argument of a call."""
    return given[0] if given else next(iter(named.values()))


def _units_of(attention: nn.Module, calls: list[_Call], *, heads: int, groups: int) -> AttentionUnits:
    """Return the units of one attention, checked, from the calls of its projections."""
    if len(calls) < 2:
        raise ValueError(f"its attention called {len(calls)} projections, expected two or more")
    output, z = calls[-1].module, calls[-1].given
    _check_weights(attention, [call.module for call in calls])
    width = z.shape[-1]
    if width % heads:
        raise ValueError(
            f"{heads} heads by the config do not divide the {width} inputs of the last projection"
        )
    size = width // heads
    weighted = z * torch.randn(z.shape, generator=torch.Generator().manual_seed(1)).to(z)
    rows = [_rows(weighted[..., head * size : (head + 1) * size].sum(), calls[:-1]) for head in range(heads)]
    units = []
    for members in _joined(rows):
        joint = {module: torch.stack([rows[head][module] for head in members]).any(0) for module in rows[0]}
        columns = torch.zeros(width, dtype=torch.bool, device=z.device)
        for head in members:
            columns[head * size : (head + 1) * size] = True
        units.append(Unit(members, joint, columns))
    least = size * (heads // groups + 2)  # queries of the heads, and one key and one value
    counts = [sum(int(mask.sum()) for mask in unit.rows.values()) for unit in units]
    if len(units) != groups or len({len(unit.heads) for unit in units}) > 1 or min(counts) < least:
        raise ValueError(
            f"{len(units)} independent units of {counts[0]} rows were found, expected {groups} of {least} "
            "rows or more by the config"
        )
    for module in rows[0]:
        if not torch.stack([unit.rows[module] for unit in units]).any(0).all():
            raise ValueError(f"no head depends on some outputs of a {type(module).__name__} in it")
    return AttentionUnits(units, output)


def _rows(slice_of_z: Tensor, calls: Sequence[_Call]) -> dict[nn.Module, Tensor]:
    """Return the outputs of each projection that a slice of z depends on: boolean [outputs]."""
    leaves = [call.returned for call in calls]
    slopes = torch.autograd.grad(slice_of_z, leaves, retain_graph=True, allow_unused=True)
    rows: dict[nn.Module, Tensor] = {}
    for call, slope in zip(calls, slopes, strict=True):
        own = torch.zeros_like(call.returned) if slope is None else slope
        read = (own != 0).flatten(0, -2).any(0)
        rows[call.module] = rows[call.module] | read if call.module in rows else read
    return rows


def _joined(rows: Sequence[Mapping[nn.Module, Tensor]]) -> Iterable[tuple[int, ...]]:
    """Return the heads that depend on common rows, as ascending tuples, ordered by their first head."""
    flat = torch.stack([torch.cat(list(own.values())) for own in rows]).float()
    common = flat @ flat.T > 0
    units: list[tuple[int, ...]] = []
    for head in range(len(rows)):
        if not any(head in unit for unit in units):
            units.append(tuple(common[head].nonzero().flatten().tolist()))
    if sorted(head for unit in units for head in unit) != list(range(len(rows))):
        raise ValueError("some heads share rows with several others")
    return units


def _check_weights(attention: nn.Module, projections: Sequence[nn.Module]) -> None:
    """Raise ValueError where the attention has weights outside of projections and norms."""
    known = {id(weight) for module in projections for weight in module.parameters()}
    for module in attention.modules():
        if is_norm(module):
            known |= {id(weight) for weight in module.parameters()}
    others = [name for name, weight in attention.named_parameters() if id(weight) not in known]
    if others:
        raise ValueError(f"its weights {', '.join(others)} belong to no projection")

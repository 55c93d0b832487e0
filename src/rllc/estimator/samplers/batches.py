"""Check sequences of batches, and map functions over the tensors in a batch."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rllc.sampler_config import SamplerConfig


def check_batches(
    setting: SamplerConfig, batches: Sequence[Any], *, init_batches: Sequence[Any] | None
) -> None:
    """Raise ValueError where batches are not a sequence of batches or do not fit the setting."""
    count = _counted("batches", batches)
    if init_batches is not None:
        _counted("init_batches", init_batches)
    elif setting.baseline == "init":
        raise ValueError('baseline "init" needs init_batches: give them, or use baseline "paired"')
    common = math.gcd(setting.thinning, count)
    if common > 1 and setting.moves >= count:
        raise ValueError(
            f"with thinning {setting.thinning} and {count} batches, draws see only every {common}th "
            "batch: expected a number of batches without a common factor with the thinning, or one batch for "
            "every move"
        )


def _counted(name: str, batches: Any) -> int:
    """Return the number of batches. Raises ValueError unless they are a sequence of one kind, not empty."""
    kind = type(batches)
    other = isinstance(batches, str | bytes | torch.nn.Module)
    other |= any(hasattr(batches, name) for name in ("keys", "_fields"))  # a dict or a named tuple
    try:
        count = None if other or not hasattr(kind, "__getitem__") else len(batches)
    except TypeError:  # the object has items but no length
        count = None
    if count is None:
        raise ValueError(
            f"{name} is a {kind.__name__}: expected a sequence of batches with a length and a fixed order; "
            f"convert a data loader or a generator with list(...)"
        )
    if not count:
        raise ValueError(f"{name} is empty, there are no batches: expected at least one")
    kinds = [kind_of(batch) for batch in batches] if isinstance(batches, list | tuple) else []
    for index, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise ValueError(
                f"{name}[{index}] is {kind}, {name}[0] is {kinds[0]}: expected batches of one kind, in the "
                "form that the loss takes"
            )
    return count


def to_device(batch: Any, device: torch.device) -> Any:
    """Return the batch with every tensor (nested in tuples, lists, dicts) on ``device``."""
    return map_tensors(lambda tensor: tensor.to(device), batch)


def map_tensors(function: Callable[[Tensor], Any], batch: Any) -> Any:
    """Return the batch with ``function`` applied to every tensor (nested in tuples, lists, dicts)."""
    if isinstance(batch, Tensor):
        return function(batch)
    if isinstance(batch, Mapping):
        return {key: map_tensors(function, value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(map_tensors(function, value) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(map_tensors(function, value) for value in batch)
    return batch


def kind_of(batch: Any) -> str:
    """Describe the kind of a batch in words. Batches that differ only in values and sizes are of one kind."""
    if isinstance(batch, Tensor):
        return f"a tensor of {batch.dtype}"
    if isinstance(batch, Mapping):
        return f"a dict of {', '.join(map(str, batch)) or 'nothing'}"
    if isinstance(batch, list | tuple):
        return f"a {type(batch).__name__} of {len(batch)}"
    return "a number" if isinstance(batch, int | float) else f"a {type(batch).__name__}"

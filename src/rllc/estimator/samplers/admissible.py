"""What can be sampled: checks of batches, weights and losses, each saying what was expected."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rllc.models.weights import Weights
from rllc.setting import Setting

Loss = Callable[[dict[str, Tensor], Any], Tensor]


def check_batches(
    setting: Setting,
    batches: Sequence[Any],
    *,
    init_batches: Sequence[Any] | None,
    max_memory: int | None,
) -> None:
    """Raises ValueError, saying what was expected, where batches do not fit the setting."""
    if not len(batches):
        raise ValueError("there are no batches: expected at least one")
    if init_batches is not None and not len(init_batches):
        raise ValueError("init_batches is empty: give at least one batch, or None")
    if setting.baseline == "init" and init_batches is None:
        raise ValueError('baseline "init" needs init_batches: give them, or use baseline "paired"')
    common = math.gcd(setting.thinning, len(batches))
    if common > 1 and setting.moves >= len(batches):
        raise ValueError(
            f"with thinning {setting.thinning} and {len(batches)} batches, draws see only every {common}th "
            "batch: expected a number of batches without a common factor with the thinning, or one for every "
            "move"
        )
    if max_memory is not None and max_memory < 1:
        raise ValueError(f"max_memory is {max_memory}: expected a number of bytes, or None")


def check_finite(weights: Weights) -> None:
    """Raises ValueError naming the first weight that is not finite everywhere."""
    for name, w in weights.items():
        if w.is_floating_point() and not w.isfinite().all():
            bad = int((~w.isfinite()).sum())
            raise ValueError(
                f"the weight {name!r} has {bad} of {w.numel()} values that are not finite: "
                "expected a centre w* that is finite; has training diverged?"
            )


def check_mean(loss: Loss, weights: Weights, batch: Any) -> None:
    """Raises ValueError where the batch is empty, or where its loss is a sum over the batch.

    The loss at w* of the batch's first example repeated twice is compared with that of the example once: a
    mean does not change, a sum doubles. Examples are what the leading axis of the batch's first tensor
    counts, in every tensor whose leading axis is as long. Nothing is checked where there is no such tensor,
    where the loss cannot be evaluated on such a batch, or where the loss of the example is about 0.
    """
    size = _examples(batch)
    if size is None:
        return
    if size == 0:
        raise ValueError("the first batch is empty: expected at least one example along its leading axis")
    try:
        with torch.no_grad():
            once, twice = (float(loss(dict(weights), _repeat(batch, size, n))) for n in (1, 2))
    except Exception:  # whatever a loss says to a batch that it was not made for
        return
    if abs(once) > 1e-8 and abs(twice - 2 * once) <= 1e-3 * abs(once):
        raise ValueError(
            f"the loss of an example repeated twice is twice its loss, {twice:.6g} after {once:.6g}: it is "
            "a sum over the batch; return the mean, and put the number of examples in n_beta (if the leading "
            "axis of the batch's first tensor does not count examples, give it a leading axis that does)"
        )


def center_loss(loss: Loss, weights: Weights, batch: Any) -> Tensor:
    """The batch's loss at the centre. Raises ValueError where it is not a finite scalar."""
    with torch.no_grad():
        value = loss(dict(weights), batch)
    if not isinstance(value, Tensor) or value.ndim:
        returned = f"shape {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(
            f"the loss must return a scalar tensor, the mean over the batch: it returned {returned}"
        )
    return check_at_center(value)


def check_at_center(values: Tensor) -> Tensor:
    """``values``, losses at the centre. Raises ValueError, naming the first, where one is not finite."""
    wrong = values[~values.isfinite()]
    if len(wrong):
        raise ValueError(
            f"the loss at the centre is {wrong[0].item()}, not a finite number: "
            "check the weights and the batch"
        )
    return values


def mean_center_loss(loss: Loss, weights: Weights, batches: Sequence[Any] | None) -> float:
    """Mean over ``batches`` of the loss at the centre; NaN without batches."""
    if batches is None:
        return float("nan")
    device = next(iter(weights.values())).device
    each = [center_loss(loss, weights, to_device(batches[i], device)) for i in range(len(batches))]
    return float(torch.stack(each).double().mean())


def to_device(batch: Any, device: torch.device) -> Any:
    """The batch with every tensor in it (nested in tuples, lists, dicts) on ``device``."""
    return _map_tensors(lambda tensor: tensor.to(device), batch)


def _repeat(batch: Any, size: int, times: int) -> Any:
    """The first of the batch's ``size`` examples, ``times`` times."""
    return _map_tensors(lambda x: torch.cat([x[:1]] * times) if x.ndim and len(x) == size else x, batch)


def _examples(batch: Any) -> int | None:
    """Leading size of the first tensor in the batch that has axes; None where there is none."""
    sizes: list[int] = []
    _map_tensors(lambda x: sizes.append(len(x)) if x.ndim else None, batch)
    return sizes[0] if sizes else None


def _map_tensors(function: Callable[[Tensor], Any], batch: Any) -> Any:
    """The batch with ``function`` of every tensor in it (nested in tuples, lists, dicts) in its place."""
    if isinstance(batch, Tensor):
        return function(batch)
    if isinstance(batch, Mapping):
        return {key: _map_tensors(function, value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_map_tensors(function, value) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(_map_tensors(function, value) for value in batch)
    return batch

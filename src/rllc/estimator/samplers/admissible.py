"""Check weights and losses before sampling. Each error states the expected value."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from rllc.estimator.samplers.batches import kind_of, map_tensors, to_device
from rllc.estimator.samplers.deterministic import Changed
from rllc.models.weights import Weights
from rllc.sampler_config import shown

Loss = Callable[[dict[str, Tensor], Any], Tensor]


def check_tensors(weights: Weights) -> None:
    """Raise ValueError, with the first offending name, unless weights are finite tensors by name."""
    if not isinstance(weights, Mapping):
        raise ValueError(
            f"weights is a {type(weights).__name__}: expected a dict of tensors by name, as "
            "dict(model.named_parameters()) of a torch module"
        )
    if not weights:
        raise ValueError("weights is empty, there is nothing to sample: expected at least one tensor")
    for name, w in weights.items():
        if not isinstance(name, str) or not isinstance(w, Tensor):
            raise ValueError(f"weights[{name!r}] is a {type(w).__name__}: expected tensors by name")
        if w.is_meta or w.layout != torch.strided:
            raise ValueError(f"weights[{name!r}] is meta or sparse: expected a dense tensor with data")
        if w.is_floating_point() and not w.isfinite().all():
            bad = int((~w.isfinite()).sum())
            raise ValueError(
                f"the weight {name!r} has {bad} of {w.numel()} values that are not finite: "
                "expected a finite centre w*; check whether training diverged"
            )


def placed(weights: Weights, device: str | torch.device | None) -> dict[str, Tensor]:
    """Return detached weights on ``device`` (None: unmoved). Raises ValueError for an unknown device."""
    if device is None:
        return {name: w.detach() for name, w in weights.items()}
    try:
        on = torch.empty(0, device=device).device
        if on.type == "meta":
            raise RuntimeError("meta tensors hold no numbers")
        return {name: w.detach().to(on) for name, w in weights.items()}
    except (RuntimeError, AssertionError, TypeError) as error:
        first = str(error).partition("\n")[0]
        raise ValueError(
            f"device is {shown(device)}: expected a device that torch finds here: {first}"
        ) from error


def check_mean(loss: Loss, weights: Weights, batch: Any) -> None:
    """Raise ValueError where the batch is empty, or where its loss is a sum over the batch.

    The check compares the loss at w* of the batch's first example with that of this example repeated twice: a
    mean does not change, a sum doubles. The leading axis of the batch's first tensor counts the examples, and
    every tensor with the same leading size is indexed by example. There is no check without such a tensor,
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
    except Exception:  # a loss may fail in any way on an unusual batch
        return
    if abs(once) > 1e-8 and abs(twice - 2 * once) <= 1e-3 * abs(once):
        raise ValueError(
            f"the loss of an example repeated twice is twice its loss, {twice:.6g} after {once:.6g}: it is "
            "a sum over the batch; return the mean, and put the number of examples in n_beta (the leading "
            "axis of the batch's first tensor must count examples; if it does not, add one that does)"
        )


@contextmanager
def blamed(where: str) -> Iterator[None]:
    """Context manager: re-raise an error of the loss as a ValueError that says ``where``, with its cause."""
    try:
        yield
    except (torch.OutOfMemoryError, Changed):
        raise
    except Exception as error:
        what = " ".join(str(error).split())
        raise ValueError(
            f"the loss fails {where}: {type(error).__name__}: {what}; expected a function of the weights and "
            "a batch, made of torch operations"
        ) from error


def center_loss(loss: Loss, weights: Weights, batch: Any, *, name: str = "a batch") -> Tensor:
    """Return the batch's loss at the centre. ``name`` is the name of the batch in messages.

    Raises ValueError where the loss is not a finite scalar, or raises an error.
    """
    with torch.no_grad(), blamed(f"on {name}, {kind_of(batch)}, at the centre"):
        value = loss(dict(weights), batch)
    if not isinstance(value, Tensor) or value.ndim or not value.is_floating_point():
        returned = f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(
            "the loss must return a scalar tensor, the mean over the batch, as a floating-point number: it "
            f"returned {returned}"
        )
    return check_at_center(value, name)


def check_at_center(values: Tensor, name: str = "one of the batches") -> Tensor:
    """Return ``values``, losses at the centre. Raises ValueError, with the first, where one is not finite."""
    wrong = values[~values.isfinite()]
    if len(wrong):
        raise ValueError(
            f"the loss at the centre is {wrong[0].item()} on {name}, not a finite number: "
            "check the weights and the batch"
        )
    return values


def mean_center_loss(loss: Loss, weights: Weights, batches: Sequence[Any] | None) -> float:
    """Return the mean over ``batches`` of the loss at the centre; NaN without batches."""
    if batches is None:
        return float("nan")
    device = next(iter(weights.values())).device
    each = [
        center_loss(loss, weights, to_device(batches[i], device), name=f"init_batches[{i}]")
        for i in range(len(batches))
    ]
    return float(torch.stack(each).double().mean())


def _repeat(batch: Any, size: int, times: int) -> Any:
    """Return a batch of the first of its ``size`` examples, repeated ``times`` times."""
    return map_tensors(lambda x: torch.cat([x[:1]] * times) if x.ndim and len(x) == size else x, batch)


def _examples(batch: Any) -> int | None:
    """Return the leading size of the batch's first tensor with axes; None without such a tensor."""
    sizes: list[int] = []
    map_tensors(lambda x: sizes.append(len(x)) if x.ndim else None, batch)
    return sizes[0] if sizes else None

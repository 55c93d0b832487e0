"""Check that a loss is a function of the weights and the batch, and of nothing else."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

TOLERANCE = 1e-4  # relative: summation order changes a loss by less, a random half of a batch by more
CURE = "a function of the weights and the batch alone; call model.eval() before, and give {} with the batch"


class Changed(ValueError):
    """The error of a loss that would change a tensor in place that it did not create."""


class Guarded(TorchDispatchMode):
    """Context manager: raise ``Changed`` before an operation changes a tensor made outside of the block."""

    def __init__(self) -> None:
        super().__init__()
        self._made: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        schema = func._schema.arguments
        given = dict(zip((each.name for each in schema), args, strict=False)) | kwargs
        written = {each.name for each in schema if each.alias_info is not None and each.alias_info.is_write}
        if given.get("training") is True:  # the schema of batch norm's kernels does not declare these writes
            written |= {"running_mean", "running_var"}
        if not self._made.issuperset(_storages([given.get(name) for name in written])):
            raise Changed(
                f"the loss changes a tensor in place that it did not make ({func}), as a model in train mode "
                f"does with the running statistics of batch norm: expected {CURE.format('a copy of it')}"
            )
        result = func(*args, **kwargs)
        lifted = func is torch.ops.aten.lift_fresh.default  # the first use of a constant
        self._made |= _storages(result) - (set() if lifted else _storages((args, kwargs)))
        return result


def check_deterministic(evaluate: Callable[[], Tensor], device: torch.device) -> None:
    """Raise ValueError where a loss changes its inputs, or gives another number when evaluated again.

    evaluate  the loss of one batch at the centre; called twice. Use of torch's random streams is detected
              even where the loss at the centre does not depend on the random numbers

    The first call raises before it changes an input in place. Where a dispatch mode cannot watch the loss,
    it is called unwatched.
    """
    with torch.no_grad():
        try:
            with Guarded():
                first = evaluate()
        except Changed:
            raise
        except Exception:  # an error of the loss will recur below; an error of the watching will not
            first = evaluate()
        before = _states(device)
        second = evaluate()
    if not torch.isclose(first.double(), second.double(), rtol=TOLERANCE, atol=0.0):
        raise ValueError(
            f"the loss at the centre is {first.item():.6g}, and {second.item():.6g} when it is evaluated "
            f"again on the same batch: expected {CURE.format('random numbers that it needs')}"
        )
    if not all(map(torch.equal, before, _states(device))):
        raise ValueError(
            "the loss draws random numbers, as a model in train mode does in dropout: expected "
            + CURE.format("those that it needs")
        )


def _states(device: torch.device) -> list[Tensor]:
    """Return the states of the random streams that a loss on the device can draw from."""
    return [torch.get_rng_state()] + ([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])


def _storages(values: Any) -> set[int]:
    return {x.untyped_storage()._cdata for x in tree_leaves(values) if isinstance(x, Tensor)}

"""Run a transformers model in part: record calls of its layers, and replace modules by other functions.

Everything between the replaced modules stays transformers' own: masks, rotary positions, the loop over the
layers, the final norm.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only


class Call(NamedTuple):
    """One call of a layer: its arguments, and what it returned."""

    given: tuple[Any, ...]
    named: Mapping[str, Any]
    returned: Any


@contextmanager
def recorded(modules: Mapping[int, nn.Module]) -> Iterator[dict[int, Call]]:
    """Context manager: yield a dict that fills with the last call of each module, detached."""
    calls: dict[int, Call] = {}

    def record(key: int) -> Callable[..., None]:
        def hook(_: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any], returned: Any) -> None:
            calls[key] = Call(*tree_map_only(Tensor, torch.Tensor.detach, (given, dict(named), returned)))

        return hook

    hooks = [module.register_forward_hook(record(key), with_kwargs=True) for key, module in modules.items()]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def replaced(forwards: Mapping[nn.Module, Callable[..., Any]]) -> Iterator[None]:
    """Context manager: call these functions in the place of the modules' ``forward``."""
    before = {module: vars(module).get("forward") for module in forwards}
    try:
        for module, forward in forwards.items():
            module.forward = forward
        yield
    finally:
        for module, forward in before.items():
            if forward is None:
                vars(module).pop("forward", None)
            else:
                module.forward = forward


def first(given: Any, *_: Any, **__: Any) -> Any:
    """Return the first argument: in the place of the unembedding, this gives its input as the logits."""
    return given


def always(value: Any) -> Callable[..., Any]:
    """Return a function that returns ``value`` for any arguments."""
    return lambda *_, **__: value

"""Weights by their names: those that a regular expression finds, and tied weights with several names."""

import difflib
import re
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from rllc.components import Part

NAMED = 5  # at most so many names in an error


def aliases_of(module: nn.Module) -> dict[str, str]:
    """Return the further names of tied weights: name -> the name in ``named_parameters()``."""
    first = {id(weight): name for name, weight in module.named_parameters()}
    every = module.named_parameters(remove_duplicate=False)
    return {name: first[id(weight)] for name, weight in every if first[id(weight)] != name}


def matching(
    part: Part, shapes: Mapping[str, tuple[int, ...]], aliases: Mapping[str, str] | None = None
) -> dict[str, Tensor]:
    """Return masks of all coordinates of the weights whose names match a part of the kind ``weights``.

    The masks are views that take little memory.

    shapes   shape of each weight, by name
    aliases  further names of tied weights, for the error

    Raises ValueError where no name matches.
    """
    pattern = re.compile(part.pattern)
    found = {name: shape for name, shape in shapes.items() if pattern.search(name)}
    if not found:
        raise ValueError(
            f"component {part.label!r} matches no weight of the model: {_advice(part, shapes, aliases)}"
        )
    return {name: torch.ones((), dtype=torch.bool).expand(shape) for name, shape in found.items()}


def _advice(part: Part, shapes: Mapping[str, tuple[int, ...]], aliases: Mapping[str, str] | None) -> str:
    """Return what to write instead of a pattern that no name matches."""
    for alias, name in (aliases or {}).items():
        if re.search(part.pattern, alias):
            return f"{alias} is tied to {name}, both are one weight; name {name} instead"
    plain = re.sub(r"\\(?=\W)", "", part.pattern)
    near = difflib.get_close_matches(plain, shapes, n=NAMED, cutoff=0.4) or list(shapes)[:NAMED]
    return f"expected a regular expression found in a name such as {', '.join(near)}; correct it"
